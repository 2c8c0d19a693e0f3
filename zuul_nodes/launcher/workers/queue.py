"""The work queue of the launcher: keys of objects to reconcile.

Every event adds the key of the object that it changes.  A worker takes the
key, reads the current state of the object, takes one step and returns.  The
queue holds a key once, so a repeated event is harmless.  A key that is added
while a worker processes it is processed again, so no event is lost.
"""

import collections
from collections.abc import Callable, Hashable
import heapq
import itertools
import logging
import math
import threading
import time
from typing import TypeAlias

from zuul_nodes.launcher.workers.backoff import Backoff

# Kind of the object, and its name or id.
Key: TypeAlias = tuple[str, Hashable]


class WorkQueue:
    """Calls a handler for each key, in several threads.

    :param handle: called with a key, by one thread at a time per key.  If it
        raises, the key is retried after a back-off.
    :param backoff: of the keys.
    :param workers: number of keys that are processed at the same time.
    :ivar due: delayed key -> when it is queued, of the monotonic clock.
    """

    log = logging.getLogger('zuul.nodes.workers')

    def __init__(self, handle: Callable[[Key], object], backoff: Backoff,
                 workers: int = 4) -> None:
        self.handle = handle
        self.backoff = backoff
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._timer = threading.Condition(self._lock)
        self._ready: collections.deque[Key] = collections.deque()
        # Key -> when it was queued, of the monotonic clock; key that is being
        # processed -> the same, and when that began.
        self._queued: dict[Key, float] = {}
        self._active: dict[Key, tuple[float, float]] = {}
        self._again: set[Key] = set()
        self.due: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = itertools.count()
        self._retried: set[Key] = set()
        # Number of threads that wait for a key, and whether one of them has
        # been notified and has not taken its key yet.
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
        """Stop the workers and drop the keys that are left.

        The next launcher reads all objects when it starts.
        """
        with self._lock:
            self._running = False
            self._work.notify_all()
            self._timer.notify_all()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the workers to finish their keys.

        :param timeout: in seconds; None for no limit.
        """
        end = timeout and time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident:
                thread.join(end and max(end - time.monotonic(), 0))

    def add(self, key: Key) -> None:
        """Process a key soon; process it again if a worker has it now.

        After an error, the key stays in its back-off, because the event may
        be a consequence of the failed attempt.
        """
        with self._lock:
            if key not in self._retried or key in self._active:
                self._add(key)

    def addAfter(self, key: Key, delay: float) -> None:
        """Process a key after a delay.

        :param delay: in seconds.  The earlier of two times counts.  Processing
            the key for any reason discards its time.
        """
        self.addAt(key, time.monotonic() + max(delay, 0))

    def addAt(self, key: Key, due: float) -> None:
        """Process a key at a time.

        :param due: of the monotonic clock; as for :meth:`addAfter`.
        """
        with self._lock:
            if self.due.get(key, math.inf) <= due:
                return
            self.due[key] = due
            heapq.heappush(self._heap, (due, next(self._order), key))
            if self._heap[0][2] == key:
                self._timer.notify()

    def retry(self, key: Key, delay: float | None = None) -> None:
        """Process a key after a back-off.

        :param delay: the back-off in seconds.  By default, it doubles until a
            worker processes the key without another retry.
        """
        with self._lock:
            if delay is None:
                delay = self.backoff.noteFailure(key)
            self._retried.add(key)
            if key in self._queued:
                # An event before the retry does not shorten the back-off.
                del self._queued[key]
                self._ready.remove(key)
        self.addAfter(key, delay)

    def length(self) -> int:
        """:return: number of keys waiting to be processed."""
        return len(self._ready)

    def getAge(self, kind: str | None = None) -> float:
        """
        :param kind: of the keys that count; None for all.
        :return: seconds since the oldest key was queued that is waiting or
            being processed; 0 if there is none.
        """
        with self._lock:
            times = [since for key, since in self._queued.items()
                     if kind in (None, key[0])]
            times += [since for key, (since, _) in self._active.items()
                      if kind in (None, key[0])]
        return max(time.monotonic() - min(times), 0) if times else 0

    def getLongest(self) -> float:
        """:return: seconds for which a worker has been processing a key, the
            longest of all; 0 if none does."""
        with self._lock:
            times = [began for _, began in self._active.values()]
        return time.monotonic() - min(times) if times else 0

    def isIdle(self) -> bool:
        """:return: whether no key is waiting or being processed."""
        with self._lock:
            return not (self._ready or self._active)

    def step(self) -> bool:
        """Process the next key now, in the caller's thread.

        :return: whether there was a key.
        """
        with self._lock:
            self._moveDue()
            if not self._ready:
                return False
            key = self._begin()
        self._process(key)
        return True

    def _add(self, key: Key) -> None:
        if key in self._active:
            self._again.add(key)
        elif key not in self._queued:
            self._queued[key] = time.monotonic()
            self._ready.append(key)
            self._wake()

    def _wake(self) -> None:
        """Wake an idle thread if keys are waiting.

        Each thread wakes the next one when it takes a key, because most keys
        are processed before a second thread has woken.
        """
        if self._ready and self._idle and not self._is_woken:
            self._is_woken = True
            self._work.notify()

    def _run(self) -> None:
        while (key := self._take()) is not None:
            self._process(key)

    def _process(self, key: Key) -> None:
        try:
            self.handle(key)
        except Exception:
            self.log.exception('Unable to process %s %s:', *key)
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
        self._active[key] = self._queued.pop(key), time.monotonic()
        self.due.pop(key, None)
        self._retried.discard(key)
        return key

    def _finish(self, key: Key) -> None:
        with self._lock:
            self._active.pop(key, None)
            if key not in self._retried:
                self.backoff.clear(key)
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
        """Queue the keys whose time has come."""
        now = time.monotonic()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            # Otherwise it was processed meanwhile, or has a new time.
            if self.due.get(key) == due:
                del self.due[key]
                self._retried.discard(key)
                self._add(key)
