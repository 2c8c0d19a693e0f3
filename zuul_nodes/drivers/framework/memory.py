"""What a cloud was asked and is not asked again for some time."""

from concurrent.futures import Future
import threading
import time

# Seconds.
LIFETIME = 300


class Memory:
    """Answers by what was asked.

    :param float lifetime: seconds for which an answer is good enough.
    """

    def __init__(self, lifetime=LIFETIME):
        self.lifetime = lifetime
        self._answers = {}
        self._lock = threading.Lock()

    def get(self, key, ask, patience):
        """
        :param key: what it is that one wants to know.
        :param ask: asks the cloud; whoever wants to know the same meanwhile
            waits for that.
        :param float patience: seconds, for so long.
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

    def clear(self):
        """The cloud has changed."""
        with self._lock:
            self._answers.clear()
