"""When a node that is nobody's has to go."""

from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes.reclaim import isRetained

State = ProviderNode.State


class Expiry:
    """
    :param NodeRecords nodes:
    :param Layouts layouts: with their providers.
    :param Reclaim reclaim: knows whose room somebody waits for.
    :param Drift drift: knows how long those of old definitions stay.
    """

    def __init__(self, nodes, layouts, reclaim, drift):
        self.nodes = nodes
        self.layouts = layouts
        self.reclaim = reclaim
        self.drift = drift

    def isOver(self, node):
        """:return: whether a node that is nobody's has to go."""
        if self.nodes.records.hasNodeExpired(node):
            return True
        if node.image_upload_uuid and node.state == State.READY:
            # Made to validate an image, not to be used otherwise.
            return True
        if isRetained(node):
            return False
        if not self.layouts.isUpToDate():
            # While layouts are read, a provider may seem to be missing.
            return False
        if self.layouts.scope.hasProvider(node):
            self.drift.forget(node.uuid)
            return self.reclaim.hasToGo(node)
        return not self.drift.mayStay(node)
