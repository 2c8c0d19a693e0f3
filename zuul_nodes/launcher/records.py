"""The records of requests and nodes, as they are seen to change.

They are Zuul's caches: watches keep a copy of every record.  Ours tell
which record has changed instead of that something has, and read no more
of ZooKeeper than what they were told of.
"""

import collections
import threading

from kazoo.protocol.states import Callback, EventType
from zuul.model import (
    NodesetRequest,
    ProviderNode,
    ProviderNodeAssignment,
    ProviderNodeLifecycle,
    ProviderNodeSnapshot,
)
from zuul.zk import launcher
from zuul.zk.launcher import LockableZKObjectCache
from zuul.zk.vendor.states import WatchedEvent
from zuul.zk.zkobject import ZKContext

from zuul_nodes.launcher.caches import Interruptible
from zuul_nodes.launcher.contents import CREATED, RECORDS_LOCK
from zuul_nodes.launcher.store import Known
from zuul_nodes.launcher.transactions import Conflict

# Parts of a node's record: name of the znode -> attribute of the node.
NODE_PARTS = {
    ProviderNodeAssignment.ASSIGNMENT_PATH: 'assignment',
    ProviderNodeLifecycle.LIFECYCLE_PATH: 'lifecycle',
}
REQUEST_PARTS = {'revision': '_revision'}
# Seconds.
SYNC_TIMEOUT = 10.0


class KnownPart(tuple):
    """Data and stat of a part, as something that can be asked for them."""

    __slots__ = ()

    def get(self):
        return tuple(self)


