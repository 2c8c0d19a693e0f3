"""Transactions on Zuul's records, and the locks that they take.

A launcher's writes are conditional: on the version of a record that it
has read, on locks that it holds.  What belongs together is written in one
transaction, so no crash leaves half of it.
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
from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.zookeeper.content import (
    CREATED,
    RECORDS_LOCK,
    Content,
)

# What is done to what is there, by the names of kazoo's methods.
OPERATIONS = {'delete': functools.partial(Delete, version=-1),
              'set_data': SetData, 'check': CheckVersion}
# How a contender for a lock is created.
EPHEMERAL_SEQUENTIAL = 3
# What says that nothing has been written.
REFUSALS = (BadVersionError, NodeExistsError, NoNodeError, NotEmptyError,
            RolledBackError, RuntimeInconsistency)


class Conflict(Exception):
    """The records are not as they were thought to be."""


class Lock:
    """A lock that is held, in the form of Zuul's locks.

    It is Zuul's protocol: whoever has the oldest contender in the lock's
    directory has the lock.

    :param Session session: the one that holds it.
    :param str path: of the contender.
    :param int epoch: the session, when it was asked for.
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
    """Writes that happen all or not at all.

    Records have their new values when they are written, not before.  An
    event for a pipeline can be part of it.

    :param Session session:
    :ivar list created_parts: of nodes, that are to be created, and what
        they are to say.
    :ivar list created: records and parts that are to be created.
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
        """Write a record, if nobody has written it since it was read."""
        self._updates.append((record, attributes))

    def expect(self, record, version):
        """A record is to be written only if it is still what it was.

        Whoever has its lock need not say that.

        :param int version: the record's, when it was looked at.
        """
        self._versions[record] = version

    def create(self, record, lock=False):
        """Write a new record.

        :param bool lock: whether it is ours from the beginning.
        """
        self._others.append(('create', (record.getLockPath(), b'')))
        self._others.append(('create', (record.getPath(), record)))
        self._unread.append(record.getLockPath())
        self.created.append(record)
        if lock:
            self._lockNew(record)

    def createPart(self, part, **attributes):
        """Write a part of a node's record, as its assignment."""
        self._others.append(('create', (part.getPath(), part)))
        self.created.append(part)
        self.created_parts.append((part, attributes))

    def deletePart(self, part):
        """Remove a part of a node's record, if it has it.

        :return: whether it has.
        """
        if part.getZKVersion() is None:
            return False
        self._others.append(('delete', (part.getPath(),)))
        self._cleared.append((part, part._zstat))
        return True

    def delete(self, node, below=()):
        """Remove a node's record, with its parts and its lock.

        :param below: paths of what there is below the record, the lowest
            first; not needed of parts that the watch tells of.
        """
        known = [part.getPath() for part in (node.assignment, node.lifecycle)
                 if self.deletePart(part)]
        self._unread += known
        self._others += [('delete', (path,)) for path in below
                         if path not in known]
        if node.hasLock():
            self.unlock(node)
        # The lock's directory can't be deleted if anybody else is in it.
        paths = [node.getPath(), node.getLockPath()]
        self._others += [('delete', (path,)) for path in paths]
        self._unread += paths
        self._deleted.append(node)

    def write(self, path, data, version=None):
        """Write what is no record of Zuul's.

        :param int version: that is replaced; if None, it must be new.
        """
        self._others.append(
            ('create', (path, data)) if version is None
            else ('set_data', (path, data, version)))

    def check(self, record):
        """Nobody must have written this record since it was read."""
        self._others.append(
            ('check', (record.getPath(), record.getZKVersion())))

    def checkPart(self, part):
        """Nobody must have written this part since it was read, or written
        one that was not there."""
        if part.getZKVersion() is not None:
            self.check(part)
        else:
            self.checkNoPart(part)

    def checkNoPart(self, part):
        """There must be no such part, whatever is known of it."""
        # What is there can't be created.
        path = part.getPath()
        self._others.append(('create', (path, b'')))
        self._others.append(('delete', (path,)))
        self._unread += [path, path]

    def checkUnlocked(self, record):
        """Nobody must have the lock of a record, or wait for it."""
        directory = record.getLockPath()
        # One that is not empty can't be deleted.
        self._others.append(('delete', (directory,)))
        self._others.append(('create', (directory, b'')))
        self._unread += [directory, directory]

    def lock(self, record):
        """Take the lock of a record, which nobody must have."""
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
        """Give up the lock of a record whose turn it was.  If it had none,
        nobody else must have one."""
        if record.hasLock():
            self._others.append(('delete', (record._lock.path,)))
            self._unlocked.append((record, record._lock))
            self._unread.append(record._lock.path)
        else:
            self.checkUnlocked(record)

    def sendResult(self, queue, event):
        """Put an event into a pipeline's queue of results."""
        self._event = queue, functools.partial(queue.put, event)

    def trigger(self, queue, event):
        """Put an event into a tenant's queue of triggers."""
        # Zuul's writes along with results only, by the same means.
        self._event = queue, functools.partial(queue._put, {
            'driver_name': event.trigger_name,
            'event_data': event.toDict()})

    def callAfterwards(self, function, *arguments):
        """Call something when all has been written, and only then."""
        self._afterwards.append((function, arguments))

    def audit(self, event, *things, **fields):
        """Tell the audit log of what is written, as
        :func:`zuul_nodes.audit.tell`."""
        if audit.isEnabled():
            self._audited.append((event, things, fields))

    def commit(self):
        """
        :raises Conflict: nothing was written; somebody else did before.
        :raises KazooException: whether it was written is not known.
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
            known = self._getKnown(created)
            paths = self._unread + [
                content.record.getPath() for content in (*written, *known)]
            self.session.own_writes.expect(paths)
            stats = self._sendAudited(operations)
        except BaseException as error:
            self.session.own_writes.discard(paths)
            # It may have been written.  What we do not know to hold must
            # not be held.
            for _, path in self._locked:
                self.session.delete(path, epoch)
            if not isinstance(error, Conflict):
                for record, _ in self._unlocked:
                    self.session.release(record)
            raise
        with RECORDS_LOCK:
            for content, stat in zip(written, stats, strict=False):
                content.setWritten(stat)
            for content in known:
                content.setWritten(CREATED)
            for part, stat in self._cleared:
                # Somebody may have written a new one since.
                if part._zstat is stat:
                    part._clear()
                    part._set(_zstat=None)
        for record, path in self._locked:
            record._set(_lock=Lock(self.session, path, epoch))
        for record, lock in self._unlocked:
            # From now on, another thread may lock it.
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

    def _getKnown(self, created):
        """
        :param dict created: record or part -> Content.
        :return: a list of the contents that need not be read.
        """
        # A new node may have to stand back behind older ones of other
        # launchers.  Which are older, and that we know all of them, says
        # only what the watch tells, in the order of all writes.
        shared = self.session.isShared()
        return [content for each, content in created.items()
                if not (shared and isinstance(each, ProviderNode))]

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
        """:return: what came of each operation."""
        if not self._event:
            transaction = self.session.client.transaction()
            Updater(operations).run(transaction)
            results = transaction.commit()
            refuse(results)
            return results
        queue, put = self._event
        # Zuul's queues write an event along with what an updater writes,
        # in one transaction.
        updater = Updater(operations)
        with contextlib.suppress(*REFUSALS):
            put(updater=updater)
        if not updater.results:
            # Zuul's queues say nothing when they are full.
            raise Conflict('the event was not taken')
        if isinstance(updater.results[0], NoNodeError):
            queue.initialize()
        refuse(updater.results)
        return updater.results[1:]


class Updater:
    """What Zuul's event queues ask of somebody who writes along.

    :param list operations: pairs of a name, of ``OPERATIONS`` or
        ``create``, and arguments: path, data and what else that takes.
    :ivar list results: what came of each, the event's own first.
    """

    def __init__(self, operations):
        self.operations = operations
        self.results = []

    def preRun(self):
        return True

    def run(self, transaction):
        client = transaction.client
        acl = client.default_acl or OPEN_ACL_UNSAFE
        # Not by kazoo's methods, which take each path apart to see that it
        # is one.
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
            # Zuul's queues look at the first two only.
            self.results = commit()
            return self.results

        transaction.commit = commitAndKeep

    def postRun(self, result):
        refuse(self.results)


def _fillIn(operation, contents):
    """
    :param contents: record or part -> Content.
    :return: an operation with what is written in place of what has it.
    """
    name, (path, *arguments) = operation
    if name == 'create' and arguments[0] in contents:
        arguments[0] = contents[arguments[0]].raw
    return name, (path, *arguments)


def refuse(results):
    """
    :param list results: of a transaction.
    :raises Conflict: it has not happened, with the reason.
    """
    errors = [result for result in results if isinstance(result, Exception)]
    for error in errors:
        if not isinstance(error, RolledBackError | RuntimeInconsistency):
            raise Conflict(repr(error))
    if errors:
        raise Conflict('somebody else has written first')
