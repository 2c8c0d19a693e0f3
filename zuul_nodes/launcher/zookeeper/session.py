"""Locks and writes records in a session with ZooKeeper."""

import contextlib
import itertools
import logging
import uuid

from kazoo.exceptions import (
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
)
from kazoo.protocol.states import KazooState
from kazoo.retry import InterruptedError as RetryInterruptedError
from kazoo.retry import KazooRetry
from zuul.model import ProviderNode
from zuul.zk.zkobject import ZKContext

from zuul_nodes.launcher.zookeeper.ownwrites import OwnWrites
from zuul_nodes.launcher.zookeeper.replacements import DISPATCH, use
from zuul_nodes.launcher.zookeeper.sessionlife import SessionLife
from zuul_nodes.launcher.zookeeper.transaction import Conflict, Transaction


class Session:
    """Locks and writes records in a session with ZooKeeper.

    :param ZooKeeperClient zk_client:
    :param str identifier: written into locks, for operators.
    :param Event stop_event: ends retries.
    :param written: called with each record that has been written.
    :ivar OwnWrites own_writes: recognizes events that need no read.
    :ivar int epoch: number of lost sessions.  The locks of a session are lost
        with it.
    :ivar SessionLife life: knows whether the session certainly exists.
    """

    log = logging.getLogger('zuul.nodes.zookeeper')

    def __init__(self, zk_client, identifier, stop_event,
                 written=lambda record: None):
        self.zk_client = zk_client
        self.written = written
        self.own_writes = OwnWrites()
        self.client = zk_client.client
        # Before anything is watched, so that no event overtakes another.
        use(DISPATCH, self.client)
        self.identifier = identifier
        self.stop_event = stop_event
        self.epoch = 0
        self._own_name = uuid.uuid4().hex
        self._contenders = itertools.count()
        self.client.add_listener(self._listen)
        # Transactions do not create parents.
        for path in (ProviderNode.NODES_PATH, ProviderNode.LOCKS_PATH):
            self.client.ensure_path(f'{ProviderNode.ROOT}/{path}')
        self.life = SessionLife(self.client, zk_client.timeout)

    def _listen(self, state):
        if state == KazooState.LOST:
            self.epoch += 1
        if state != KazooState.CONNECTED:
            self.own_writes.clear()

    def isCertain(self):
        """:return: whether the session certainly exists.  If not, other
            launchers may have its work, although it is not known to be lost.
        """
        return self.life.isCertain()

    def context(self, lock=None, log=None):
        """:return: a ZKContext for Zuul's records."""
        return ZKContext(self.zk_client, lock, self.stop_event,
                         log or self.log,
                         default_lock_identifier=self.identifier)

    def acquire(self, record):
        """Lock a record, without waiting.

        The lock is held while the record is processed.

        :return: whether the record is locked now and unchanged.
        """
        if record.hasLock():
            return True
        transaction = self.transaction()
        transaction.lock(record)
        transaction.check(record)
        if isinstance(record, ProviderNode):
            transaction.checkPart(record.assignment)
        with contextlib.suppress(Conflict):
            transaction.commit()
        return record.hasLock()

    def release(self, record):
        """Unlock a record after it was processed."""
        lock = record._lock
        record._set(_lock=None)
        if lock is not None and lock.is_still_valid():
            lock.release()

    def awaitUnlocked(self, record, notify):
        """Watch the lock of a record.

        :param notify: called once when the lock is released, or another
            contender appears.
        :return: whether the record is locked.
        """
        with contextlib.suppress(NoNodeError):
            return bool(self.client.get_children(
                record.getLockPath(), watch=lambda event: notify()))
        return False

    def delete(self, path, epoch):
        """Delete a node that belongs to a session, with retries until it is
        deleted, the session is lost, or the launcher stops.

        If it stayed, other launchers would wait for it.

        :param int epoch: of the session.
        """
        retry = KazooRetry(
            max_tries=-1, delay=0.5, backoff=1, ignore_expire=False,
            interrupt=lambda: self.epoch != epoch or self.stop_event.is_set())
        with contextlib.suppress(
                NoNodeError, RetryInterruptedError, SessionExpiredError):
            retry(self.client.delete, path)

    def remove(self, node):
        """Remove a node's record with its lock, in one transaction if
        possible.

        :return: whether a contender still waits for the lock, so that the
            lock's directory stays.
        """
        if self._removeAtOnce(node) or (
                # The record may have unknown parts.
                self._removeAtOnce(node, self._list(node.getPath()))):
            return False
        # A contender waits for the lock.
        with contextlib.suppress(NoNodeError):
            self.client.delete(node.getPath(), recursive=True)
        self.release(node)
        return not self.removeLock(node.getPath(), node.getLockPath())

    def _removeAtOnce(self, node, below=()):
        """:return: whether the record and the lock are removed."""
        transaction = self.transaction()
        transaction.delete(node, below)
        try:
            transaction.commit()
        except Conflict:
            return False
        return True

    def _list(self, path):
        """:return: the paths of all nodes below a path, the lowest first."""
        paths = []
        with contextlib.suppress(NoNodeError):
            for name in self.client.get_children(path):
                below = f'{path}/{name}'
                paths += [*self._list(below), below]
        return paths

    def removeLock(self, path, directory):
        """Remove the lock of a deleted record.

        :param str path: of the record.  If there is a record again, the lock
            belongs to it.
        :param str directory: of the lock.
        :return: whether nothing is left to do.
        """
        transaction = self.client.transaction()
        # To create an existing record fails the transaction.
        transaction.create(path)
        transaction.delete(path)
        transaction.delete(directory)
        return not any(isinstance(result, NotEmptyError)
                       for result in transaction.commit())

    def makePrefix(self):
        """:return: the name of a contender, without its number."""
        return f'{self._own_name}{next(self._contenders):x}__lock__'

    def exists(self, path):
        return self.client.exists(path) is not None

    def transaction(self):
        return Transaction(self)


class Known:
    """Replaces a client where all answers are known.

    :param dict answers: path -> object with a method ``get()``, which returns
        data and stat or raises.
    """

    def __init__(self, answers):
        self.answers = answers

    def get(self, path):
        try:
            answer = self.answers[path]
        except KeyError:
            raise NoNodeError(path) from None
        return answer.get()
