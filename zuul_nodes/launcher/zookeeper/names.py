"""Knows which records a path contains, without a read for each question."""

from kazoo.exceptions import NoNodeError

from zuul_nodes import zkrecords
from zuul_nodes.launcher.zookeeper.dispatch import isOrdered, takenAtOnce


class Names:
    """The names of the records in a path.

    The client reads them once, together with a watch, and again after a
    change.  ZooKeeper sends the event of a change before any answer that
    includes later changes.  So the names are as new as what a read of any
    record returns.

    :param KazooClient client:
    :param str path: need not exist.
    """

    def __init__(self, client, path):
        self.client = client
        self.path = path
        # Replaced at each change.
        self._version = object()
        # The version when the names were read, and the names.
        self._known = None, frozenset()

    def get(self):
        """:return: a frozenset of the names in paths that
            :func:`.zkrecords.getPath` made; empty if the path does not exist.
        """
        version, names = self._known
        if version is not self._version or not isOrdered(self.client):
            version = self._version
            names = frozenset(zkrecords.decode(self._read()))
            self._known = version, names
        return names

    def _read(self):
        while True:
            try:
                return self.client.get_children(
                    self.path, watch=self._noteChange)
            except NoNodeError:
                if not self.client.exists(self.path, watch=self._noteChange):
                    return ()

    @takenAtOnce
    def _noteChange(self, event):
        # Kazoo calls this also when it loses the connection, and with it the
        # watch.
        self._version = object()
