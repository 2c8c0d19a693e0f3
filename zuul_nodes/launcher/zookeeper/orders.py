"""The cache of what operators have ordered."""

import urllib.parse

from zuul_nodes import orders, zkrecords
from zuul_nodes.launcher.zookeeper.cache import Entry, Interruptible
from zuul_nodes.orders import Order


class Orders(Interruptible):
    """Caches what operators have ordered.

    :param ZooKeeperClient zk_client: of the launcher.
    :param noteOrder: called with the :class:`.Order` and the uuid of a
        request, a node or a note when there is an order.
    """

    def __init__(self, zk_client, noteOrder):
        self.noteOrder = noteOrder
        super().__init__(zk_client, orders.ROOT)

    def find(self, order, uuid):
        """:return: the reason of an order, which may be empty; None if there
            is no order."""
        entry = self.entries.get((order, uuid))
        return None if entry is None else orders.getReason(entry.content)

    def findNote(self, uuid):
        """:return: the fields of a note for the audit log; None if there is no
            such note."""
        entry = self.entries.get((Order.NOTE, uuid))
        return None if entry is None else orders.getFields(entry.content)

    def remove(self, order, uuid):
        """Remove an order that is carried out or void, if there is one."""
        if (order, uuid) in self.entries:
            zkrecords.delete(self.client, orders.getPath(order, uuid))

    # The interface of ZuulTreeCache

    def parsePath(self, path):
        order, _, name = path[len(self.root) + 1:].partition('/')
        known = order in list(Order) and bool(name) and '/' not in name
        key = (Order(order), urllib.parse.unquote_plus(name)) if known else (
            None)
        return key, known, None

    def objectFromRaw(self, key, data, stat):
        return _Entry(orders.parse(data), stat)

    def updateFromRaw(self, obj, key, data, stat):
        obj.content = orders.parse(data)
        obj.setStat(stat)

    def postCacheHook(self, event, data, stat, key, obj):
        if key is not None and obj is not None:
            self.noteOrder(*key)


class _Entry(Entry):
    def __init__(self, content, stat):
        super().__init__(stat)
        self.content = content
