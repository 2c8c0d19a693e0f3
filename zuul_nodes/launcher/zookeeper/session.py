"""A session with ZooKeeper, in which records are locked and written."""

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
from zuul_nodes.launcher.zookeeper.transaction import Conflict, Transaction


class Session:
    """A session with ZooKeeper, in which records are locked and written.

    :param ZooKeeperClient zk_client:
    :param str identifier: whose locks these are, for people.
    :param Event stop_event: ends retries.
    :param written: called with each record that has been written.
    :param isShared: tells whether other launchers make nodes, too.
    :ivar OwnWrites own_writes: what the watches need not read.
    :ivar int epoch: how many sessions have been lost.  With a session,
        its locks are.
    """

    log = logging.getLogger('zuul.nodes.zookeeper')

    def __init__(self, zk_client, identifier, stop_event,
                 written=lambda record: None, isShared=lambda: False):
        self.zk_client = zk_client
        self.written = written
        self.isShared = isShared
        self.own_writes = OwnWrites()
        self.client = zk_client.client
        self.identifier = identifier
        self.stop_event = stop_event
        self.epoch = 0
        self._own_name = uuid.uuid4().hex
        self._contenders = itertools.count()
        self.client.add_listener(self._listen)
        # A transaction creates no parents.
        for path in (ProviderNode.NODES_PATH, ProviderNode.LOCKS_PATH):
            self.client.ensure_path(f'{ProviderNode.ROOT}/{path}')

    def _listen(self, state):
        if state == KazooState.LOST:
            self.epoch += 1
        if state != KazooState.CONNECTED:
            self.own_writes.clear()

    def context(self, lock=None, log=None):
        """:return: a ZKContext, as Zuul's records ask for."""
        return ZKContext(self.zk_client, lock, self.stop_event,
                         log or self.log,
                         default_lock_identifier=self.identifier)

    def acquire(self, record):
        """Lock a record whose turn it is, for as long as that takes;
        without waiting.

        :return: whether it is locked now, and is as we know it.
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
        """Unlock a record whose turn it was."""
        lock = record._lock
        record._set(_lock=None)
        if lock is not None and lock.is_still_valid():
            lock.release()

    def awaitUnlocked(self, record, tell):
        """
        :param tell: called, once, when whoever has a record's lock gives
            it up, or somebody else asks for it.
        :return: whether somebody has it.
        """
        with contextlib.suppress(NoNodeError):
            return bool(self.client.get_children(
                record.getLockPath(), watch=lambda event: tell()))
        return False

    def delete(self, path, epoch):
        """Delete what goes with a session, or else keeps others waiting;
        until it is gone, or the session is, or we stop.

        :param int epoch: the session's.
        """
        retry = KazooRetry(
            max_tries=-1, delay=0.5, backoff=1, ignore_expire=False,
            interrupt=lambda: self.epoch != epoch or self.stop_event.is_set())
        with contextlib.suppress(
                NoNodeError, RetryInterruptedError, SessionExpiredError):
            retry(self.client.delete, path)

    def remove(self, node):
        """Remove a node's record, with its lock; at once if possible.

        :return: whether somebody still waits for the lock, so that its
            directory is left.
        """
        if self._removeAtOnce(node) or (
                # It may have parts that we do not know of.
                self._removeAtOnce(node, self._list(node.getPath()))):
            return False
        # Somebody waits for it.
        with contextlib.suppress(NoNodeError):
            self.client.delete(node.getPath(), recursive=True)
        self.release(node)
        return not self.removeLock(node.getPath(), node.getLockPath())

    def _removeAtOnce(self, node, below=()):
        """:return: whether nothing of it is left."""
        transaction = self.transaction()
        transaction.delete(node, below)
        try:
            transaction.commit()
        except Conflict:
            return False
        return True

    def _list(self, path):
        """:return: the paths of all there is below a path, the lowest
            first."""
        paths = []
        with contextlib.suppress(NoNodeError):
            for name in self.client.get_children(path):
                below = f'{path}/{name}'
                paths += [*self._list(below), below]
        return paths

    def removeLock(self, path, directory):
        """Remove the lock of a record that is gone.

        :param str path: of the record.  If there is one again, the lock is
            that one's.
        :param str directory: of the lock.
        :return: whether there is nothing to do any more.
        """
        transaction = self.client.transaction()
        # What is there can't be created.
        transaction.create(path)
        transaction.delete(path)
        transaction.delete(directory)
        return not any(isinstance(result, NotEmptyError)
                       for result in transaction.commit())

    def makePrefix(self):
        """:return: a name for a contender, before its number."""
        return f'{self._own_name}{next(self._contenders):x}__lock__'

    def exists(self, path):
        return self.client.exists(path) is not None

    def transaction(self):
        return Transaction(self)


class Known:
    """In place of a client, where all that is read is known already.

    :param dict answers: path -> what has a method ``get()``, which returns
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
