"""Refuses requests that are too large for ZooKeeper.

ZooKeeper would close the connection, which all threads share.
"""

from zuul_nodes.launcher.zookeeper.content import UnwritableError

# Default of ZooKeeper's limit, ``jute.maxbuffer``; and an allowance for each
# write besides its data (bytes).
LARGEST = 0xfffff
OVERHEAD = 256


def installLimit(client):
    """Make a client refuse requests that are too large.

    :param KazooClient client: then raises an :class:`UnwritableError` for
        them.
    """
    call = client._call

    def callIfSmall(request, answer):
        size = getSize(request)
        if size <= LARGEST:
            return call(request, answer)
        answer.set_exception(UnwritableError(
            f'a request of {size} bytes exceeds the limit of ZooKeeper'))
        return False

    # Kazoo looks the attribute up at each use.
    client._call = callIfSmall


def getSize(request):
    """:return: size of a request in bytes, with an allowance for each write.
    """
    return sum(len(getattr(each, 'data', None) or ()) + OVERHEAD
               for each in getattr(request, 'operations', (request,)))
