"""Keeps a value for some time, so that many readers cost one read."""

from collections.abc import Callable
import threading
import time
from typing import Generic, TypeVar

Value = TypeVar('Value')


class Cache(Generic[Value]):
    """A value that is made when it is asked for, at most once in a while.

    Threads that ask while another one makes it get the former value, and wait
    only for the first.

    :param make: returns the value, which is never None.
    :param lifetime: seconds.
    """

    def __init__(self, make: Callable[[], Value], lifetime: float,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._make = make
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._value: Value | None = None
        self._due = 0.0

    def get(self) -> Value:
        """
        :return: the value.
        :raises Exception: it could not be made; the next call tries again.
        """
        value = self._value
        if value is not None and self._clock() < self._due:
            return value
        if not self._lock.acquire(blocking=value is None):
            assert value is not None
            return value
        try:
            if self._value is None or self._clock() >= self._due:
                self._value = self._make()
                self._due = self._clock() + self._lifetime
            return self._value
        finally:
            self._lock.release()
