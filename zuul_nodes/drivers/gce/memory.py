"""A cache of Google's answers, which returns old answers after errors."""

import threading
import time

from zuul_nodes.drivers import PermanentError

# Seconds for which an answer is valid.
LIFETIME = 600
# Seconds after which Google is asked again after an error.
RETRY = 30


class Memory:
    """Answers by question.  After an error, the old answer remains."""

    def __init__(self):
        self._lock = threading.Lock()
        # Question -> the answer, and the time until which it is valid.
        self._answers = {}

    def get(self, key, ask):
        """
        :param key: identifies the question.
        :param ask: asks the cloud.
        :return: the result of ``ask``, which may be from an earlier call.
        :raises Exception: the error of ``ask``, if there is no older answer,
            or if it is a :class:`PermanentError`.
        """
        with self._lock:
            known = self._answers.get(key)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        lifetime = LIFETIME
        try:
            answer = ask()
        except PermanentError:
            raise
        except Exception:
            if known is None:
                raise
            answer, lifetime = known[0], RETRY
        with self._lock:
            self._answers[key] = answer, time.monotonic() + lifetime
        return answer
