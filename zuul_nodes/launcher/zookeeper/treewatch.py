"""Knows of each change below a path before anything later is known."""

import logging

from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState
from zuul.zk.vendor.states import AddWatchMode

from zuul_nodes.launcher.zookeeper.dispatch import isOrdered, takenAtOnce


class TreeWatch:
    """Watches the nodes below a path.

    ZooKeeper sends the event of a change before any answer that includes later
    changes.  The client delivers them in this order.  So while
    :meth:`isComplete` holds, the caller knows of every change that is older
    than a record it has read.

    :param KazooClient client:
    :param OwnWrites own_writes: knows which watches exist.
    :param str path: need not exist.
    :param changed: called when something below the path may have changed;
        must neither wait nor raise.
    """

    log = logging.getLogger('zuul.nodes.zookeeper')

    def __init__(self, client, own_writes, path, changed):
        self.client = client
        self.own_writes = own_writes
        self.path = path
        self.changed = changed
        client.add_listener(self._listen)
        self._begin()

    def isComplete(self):
        """:return: whether all changes have been reported that are older than
            what the client has delivered."""
        return isOrdered(self.client) and self.own_writes.isWatched(self.path)

    def _listen(self, state):
        # The watch ends with its connection.
        if state == KazooState.CONNECTED:
            self.client.handler.short_spawn(self._begin)

    def _begin(self):
        connection = self.own_writes.connection
        try:
            self.client.add_watch(
                self.path, self._note, AddWatchMode.PERSISTENT_RECURSIVE)
        except KazooException as error:
            # There is another watch with the next connection.
            self.log.debug('Unable to watch %s: %s', self.path, error)
            return
        # There was no watch until now.
        self.changed()
        self.own_writes.watch(self.path, connection)

    @takenAtOnce
    def _note(self, event):
        self.changed()
