"""Nodes that come to their end."""

from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.nodes import tracing
from zuul_nodes.launcher.providers import getEntry
from zuul_nodes.launcher.workers import getPause
from zuul_nodes.launcher.zookeeper import UnwritableError, setAttributes

State = ProviderNode.State

# Slots that have come to this are of no use as they are, but nothing is
# wrong with the machine.
REPLACED_STATES = (State.OUTDATED, State.USED, State.SLOT_HOST)
# Where nobody can delete a node, there may be somebody later; that is
# looked at after this time at the latest (seconds).
LONGEST_PAUSE = 600


class NodeTermination:
    """
    :param NodeRecords nodes:
    :param NodeSteps steps: of their drivers.
    :param Layouts layouts: with their providers.
    :param HostKeyScanner scanner: may be busy with them.
    :param isGiven: tells for the name of a connection whether its nodes are
        machines that are there already.
    :param Settings settings:
    """

    def __init__(self, nodes, steps, layouts, scanner, isGiven, settings):
        self.nodes = nodes
        self.queue = nodes.queue
        self.session = nodes.session
        self.steps = steps
        self.state_machines = steps.state_machines
        self.layouts = layouts
        self.scanner = scanner
        self.isGiven = isGiven
        self.settings = settings
        # Nodes that nobody can delete now -> why, and how often that was
        # found so.
        self._left = {}

    def delete(self, node, log):
        self.scanner.cancel(('node', node.uuid))
        # It never ends, and says nothing of a machine that begins anew.
        setAttributes(node, nodescan_request=None)
        subnodes = self.nodes.getSubnodes(node)
        if any(subnode.state not in ProviderNode.CREATE_STATES
               for subnode in subnodes):
            # The host goes when its last slot has gone.
            return
        scope = self.layouts.scope
        if node.delete_state_machine and node.delete_state_machine.complete:
            return self._remove(node, log)
        if ((node.state in REPLACED_STATES
                or len(subnodes) < len(node.subnodes))
                and self._isOfEntry(node)):
            # A machine and its slots can not be rebuilt one by one, so
            # they are removed and registered again.
            for subnode in subnodes:
                self.nodes.setStateOfOther(subnode, State.OUTDATED, log)
            if subnodes:
                return
            return self._remove(node, log)
        if self.isGiven(node.connection_name) and not (
                scope.getProviders(node)):
            # There is nobody left who could be asked how to delete it.
            return self._remove(node, log)
        try:
            provider = scope.getProviderFor(node, ignore_label=True)
        except ProviderNodeError as error:
            return self._leave(node, str(error), log)
        self.steps.delete(node, provider, self._deleted, log)

    def isSlotOfEntry(self, node):
        """:return: whether a node is a slot of a static machine."""
        return bool(node.main_node_id) and self._isOfEntry(node)

    def _isOfEntry(self, node):
        """:return: whether a node is part of a static machine with slots, or
            has to make way for one."""
        is_part = bool(node.main_node_id or node.subnodes)
        entries = (getEntry(node, provider)
                   for provider in self.layouts.scope.getProviders(node))
        return any(entry is not None and (
            is_part or getattr(entry, 'slots', 1) > 1) for entry in entries)

    def _leave(self, node, reason, log):
        """Nobody knows how to delete it, until a layout or zuul.conf has
        again what is missing."""
        if not self.layouts.isKnown():
            return
        old, attempt = self._left.get(node.uuid, (None, 0))
        if reason != old:
            log.error('Unable to delete node %s, its record stays: %s',
                      node, reason)
        self._left[node.uuid] = reason, attempt + 1
        self.nodes.lookLater(
            node, getPause(attempt, longest=LONGEST_PAUSE))

    def forget(self, node_id):
        """There is no such node any more."""
        self._left.pop(node_id, None)

    def _deleted(self, node, wait, _, log):
        """A step of the deletion has ended.  If it has failed, it has
        a time to be tried again."""
        if wait is not None:
            try:
                self.nodes.save(node)
            except UnwritableError as error:
                # Of what the driver says, there is only what was written
                # before.
                wait = self.state_machines.retryDelete(node, error, log)
                node.refresh(self.session.context())
            self.nodes.lookLater(node, wait)
            return
        if node.state == State.REBUILDING:
            # A static node begins anew.
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
        """Remove the record, if no request looks at it any more."""
        request = self.nodes.records.getNodesetRequest(node.request_id)
        if request is not None and (
                node.uuid in request.nodes or not _isSeen(node, request)):
            return
        log.debug('Removing provider node %s', node)
        is_left = self.state_machines.isLeft(node.uuid)
        audit.tell(
            audit.Event.DELETED, node,
            result=audit.Result.FAILED if is_left else audit.Result.DONE,
            reason=is_left and 'the cloud may still have it',
            launcher=self.session.identifier)
        if self.session.remove(node):
            self.queue.addAfter(('lock', (
                node.getPath(), node.getLockPath())),
                self.settings.lock_removal_interval)
        self.nodes.forget(node.uuid)
        tracing.traceDeletion(node)

    def removeLock(self, paths):
        """Remove the lock of a node that is gone, as soon as nobody waits
        for it.

        :param tuple paths: of the node, and of its lock.
        """
        if not self.session.removeLock(*paths):
            self.queue.retry(('lock', paths))


def _isSeen(node, request):
    """:return: whether our copy of the request is not older than the
        assignment of the node to it."""
    version = request.getZKVersion()
    return node.min_request_version is None or (
        version is not None and version >= node.min_request_version)
