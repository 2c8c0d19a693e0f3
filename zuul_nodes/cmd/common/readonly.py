"""ZooKeeper for commands that only look: nothing can be written.

Much of Zuul makes what it does not find there, and much of that stays.
The one thing that is written here are read locks: ephemeral nodes, by
which nobody changes what is being read.
"""

from kazoo.handlers.threading import KazooTimeoutError
from zuul.zk import ZooKeeperClient
from zuul.zk.handler import PoolSequentialThreadingHandler
from zuul.zk.vendor.client import ZuulKazooClient

from zuul_nodes.exceptions import UserError

# What kazoo calls the node of a read lock, after a unique prefix.
READ_LOCK = '__rlock__'
# Seconds.  So long is a tenant locked by a command that was killed;
# Zuul's services would be given two minutes.
SESSION_TIMEOUT = 15


class WriteRefused(Exception):
    """Something of Zuul's was about to write."""

    def __init__(self, path):
        super().__init__(f'{path} was not written: this only reads')


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
        # What is not there is as good as empty to those who ask for it;
        # to have a read lock there, it has to be there.
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
    """Of a command that changes records.  Made by ``fromConfig(config)``, as
    Zuul's own client."""

    kazoo_class = ZuulKazooClient

    def connect(self, timeout):
        """
        Zuul's own would try for ever, and write to see what it can do.

        :param float timeout: seconds.
        :raises UserError: ZooKeeper is not to be reached.
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
                f'{timeout:g} s. See whether it is running, and whether '
                f'"hosts" and the certificates in [zookeeper] of zuul.conf '
                f'are right') from error


class ReadOnlyZooKeeper(CommandZooKeeper):
    """Of a command that only looks."""

    kazoo_class = ReadOnlyKazooClient
