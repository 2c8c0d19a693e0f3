"""Decides when to poll clouds for the creation or deletion of a resource."""

import math
import threading
import time

# The pause before the next poll: this fraction of the time that has passed
# already, and at most MAX_PAUSE seconds.
POLL_FRACTION = 0.1
MAX_PAUSE = 2.0
# The usual time is that of the quickest resource.  It grows by this factor
# whenever one was slower.
SLOWDOWN = 1.05
# The other polls are scheduled earlier when a resource took less than this
# fraction of the usual time.
QUICKER = 0.9
# Maximum polls per second for all resources together, except the oldest of
# each kind.  The limit leaves processor time for other work.
MAX_POLLS = 500


class Wait:
    """A resource that is being created or deleted.

    :ivar kind: resources of a kind usually take the same time.
    :ivar bool is_whole: whether the start of the current state is known; it is
        not if another launcher has seen it.
    :ivar float began: when polling began.
    :ivar state: current state of the resource.
    :ivar float since: when that state began.
    :ivar float asked: seconds in the state at the last poll.
    :ivar float due: when to poll next.
    """

    def __init__(self, kind, is_whole, now):
        self.kind = kind
        self.is_whole = is_whole
        self.began = self.since = now
        self.state = None
        self.asked = 0
        self.due = 0


class Polling:
    """Schedules the polls of all resources.

    Of many resources of a kind, only the oldest is polled often.  From it, the
    launcher learns the usual time, and schedules the polls of the others by
    it.

    :param remind: called with the name of a resource and a time, when the
        resource must be polled earlier than :meth:`getWait` has said.
    :param float shortest_wait: minimum seconds between two polls.
    :param clock: returns seconds; not the wall clock, which may jump.
    :ivar dict usual: kind and state -> shortest seconds that a resource was in
        the state.
    """

    def __init__(self, remind, shortest_wait=0.05, clock=time.monotonic):
        self.remind = remind
        self.shortest_wait = shortest_wait
        self.clock = clock
        self.usual = {}
        self._lock = threading.Lock()
        self._waits = {}
        # Kind -> names of its resources, in the order in which they began.
        self._kinds = {}

    def begin(self, name, kind, is_new):
        """Begin to poll a resource, unless it is polled already.

        :param str name: identifies the resource.
        :param tuple kind: resources of a kind usually take the same time.
        :param bool is_new: whether the resource's creation or deletion starts
            now.
        """
        with self._lock:
            if (wait := self._waits.get(name)) and wait.kind == kind:
                if wait.state is None:
                    # The attempts so far have failed.
                    wait.since = self.clock()
                    wait.is_whole = is_new
                return
            self._remove(name)
            self._waits[name] = Wait(kind, is_new, self.clock())
            self._kinds.setdefault(kind, {})[name] = None

    def beginAgain(self, name):
        """Poll a resource anew after a failed attempt."""
        with self._lock:
            if wait := self._waits.get(name):
                wait.state = None
                wait.asked = wait.due = 0

    def getElapsed(self, name):
        """:return: seconds for which this launcher has polled a resource."""
        wait = self._waits.get(name)
        return self.clock() - wait.began if wait else 0

    def getRest(self, name, kind):
        """:return: seconds until the next poll that is already scheduled; 0 if
            none is."""
        wait = self._waits.get(name)
        if wait is None or wait.kind != kind:
            return 0
        return max(wait.due - self.clock(), 0)

    def end(self, name):
        """End the polling of a resource that is complete, and learn from its
        time."""
        with self._lock:
            if wait := self._remove(name):
                self._learn(wait)

    def forget(self, name):
        """Stop polling a resource."""
        with self._lock:
            self._remove(name)

    def getWait(self, name, state):
        """Schedule the next poll.

        :param str state: current state of the resource.
        :return: seconds until the next poll.
        """
        with self._lock:
            wait = self._waits.get(name)
            if wait is None:
                return self.shortest_wait
            if state != wait.state:
                self._enter(wait, state)
            wait.asked = self.clock() - wait.since
            pause = self._getPause(name, wait)
            wait.due = wait.since + wait.asked + pause
            return pause

    def _getPause(self, name, wait):
        elapsed = wait.asked
        pause = min(max(elapsed * POLL_FRACTION, self.shortest_wait),
                    MAX_PAUSE)
        rest = self.usual.get((wait.kind, wait.state), 0) - elapsed
        seldom = len(self._waits) / MAX_POLLS
        if name == next(iter(self._kinds[wait.kind])):
            if rest > 0:
                pause = max(min(pause, rest), self.shortest_wait)
            return max(pause, len(self._kinds) / MAX_POLLS)
        if rest > 0:
            return max(min(rest, max(MAX_PAUSE, seldom)),
                       self.shortest_wait)
        return max(pause, seldom)

    def _enter(self, wait, state):
        if wait.state is not None:
            self._learn(wait)
            wait.since = self.clock()
            wait.asked = 0
            wait.is_whole = True
        wait.state = state

    def _learn(self, wait):
        # A state that was never polled twice tells nothing about waiting.
        if not (wait.is_whole and wait.asked):
            return
        key = wait.kind, wait.state
        elapsed = self.clock() - wait.since
        before = self.usual.get(key, math.inf)
        # A poll that came late does not show that the resource was slower.
        usual = before * SLOWDOWN if wait.asked >= before else before
        self.usual[key] = min(usual, elapsed)
        if elapsed < before * QUICKER:
            self._hasten(key)

    def _hasten(self, key):
        """Poll the other resources of a kind earlier, after one was quicker
        than usual.

        Resources that have taken longer already keep their schedule.
        """
        usual = self.usual[key]
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
