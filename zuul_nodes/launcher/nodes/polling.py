"""When clouds are asked again whether something is there, or gone."""

import math
import threading
import time

# What waits for its cloud is asked for again after this part of the time
# that it has waited already, and at most this time (seconds).
PATIENCE = 0.1
LONGEST_WAIT = 2.0
# The time of the quickest counts as long as nothing is quicker, and seems
# somewhat longer whenever something was slower.
FORGETTING = 1.05
# Others are asked earlier than was said if one took less than this part of
# the time that was known.
QUICKER = 0.9
# All together are asked for about so often in a second, but for the eldest of
# each kind; others want to use the processor, too.
MOST_QUESTIONS = 500


class Wait:
    """
    :ivar kind: what waits about as long.
    :ivar bool is_whole: whether the state has not been going on for longer,
        with another launcher.
    :ivar float began: when.
    :ivar state: what it is in.
    :ivar float since: when that began.
    :ivar float asked: for how many seconds it had been in it when it was
        asked for last.
    :ivar float due: when to ask again.
    """

    def __init__(self, kind, is_whole):
        self.kind = kind
        self.is_whole = is_whole
        # Whatever becomes of the clock.
        self.began = self.since = time.monotonic()
        self.state = None
        self.asked = 0
        self.due = 0


class Polling:
    """What waits for a cloud, and how long that usually takes.

    Many that wait for the same are asked for seldom, except for the one
    that has waited longest: how long that takes is known soon, and when to
    ask for the others with it.

    :param remind: called with the name of what is to be asked for earlier
        than was said, and when.
    :param float shortest_wait: seconds between two questions, at least.
    """

    def __init__(self, remind, shortest_wait=0.05):
        self.remind = remind
        self.shortest_wait = shortest_wait
        self._lock = threading.Lock()
        self._waits = {}
        # What of each kind waits, in the order in which it began.
        self._kinds = {}
        # How many seconds each kind is in a state at least.
        self._usual = {}

    def begin(self, name, kind, is_new):
        """Something is about to be asked for; does nothing if it has been
        before.

        :param str name: its own.
        :param tuple kind: what it shares with what takes about as long.
        :param bool is_new: whether nobody else has begun it before.
        """
        with self._lock:
            if (wait := self._waits.get(name)) and wait.kind == kind:
                if wait.state is None:
                    # So far it came to nothing.
                    wait.since = time.monotonic()
                    wait.is_whole = is_new
                return
            self._remove(name)
            self._waits[name] = Wait(kind, is_new)
            self._kinds.setdefault(kind, {})[name] = None

    def beginAgain(self, name):
        """It has failed, and is about to be asked for anew."""
        with self._lock:
            if wait := self._waits.get(name):
                wait.state = None
                wait.asked = wait.due = 0

    def getElapsed(self, name):
        """:return: how many seconds this launcher has been at it."""
        wait = self._waits.get(name)
        return time.monotonic() - wait.began if wait else 0

    def getRest(self, name, kind):
        """:return: after how many seconds to ask, as far as is known."""
        wait = self._waits.get(name)
        if wait is None or wait.kind != kind:
            return 0
        return max(wait.due - time.monotonic(), 0)

    def end(self, name):
        """What was waited for is there, or gone."""
        with self._lock:
            if wait := self._remove(name):
                self._learn(wait)

    def forget(self, name):
        """Nobody waits for it any more."""
        with self._lock:
            self._remove(name)

    def getWait(self, name, state):
        """
        :param str state: what it is found to be in.
        :return: after how many seconds to ask again.
        """
        with self._lock:
            wait = self._waits.get(name)
            if wait is None:
                return self.shortest_wait
            if state != wait.state:
                self._enter(wait, state)
            wait.asked = time.monotonic() - wait.since
            pause = self._getPause(name, wait)
            wait.due = wait.since + wait.asked + pause
            return pause

    def _getPause(self, name, wait):
        elapsed = wait.asked
        pause = min(max(elapsed * PATIENCE, self.shortest_wait), LONGEST_WAIT)
        rest = self._usual.get((wait.kind, wait.state), 0) - elapsed
        seldom = len(self._waits) / MOST_QUESTIONS
        if name == next(iter(self._kinds[wait.kind])):
            if rest > 0:
                pause = max(min(pause, rest), self.shortest_wait)
            return max(pause, len(self._kinds) / MOST_QUESTIONS)
        if rest > 0:
            return max(min(rest, max(LONGEST_WAIT, seldom)),
                       self.shortest_wait)
        return max(pause, seldom)

    def _enter(self, wait, state):
        if wait.state is not None:
            self._learn(wait)
            wait.since = time.monotonic()
            wait.asked = 0
            wait.is_whole = True
        wait.state = state

    def _learn(self, wait):
        # What did not wait tells nothing of what waits.
        if not (wait.is_whole and wait.asked):
            return
        key = wait.kind, wait.state
        elapsed = time.monotonic() - wait.since
        before = self._usual.get(key, math.inf)
        # Whoever asked late has not learned that it was slower.
        usual = before * FORGETTING if wait.asked >= before else before
        self._usual[key] = min(usual, elapsed)
        if elapsed < before * QUICKER:
            self._hasten(key)

    def _hasten(self, key):
        """Remind of the others that may be there before they are to be
        asked for.

        It tells nothing of those that have taken longer already.
        """
        usual = self._usual[key]
        for name in self._kinds.get(key[0], ()):
            wait = self._waits[name]
            due = wait.since + usual
            if ((wait.kind, wait.state) == key and wait.asked < usual
                    and due + self.shortest_wait < wait.due):
                wait.due = due
                self.remind(name, due)

    def _remove(self, name):
        wait = self._waits.pop(name, None)
        if wait is not None:
            others = self._kinds[wait.kind]
            del others[name]
            if not others:
                del self._kinds[wait.kind]
        return wait
