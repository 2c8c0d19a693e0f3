"""The records of requests: how they are read, locked and written."""

from zuul.model import ProviderNode

from zuul_nodes.launcher.zookeeper import Conflict, getPath


class RequestRecords:
    """
    :param Records records: of all nodes and requests.
    :param Session session: in which requests are locked and written.
    :param WorkQueue queue: where requests are looked at.
    :param Ownership ownership: says whose they are.
    """

    def __init__(self, records, session, queue, ownership):
        self.records = records
        self.session = session
        self.queue = queue
        self.ownership = ownership
        # The version of each that is being looked at.
        self._versions = {}

    def get(self, request_id):
        """:return: a request that is about to be looked at, or None.  What is
            written of it is what was read here, or nothing."""
        # Before it is looked for: who learns that it is gone asks for it.
        self._versions[request_id] = None
        request = self.records.getNodesetRequest(request_id)
        if request is not None:
            # Before anything is read of it: whoever had it before may
            # write it at any time, and the watch tell us meanwhile.
            self._versions[request_id] = request.getZKVersion()
        return request

    def remembers(self, request_id):
        """:return: whether there is anything to forget of a request."""
        return request_id in self._versions

    def forget(self, request_id):
        self._versions.pop(request_id, None)

    def begin(self, request):
        """
        :return: a Transaction, which writes the request only if it still is
            what we have looked at.
        """
        transaction = self.session.transaction()
        transaction.expect(request, self._versions[request.uuid])
        return transaction

    def retry(self, request):
        """Look at a request again: when somebody gives up its lock, or
        later."""
        # Of these locks, no cache tells.
        key = ('request', request.uuid)
        if not self.session.awaitUnlocked(
                request, lambda: self.queue.add(key)):
            self.queue.retry(key)

    def isMine(self, request):
        """:return: whether a request is this launcher's share."""
        return request.hasLock() or self.ownership.isMyRequest(request)

    def getNodes(self, request):
        """
        :return: the nodes of a request; None in place of those that are
            gone.
        :raises Conflict: the watch has not told of one yet.
        """
        nodes = list(map(self.records.getProviderNode, request.nodes))
        for node, node_id in zip(nodes, request.nodes, strict=True):
            if node is None and node_id and self.session.exists(
                    getPath(ProviderNode, node_id)):
                raise Conflict(f'node {node_id} is not known yet')
            if node is not None and not node.request_id and (
                    self.session.exists(node.assignment.getPath())):
                raise Conflict(f'the assignment of {node_id} is not known yet')
        return nodes
