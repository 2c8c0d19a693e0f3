"""When clouds are asked again whether something is there, or gone."""

import threading
import time

# What waits for its cloud is asked for again after this part of the time
# that it has taken already, within these limits (seconds).
PATIENCE = 0.1
SHORTEST_WAIT = 0.05
LONGEST_WAIT = 2.0
# What was quickest counts as long as nothing is quicker, and somewhat less
# whenever something was slower.
FORGETTING = 1.05
# All together are asked for so often in a second at most; others want to use
# the processor, too.
MOST_QUESTIONS = 500


class Wait:
    """
    :ivar kind: what takes about as long.
    :ivar bool is_whole: whether this launcher was there from the start.
    :ivar float began: when.
    :ivar float asked: after how many seconds it had not ended yet.
    """

    def __init__(self, kind, is_whole):
        self.kind = kind
        self.is_whole = is_whole
        self.began = time.monotonic()
        self.asked = 0

    @property
    def elapsed(self):
        """Whatever becomes of the clock, in seconds."""
        return time.monotonic() - self.began


class Patience:
    """What waits for a cloud, and how long it usually takes.

    Many that wait for the same are asked for seldom, except for the one
    that has waited longest: how long that takes is known soon, and when to
    ask for the others with it.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._waits = {}
        # What of each kind waits, in the order in which it began.
        self._kinds = {}
        # How many seconds the quickest of each kind took.
        self._usual = {}

    def begin(self, name, kind, is_whole):
        """Something is about to be asked for; does nothing if it has been
        before.

        :param str name: its own.
        :param tuple kind: what it shares with what takes about as long.
        :param bool is_whole: whether it has not begun before.
        """
        with self._lock:
            if (wait := self._waits.get(name)) and wait.kind == kind:
                return
            self._remove(name)
            self._waits[name] = Wait(kind, is_whole)
            self._kinds.setdefault(kind, {})[name] = None

    def getElapsed(self, name):
        """:return: how many seconds this launcher has been at it."""
        wait = self._waits.get(name)
        return wait.elapsed if wait else 0

    def end(self, name):
        """What was waited for is there, or gone."""
        with self._lock:
            wait = self._remove(name)
            if wait is None or not wait.is_whole:
                return
            usual = self._usual.get(wait.kind, wait.elapsed)
            # Whoever asked late has not learned that it was slower.
            if wait.asked >= usual:
                usual *= FORGETTING
            self._usual[wait.kind] = min(usual, wait.elapsed)

    def forget(self, name):
        """Nobody waits for it any more."""
        with self._lock:
            self._remove(name)

    def _remove(self, name):
        wait = self._waits.pop(name, None)
        if wait is not None:
            others = self._kinds[wait.kind]
            del others[name]
            if not others:
                del self._kinds[wait.kind]
        return wait

    def getPause(self, name):
        """:return: after how many seconds to ask again for what is not
            there yet."""
        with self._lock:
            wait = self._waits.get(name)
            if wait is None:
                return SHORTEST_WAIT
            wait.asked = elapsed = wait.elapsed
            usual = self._usual.get(wait.kind, 0)
            if elapsed < usual:
                return max(min(usual - elapsed, LONGEST_WAIT), SHORTEST_WAIT)
            is_eldest = name == next(iter(self._kinds[wait.kind]))
            number = len(self._kinds if is_eldest else self._waits)
            return max(
                min(max(elapsed * PATIENCE, SHORTEST_WAIT), LONGEST_WAIT),
                number / MOST_QUESTIONS)
