"""Zuul's caches, when they are to end or lose their session.

A cache that has a new connection reads all of its records again.  If it
is stopped meanwhile, or loses its session once more, Zuul's waits for
ever for what it has read: it is never ready again, and the thread that
waits can not be ended.
"""

import collections
import contextlib
import logging
import math
import queue
import threading
import time
import typing

from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    SessionExpiredError,
)
from kazoo.protocol.states import Callback, EventType
from zuul.zk.cache import CacheSyncSentinel, ZuulTreeCache
from zuul.zk.image_registry import ImageBuildRegistry, ImageUploadRegistry
from zuul.zk.vendor.states import WatchedEvent

from zuul_nodes.launcher.zookeeper.dispatch import isOrdered

# Whoever waits looks whether there is still something to wait for after
# this time (seconds).
PATIENCE = 0.2
# So many answers are awaited at a time.
MOST_ANSWERS = 200
# Seconds until a cache has what ZooKeeper had.
SYNC_TIMEOUT = 10


class Untold:
    """What a client of ZooKeeper has read, and its thread has not told yet;
    answers that came later may be known already.
    """

    def __init__(self, client):
        self._handler = client.handler

    def put(self, sentinel):
        self._handler.dispatch_callback(Callback('sync', sentinel.set, ()))


class Interruptible(ZuulTreeCache):
    """To be put before one of Zuul's caches."""

    @property
    def entries(self):
        """:return: a dict, key -> what is known; other threads change it.
        """
        return self._cached_objects

    def waitForSync(self, timeout=None):
        """
        :param float timeout: in seconds; None for no limit.
        :return: whether all that was to be read is read.
        :raises SessionExpiredError: it has to be read again, and there is
            no limit.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        for each in self._getQueues():
            sentinel = CacheSyncSentinel()
            each.put(sentinel)
            while not sentinel.wait(PATIENCE):
                if self._stopped or time.monotonic() > end:
                    return False
                if self._stop_workers:
                    break
            if self._stop_workers:
                # By now, nothing is looked at.
                if timeout is None:
                    raise SessionExpiredError
                return False
        return True

    def _getQueues(self):
        """:return: yields those that all news goes through."""
        yield Untold(self.client)
        # With a new connection, there are other ones.
        yield self._event_queue
        yield self._playback_queue


class Entry:
    """What a cache knows of a record: that it is there.

    :param ZnodeStat stat: which version of it is known.
    """

    def __init__(self, stat):
        self.setStat(stat)

    def setStat(self, stat):
        # Zuul's caches look at it.
        self._zstat = stat


class Notice(typing.NamedTuple):
    """News of a cache.

    :ivar int walk: how often the cache had begun to read everything.
    :ivar bool is_own: whether there is nothing to be read.
    """
    cache: ZuulTreeCache
    event: WatchedEvent
    walk: int
    is_own: bool


class Reader:
    """Looks at the news of several caches, in the order in which it came.

    Zuul's caches have two threads each: one asks for what is to be read,
    the other waits for the answers and looks at them.  To wake a thread
    takes longer than most news, so here one thread does all of it: it asks
    for all that there is news of, and then looks at it.  And no cache tells
    of anything before another one has told of what was earlier.
    """

    log = logging.getLogger('zuul.nodes.zookeeper')

    def __init__(self):
        self._queue = queue.SimpleQueue()
        self._asked = collections.deque()
        threading.Thread(
            target=self._run, name='LauncherNews', daemon=True).start()

    def put(self, item):
        """
        :param item: a Notice, or a CacheSyncSentinel, which is set when its
            turn comes; or None, which is the end.
        """
        self._queue.put(item)

    def _run(self):
        while True:
            if not self._asked or (
                    len(self._asked) < MOST_ANSWERS and self._queue.qsize()):
                item = self._queue.get()
                if item is None:
                    return
                with self._handlingErrors(item):
                    self._asked.append((item, self._startRead(item)))
            else:
                item, answer = self._asked.popleft()
                with self._handlingErrors(item):
                    self._process(item, answer)

    def _startRead(self, item):
        """:return: the answer, which need not be there yet, or None."""
        return item.cache.startRead(item) if isinstance(item, Notice) else None

    def _process(self, item, answer):
        if isinstance(item, Notice):
            item.cache.process(item, answer)
        else:
            item.set()

    @contextlib.contextmanager
    def _handlingErrors(self, item):
        """What goes wrong with one does not concern others."""
        try:
            yield
        except (ConnectionClosedError, ConnectionLoss, SessionExpiredError):
            self.log.debug('%s will be read again', item)
        except Exception:
            self.log.exception('Unable to look at %s:', item)


class InOneThread(Interruptible):
    """To be put before one of Zuul's caches, too.

    :param Reader reader: that looks at its news.
    """

    def __init__(self, reader, *args, **kwargs):
        self._reader = reader
        self._walk = 0
        # Path -> the last answer that has been asked for.  What is told
        # before there is one is in it: ZooKeeper sends both in the order of
        # what has happened, and kazoo never hands on what it has read of an
        # answer later than what it reads of news after that.
        self._answers = {}
        # While something is looked at, nothing is begun anew.
        self._process_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    def queueEvent(self, event, is_own=False):
        """Have something looked at."""
        self._reader.put(Notice(self, event, self._walk, is_own))

    def startRead(self, notice):
        """:return: the answer, which need not be there yet; None if there
            is nothing to ask."""
        event = notice.event
        if notice.is_own or notice.walk != self._walk or (
                event.path in (None, self.root)):
            return None
        if event.type != EventType.NONE and (
                event.type == EventType.DELETED
                or not self.parsePath(event.path)[1]):
            return None
        answer = self._answers.get(event.path)
        if answer is None or answer.ready() or (
                event.type == EventType.NONE):
            answer = self._answers[event.path] = self.client.get_async(
                event.path)
        return answer

    def process(self, notice, answer):
        """:raises Exception: it can't be read."""
        event = notice.event
        if answer is not None:
            if self._answers.get(event.path) is answer:
                del self._answers[event.path]
            # Not with the lock, which who begins anew waits for.
            while not answer.wait(PATIENCE):
                if self._isOver(notice):
                    return
        with self._process_lock:
            if self._isOver(notice) or event.path in (None, self.root):
                return
            if notice.is_own:
                self.processOwn(event)
            else:
                key, _, shard_index = self.parsePath(event.path)
                self._handlePlayback(event, answer, key, shard_index)

    def _isOver(self, notice):
        """:return: whether all is read again, or nothing more."""
        return (notice.walk != self._walk or self._stopped
                or self._stop_workers)

    def processOwn(self, event):
        """To be implemented if there is something of our own."""
        raise NotImplementedError

    def _cacheListener(self, event):
        self.queueEvent(event)

    def _walkTree(self, root=None, seen_paths=None):
        if root is None:
            # The watch has just been set; nothing is of use that was told
            # before.
            with self._process_lock:
                self._walk += 1
        super()._walkTree(root, seen_paths)

    def _getQueues(self):
        if isOrdered(self.client):
            return self._reader,
        return Untold(self.client), self._reader

    def _eventWorker(self):
        """There is nothing left to do for Zuul's threads."""

    _playbackWorker = _eventWorker


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
