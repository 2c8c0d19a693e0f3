"""Writes Zuul's records in transactions, and takes their locks.

A launcher's writes are conditional: on the version of a record that it has
read, and on the locks that it holds.  Related changes are written in one
transaction, so that a crash cannot leave half of them.
"""

import contextlib
import functools

from kazoo.exceptions import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.serialization import (
    CheckVersion,
    Create,
    Delete,
    SetData,
)
from kazoo.security import OPEN_ACL_UNSAFE

from zuul_nodes import audit
from zuul_nodes.launcher.zookeeper.content import (
    RECORDS_LOCK,
    Content,
    makeStat,
)

# Operations on existing nodes, by the names of kazoo's methods.
OPERATIONS = {'delete': functools.partial(Delete, version=-1),
              'set_data': SetData, 'check': CheckVersion}
# Flags of a contender for a lock.
EPHEMERAL_SEQUENTIAL = 3
# Errors that say that nothing has been written.
REFUSALS = (BadVersionError, NodeExistsError, NoNodeError, NotEmptyError,
            RolledBackError, RuntimeInconsistency)


class Conflict(Exception):
    """Another component has changed a record or taken a lock."""


class Lock:
    """A lock that this launcher holds, with the interface of Zuul's locks.

    The protocol is Zuul's: the oldest contender in the lock's directory holds
    the lock.

    :param Session session: holds the lock.
    :param str path: of the contender.
    :param int epoch: of the session when the lock was taken.
    """

    __slots__ = ('epoch', 'path', 'released', 'session')

    def __init__(self, session, path, epoch):
        self.session = session
        self.path = path
        self.epoch = epoch
        self.released = False

    def is_still_valid(self):
        return not self.released and self.epoch == self.session.epoch

    def release(self):
        self.released = True
        self.session.delete(self.path, self.epoch)


