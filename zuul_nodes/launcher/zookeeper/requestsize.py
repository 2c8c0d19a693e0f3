"""No request is sent that is too large for ZooKeeper.

ZooKeeper would end the connection, of which everybody else has to know.
"""

from zuul_nodes.launcher.zookeeper.content import UnwritableError

# What ZooKeeper takes at most, unless it is told otherwise by
# ``jute.maxbuffer``; and what each write needs besides its data (bytes).
LARGEST = 0xfffff
OVERHEAD = 256


def installLimit(client):
    """
    :param KazooClient client: who asks it for too much gets an
        :class:`UnwritableError`.
    """
    call = client._call

    def callIfSmall(request, answer):
        size = getSize(request)
        if size <= LARGEST:
            return call(request, answer)
        answer.set_exception(UnwritableError(
            f'{size} bytes are more than ZooKeeper takes at a time'))
        return False

    # It is looked up at each use.
    client._call = callIfSmall


def getSize(request):
    """:return: how many bytes a request has, as far as it matters."""
    return sum(len(getattr(each, 'data', None) or ()) + OVERHEAD
               for each in getattr(request, 'operations', (request,)))
