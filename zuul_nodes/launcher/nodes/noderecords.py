"""Reads and writes the records of nodes."""

import contextlib
import time

from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes.launcher.planner import ENDED_STATES
from zuul_nodes.launcher.zookeeper import (
    Conflict,
    getPath,
    isWrittenAs,
    serialize,
)
from zuul_nodes.orders import Order

State = ProviderNode.State


class NodeRecords:
    """Reads and writes the records of nodes.

    :param Records records: of all nodes and requests.
    :param Session session: in which nodes are locked and written.
    :param WorkQueue queue: the work queue, in which each node has a key.
    :param Ownership ownership: knows which nodes this launcher handles.
    :param Election election: knows whether this launcher plans.
    :param NodeIndex index: of all nodes.
    :param Orders orders: of operators.
    """

    def __init__(self, records, session, queue, ownership, election, index,
                 orders):
        self.records = records
        self.session = session
        self.queue = queue
        self.ownership = ownership
        self.election = election
        self.index = index
        self.orders = orders
        self._memories = []

    def get(self, node_id):
        """:return: a node, or None."""
        return self.records.getProviderNode(node_id)

    def getAll(self):
        """:return: a list of all nodes."""
        return self.records.getProviderNodes()

    def getSubnodes(self, node):
        return [subnode for each in node.subnodes
                if (subnode := self.get(each))]

    def getRequest(self, node):
        """:return: the request that a node is assigned to, or None.
        :raises Conflict: the request exists, but is not cached yet.
        """
        if not node.request_id:
            return None
        request = self.records.getNodesetRequest(node.request_id)
        if (request is None and node.state not in ENDED_STATES
                and self.session.exists(
                    getPath(NodesetRequest, node.request_id))):
            raise Conflict(f'request {node.request_id} is not cached yet')
        return request

    def isMine(self, node):
        """:return: whether this launcher handles the node."""
        return self.ownership.isMyNode(node)

    def mustRemove(self, node):
        """:return: whether an operator has ordered to remove the record of a
            node without asking its cloud."""
        return self.orders.find(Order.REMOVE, node.uuid) is not None

    # When nodes are processed

    def look(self, node_id):
        """Queue a node."""
        self.queue.add(('node', node_id))

    def lookLater(self, node, seconds):
        self.queue.addAfter(('node', node.uuid), seconds)

    def retry(self, node, delay=None):
        """Queue a node again after a back-off, as :meth:`WorkQueue.retry`."""
        self.queue.retry(('node', node.uuid), delay)

    # Nodes that are deleted

    def addMemory(self, forget):
        """Add a callback for deleted nodes.

        :param forget: called with the uuid of each deleted node, to forget
            what is remembered of it elsewhere.
        """
        self._memories.append(forget)

    def forget(self, node_id):
        """Call the callbacks for a deleted node."""
        for forget in self._memories:
            forget(node_id)
        if self.orders.find(Order.REMOVE, node_id) is not None and (
                not self.session.exists(getPath(ProviderNode, node_id))):
            self.orders.remove(Order.REMOVE, node_id)

    # Writing

    def save(self, node):
        """Write a node's record, if it has changed.

        :raises UnwritableError: the record has a value that cannot be written.
        """
        data = serialize(node, self.session.context())
        if not isWrittenAs(node, data):
            transaction = self.session.transaction()
            transaction.update(node)
            transaction.commit()

    def setState(self, node, state, log, **attributes):
        """Write a new state to a node and to its unassigned slots."""
        log.debug('Marking node %s as %s', node, state)
        transaction = self.session.transaction()
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        transaction.commit()
        self.setStateOfSlots(node, state, log)

    def setStateOfSlots(self, node, state, log, **attributes):
        """Write a new state to the unassigned slots of a host."""
        for subnode in self.getSubnodes(node):
            if subnode.state == State.READY and not subnode.request_id:
                self.setStateOfOther(subnode, state, log, **attributes)

    def fail(self, node, reason, log):
        """Mark an unlocked node as failed and its slots as outdated."""
        self.setStateOfOther(node, State.FAILED, log, comment=reason)
        self.setStateOfSlots(node, State.OUTDATED, log, comment=reason)

    def failHost(self, host, log):
        """Mark a host with a failed slot as failed, with its slots, so that
        requests are not granted them."""
        self.setStateOfOther(host, State.FAILED, log)
        self.setStateOfSlots(host, State.FAILED, log)

    def setStateOfOther(self, node, state, log, term=None, **attributes):
        """Write a new state to an unlocked node, unless another component has
        changed or assigned it.

        :param str term: as of :meth:`.Election.getTerm`, if the planner has
            decided it.
        """
        if node.hasLock() or node.is_locked:
            return
        log.debug('Marking node %s as %s', node, state)
        transaction = self.session.transaction()
        if term:
            transaction.require(term)
        transaction.checkUnlocked(node)
        transaction.checkNoPart(node.assignment)
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        with contextlib.suppress(Conflict):
            transaction.commit()
