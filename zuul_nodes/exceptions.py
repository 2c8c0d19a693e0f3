"""Errors that are shown to a person in one line."""


class UserError(Exception):
    """An error that the user can correct.

    The message is one line that says what is wrong and what to do.  The
    ``zuul-nodes`` command prints it without a traceback and exits with
    status 1.
    """
