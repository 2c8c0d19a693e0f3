"""Limits on work: a time-out, and signals that ask the process to end.

Both are implemented with signals, so they interrupt any wait.  Signals
reach the main thread only.
"""

import contextlib
import signal
import time

# Seconds between alarms: an exception can get lost in a destructor.
AGAIN = 5
# Seconds between polls; the interval grows.
SHORTEST, LONGEST, GROWTH = 0.1, 5, 1.5


class Interruption:
    """Raises KeyboardInterrupt on the first signal that asks to end.

    :ivar int signal: the number of that signal, or None.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self):
        self.signal = None
        self._handlers = {number: signal.signal(number, self._received)
                          for number in self.SIGNALS}

    def _received(self, number, frame):
        self.ignore()
        self.signal = number
        raise KeyboardInterrupt

    def ignore(self):
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def end(self):
        """Restore the previous signal handlers."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)


class _Expired(BaseException):
    """Not an Exception, because libraries catch those."""


@contextlib.contextmanager
def limit(seconds, makeError):
    """Limit the time of the ``with`` block.  Must not be nested.

    :param float seconds: more than 0.
    :param makeError: returns the exception to raise after that time.
    """
    def expire(number, frame):
        raise _Expired

    handler = signal.signal(signal.SIGALRM, expire)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Expired:
        raise makeError() from None
    finally:
        # The alarm may have rung just before it was stopped.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def poll(look):
    """Call a function until it returns something; used within :func:`limit`.

    :param look: called without arguments.
    :return: its first true result.
    """
    interval = SHORTEST
    while not (found := look()):
        time.sleep(interval)
        interval = min(interval * GROWTH, LONGEST)
    return found
