"""What is to be looked at: keys, each once, now or later.

Whoever learns that something has changed adds its key.  A worker takes
the key, reads the state as it is by then, takes one step and goes.  A key
that is added twice is looked at once, so wake-ups may be doubled; and one
that is added while it is being looked at is looked at again, so none is
lost.
"""

import collections
from collections.abc import Callable, Hashable
import heapq
import itertools
import logging
import math
import random
import threading
import time
from typing import TypeAlias

# What is to be looked at: its kind, and which of that kind.
Key: TypeAlias = tuple[str, Hashable]

# The first pause of a key after an error, and the longest, in seconds.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0


class WorkQueue:
    """
    :param handle: called with a key, by one thread at a time for each
        key.  If it raises, the key is tried again.
    :param workers: how many keys are looked at at a time.
    """

    log = logging.getLogger('zuul.nodes.workers')

    def __init__(self, handle: Callable[[Key], object],
                 workers: int = 4) -> None:
        self.handle = handle
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._timer = threading.Condition(self._lock)
        self._ready: collections.deque[Key] = collections.deque()
        self._queued: set[Key] = set()
        self._active: set[Key] = set()
        self._again: set[Key] = set()
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = itertools.count()
        self._attempts: collections.Counter[Key] = collections.Counter()
        self._retried: set[Key] = set()
        # How many threads wait for a key, and whether one of them is on its
        # way to one.
        self._idle = 0
        self._is_woken = False
        self._running = True
        self._threads = [
            threading.Thread(target=self._run, name=f'Launcher-{number}',
                             daemon=True)
            for number in range(workers)]
        self._threads.append(threading.Thread(
            target=self._runTimer, name='LauncherTimer', daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """What has not begun is dropped: the next launcher sees it."""
        with self._lock:
            self._running = False
            self._work.notify_all()
            self._timer.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait for what is being looked at.

        :param timeout: in seconds; None for no limit.
        """
        end = timeout and time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident:
                thread.join(end and max(end - time.monotonic(), 0))

    def add(self, key: Key) -> None:
        """Look at a key soon; if that is going on, once more then.

        After an error, not before its pause is over: what it has done may
        be what has changed.
        """
        with self._lock:
            if key not in self._retried or key in self._active:
                self._add(key)

    def addAfter(self, key: Key, delay: float) -> None:
        """
        :param delay: in seconds.  Of two times, the earlier counts;
            and whenever the key is looked at, its time is forgotten.
        """
        self.addAt(key, time.monotonic() + max(delay, 0))

    def addAt(self, key: Key, due: float) -> None:
        """
        :param due: of the monotonic clock; as for :meth:`addAfter`.
        """
        with self._lock:
            if self._due.get(key, math.inf) <= due:
                return
            self._due[key] = due
            heapq.heappush(self._heap, (due, next(self._order), key))
            if self._heap[0][2] == key:
                self._timer.notify()

    def retry(self, key: Key, attempt: int | None = None) -> None:
        """Look at a key after a pause; each is longer than the last, until
        a look at it ends without another.

        :param attempt: how many there have been before, of what is not
            over with the look.
        """
        with self._lock:
            if attempt is None:
                attempt = self._attempts[key]
            self._attempts[key] = attempt + 1
            self._retried.add(key)
            if key in self._queued:
                # Whoever has added it knew less.
                self._queued.discard(key)
                self._ready.remove(key)
        self.addAfter(key, getPause(attempt))

    def length(self) -> int:
        """:return: how many keys wait for a worker."""
        return len(self._ready)

    def isIdle(self) -> bool:
        """:return: whether nothing is to be done now."""
        with self._lock:
            return not (self._ready or self._active)

    def step(self) -> bool:
        """Look at the next key now, in the caller's thread.

        :return: whether there was one.
        """
        with self._lock:
            self._moveDue()
            if not self._ready:
                return False
            key = self._begin()
        self._lookAt(key)
        return True

    def _add(self, key: Key) -> None:
        if key in self._active:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._wake()

    def _wake(self) -> None:
        """Have an idle thread take what is left.

        One at a time, which does the same when it has taken a key: most
        looks are over before another thread has come.
        """
        if self._ready and self._idle and not self._is_woken:
            self._is_woken = True
            self._work.notify()

    def _run(self) -> None:
        while (key := self._take()) is not None:
            self._lookAt(key)

    def _lookAt(self, key: Key) -> None:
        try:
            self.handle(key)
        except Exception:
            self.log.exception('Unable to go on with %s %s:', *key)
            self.retry(key)
        self._finish(key)

    def _take(self) -> Key | None:
        with self._lock:
            while self._running and not self._ready:
                self._idle += 1
                self._work.wait()
                self._idle -= 1
                self._is_woken = False
            if not self._running:
                return None
            key = self._begin()
            self._wake()
            return key

    def _begin(self) -> Key:
        key = self._ready.popleft()
        self._queued.discard(key)
        self._active.add(key)
        self._due.pop(key, None)
        self._retried.discard(key)
        return key

    def _finish(self, key: Key) -> None:
        with self._lock:
            self._active.discard(key)
            if key not in self._retried:
                self._attempts.pop(key, None)
            if key in self._again:
                self._again.discard(key)
                if key not in self._retried:
                    self._add(key)

    def _runTimer(self) -> None:
        with self._lock:
            while self._running:
                self._moveDue()
                self._timer.wait(min(
                    self._heap[0][0] - time.monotonic(),
                    threading.TIMEOUT_MAX) if self._heap else None)

    def _moveDue(self) -> None:
        """What was for later and is for now."""
        now = time.monotonic()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            # Otherwise it has been looked at, or has another time.
            if self._due.get(key) == due:
                del self._due[key]
                self._retried.discard(key)
                self._add(key)


def getPause(attempt: int, first: float = FIRST_PAUSE,
             longest: float = LONGEST_PAUSE) -> float:
    """
    :param attempt: how many there have been before the last.
    :return: seconds before the next one: exponential, with jitter, so
        that those who failed together do not come back together.
    """
    return min(longest, first * 2 ** min(attempt, 30)) * random.uniform(.5, 1)
