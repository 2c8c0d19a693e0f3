"""Deletes nodes."""

from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.nodes import tracing
from zuul_nodes.launcher.providers import getEntry
from zuul_nodes.launcher.workers import Backoff
from zuul_nodes.launcher.zookeeper import UnwritableError, setAttributes

State = ProviderNode.State

# Slots in these states are replaced, though their machine has no fault.
REPLACED_STATES = (State.OUTDATED, State.USED, State.SLOT_HOST)


class NodeTermination:
    """Deletes nodes.

    :param NodeRecords nodes:
    :param NodeSteps steps: run the steps of the drivers.
    :param Layouts layouts: hold the providers of the nodes.
    :param HostKeyScanner scanner: its scans of deleted nodes are cancelled.
    :param isGiven: called with the name of a connection; returns whether its
        nodes are static.
    :param Stats stats: counts the nodes.
    :param Settings settings:
    """

    def __init__(self, nodes, steps, layouts, scanner, isGiven, stats,
                 settings):
        self.nodes = nodes
        self.queue = nodes.queue
        self.session = nodes.session
        self.steps = steps
        self.state_machines = steps.state_machines
        self.layouts = layouts
        self.scanner = scanner
        self.isGiven = isGiven
        self.stats = stats
        self.settings = settings
        # Uuid of a node that cannot be deleted -> reason
        self._left = {}
        self.backoff = Backoff(settings.first_backoff,
                               settings.missing_provider_longest_backoff)

    def delete(self, node, log):
        self.scanner.cancel(('node', node.uuid))
        # A cancelled scan never completes, and would not match a rebuilt
        # machine.
        setAttributes(node, nodescan_request=None)
        subnodes = self.nodes.getSubnodes(node)
        if any(subnode.state not in ProviderNode.CREATE_STATES
               for subnode in subnodes):
            # The host goes when its last slot has gone.
            return
        scope = self.layouts.scope
        if self.nodes.mustRemove(node) or (
                node.delete_state_machine
                and node.delete_state_machine.complete):
            return self._remove(node, log)
        if ((node.state in REPLACED_STATES
                or len(subnodes) < len(node.subnodes))
                and self._isOfEntry(node)):
            # A static machine and its slots cannot be rebuilt separately, so
            # they are removed and registered again.
            for subnode in subnodes:
                self.nodes.setStateOfOther(subnode, State.OUTDATED, log)
            if subnodes:
                return
            return self._remove(node, log)
        if self.isGiven(node.connection_name) and not (
                scope.getProviders(node)):
            # No provider is left that could delete it.
            return self._remove(node, log)
        try:
            provider = scope.getProviderFor(node, ignore_label=True)
        except ProviderNodeError as error:
            return self._retryLater(node, str(error), log)
        self.steps.delete(node, provider, self._endStep, log)

    def isSlotOfEntry(self, node):
        """:return: whether the node is a slot of a static machine."""
        return bool(node.main_node_id) and self._isOfEntry(node)

    def _isOfEntry(self, node):
        """:return: whether the node is part of a static machine with slots, or
            has to be replaced by one."""
        is_part = bool(node.main_node_id or node.subnodes)
        entries = (getEntry(node, provider)
                   for provider in self.layouts.scope.getProviders(node))
        return any(entry is not None and (
            is_part or getattr(entry, 'slots', 1) > 1) for entry in entries)

    def _retryLater(self, node, reason, log):
        """Keep a node that cannot be deleted, until a layout or zuul.conf has
        the missing provider or connection again."""
        if not self.layouts.isKnown():
            return
        if reason != self._left.get(node.uuid):
            log.error('Unable to delete node %s, keeping its record: %s',
                      node, reason)
        self._left[node.uuid] = reason
        self.nodes.lookLater(node, self.backoff.noteFailure(node.uuid))

    def forget(self, node_id):
        """Forget a node that is deleted."""
        self._left.pop(node_id, None)
        self.backoff.clear(node_id)

    def _endStep(self, node, wait, _, log):
        """Process the result of a step.  A failed step has a time for the next
        attempt."""
        if wait is not None:
            try:
                self.nodes.save(node)
            except UnwritableError as error:
                # The driver's latest values cannot be written, so the record
                # keeps the ones before.
                wait = self.state_machines.retryDelete(node, error, log)
                node.refresh(self.session.context())
            self.nodes.lookLater(node, wait)
            return
        if node.state == State.REBUILDING:
            # A static node is registered again.
            setAttributes(node, delete_state_machine=None)
            transaction = self.session.transaction()
            transaction.update(node)
            if node.request_id and not self.nodes.getRequest(node):
                transaction.deletePart(node.assignment)
            transaction.commit()
            self.steps.end(node.uuid)
            return
        self._remove(node, log)

    def _remove(self, node, log):
        """Remove the record, if no request refers to it any more."""
        request = self.nodes.records.getNodesetRequest(node.request_id)
        if request is not None and (
                node.uuid in request.nodes or not _isSeen(node, request)):
            return
        log.debug('Removing the record of node %s', node)
        is_ordered = self.nodes.mustRemove(node)
        if is_ordered:
            log.warning('Removing the record of node %s by order of the '
                        'operator; its cloud may still have it', node)
        is_left = is_ordered or self.state_machines.isLeft(node.uuid)
        audit.tell(
            audit.Event.DELETED, node,
            result=audit.Result.FAILED if is_left else audit.Result.DONE,
            reason=('the cloud may still have it'
                    + (', by order of the operator' if is_ordered else ''))
            if is_left else None,
            launcher=self.session.identifier)
        self.stats.reportDeletion(node, 'left' if is_left else 'deleted')
        if self.session.remove(node):
            self.queue.addAfter(('lock', (
                node.getPath(), node.getLockPath())),
                self.settings.lock_removal_interval)
        self.nodes.forget(node.uuid)
        tracing.traceDeletion(node)

    def removeLock(self, paths):
        """Remove the lock of a deleted node when no component waits for the
        lock.

        :param tuple paths: of the node and of its lock.
        """
        if not self.session.removeLock(*paths):
            self.queue.retry(('lock', paths))


def _isSeen(node, request):
    """:return: whether the cached request is not older than the node's
        assignment to it."""
    version = request.getZKVersion()
    return node.min_request_version is None or (
        version is not None and version >= node.min_request_version)
