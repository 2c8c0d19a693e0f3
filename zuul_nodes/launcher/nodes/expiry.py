"""Decides when the launcher deletes an unassigned node."""

from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes.reclaim import isRetained

State = ProviderNode.State


class Expiry:
    """Decides when the launcher deletes an unassigned node.

    :param NodeRecords nodes:
    :param Layouts layouts: hold the providers of the nodes.
    :param Drift drift: knows how long nodes of an old definition stay.
    """

    def __init__(self, nodes, layouts, drift):
        self.nodes = nodes
        self.layouts = layouts
        self.drift = drift

    def isOver(self, node):
        """:return: whether to delete an unassigned node."""
        if self.nodes.records.hasNodeExpired(node):
            return True
        if node.image_upload_uuid and node.state == State.READY:
            # Launched to validate an image, not for other requests.
            return True
        if isRetained(node):
            return False
        if not self.layouts.isUpToDate():
            # While layouts are being read, a provider may seem to be missing.
            return False
        if self.layouts.scope.hasProvider(node):
            self.drift.forget(node.uuid)
            return False
        return not self.drift.mayStay(node)
