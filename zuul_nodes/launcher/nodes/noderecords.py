"""The records of nodes: how they are read, and what is written of them."""

import contextlib
import time

from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes.launcher.zookeeper import (
    Conflict,
    getPath,
    isWrittenAs,
    serialize,
)

State = ProviderNode.State

# In these, nobody can need the node any more.
ENDED_STATES = (State.FAILED, State.TEMPFAILED, State.OUTDATED,
                State.DEREGISTER, State.USED)


class NodeRecords:
    """
    :param Records records: of all nodes and requests.
    :param Session session: in which nodes are locked and written.
    :param WorkQueue queue: where nodes are looked at.
    :param Ownership ownership: says whose they are.
    """

    def __init__(self, records, session, queue, ownership):
        self.records = records
        self.session = session
        self.queue = queue
        self.ownership = ownership
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
        """
        :return: the request that a node is assigned to, or None.
        :raises Conflict: it has not been seen yet.
        """
        if not node.request_id:
            return None
        request = self.records.getNodesetRequest(node.request_id)
        if (request is None and node.state not in ENDED_STATES
                and self.session.exists(
                    getPath(NodesetRequest, node.request_id))):
            raise Conflict(f'request {node.request_id} is not known yet')
        return request

    def isMine(self, node):
        """:return: whether a node is this launcher's share."""
        return self.ownership.isMyNode(node)

    # When nodes are looked at

    def look(self, node_id):
        """Look at a node soon."""
        self.queue.add(('node', node_id))

    def lookLater(self, node, seconds):
        self.queue.addAfter(('node', node.uuid), seconds)

    def retry(self, node, attempt=None):
        """Look at a node again; as :meth:`WorkQueue.retry`."""
        self.queue.retry(('node', node.uuid), attempt)

    # Nodes that are gone

    def addMemory(self, forget):
        """
        :param forget: called with the uuid of each node that is gone, for
            what is remembered of it elsewhere.
        """
        self._memories.append(forget)

    def forget(self, node_id):
        """There is no such node any more."""
        for forget in self._memories:
            forget(node_id)

    # Steps that are written and done

    def save(self, node):
        """Write a node's record, if it has changed.

        :raises UnwritableError: it says what can't be written.
        """
        data = serialize(node, self.session.context())
        if not isWrittenAs(node, data):
            transaction = self.session.transaction()
            transaction.update(node)
            transaction.commit()

    def setState(self, node, state, log, **attributes):
        """Write a new state, also to slots that nobody uses."""
        log.debug('Marking node %s as %s', node, state)
        transaction = self.session.transaction()
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        transaction.commit()
        self.spread(node, state, log)

    def spread(self, node, state, log, **attributes):
        """Write a state to the slots of a host that nobody uses."""
        for subnode in self.getSubnodes(node):
            if subnode.state == State.READY and not subnode.request_id:
                self.setStateOfOther(subnode, state, log, **attributes)

    def fail(self, node, reason, log):
        """Put a machine out of service that nobody holds, with its slots."""
        self.setStateOfOther(node, State.FAILED, log, comment=reason)
        self.spread(node, State.OUTDATED, log, comment=reason)

    def failHost(self, host, log):
        """Of a machine with a bad slot, nobody gets another one."""
        self.setStateOfOther(host, State.FAILED, log)
        self.spread(host, State.FAILED, log)

    def setStateOfOther(self, node, state, log, **attributes):
        """Write a new state of a node that nobody holds, unless somebody
        was quicker to change or to assign it."""
        if node.hasLock() or node.is_locked:
            return
        log.debug('Marking node %s as %s', node, state)
        transaction = self.session.transaction()
        transaction.checkUnlocked(node)
        transaction.checkNoPart(node.assignment)
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        with contextlib.suppress(Conflict):
            transaction.commit()
