"""A lock that tells for how long it has been held."""

from collections.abc import Callable
import math
import threading
import time


class TimedLock:
    """A lock for ``with`` statements.

    :param clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._since = math.inf

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = self.clock()

    def __exit__(self, *error: object) -> None:
        self._since = math.inf
        self._lock.release()

    def getSeconds(self) -> float:
        """:return: seconds for which a thread has held the lock; 0 if none
            does."""
        return max(self.clock() - self._since, 0)
