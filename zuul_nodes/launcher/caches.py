"""Zuul's caches, when they are to end or lose their session.

A cache that has a new connection reads all of its records again.  If it
is stopped meanwhile, or loses its session once more, Zuul's waits for
ever for what it has read: it is never ready again, and the thread that
waits can not be ended.
"""

from kazoo.exceptions import SessionExpiredError
from zuul.zk.cache import CacheSyncSentinel, ZuulTreeCache
from zuul.zk.image_registry import ImageBuildRegistry, ImageUploadRegistry

# Whoever waits looks whether there is still something to wait for after
# this time (seconds).
PATIENCE = 0.2
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
        if timeout is not None:
            return super().waitForSync(timeout)
        for queue in (self._event_queue, self._playback_queue):
            sentinel = CacheSyncSentinel()
            queue.put(sentinel)
            while not sentinel.wait(PATIENCE):
                if self._stopped:
                    return False
                if self._stop_workers:
                    raise SessionExpiredError
        return True


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