class Cache(Interruptible, LockableZKObjectCache):
    """
    :param changed: called with the id of a record that has changed, and
        the record, or None if there is none any more.
    :param dict parts: name of a znode below a record -> the attribute of
        the record that stands for it.
    :param OwnWrites own_writes: what is known without being read.
    :param bool locks: whether locks are watched, too.
    """

    def __init__(self, zk_client, record_class, items_path, parts, changed,
                 own_writes, locks=True):
        self.changed = changed
        self.own_writes = own_writes
        own_writes.caches.append(self.lookAgain)
        self.parts = parts
        self.known_parts = {}
        self._base = record_class.ROOT
        self._events_lock = threading.Lock()
        # The id of a record -> how many pieces of its news wait.
        self._waiting = collections.Counter()
        # The connection with which a thread has begun to watch.
        self._begun = threading.local()
        # Zuul's records read their parts whenever they are read
        # themselves; of these, the watch tells.
        self._known = ZKContext(Known(self.known_parts), None, None, self.log)
        super().__init__(
            zk_client, None,
            root=self._base if locks else f'{self._base}/{items_path}',
            items_path=items_path, locks_path=record_class.LOCKS_PATH,
            zkobject_class=record_class)

    def takeOwn(self, event):
        """
        :return: whether an event is news of our own, and nothing more is to
            be done about it.
        """
        with self._events_lock:
            if event.type == EventType.NONE or not (
                    self._isInOrder(event) and self.own_writes.isOwn(event)):
                return False
            self._noteOwn(event)
            return True

    def _cacheListener(self, event):
        # Each event is handled in as few threads as it can be: for most,
        # there is nothing to wait for.
        if event.path in (None, self.root):
            return
        with self._events_lock:
            if self.own_writes.isOwn(event) and self._isInOrder(event):
                if record := self._noteOwn(event):
                    # Who has written it may have looked already.
                    self.changed(record.uuid, record)
            elif self._playback_queue.unfinished_tasks or (
                    self._isToBeRead(event)):
                # What is asked for first must be looked at first.
                self._waiting[self._getRecordID(event)] += 1
                self._handleCacheEvent(event)
            else:
                key, _, shard_index = self.parsePath(event.path)
                super()._handlePlayback(event, None, key, shard_index)

    def _handlePlayback(self, event, future, key, shard_index):
        try:
            super()._handlePlayback(event, future, key, shard_index)
        finally:
            record_id = self._getRecordID(event)
            with self._events_lock:
                # It may have been told before the walk.
                if self._waiting[record_id] > 1:
                    self._waiting[record_id] -= 1
                else:
                    del self._waiting[record_id]

    def _isInOrder(self, event):
        """:return: whether nothing older is looked at later that would
            undo what an event tells."""
        return not self._waiting[self._getRecordID(event)]

    def _getRecordID(self, event):
        names = self._parsePath(event.path)
        return names and names[1]

    def _noteOwn(self, event):
        """
        :return: the record of which a lock has been taken or given up.
        """
        exists = event.type != EventType.DELETED
        if exists:
            self._cached_paths.add(event.path)
        else:
            self._cached_paths.discard(event.path)
        kind, record_id, *names = self._parsePath(event.path)
        if kind != self.locks_path or len(names) != 1:
            return None
        if record := self._cached_objects.get((record_id,)):
            setContender(record, *names, exists)
        return record

    def _isToBeRead(self, event):
        return event.type == EventType.NONE or (
            event.type != EventType.DELETED and self.parsePath(event.path)[1])

    def _start(self):
        self._begun.connection = self.own_writes.connection
        super()._start()

    def _walkTree(self, root=None, seen_paths=None):
        if root is None:
            # The watch has just been set, and nothing is left of an
            # earlier walk.
            with self._events_lock:
                self._waiting.clear()
            self.own_writes.watch(self.root, self._begun.connection)
        super()._walkTree(root, seen_paths)

    def catchUp(self):
        """Wait for the news of all that has been written so far.

        :return: whether all of that is known.
        :raises KazooException: the connection is lost.
        """
        # Its answer comes after the news, which is for another thread.
        self.client.sync(self.root)
        told = threading.Event()
        self.client.handler.dispatch_callback(
            Callback('watch', told.set, ()))
        # A new connection has no watch at first; then all is read again.
        return (told.wait(SYNC_TIMEOUT) and self.waitForSync(SYNC_TIMEOUT)
                and self.own_writes.isWatched(self.root)
                and self._ready.is_set())

    def lookAgain(self, path):
        """Read what is there, whatever is known of it."""
        if path.startswith(f'{self.root}/'):
            self._cacheListener(WatchedEvent(
                EventType.NONE, self.client.state, path,
                WatchedEvent.NO_ZXID))

    def _parsePath(self, path):
        """:return: the names of a path below that of all such records."""
        parts = path.removeprefix(f'{self._base}/').split('/')
        return parts if len(parts) > 1 else None

    def parsePath(self, path):
        parts = self._parsePath(path)
        if parts is None or parts[0] != self.items_path:
            # Of a lock, it is enough to know that it is there.
            return None, False, None
        if len(parts) == 2:
            return (parts[1],), True, None
        return None, len(parts) == 3 and parts[2] in self.parts, None

    def updateFromRaw(self, obj, key, data, stat):
        with RECORDS_LOCK:
            # We may have written it since Zuul's cache looked.
            old = getattr(obj, '_zstat', None)
            if old is CREATED and stat.version == CREATED.version:
                # It is what we have written; a driver may be about to
                # write more.
                obj._set(_zstat=stat)
            elif old is None or stat.mzxid > old.mzxid:
                obj._updateFromRaw(self._known, data, stat, None)

    def preCacheHook(self, event, exists, data=None, stat=None):
        parts = self._parsePath(event.path)
        if parts is None or len(parts) != 3:
            return
        kind, record_id, name = parts
        record = self._cached_objects.get((record_id,))
        if kind == self.locks_path:
            if record is not None:
                setContender(record, name, exists)
        elif name in self.parts:
            with RECORDS_LOCK:
                self._setPart(record, event.path, self.parts[name],
                              data if exists else None, stat)
        elif name != ProviderNodeSnapshot.SNAPSHOT_PATH:
            return
        self.changed(record_id, record)

    def objectFromRaw(self, key, data, zstat):
        record = self.zkobject_class._fromRaw(
            self._known, data, zstat, None)
        if record.uuid != key[0]:
            raise ValueError(f'{key[0]} is not the record that it says it is')
        return record

    def postCacheHook(self, event, data, stat, key, obj):
        self.changed(key[0], self._cached_objects.get(key))

    def insert(self, record):
        """A record is about to be created.

        :return: the record that there is, if the watch was quicker.
        """
        # Zuul's notes its path at once.  If all is read again before it is
        # written, it would be taken for one that is gone.
        return self._cached_objects.setdefault((record.uuid,), record)

    def noteCreated(self, created):
        """
        :param created: a record or a part.  If it is gone when all is read
            again, so it is here, whatever the watch has told.
        """
        self._cached_paths.add(created.getPath())

    def expectPart(self, part, attributes):
        """A part is about to be created; until the watch tells of it, it
        counts as if it did.

        :param dict attributes: what it is to say.
        :raises Conflict: somebody else has created it.
        """
        path = part.getPath()
        with RECORDS_LOCK:
            if path in self.known_parts:
                raise Conflict(f'{path} exists')
            part._set(**attributes)
            data = part.serialize(None)
            self.known_parts[path] = KnownPart((data, CREATED))
            part._updateFromRaw(None, data, CREATED, None)

    def discardPart(self, part):
        """It could not be created."""
        with RECORDS_LOCK:
            known = self.known_parts.get(part.getPath())
            if known and known.get()[1] is CREATED:
                del self.known_parts[part.getPath()]
                part._clear()
                part._set(_zstat=None)

    def discard(self, record):
        """Forget a record that was inserted and could not be written."""
        if self._cached_objects.get((record.uuid,)) is record and (
                record.getZKVersion() is None):
            self._cached_objects.pop((record.uuid,), None)
            # Somebody else may just have written it, and the watch be
            # telling the record that is not here any more.
            self.lookAgain(record.getPath())

    def _setPart(self, record, path, attribute, data, stat):
        if data is None:
            self.known_parts.pop(path, None)
        else:
            self.known_parts[path] = KnownPart((data, stat))
        if record is None:
            return
        part = getattr(record, attribute)
        if data is not None:
            part._updateFromRaw(self._known, data, stat, None)
        else:
            part._set(_zstat=None)
            if hasattr(part, '_clear'):
                part._clear()


