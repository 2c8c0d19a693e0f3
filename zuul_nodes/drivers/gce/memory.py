"""What Google was asked and is not asked again for some time."""

import threading
import time

from zuul_nodes.drivers import PermanentError

# Seconds for which an answer is good enough.
LIFETIME = 600
# Seconds after which Google is asked again when it could not answer.
RETRY = 30


class Memory:
    """Answers by what was asked.  An old one is better than none."""

    def __init__(self):
        self._lock = threading.Lock()
        # What was asked -> the answer, and until when it is good.
        self._answers = {}

    def get(self, key, ask):
        """
        :param key: what it is that one wants to know.
        :param ask: asks the cloud.
        :return: what it returns, now or some time ago.
        :raises Exception: what it raises, if there is no older answer, or
            if it is a :class:`PermanentError`.
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
