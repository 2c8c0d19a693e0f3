"""Errors that are told to a person in one line."""


class UserError(Exception):
    """Something a person can put right.

    The message is one line that says what is wrong and what to do.  The
    ``zuul-nodes`` command prints it without a traceback and exits with
    status 1.
    """
