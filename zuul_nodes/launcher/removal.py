"""Nodes that come to their end."""

from zuul.model import ProviderNode

from zuul_nodes.launcher import nodetraces

State = ProviderNode.State

# Slots that have come to this are of no use as they are, but nothing is
# wrong with the machine.
REPLACED_STATES = (State.OUTDATED, State.USED, State.SLOT_HOST)
# The lock of a node that is gone goes when nobody waits for it any more;
# that is looked at after this time (seconds).
LOCK_INTERVAL = 10


class Removal:
    """
    :param NodeReconciler nodes: of whose nodes these are steps.
    """

    def __init__(self, nodes):
        self.nodes = nodes
        self.api = nodes.api
        self.launcher = nodes.launcher
        self.machines = nodes.machines
        self.queue = nodes.queue
        self.store = nodes.store

    def delete(self, node, log):
        self.launcher.scanner.cancel(('node', node.uuid))
        if any(subnode.state not in ProviderNode.CREATE_STATES
               for subnode in self.nodes.getSubnodes(node)):
            # The host goes when its last slot has gone.
            return
        scope = self.launcher.scope
        if node.delete_state_machine and node.delete_state_machine.complete:
            return self._remove(node, log)
        providers = scope.getProviders(node)
        if ((node.main_node_id or node.subnodes)
                and node.state in REPLACED_STATES
                and any(scope.isEntry(node, each) for each in providers)):
            # A machine and its slots can not be rebuilt one by one, so
            # they are removed and registered again.
            return self._remove(node, log)
        if not providers and self.launcher.isStatic(node):
            # There is nobody left who could be asked how to delete it.
            return self._remove(node, log)
        provider = scope.getProviderFor(node, ignore_label=True)
        self.machines.delete(
            node, provider, lambda wait, error: self.nodes.guard(
                node, self._deleted, wait, error, log), log)

    def _deleted(self, node, wait, error, log):
        """A step of the deletion has ended."""
        if error is not None:
            raise error
        if wait is not None:
            self.nodes.save(node)
            self.queue.addAfter(('node', node.uuid), wait)
            return
        if node.state == State.REBUILDING:
            # A static node begins anew.
            node._set(delete_state_machine=None)
            transaction = self.store.transaction()
            transaction.update(node)
            if node.request_id and not self.nodes.getRequest(node):
                transaction.deletePart(node.assignment)
            transaction.commit()
            self.machines.forget(node.uuid)
            self.queue.add(('node', node.uuid))
            return
        self._remove(node, log)

    def _remove(self, node, log):
        """Remove the record, if no request looks at it any more."""
        request = self.api.getNodesetRequest(node.request_id)
        if request is not None and (
                node.uuid in request.nodes or not _isSeen(node, request)):
            return
        log.debug('Removing provider node %s', node)
        self.machines.forget(node.uuid)
        if self.store.remove(node):
            self.queue.addAfter(
                ('lock', node.getLockPath()), LOCK_INTERVAL)
        self.launcher.planner.removeNode(node.uuid)
        nodetraces.traceDeletion(node)


def _isSeen(node, request):
    """:return: whether our copy of the request is not older than the
        assignment of the node to it."""
    version = request.getZKVersion()
    return node.min_request_version is None or (
        version is not None and version >= node.min_request_version)