class Records(launcher.LauncherApi):
    """
    :param ZooKeeperClient zk_client:
    :param changed: called with a kind, ``request`` or ``node``, the id of
        a record and the record or None.
    :param OwnWrites own_writes: of which it is not called.
    """

    def __init__(self, zk_client, registry, component, changed, own_writes,
                 connection_filter=None):
        self.zk_client = zk_client
        self.component_registry = registry
        self.component_info = component
        self.connection_filter = connection_filter
        self.stop_event = threading.Event()
        self.requests_cache = Cache(
            zk_client, NodesetRequest, NodesetRequest.REQUESTS_PATH,
            REQUEST_PARTS,
            lambda *args: changed('request', *args), own_writes,
            # Nobody but launchers locks them, and hardly ever two.
            locks=False)
        self.nodes_cache = Cache(
            zk_client, ProviderNode, ProviderNode.NODES_PATH, NODE_PARTS,
            lambda *args: changed('node', *args), own_writes)
        takeAtOnce(zk_client.client.handler)


def setContender(record, name, exists):
    """Somebody has asked for the lock of a record, or does so no more."""
    with RECORDS_LOCK:
        if exists:
            record._lock_contenders[name] = None
        else:
            record._lock_contenders.pop(name, None)
        record._set(is_locked=bool(record._lock_contenders))


def takeAtOnce(handler):
    """Have news of our own taken where it is read: for each that is not, a
    thread has to be woken.

    :param handler: of kazoo's client.
    """
    dispatch = handler.dispatch_callback

    def takeOrDispatch(callback):
        cache = getattr(callback.func, '__self__', None)
        # It must not overtake other news.
        if not (isinstance(cache, Cache)
                and handler.callback_queue.unfinished_tasks == 0
                and cache.takeOwn(*callback.args)):
            dispatch(callback)

    handler.dispatch_callback = takeOrDispatch
