"""Reads, locks and writes the records of requests."""

from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes import orders
from zuul_nodes.launcher.zookeeper import Conflict, getPath
from zuul_nodes.orders import Order


class RequestRecords:
    """Reads, locks and writes the records of requests.

    :param Records records: of all nodes and requests.
    :param Session session: locks and writes the requests.
    :param WorkQueue queue: the work queue, in which each request has a key.
    :param Ownership ownership: knows which launchers handle which connection.
    :param Election election: knows whether this launcher plans requests.
    :param Orders orders: of operators.
    :ivar set unplanned: uuids of requests that are known, and that the planner
        may not know yet.
    """

    def __init__(self, records, session, queue, ownership, election, orders):
        self.records = records
        self.session = session
        self.queue = queue
        self.ownership = ownership
        self.election = election
        self.orders = orders
        self.unplanned = set()
        # Uuid of a request -> version of its record when it was read.
        self._versions = {}

    def get(self, request_id):
        """Read a request that is about to be processed.  :meth:`begin` writes
        only over the version that is read here.

        :return: the request, or None.
        """
        # Before the request is read, so that :meth:`remembers` is true and the
        # caller forgets the request if it is gone.
        self._versions[request_id] = None
        request = self.records.getNodesetRequest(request_id)
        if request is not None:
            # Before any attribute is read, because another launcher may write
            # the record and the watch may update it at any time.
            self._versions[request_id] = request.getZKVersion()
        return request

    def find(self, request_id):
        """:return: a request that is not to be processed, or None; does not
            wait for the cache."""
        return self.records.requests_cache.peek(request_id)

    def getAll(self):
        """:return: a list of all requests, of all launchers; does not wait for
            the cache."""
        return self.records.requests_cache.peekAll()

    def findCancellation(self, request):
        """:return: why an operator has cancelled a request, for its tenant;
            None if no operator has."""
        reason = self.orders.find(Order.CANCEL, request.uuid)
        return None if reason is None else ': '.join(filter(None, (
            'cancelled by the operator', reason)))

    def endOrder(self, transaction, request):
        """Remove the order to cancel a request in the transaction that does
        so."""
        transaction.deletePath(orders.getPath(Order.CANCEL, request.uuid))

    def dropOrder(self, request_id):
        """Remove an order to cancel a request that has ended, if there is
        one."""
        if self.orders.find(Order.CANCEL, request_id) is None:
            return
        request = self.find(request_id)
        if request is not None or not self.session.exists(
                getPath(NodesetRequest, request_id)):
            self.orders.remove(Order.CANCEL, request_id)

    def remembers(self, request_id):
        """:return: whether the request is being processed or waits."""
        return request_id in self._versions

    def forget(self, request_id):
        self._versions.pop(request_id, None)
        self.unplanned.discard(request_id)

    def begin(self, request):
        """
        :return: a Transaction that fails if the request has changed since
            :meth:`get`, or if this launcher neither holds its lock nor plans.
        :raises Conflict: the same is known already.
        """
        transaction = self.session.transaction()
        if not request.hasLock():
            transaction.require(self.election.getTerm())
        transaction.expect(request, self._versions[request.uuid])
        return transaction

    def retry(self, request):
        """Queue a request again when its lock is released, or later."""
        # No cache reports the release of these locks.
        key = ('request', request.uuid)
        if not self.session.awaitUnlocked(
                request, lambda: self.queue.add(key)):
            self.queue.retry(key)

    def isMine(self, request):
        """:return: whether this launcher handles the request."""
        return request.hasLock() or self.election.isMyRequest(request)

    def getNodes(self, request):
        """:return: a list of the nodes of a request; None for each deleted
            node.
        :raises Conflict: a node or its assignment exists, but is not cached
            yet.  It is read, in case that the cache has missed it.
        """
        reread = self.records.nodes_cache.reread
        nodes = list(map(self.records.getProviderNode, request.nodes))
        for node, node_id in zip(nodes, request.nodes, strict=True):
            if node is None and node_id and self.session.exists(
                    getPath(ProviderNode, node_id)):
                reread(getPath(ProviderNode, node_id))
                raise Conflict(f'node {node_id} is not cached yet')
            if node is not None and not node.request_id and (
                    self.session.exists(node.assignment.getPath())):
                reread(node.assignment.getPath())
                raise Conflict(
                    f'the assignment of node {node_id} is not cached yet')
        return nodes
