"""Makes Zuul's caches interruptible, and processes the events of several
caches in one thread.

A cache with a new connection reads all its records again.  If one of Zuul's
caches is stopped meanwhile, or loses its session again, it waits forever for
data that it has already read: it is never ready again, and the waiting thread
cannot be ended.
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

# Seconds between two checks whether a wait is still useful.
CHECK_INTERVAL = 0.2
# Maximum number of reads at the same time.
MOST_ANSWERS = 200
# Seconds until a cache has processed all earlier writes.
SYNC_TIMEOUT = 10


class Untold:
    """The queue of events that kazoo's client has received and its thread has
    not delivered yet.  Answers that arrived later may be known already."""

    def __init__(self, client):
        self._handler = client.handler

    def put(self, sentinel):
        self._handler.dispatch_callback(Callback('sync', sentinel.set, ()))


class Interruptible(ZuulTreeCache):
    """Mix-in that makes one of Zuul's caches interruptible."""

    @property
    def entries(self):
        """:return: a dict, key -> cached object; other threads change it."""
        return self._cached_objects

    def waitForSync(self, timeout=None):
        """Wait until all events so far are processed.

        :param float timeout: in seconds; None for no limit.
        :return: whether they are.
        :raises SessionExpiredError: the cache has to read all records again,
            and there is no time-out.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        for each in self._getQueues():
            sentinel = CacheSyncSentinel()
            each.put(sentinel)
            while not sentinel.wait(CHECK_INTERVAL):
                if self._stopped or time.monotonic() > end:
                    return False
                if self._stop_workers:
                    break
            if self._stop_workers:
                # The cache processes no events now.
                if timeout is None:
                    raise SessionExpiredError
                return False
        return True

    def _getQueues(self):
        """:return: yields the queues that every event passes, in order."""
        yield Untold(self.client)
        # Looked up here, because a new connection has new queues.
        yield self._event_queue
        yield self._playback_queue


class Entry:
    """A cached record of which only the existence is known.

    :param ZnodeStat stat: the known version of the record.
    """

    def __init__(self, stat):
        self.setStat(stat)

    def setStat(self, stat):
        # Zuul's caches read this attribute.
        self._zstat = stat


class Notice(typing.NamedTuple):
    """An event of a cache.

    :ivar int walk: number of times that the cache had started to read all
        records when it received the event.
    :ivar bool is_own: whether the launcher has written the change itself, so
        that nothing has to be read.
    """
    cache: ZuulTreeCache
    event: WatchedEvent
    walk: int
    is_own: bool


class Reader:
    """Processes the events of several caches, in the order of their arrival.

    Zuul's caches have two threads each: one starts the reads, the other waits
    for the answers and processes them.  Waking a thread takes longer than
    processing most events, so here one thread does everything: it starts the
    reads of all queued events, then processes the events.  In addition, the
    caches report changes in the order in which they happened, across caches.
    """

    log = logging.getLogger('zuul.nodes.zookeeper')

    def __init__(self):
        self._queue = queue.SimpleQueue()
        self._asked = collections.deque()
        threading.Thread(
            target=self._run, name='LauncherNews', daemon=True).start()

    def put(self, item):
        """:param item: a Notice; or a CacheSyncSentinel, which is set when its
            turn comes; or None, which ends the thread.
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
        """:return: a pending answer, or None."""
        return item.cache.startRead(item) if isinstance(item, Notice) else None

    def _process(self, item, answer):
        if isinstance(item, Notice):
            item.cache.process(item, answer)
        else:
            item.set()

    @contextlib.contextmanager
    def _handlingErrors(self, item):
        """Log an error of an item, so that the others are processed."""
        try:
            yield
        except (ConnectionClosedError, ConnectionLoss, SessionExpiredError):
            self.log.debug('%s will be read again', item)
        except Exception:
            self.log.exception('Unable to process %s:', item)


class InOneThread(Interruptible):
    """Mix-in with which one of Zuul's caches uses a Reader instead of threads
    of its own.

    :param Reader reader: processes the events.
    """

    def __init__(self, reader, *args, **kwargs):
        self._reader = reader
        self._walk = 0
        # Path -> the last pending read.  Changes reported before its answer
        # are included in it: ZooKeeper sends changes and answers in the order
        # in which they happen, and kazoo never delivers an answer later than
        # the events that follow it.
        self._answers = {}
        # While an event is processed, the cache does not start to read all
        # records again.
        self._process_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    def queueEvent(self, event, is_own=False):
        """Queue an event."""
        self._reader.put(Notice(self, event, self._walk, is_own))

    def startRead(self, notice):
        """Start to read the record of an event.

        :return: the pending answer; None if there is nothing to read.
        """
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
        """Apply an event to the cache.

        :raises Exception: the record cannot be read.
        """
        event = notice.event
        if answer is not None:
            if self._answers.get(event.path) is answer:
                del self._answers[event.path]
            # Without the lock, so that the cache can start to read all
            # records again meanwhile.
            while not answer.wait(CHECK_INTERVAL):
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
        """:return: whether the event is obsolete, because the cache reads all
            records again or is stopped."""
        return (notice.walk != self._walk or self._stopped
                or self._stop_workers)

    def processOwn(self, event):
        """Apply an event of the launcher's own write; for subclasses with own
        writes."""
        raise NotImplementedError

    def _cacheListener(self, event):
        self.queueEvent(event)

    def _walkTree(self, root=None, seen_paths=None):
        if root is None:
            # The watch has just been set, so earlier events are obsolete.
            with self._process_lock:
                self._walk += 1
        super()._walkTree(root, seen_paths)

    def _getQueues(self):
        if isOrdered(self.client):
            return self._reader,
        return Untold(self.client), self._reader

    def _eventWorker(self):
        """Replaces the loops of Zuul's threads, which have nothing to do."""

    _playbackWorker = _eventWorker


class Builds(Interruptible, ImageBuildRegistry):

    def peek(self, build_id):
        """:return: as :meth:`getItem`, without waiting for the cache."""
        return self.entries.get((build_id,))


class Uploads(Interruptible, ImageUploadRegistry):
    pass


def sync(*caches):
    """Wait until caches have processed all earlier writes.

    :raises TimeoutError: they have not in time.
    """
    for cache in caches:
        if not cache.waitForSync(SYNC_TIMEOUT):
            raise TimeoutError(
                f'the cache is not up to date after {SYNC_TIMEOUT} seconds')
