"""Zuul's caches, when they are to end or lose their session.

A cache that has a new connection reads all of its records again.  If it
is stopped meanwhile, or loses its session once more, Zuul's waits for
ever for what it has read: it is never ready again, and the thread that
waits can not be ended.
"""

import math
import time

from kazoo.exceptions import SessionExpiredError
from zuul.zk.cache import CacheSyncSentinel, ZuulTreeCache
from zuul.zk.image_registry import ImageBuildRegistry, ImageUploadRegistry
from zuul.zk.vendor.states import WatchedEvent

# Whoever waits looks whether there is still something to wait for after
# this time (seconds).
PATIENCE = 0.2
# So many answers are awaited at a time.
MOST_ANSWERS = 1000
# Seconds until a cache has what ZooKeeper had.
SYNC_TIMEOUT = 10


class Interruptible(ZuulTreeCache):
    """To be put before one of Zuul's caches."""

    def waitForSync(self, timeout=None):
        """
        :param float timeout: in seconds; None for no limit.
        :return: whether all that was to be read is read.
        :raises SessionExpiredError: it has to be read again.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        for queue in self._getQueues():
            sentinel = CacheSyncSentinel()
            queue.put(sentinel)
            while not sentinel.wait(PATIENCE):
                if self._stopped or time.monotonic() > end:
                    return False
                if self._stop_workers:
                    raise SessionExpiredError
        return True

    def _getQueues(self):
        """:return: those that all news goes through."""
        return self._event_queue, self._playback_queue


class InOneThread(Interruptible):
    """To be put before one of Zuul's caches, too.

    Zuul's have one thread that asks for what is to be read, and another
    one that waits for the answers and looks at them.  To wake a thread
    takes longer than most news, so here one does both: it asks for all
    that there is news of, and then looks at it.
    """

    def isIdle(self):
        """:return: whether all news has been looked at."""
        # It is put into the second queue before it leaves the first.
        return not (self._event_queue.unfinished_tasks
                    or self._playback_queue.unfinished_tasks)

    def _getQueues(self):
        return self._event_queue,

    def _eventWorker(self):
        while self._isToWork():
            self._take(self._event_queue, self._ask)
            if self._event_queue.empty() or (
                    self._playback_queue.qsize() >= MOST_ANSWERS):
                while self._isToWork() and not self._playback_queue.empty():
                    self._take(self._playback_queue, self._lookAt)

    def _playbackWorker(self):
        """There is nothing left to do for it."""

    def _isToWork(self):
        return not (self._stopped or self._stop_workers)

    def _take(self, queue, handle):
        item = queue.get()
        try:
            # Otherwise it says no more than that there may be an end.
            if item is not None:
                handle(item)
        except Exception:
            event = item if isinstance(item, WatchedEvent) else item[0]
            self.log.exception('Unable to look at %s:', event.path)
        finally:
            queue.task_done()

    def _ask(self, event):
        if isinstance(event, CacheSyncSentinel):
            # Its turn is after the answers.
            self._playback_queue.put(event)
        else:
            self._handleCacheEvent(event)

    def _lookAt(self, answer):
        if isinstance(answer, CacheSyncSentinel):
            answer.set()
        else:
            self._handlePlayback(*answer)


class Builds(Interruptible, ImageBuildRegistry):
    pass


class Uploads(Interruptible, ImageUploadRegistry):
    pass


def sync(*caches):
    """Returns when caches have what ZooKeeper had.

    :raises TimeoutError: they do not get it in time.
    """
    for cache in caches:
        if not cache.waitForSync(SYNC_TIMEOUT):
            raise TimeoutError('The records are not up to date')
