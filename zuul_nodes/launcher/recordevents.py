"""Events of records: which objects to reconcile after a change."""

from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes.launcher.providers import (
    Failure,
    getFailure,
    getSubjectOf,
    hasFailed,
    isGiven,
)
from zuul_nodes.launcher.requests import isDone
from zuul_nodes.orders import Order

State = ProviderNode.State
# Order -> kind of the key of what it concerns.
KINDS = {Order.CANCEL: 'request', Order.REMOVE: 'node', Order.NOTE: 'note'}


class RecordEvents:
    """Queues the objects that a change of a record may affect.

    :param WorkQueue queue: gets their keys.
    :param Planner planner: gets the current nodes.
    :param Supply supply: learns which providers fail and succeed.
    :param MinReadyState min_ready: learns of fewer and of failed nodes.
    :param NodeIndex index: tells what has changed.
    :param CapacityWaits waits: has nodes that wait for another's capacity.
    :param Layouts layouts: has the providers of the nodes.
    """

    def __init__(self, queue, planner, supply, min_ready, index, waits,
                 layouts):
        self.queue = queue
        self.planner = planner
        self.supply = supply
        self.min_ready = min_ready
        self.index = index
        self.waits = waits
        self.layouts = layouts
        # Are set in :meth:`connect`.
        self.records = None
        self.remembers = lambda request_id: False
        self.unplanned = set()

    def connect(self, records, remembers, unplanned):
        """Set the parts that are created after this one.

        :param Records records: the caches that report changes.  They have
            reported records before this call, and report them again.
        :param remembers: called with the id of a request; returns whether a
            part of the launcher still has data of it.
        :param set unplanned: receives the uuids of requests that the planner
            does not know yet.
        """
        self.records = records
        self.remembers = remembers
        self.unplanned = unplanned

    def noteRecord(self, kind, record_id, record):
        """Handle a change of a record.

        :param str kind: ``request`` or ``node``.
        :param str record_id: its id.
        :param record: as it is now, or None if it is gone.
        """
        if kind == 'node':
            self._noteNode(record_id, record)
            if record is None:
                self.queue.add((kind, record_id))
            return
        if record is not None and record.state == record.State.REQUESTED and (
                record_id not in self.planner.waiting.requests):
            self.unplanned.add(record_id)
        # The planner may know a request that has not been processed: it plans
        # all requests of a former planner at once.
        if record is not None or self.remembers(record_id) or (
                self.planner.knows(record_id)):
            self.queue.add((kind, record_id))
        if record is None:
            for node_id in self.index.popAssigned(record_id):
                self.queue.add(('node', node_id))

    def noteOrder(self, order, record_id):
        """Handle an order of an operator.

        :param Order order:
        :param str record_id: of the request, the node or the note.
        """
        self.queue.add((KINDS[order], record_id))

    def noteWrite(self, record):
        """Handle a record that this launcher has written.

        The caches may skip the watch event of such a write.  Deletions are
        handled where they are made.
        """
        if isinstance(record, NodesetRequest):
            if not (isDone(record) or _isGranted(record)):
                self.queue.add(('request', record.uuid))
        elif isinstance(record, ProviderNode):
            self._noteOwnWrite(record.uuid)

    def _noteOwnWrite(self, node_id):
        # peek() takes no lock, so one event cannot wait for another.
        peek = self.records.nodes_cache.peek
        node = peek(node_id)
        self._noteNode(node_id, node)
        # A thread with a newer record may have been faster than this one.
        while (now := peek(node_id)) is not node:
            node = now
            self._noteNode(node_id, node)

    def _noteNode(self, node_id, node):
        old, new = self.index.note(node_id, node)
        if node is None:
            if removed := self.planner.capacity.getNode(node_id):
                self._noteRemoval(removed)
                self.supply.noteRemoval(removed)
            self.planner.removeNode(node_id)
            if old != new:
                self._noteDependents(node_id, old)
        else:
            self._noteOutcome(node, old.state)
            self.planner.updateNode(node)
            if node.request_id and node.state not in (
                    State.REQUESTED, State.BUILDING):
                self._queueRequest(node.request_id)
            if node.main_node_id:
                self.queue.add(('node', node.main_node_id))
            if not (_isOthers(node) or self._isServing(node)):
                self.queue.add(('node', node_id))
        if old.request_id and old.request_id != new.request_id:
            self._queueRequest(old.request_id)
        # A deleted node may leave capacity for a min-ready node.
        if node is None or old.kind not in (None, new.kind):
            self.min_ready.queueCheck()

    def _noteOutcome(self, node, former_state):
        """Record the outcome of a launch for all launchers alike.

        Each launcher backs off from a provider that fails, because the next
        node may be planned by another launcher than the one that saw the
        failure.
        """
        # The launch of a slot is that of its host.
        if node.main_node_id or former_state not in (
                None, *ProviderNode.CREATE_STATES):
            return
        if node.state in (State.READY, State.SLOT_HOST):
            subject = self._getSubject(node)
            self.supply.noteSuccess(subject)
            self.min_ready.clearPause(subject)
        elif node.state == State.TEMPFAILED and not hasFailed(
                node, Failure.MOVED):
            self.supply.noteFailure(
                self._getSubject(node), getFailure(node),
                node.comment or 'unknown',
                max(node.state_time - (node.create_state or {}).get(
                    'start_time', node.state_time), 0))
        elif node.state in ProviderNode.FAILED_STATES and not node.request_id:
            self.min_ready.pause(self._getSubject(node))

    def _getSubject(self, node):
        """:return: the label that a node was made from."""
        return getSubjectOf(self.layouts.scope.identify(node))

    def _noteRemoval(self, node):
        """Handle the removal of a node's record.

        :param ProviderNode node: its last known state.
        """
        # The slots may have to be deleted with their host.
        for slot_id in node.subnodes:
            self.queue.add(('node', slot_id))
        if not (node.request_id or node.main_node_id) and (
                node.state in ProviderNode.CREATE_STATES):
            # It failed and was deleted between two events.
            self.min_ready.pause(self._getSubject(node))

    def _queueRequest(self, request_id):
        """Queue a request unless it is done."""
        request = self._peek(request_id)
        if request is not None and not isDone(request):
            self.queue.add(('request', request_id))

    def _peek(self, request_id):
        if self.records is None:
            # The rescan at the start queues all requests.
            return None
        # peek() takes no lock, so one event cannot wait for another.
        return self.records.requests_cache.peek(request_id)

    def _isServing(self, node):
        """:return: whether a node is assigned to an existing request; the
            end of the request queues the node."""
        return (node.state == State.READY and node.request_id
                and self._peek(node.request_id) is not None)

    def _noteDependents(self, node_id, old):
        """Queue the objects that depended on a node whose record is gone.

        :param Facts old: of the node.
        """
        if old.host_id:
            self.queue.add(('node', old.host_id))
        # The entry of a static node may be registered again, and a node that
        # waits for capacity may now get it.
        if any(isGiven(provider.driver) for provider
               in self.layouts.scope.by_name.get(old.provider, ())):
            self.queue.add(('gone', (old.provider, node_id)))
        for waiting_id in self.waits.take(old.provider):
            self.queue.add(('node', waiting_id))


def _isGranted(request):
    """:return: whether a request of this launcher waits for its nodes, whose
        events queue it."""
    return request.state == request.State.ACCEPTED and request.hasLock()


def _isOthers(node):
    """:return: whether another launcher or a job has the lock of a node; the
        release of the lock queues it."""
    return (node.is_locked and not node.hasLock()
            and node.state != State.SNAPSHOT)
