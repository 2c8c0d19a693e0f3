"""ZooKeeper clients for commands; the read-only one refuses to write.

Much of Zuul's code creates missing nodes when it reads, and many of these
nodes would stay.  The read-only client allows a single kind of write: read
locks, which are ephemeral and keep others from changing what is read.
"""

import contextlib

from kazoo.handlers.threading import KazooTimeoutError
from zuul.zk import ZooKeeperClient
from zuul.zk.handler import PoolSequentialThreadingHandler
from zuul.zk.vendor.client import ZuulKazooClient

from zuul_nodes import zuulconf
from zuul_nodes.exceptions import UserError

# Seconds to wait for ZooKeeper.  With its start, a command then fails within
# five seconds.
TIMEOUT = 4
# kazoo's name of the node of a read lock, after a unique prefix.
READ_LOCK = '__rlock__'
# Seconds until ZooKeeper releases the locks of a command that was killed.
# Zuul's services use two minutes.
SESSION_TIMEOUT = 15


class WriteRefused(Exception):
    """Zuul's code tried to write with the read-only client."""

    def __init__(self, path):
        super().__init__(
            f'{path} was not written: this command only reads ZooKeeper')


class ReadOnlyKazooClient(ZuulKazooClient):

    def create_async(self, path, value=b'', acl=None, ephemeral=False,
                     sequence=False, makepath=False, include_data=False):
        if not (ephemeral and _isReadLock(path)):
            raise WriteRefused(path)
        return super().create_async(
            path, value, acl=acl, ephemeral=ephemeral, sequence=sequence,
            include_data=include_data)

    def delete_async(self, path, version=-1):
        if not _isReadLock(path):
            raise WriteRefused(path)
        return super().delete_async(path, version)

    def ensure_path_async(self, path, acl=None):
        # Readers treat a missing node as empty.  The parents of a read lock
        # exist whenever the lock is needed.
        done = self.handler.async_result()
        done.set(True)
        return done

    def set_async(self, path, value, version=-1):
        raise WriteRefused(path)

    def set_acls_async(self, path, acls, version=-1):
        raise WriteRefused(path)

    def reconfig_async(self, joining, leaving, new_members, from_config):
        raise WriteRefused('the configuration')

    def transaction(self):
        raise WriteRefused('a transaction')


def _isReadLock(path):
    return READ_LOCK in path.rpartition('/')[2]


class CommandZooKeeper(ZooKeeperClient):
    """ZooKeeper client of a command that changes records.

    Created by ``fromConfig(config)``, like Zuul's own client.
    """

    kazoo_class = ZuulKazooClient

    def connect(self, timeout=TIMEOUT):
        """Connect with a time-out.

        Zuul's own method would retry forever, and write to check permissions.

        :param float timeout: seconds.
        :raises UserError: ZooKeeper cannot be reached.
        """
        self.client = self.kazoo_class(
            hosts=self.hosts, timeout=min(self.timeout, SESSION_TIMEOUT),
            handler=PoolSequentialThreadingHandler(), use_ssl=True,
            keyfile=self.tls_key, certfile=self.tls_cert, ca=self.tls_ca)
        self.client.add_listener(self._connectionListener)
        try:
            self.client.start(timeout)
        except KazooTimeoutError as error:
            raise UserError(
                f'ZooKeeper does not answer at {self.hosts} within '
                f'{timeout:g} s. Check that it is running, and that "hosts" '
                f'and the certificates in [zookeeper] of zuul.conf are correct'
            ) from error


class ReadOnlyZooKeeper(CommandZooKeeper):
    """ZooKeeper client of a command that only reads."""

    kazoo_class = ReadOnlyKazooClient


@contextlib.contextmanager
def connected(config, zookeeper_class=ReadOnlyZooKeeper):
    """Connect to ZooKeeper while the context lasts.

    :param config: zuul.conf.
    :param zookeeper_class: a :class:`CommandZooKeeper`.
    :return: the client, an instance of that class.
    :raises UserError: zuul.conf names no ZooKeeper, or it does not answer.
    """
    zuulconf.requireZooKeeper(config)
    zookeeper = zookeeper_class.fromConfig(config)
    zookeeper.connect()
    try:
        yield zookeeper
    finally:
        zookeeper.disconnect()
