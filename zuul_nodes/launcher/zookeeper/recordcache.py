"""Caches the records of requests and nodes.

The caches are based on Zuul's, whose watches keep a copy of every record.
These caches also report which record has changed, and read only the data that
the watch has reported.
"""

import collections
import threading

from kazoo.protocol.states import EventType
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

from zuul_nodes.launcher.zookeeper.cache import InOneThread, Reader
from zuul_nodes.launcher.zookeeper.content import (
    RECORDS_LOCK,
    isMade,
    makeStat,
)
from zuul_nodes.launcher.zookeeper.dispatch import isOrdered, takenAtOnce
from zuul_nodes.launcher.zookeeper.session import Known
from zuul_nodes.launcher.zookeeper.transaction import Conflict

# Parts of a node's record: name of the znode -> attribute of the node.
NODE_PARTS = {
    ProviderNodeAssignment.ASSIGNMENT_PATH: 'assignment',
    ProviderNodeLifecycle.LIFECYCLE_PATH: 'lifecycle',
}
REQUEST_PARTS = {'revision': '_revision'}
# Seconds.
SYNC_TIMEOUT = 10.0


class KnownPart(tuple):
    """Data and stat of a part, with the interface of a read."""

    __slots__ = ()

    def get(self):
        return tuple(self)


