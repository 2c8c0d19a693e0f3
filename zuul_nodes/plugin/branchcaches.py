"""Branches of projects, as the schedulers know them, for other processes."""


def readBranches(connection, zk_client):
    """Have a connection know the branches that schedulers know.

    Its own onLoad() does so as well, but some ask their server for more, or
    make queues of events.

    :param connection: of any driver; without such branches, nothing happens.
    :param ZooKeeperClient zk_client: connected.
    """
    from zuul.connection import ZKBranchCacheMixin
    from zuul.zk.branch_cache_new import BranchCacheNew
    if isinstance(connection, ZKBranchCacheMixin):
        connection.read_only = True
        connection._branch_cache = BranchCacheNew(zk_client, connection, None)
