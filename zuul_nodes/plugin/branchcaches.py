"""Branches of projects, from the caches that schedulers write."""


def readBranches(connection, zk_client):
    """Give a connection the branches that schedulers have stored.

    The connection's onLoad() does so too, but some connections also query
    their server or create event queues in it.

    :param connection: of any driver; without such a cache, nothing happens.
    :param ZooKeeperClient zk_client: connected.
    """
    from zuul.connection import ZKBranchCacheMixin
    from zuul.zk.branch_cache_new import BranchCacheNew
    if isinstance(connection, ZKBranchCacheMixin):
        connection.read_only = True
        connection._branch_cache = BranchCacheNew(zk_client, connection, None)
