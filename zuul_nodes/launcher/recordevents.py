"""What there is to look at when a record has changed."""

import collections
import threading
import typing

from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes.launcher.providers import Failure, hasFailed, isGiven
from zuul_nodes.launcher.requests import isDone

State = ProviderNode.State


class Relations(typing.NamedTuple):
    """What else is to be looked at when a node changes."""
    request_id: str | None
    host_id: str | None
    provider: str | None
    state: str | None


NOTHING = Relations(None, None, None, None)


class RecordEvents:
    """
    :param WorkQueue queue: where what has changed is looked at.
    :param Planner planner: is told of nodes.
    :param Supply supply: is told what providers could make.
    :param MinReadyState min_ready: is told of nodes that nobody asked for.
    :param Leaving leaving: is told of nodes that are about to go.
    :param CapacityWaits waits: has nodes that wait until another has gone.
    :param Layouts layouts: with the providers of the nodes.
    """

    def __init__(self, queue, planner, supply, min_ready, leaving, waits,
                 layouts):
        self.queue = queue
        self.planner = planner
        self.supply = supply
        self.min_ready = min_ready
        self.leaving = leaving
        self.waits = waits
        self.layouts = layouts
        # See :meth:`begin`.
        self.records = None
        self.remembers = lambda request_id: False
        # Request -> its nodes, which it may have no more.
        self._assigned = collections.defaultdict(set)
        # Several threads tell of nodes; held for that only.
        self._lock = threading.Lock()
        self._relations = {}

    def begin(self, records, remembers):
        """
        :param Records records: that tells of what it reads, also before
            this; all of that is looked at then.
        :param remembers: tells whether there is anything to forget of a
            request.
        """
        self.records = records
        self.remembers = remembers

    def tell(self, kind, record_id, record):
        """A record has changed.

        :param str kind: ``request`` or ``node``.
        :param record: as it is now, or None if there is none any more.
        """
        if kind == 'node':
            self._tellOfNode(record_id, record)
            if record is None:
                self.queue.add((kind, record_id))
            return
        if record is not None or self.remembers(record_id):
            self.queue.add((kind, record_id))
        if record is None:
            with self._lock:
                assigned = self._assigned.pop(record_id, ())
            for node_id in assigned:
                self.queue.add(('node', node_id))

    def tellWritten(self, record):
        """The watch need not tell of what we have written ourselves.

        Who has removed a node has forgotten it, too.
        """
        if isinstance(record, NodesetRequest):
            if not (isDone(record) or _isGranted(record)):
                self.queue.add(('request', record.uuid))
        elif isinstance(record, ProviderNode):
            self._tellOfOwn(record.uuid)

    def _tellOfOwn(self, node_id):
        # Who tells of news must not wait for other news.
        peek = self.records.nodes_cache.peek
        node = peek(node_id)
        self._tellOfNode(node_id, node)
        # Others, whose turn it is now, may have been quicker.
        while (now := peek(node_id)) is not node:
            node = now
            self._tellOfNode(node_id, node)

    def _tellOfNode(self, node_id, node):
        has_fewer = self.min_ready.counts.note(node_id, node)
        self.leaving.note(node_id, node)
        if node is None:
            if old := self.planner.capacity.getNode(node_id):
                self._noteEnd(old)
            self.planner.removeNode(node_id)
            self._relate(node_id, NOTHING)
        else:
            self._noteOutcome(node)
            self.planner.updateNode(node)
            self._relate(node_id, Relations(
                node.request_id, node.main_node_id, node.provider,
                node.state))
            if node.request_id and node.state not in (
                    State.REQUESTED, State.BUILDING):
                self._tellRequest(node.request_id)
            if node.main_node_id:
                self.queue.add(('node', node.main_node_id))
            if not (_isOthers(node) or self._isServing(node)):
                self.queue.add(('node', node_id))
        # If any node is gone, there may be room for those that are missing.
        if has_fewer or node is None:
            self.min_ready.tell()

    def _noteOutcome(self, node):
        """Pause what could not make a node, in all launchers alike: whoever
        plans the next one need not be who has made this one."""
        old = self._relations.get(node.uuid, NOTHING).state
        # Slots are made with their host.
        if node.main_node_id or old not in (
                None, *ProviderNode.CREATE_STATES):
            return
        if node.state in (State.READY, State.SLOT_HOST):
            self.supply.noteSuccess(node.provider)
            self.min_ready.clearPause(node)
        elif node.state == State.TEMPFAILED and not hasFailed(
                node, Failure.OVERTAKEN):
            self.supply.pause(
                node.provider, node.comment or 'unknown',
                hasFailed(node, Failure.QUOTA))
        elif node.state in ProviderNode.FAILED_STATES and not node.request_id:
            self.min_ready.pause(node)

    def _noteEnd(self, node):
        """A node is gone.

        :param ProviderNode node: as it was seen last.
        """
        # Slots may go with their host.
        for slot_id in node.subnodes:
            self.queue.add(('node', slot_id))
        if not (node.request_id or node.main_node_id) and (
                node.state in ProviderNode.CREATE_STATES):
            # It had failed before we could see that.
            self.min_ready.pause(node)

    def _tellRequest(self, request_id):
        """Look at a request, if it can be waiting for something."""
        request = self._peek(request_id)
        if request is not None and not isDone(request):
            self.queue.add(('request', request_id))

    def _peek(self, request_id):
        if self.records is None:
            # All of them are looked at when they are known.
            return None
        # Who tells of news must not wait for other news.
        return self.records.requests_cache.peek(request_id)

    def _isServing(self, node):
        """:return: whether a node is there for a request, so that there is
            nothing to do until that has gone; we are told of it then."""
        return (node.state == State.READY and node.request_id
                and self._peek(node.request_id) is not None)

    def _relate(self, node_id, new):
        """Look at what had to do with a node and has no more."""
        old = self._relations.get(node_id, NOTHING)
        if old == new:
            return
        with self._lock:
            if assigned := self._assigned.get(old.request_id):
                assigned.discard(node_id)
                if not assigned:
                    del self._assigned[old.request_id]
            if new.request_id:
                self._assigned[new.request_id].add(node_id)
        if old.request_id and old.request_id != new.request_id:
            self._tellRequest(old.request_id)
        if new is not NOTHING:
            self._relations[node_id] = new
            return
        self._relations.pop(node_id, None)
        if old.host_id:
            self.queue.add(('node', old.host_id))
        # A static node may be registered anew, and a node that waits for
        # room may have it now.
        if any(isGiven(provider.driver) for provider
               in self.layouts.scope.by_name.get(old.provider, ())):
            self.queue.add(('gone', (old.provider, node_id)))
        for waiting_id in self.waits.take(old.provider):
            self.queue.add(('node', waiting_id))


def _isGranted(request):
    """:return: whether a request of ours waits for its nodes.  They tell
        when there is something to do."""
    return request.state == request.State.ACCEPTED and request.hasLock()


def _isOthers(node):
    """:return: whether a node is somebody else's, so that there is nothing
        to do until it is not."""
    return (node.is_locked and not node.hasLock()
            and node.state != State.SNAPSHOT)
