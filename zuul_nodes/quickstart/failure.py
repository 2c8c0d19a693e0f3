"""Failures of a quickstart, with the last lines of a log."""

LAST_LINES = 15


def lastLines(path, count=LAST_LINES):
    """:return: the last lines of a text file, as a list; empty if the file
        cannot be read."""
    try:
        with open(path, errors='replace') as text:
            return text.read().splitlines()[-count:]
    except OSError:
        return []


class Failure(Exception):
    """A step of the quickstart failed.

    :param str reason: the error, in one line.
    :param log_file: the log with details, if there is one.
    """

    def __init__(self, reason, log_file=None):
        super().__init__(reason)
        self.reason = reason
        self.log_file = log_file
        # Read now, because the log may be gone when this is printed.
        self.last_lines = lastLines(log_file) if log_file else []