class Cache(InOneThread, LockableZKObjectCache):
    """Caches all records of one class.

    :param Reader reader: processes the events.
    :param changed: called with the id of a changed record, and the record;
        None if it is deleted.
    :param dict parts: name of a znode below a record -> attribute of the
        record with its content.
    :param OwnWrites own_writes: recognizes events that need no read.
    :param bool locks: whether locks are watched, too.
    """

    def __init__(self, reader, zk_client, record_class, items_path, parts,
                 changed, own_writes, locks=True):
        self.changed = changed
        self.own_writes = own_writes
        own_writes.caches.append(self.reread)
        self.parts = parts
        self.known_parts = {}
        self._base = record_class.ROOT
        # Uuid of a record -> number of its queued events.
        self._waiting = collections.Counter()
        self._waiting_lock = threading.Lock()
        # Value of ``own_writes.connection`` when a thread started to watch.
        self._begun = threading.local()
        # Zuul's records read their parts whenever they are read; the parts are
        # known from the watch.
        self._known = ZKContext(Known(self.known_parts), None, None, self.log)
        super().__init__(
            reader, zk_client, None,
            root=self._base if locks else f'{self._base}/{items_path}',
            items_path=items_path, locks_path=record_class.LOCKS_PATH,
            zkobject_class=record_class)

    @takenAtOnce
    def _cacheListener(self, event):
        try:
            self._take(event)
        except Exception:
            self.log.exception('Reading all records again after %s:', event)
            self.client.handler.short_spawn(self._start)

    def _take(self, event):
        # Called in kazoo's thread, which delivers all events: nothing here may
        # block.
        is_own = self.own_writes.isOwn(event)
        names = self._parsePath(event.path)
        if event.type == EventType.NONE or names is None:
            self.queueEvent(event)
        elif self._isKnownContent(event.type, names, is_own):
            self._applyEvent(event)
            if not isOrdered(self.client) and (
                    event.type == EventType.DELETED) and (
                    (names[0] == self.locks_path) == (len(names) > 2)):
                # A record or a lock is deleted.  Its writer may have
                # processed the record before.
                self._reportChange(event)
        else:
            # A queued event may still say that an earlier record of another
            # launcher at this path is deleted.
            self.queueEvent(event, is_own and (
                event.type != EventType.CREATED
                or names[0] == self.locks_path))

    def _isKnownContent(self, event_type, names, is_own):
        """:return: whether an event needs no read, and no older event is
            queued that would undo it."""
        kind, record_id, *names = names
        if kind == self.locks_path and not names:
            # The directory of a lock has no content.
            return True
        return is_own and (event_type == EventType.CHANGED
                           or not self._waiting[record_id])

    def queueEvent(self, event, is_own=False):
        with self._waiting_lock:
            self._waiting[self._getRecordID(event)] += 1
        super().queueEvent(event, is_own)

    def startRead(self, notice):
        try:
            return super().startRead(notice)
        except BaseException:
            # The notice will not be processed.
            self._endNotice(notice.event)
            raise

    def process(self, notice, answer):
        try:
            super().process(notice, answer)
        finally:
            self._endNotice(notice.event)

    def _endNotice(self, event):
        record_id = self._getRecordID(event)
        with self._waiting_lock:
            self._waiting[record_id] -= 1
            if not self._waiting[record_id]:
                del self._waiting[record_id]

    def _getRecordID(self, event):
        names = self._parsePath(event.path)
        return names and names[1]

    def processOwn(self, event):
        self._applyEvent(event)
        # The writer may have processed the record before.
        self._reportChange(event)

    def _reportChange(self, event):
        self._report(self._getRecordID(event))

    def _report(self, record_id):
        record = self._cached_objects.get((record_id,))
        # A record that is about to be created concerns only its writer.
        if record is None or record.getZKVersion() is not None:
            self.changed(record_id, record)

    def _applyEvent(self, event):
        """Apply an event without a read."""
        exists = event.type != EventType.DELETED
        if exists:
            self._cached_paths.add(event.path)
        else:
            self._cached_paths.discard(event.path)
        kind, record_id, *names = self._parsePath(event.path)
        if kind != self.locks_path:
            if not (exists or names):
                self._cached_objects.pop((record_id,), None)
                self._forgetParts(event.path)
        elif len(names) == 1 and (
                record := self._cached_objects.get((record_id,))):
            setContender(record, *names, exists)

    def _start(self):
        self._begun.connection = self.own_writes.connection
        super()._start()

    def _walkTree(self, root=None, seen_paths=None):
        if root is None:
            self.own_writes.watch(self.root, self._begun.connection)
        super()._walkTree(root, seen_paths)

    def peek(self, record_id):
        """:return: a record as it is cached now, or None; does not wait while
            all records are read again."""
        return self._cached_objects.get((record_id,))

    def peekAll(self):
        """:return: a list of all records, as :meth:`peek`."""
        return list(self._cached_objects.values())

    def catchUp(self):
        """Wait until all earlier writes are in the cache.

        :return: whether they are.
        :raises KazooException: the connection is lost.
        """
        # The answer comes after the events of earlier writes.
        self.client.sync(self.root)
        # A new connection has no watch until all records are read again.
        return (self.waitForSync(SYNC_TIMEOUT)
                and self.own_writes.isWatched(self.root)
                and self._ready.is_set())

    def reread(self, path):
        """Read a path again, whatever the cache has."""
        if path.startswith(f'{self.root}/'):
            # So that the walk after a lost connection reads it, too.
            self._cached_paths.add(path)
            self._cacheListener(WatchedEvent(
                EventType.NONE, self.client.state, path,
                WatchedEvent.NO_ZXID))

    def _parsePath(self, path):
        """:return: the names in a path below the root of all such records, at
            least two; None if it has fewer."""
        parts = (path or '').removeprefix(f'{self._base}/').split('/')
        return parts if len(parts) > 1 else None

    def parsePath(self, path):
        parts = self._parsePath(path)
        if parts is None or parts[0] != self.items_path:
            # Of a lock, only the existence matters.
            return None, False, None
        if len(parts) == 2:
            return (parts[1],), True, None
        return None, len(parts) == 3 and parts[2] in self.parts, None

    def updateFromRaw(self, obj, key, data, stat):
        with RECORDS_LOCK:
            # The launcher may have written the record after Zuul's cache read
            # it.
            old = getattr(obj, '_zstat', None)
            if isMade(old) and not stat.version:
                # The launcher's own version; a driver may be changing it.
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
        self._report(record_id)

    def objectFromRaw(self, key, data, zstat):
        record = self.zkobject_class._fromRaw(
            self._known, data, zstat, None)
        if record.uuid != key[0]:
            raise ValueError(
                f'the record at {key[0]} has the uuid {record.uuid}')
        return record

    def postCacheHook(self, event, data, stat, key, obj):
        if key not in self._cached_objects:
            self._forgetParts(event.path)
        self._report(key[0])

    def insert(self, record):
        """Add a record that is about to be created.

        :return: the cached record, if the watch has added it before.
        """
        # Zuul's method would note the path as well.  If all records are read
        # again before the record is written, it would count as deleted.
        return self._cached_objects.setdefault((record.uuid,), record)

    def noteCreated(self, created):
        """Note a created record or part, so that it is removed from the cache
        if it does not exist when all records are read again.

        :param created: a record or a part.
        """
        self._cached_paths.add(created.getPath())

    def expectPart(self, part, attributes):
        """Add a part that is about to be created.

        :param dict attributes: the content of the part.
        :return: KnownPart, what the cache has until the watch reports it.
        :raises Conflict: another launcher has created the part.
        """
        path = part.getPath()
        with RECORDS_LOCK:
            if path in self.known_parts:
                raise Conflict(f'{path} exists')
            part._set(**attributes)
            data, stat = part.serialize(None), makeStat()
            known = self.known_parts[path] = KnownPart((data, stat))
            part._updateFromRaw(None, data, stat, None)
        return known

    def discardPart(self, part, expected):
        """Remove a part that could not be created.

        :param KnownPart expected: as of :meth:`expectPart`.
        """
        with RECORDS_LOCK:
            if self.known_parts.get(part.getPath()) is expected:
                del self.known_parts[part.getPath()]
                part._clear()
                part._set(_zstat=None)

    def discard(self, record):
        """Remove an inserted record that could not be written."""
        if self._cached_objects.get((record.uuid,)) is record and (
                record.getZKVersion() is None):
            self._cached_objects.pop((record.uuid,), None)
            # Another launcher may just have written the record, and the watch
            # may have updated the object that is removed here.
            self.reread(record.getPath())

    def _forgetParts(self, path):
        for name in self.parts:
            self.known_parts.pop(f'{path}/{name}', None)

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
    """The caches of requests and nodes, in place of Zuul's.

    :param ZooKeeperClient zk_client:
    :param changed: called with a kind, ``request`` or ``node``, the uuid of a
        record, and the record or None.
    :param OwnWrites own_writes: recognizes events that need no read.
    """

    def __init__(self, zk_client, registry, component, changed, own_writes,
                 connection_filter=None):
        self.zk_client = zk_client
        self.component_registry = registry
        self.component_info = component
        self.connection_filter = connection_filter
        self.stop_event = threading.Event()
        self._reader = Reader()
        self.requests_cache = Cache(
            self._reader, zk_client, NodesetRequest,
            NodesetRequest.REQUESTS_PATH, REQUEST_PARTS,
            lambda *args: changed('request', *args), own_writes,
            # Only launchers lock requests, and rarely compete.
            locks=False)
        self.nodes_cache = Cache(
            self._reader, zk_client, ProviderNode, ProviderNode.NODES_PATH,
            NODE_PARTS,
            lambda *args: changed('node', *args), own_writes)

    def stop(self):
        super().stop()
        self._reader.put(None)


def setContender(record, name, exists):
    """Add or remove a contender for the lock of a record."""
    with RECORDS_LOCK:
        if exists:
            record._lock_contenders[name] = None
        else:
            record._lock_contenders.pop(name, None)
        record._set(is_locked=bool(record._lock_contenders))
