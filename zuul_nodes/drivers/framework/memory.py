"""A cache of answers of a cloud, with a limited lifetime."""

from collections.abc import Callable, Hashable
from concurrent.futures import Future
import threading
import time
from typing import Any, TypeVar

# Seconds.
LIFETIME = 300
Answer = TypeVar('Answer')


class Memory:
    """Answers by question.

    :param lifetime: seconds for which an answer is valid.
    """

    def __init__(self, lifetime: float = LIFETIME) -> None:
        self.lifetime = lifetime
        # Question -> (time of the question, answer).
        self._answers: dict[Hashable, tuple[float, Future[Any]]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, ask: Callable[[], Answer],
            timeout: float) -> Answer:
        """
        :param key: identifies the question.
        :param ask: asks the cloud; other callers with the same question wait
            for the same answer.
        :param timeout: seconds for which they wait.
        :return: the result of ``ask``.
        :raises Exception: the error of ``ask``, which is not remembered.
        :raises TimeoutError: there is no answer in time.
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
        return future.result(timeout)

    def clear(self) -> None:
        """Forget all answers, because the cloud has changed."""
        with self._lock:
            self._answers.clear()