class Transaction:
    """A set of writes that either all happen or all fail.

    Records get their new values when they are written, not before.  An event
    for a pipeline can be part of a transaction.

    :param Session session: the session of the writes.
    :ivar list created_parts: parts of nodes to create, each with its
        attributes.
    :ivar list created: records and parts to create.
    """

    def __init__(self, session):
        self.session = session
        self._updates = []
        self._versions = {}
        self._others = []
        self.created = []
        self.created_parts = []
        self._locked = []
        self._unlocked = []
        self._cleared = []
        self._deleted = []
        self._unread = []
        self._event = None
        self._afterwards = []
        self._audited = []

    def update(self, record, **attributes):
        """Write a record, if it has not changed since it was read."""
        self._updates.append((record, attributes))

    def expect(self, record, version):
        """Write a record only if it has this version.

        The holder of the record's lock does not need this.

        :param int version: of the record when it was processed.
        """
        self._versions[record] = version

    def create(self, record, lock=False):
        """Create a record.

        :param bool lock: whether to create it locked by this session.
        """
        self._others.append(('create', (record.getLockPath(), b'')))
        self._others.append(('create', (record.getPath(), record)))
        self._unread.append(record.getLockPath())
        self.created.append(record)
        if lock:
            self._lockNew(record)

    def createPart(self, part, **attributes):
        """Create a part of a node's record, for example its assignment."""
        self._others.append(('create', (part.getPath(), part)))
        self.created.append(part)
        self.created_parts.append((part, attributes))

    def deletePart(self, part):
        """Delete a part of a node's record, if it exists.

        :return: whether it exists.
        """
        if part.getZKVersion() is None:
            return False
        self._others.append(('delete', (part.getPath(),)))
        self._cleared.append((part, part._zstat))
        return True

    def delete(self, node, below=()):
        """Delete a node's record with its parts and its lock.

        :param below: paths of all nodes below the record, the lowest first;
            parts that the watch reports may be missing.
        """
        known = [part.getPath() for part in (node.assignment, node.lifecycle)
                 if self.deletePart(part)]
        self._unread += known
        self._others += [('delete', (path,)) for path in below
                         if path not in known]
        if node.hasLock():
            self.unlock(node)
        # The lock's directory cannot be deleted with a contender in it.
        paths = [node.getPath(), node.getLockPath()]
        self._others += [('delete', (path,)) for path in paths]
        self._unread += paths
        self._deleted.append(node)

    def write(self, path, data, version=None):
        """Write data that is not a record of Zuul's.

        :param int version: the version to replace; None to create the node.
        """
        self._others.append(
            ('create', (path, data)) if version is None
            else ('set_data', (path, data, version)))

    def deletePath(self, path):
        """Delete data that is not a record of Zuul's, which must exist."""
        self._others.append(('delete', (path,)))

    def check(self, record):
        """Require that the record has not changed since it was read."""
        self._others.append(
            ('check', (record.getPath(), record.getZKVersion())))

    def checkPart(self, part):
        """Require that the part has not changed since it was read, or still
        does not exist."""
        if part.getZKVersion() is not None:
            self.check(part)
        else:
            self.checkNoPart(part)

    def checkNoPart(self, part):
        """Require that the part does not exist, whatever the cache says."""
        # To create an existing part fails the transaction.
        path = part.getPath()
        self._others.append(('create', (path, b'')))
        self._others.append(('delete', (path,)))
        self._unread += [path, path]

    def require(self, path):
        """Require that a node exists."""
        self._others.append(('check', (path, -1)))

    def checkUnlocked(self, record):
        """Require that the lock of the record has no holder and no contender.
        """
        directory = record.getLockPath()
        # To delete a directory with contenders fails the transaction.
        self._others.append(('delete', (directory,)))
        self._others.append(('create', (directory, b'')))
        self._unread += [directory, directory]

    def lock(self, record):
        """Lock a record; requires that its lock has no holder and no
        contender."""
        self.checkUnlocked(record)
        self._lockNew(record)

    def _lockNew(self, record):
        # In a new directory, the first contender gets the first number.
        path = f'{record.getLockPath()}/{self.session.makePrefix()}'
        self._others.append(('create', (
            path, self.session.identifier.encode(), EPHEMERAL_SEQUENTIAL)))
        self._locked.append((record, f'{path}{0:010}'))
        self._unread.append(f'{path}{0:010}')

    def unlock(self, record):
        """Unlock a record.  If this session does not hold the lock, require
        that no other holds it."""
        if record.hasLock():
            self._others.append(('delete', (record._lock.path,)))
            self._unlocked.append((record, record._lock))
            self._unread.append(record._lock.path)
        else:
            self.checkUnlocked(record)

    def sendResult(self, queue, event):
        """Add an event to a pipeline's queue of results."""
        self._event = queue, functools.partial(queue.put, event)

    def trigger(self, queue, event):
        """Add an event to a tenant's queue of triggers."""
        # Zuul's method for trigger events cannot join a transaction, but this
        # method, which it shares with result events, can.
        self._event = queue, functools.partial(queue._put, {
            'driver_name': event.trigger_name,
            'event_data': event.toDict()})

    def callAfterwards(self, function, *arguments):
        """Call a function after the transaction, if it succeeds."""
        self._afterwards.append((function, arguments))

    def audit(self, event, *things, **fields):
        """Add an entry for the audit log, as :func:`zuul_nodes.audit.tell`."""
        if audit.isEnabled():
            self._audited.append((event, things, fields))

    def commit(self):
        """Send the transaction.

        :raises Conflict: nothing was written, because a condition was not met.
        :raises KazooException: it is unknown whether the transaction was
            written.
        """
        epoch = self.session.epoch
        paths = []
        try:
            context = self.session.context()
            written = [Content(record, context, attributes)
                       for record, attributes in self._updates]
            created = {each: Content(each, context) for each in self.created}
            operations = [content.getUpdate(self._versions.get(
                content.record)) for content in written]
            operations += [_fillIn(operation, created)
                           for operation in self._others]
            # What it creates does not have to be read.
            paths = self._unread + [
                content.record.getPath()
                for content in (*written, *created.values())]
            self.session.own_writes.expect(paths)
            sent = self.session.life.clock()
            stats = self._sendAudited(operations)
            self.session.life.noteAnswer(sent)
        except BaseException as error:
            self.session.own_writes.discard(paths)
            # It may have been written.  A lock that this session does not
            # know to hold must not stay.
            for _, path in self._locked:
                self.session.delete(path, epoch)
            if not isinstance(error, Conflict):
                for record, _ in self._unlocked:
                    self.session.release(record)
            raise
        with RECORDS_LOCK:
            for content, stat in zip(written, stats, strict=False):
                content.setWritten(stat)
            for content in created.values():
                content.setWritten(makeStat())
            for part, stat in self._cleared:
                # Another component may have written a new part since.
                if part._zstat is stat:
                    part._clear()
                    part._set(_zstat=None)
        for record, path in self._locked:
            record._set(_lock=Lock(self.session, path, epoch))
        for record, lock in self._unlocked:
            # Another thread may have locked it again.
            if record._lock is lock:
                record._set(_lock=None)
            lock.released = True
        for record in dict.fromkeys(
                getattr(each, 'node', each) for each in (
                    *(record for record, _ in self._updates),
                    *self.created, *(part for part, _ in self._cleared),
                    *self._deleted)):
            self.session.written(record)
        for function, arguments in self._afterwards:
            function(*arguments)

    def _sendAudited(self, operations):
        self._writeAudit()
        try:
            return self._send(operations)
        except BaseException as error:
            self._writeAudit(
                result=audit.Result.WITHDRAWN if isinstance(error, Conflict)
                else audit.Result.UNKNOWN)
            raise

    def _writeAudit(self, **fields):
        for event, things, own in self._audited:
            audit.tell(event, *things, launcher=self.session.identifier,
                       **own | fields)

    def _send(self, operations):
        """:return: the result of each operation."""
        if not self._event:
            transaction = self.session.client.transaction()
            Updater(operations).run(transaction)
            results = transaction.commit()
            refuse(results)
            return results
        queue, put = self._event
        # Zuul's queues write an event in one transaction with the operations
        # of an updater.
        updater = Updater(operations)
        with contextlib.suppress(*REFUSALS):
            put(updater=updater)
        if not updater.results:
            # Zuul's queues report no error when they are full.
            raise Conflict('the queue did not accept the event')
        if isinstance(updater.results[0], NoNodeError):
            queue.initialize()
        refuse(updater.results)
        return updater.results[1:]


