"""What a cloud was asked and is not asked again for some time."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
import threading
import time
from typing import Any, TypeVar

# Seconds.
LIFETIME = 300
Answer = TypeVar('Answer')


class Memory:
    """Answers by what was asked.

    :param lifetime: seconds for which an answer is good enough.
    """

    def __init__(self, lifetime: float = LIFETIME) -> None:
        self.lifetime = lifetime
        # When one was asked for, and the answer.
        self._answers: dict[Hashable, tuple[float, Future[Any]]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, ask: Callable[[], Answer],
            patience: float) -> Answer:
        """
        :param key: what it is that one wants to know.
        :param ask: asks the cloud; whoever wants to know the same meanwhile
            waits for that.
        :param patience: seconds, for so long.
        :return: what it returns.
        :raises Exception: what it raises, which is not remembered.
        :raises TimeoutError: there is no answer.
        """
        with self._lock:
            begun, future = self._answers.get(key, (0, None))
            if is_new := (future is None
                          or time.monotonic() > begun + self.lifetime):
                future = Future()
                self._answers[key] = time.monotonic(), future
        if is_new:
            try:
                future.set_result(ask())
            except BaseException as error:
                with self._lock:
                    if self._answers.get(key, (0, None))[1] is future:
                        del self._answers[key]
                future.set_exception(error)
        return future.result(patience)

    def clear(self) -> None:
        """The cloud has changed."""
        with self._lock:
            self._answers.clear()
