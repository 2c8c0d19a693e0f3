"""Static nodes: registered instead of made.

The driver brings the record of a machine up to date when it rebuilds it.
What is left is the launcher's: who registers them, and slots.
"""

import copy

from zuul.launcher.subnodes import SubnodeStateMachine
from zuul.model import ProviderNode

from zuul_nodes.launcher.scope import getEntry

# Slots that have come to this are of no use as they are, but nothing is
# wrong with the machine.
REPLACED_STATES = (
    ProviderNode.State.OUTDATED,
    ProviderNode.State.USED,
    ProviderNode.State.SLOT_HOST,
)


class RegistrationMixin:
    """Makes Zuul's launcher register anew what has changed."""

    def _cleanupNode(self, node, log):
        providers = self.scope.getProviders(node)
        if not providers and self._isStatic(node):
            # There is nobody left who could be asked how to delete it.
            with self.createZKContext(node._lock, log) as ctx:
                node.delete(ctx)
                node.releaseLock(ctx)
            return
        if ((node.main_node_id or node.subnodes)
                and node.state in REPLACED_STATES
                and any(getEntry(node, provider) for provider in providers)):
            # A machine and its slots can not be rebuilt one by one, so
            # they are removed and registered again.
            node._set(delete_state_machine=SubnodeStateMachine())
        super()._cleanupNode(node, log)
        if (node.state == node.State.REBUILDING and node.request_id
                and not self.api.getNodesetRequest(node.request_id)):
            # Zuul rebuilds what is nobody's, but does not take what was
            # used before from the request that is gone.
            with self.createZKContext(node._lock, log) as ctx:
                node.unassign(ctx)
            self.wake_event.set()

    def _isStatic(self, node):
        connection = self.connections.connections.get(node.connection_name)
        return connection is not None and connection.driver.name == 'static'

    def _deRegisterStaticNodes(self, provider):
        # What another tenant's object of that provider has is to stay.
        everybodys = copy.copy(provider)
        everybodys._set(nodes={
            node_id: entry
            for other in self.scope.by_name[provider.canonical_name]
            for node_id, entry in other.nodes.items()})
        super()._deRegisterStaticNodes(everybodys)

    def _processMinReady(self):
        super()._processMinReady()
        if not self.layout_updated_event.is_set():
            self._registerMissing()

    def _registerMissing(self):
        """Register the static nodes that have been removed."""
        for provider in self._getHandledProviders():
            if any(self.api.getProviderNode(node_id) is None
                   for node_id in provider.nodes):
                self._registerStaticNodes(provider)
