"""Work that ends: in time, or when a person or a service asks for it.

Both come as signals, so both work whatever the work waits for.  This is
for the main thread.
"""

import contextlib
import signal
import time

# Seconds.  A signal's exception can get lost in a destructor.
AGAIN = 5
# Seconds between looks at something that changes: short at first.
SHORTEST, LONGEST, GROWTH = 0.1, 5, 1.5


class Interruption:
    """Lets the first signal that asks to end raise KeyboardInterrupt.

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
        """Signals do again what they did before."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)


class _Expired(BaseException):
    """Is not for ``except Exception``: libraries have some of these."""


@contextlib.contextmanager
def limit(seconds, makeError):
    """The work in the ``with`` block may take so long.  Not to be nested.

    :param float seconds: more than 0.
    :param makeError: gives the exception to raise if it takes longer.
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
        # It may have expired just before it was stopped.
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def poll(look):
    """Look until there is something; to be used with :func:`limit`.

    :param look: called without arguments.
    :return: what it gave, which is true.
    """
    interval = SHORTEST
    while not (found := look()):
        time.sleep(interval)
        interval = min(interval * GROWTH, LONGEST)
    return found