class Updater:
    """Adds operations to the transaction of Zuul's event queues.

    :param list operations: pairs of a name, of ``OPERATIONS`` or ``create``,
        and arguments: path, data and other arguments of the operation.
    :ivar list results: the results, that of the event first.
    """

    def __init__(self, operations):
        self.operations = operations
        self.results = []

    def preRun(self):
        return True

    def run(self, transaction):
        client = transaction.client
        acl = client.default_acl or OPEN_ACL_UNSAFE
        # Without kazoo's methods, which split each path to check it.
        for name, (path, *arguments) in self.operations:
            whole_path = client.chroot + path
            if name == 'create':
                data, *flags = arguments
                operation = Create(whole_path, data, acl, *flags or [0])
            else:
                operation = OPERATIONS[name](whole_path, *arguments)
            transaction.operations.append(operation)
        commit = transaction.commit

        def commitAndKeep():
            # Zuul's queues check only the first two results.
            self.results = commit()
            return self.results

        transaction.commit = commitAndKeep

    def postRun(self, result):
        refuse(self.results)


def _fillIn(operation, contents):
    """Replace the record or part of an operation by its data.

    :param contents: record or part -> Content.
    :return: the operation.
    """
    name, (path, *arguments) = operation
    if name == 'create' and arguments[0] in contents:
        arguments[0] = contents[arguments[0]].raw
    return name, (path, *arguments)


def refuse(results):
    """Raise an error if a transaction has failed.

    :param list results: of the transaction.
    :raises Conflict: nothing was written; with the reason.
    """
    errors = [result for result in results if isinstance(result, Exception)]
    for error in errors:
        if not isinstance(error, RolledBackError | RuntimeInconsistency):
            raise Conflict(repr(error))
    if errors:
        raise Conflict('another component has written first')
