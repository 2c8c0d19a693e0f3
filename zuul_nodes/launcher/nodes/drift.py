"""Nodes that are ready, and whose label has been defined anew.

Nobody is given one of them.  But a change of a definition may be taken
back soon, and launchers that share the nodes do not read a new layout in
the same moment: so they go some time after those that replace them were
asked for, or as soon as somebody waits for what they use.
"""

import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import isGiven


class Drift:
    """
    :param NodeRecords nodes:
    :param Layouts layouts: with their providers.
    :param Reclaim reclaim: knows whose room somebody waits for.
    :param Settings settings: say how long they may stay, as far as this
        launcher has seen them.
    """

    def __init__(self, nodes, layouts, reclaim, settings):
        self.nodes = nodes
        self.layouts = layouts
        self.reclaim = reclaim
        self.grace = settings.drift_grace
        # The id of a node -> since when, by ``time.monotonic()``.
        self._since = {}

    def mayStay(self, node):
        """
        :param ProviderNode node: that no tenant would be given.
        :return: whether it may stay for now; then it will be looked at
            again.
        """
        providers = self.layouts.scope.getProviders(node)
        if (node.state != ProviderNode.State.READY or not providers
                # A machine that is there already has to be made anew
                # before it can be of use.
                or isGiven(providers[0].driver)
                or self.reclaim.hasToGo(node)):
            return False
        now = time.monotonic()
        left = self._since.setdefault(node.uuid, now) + self.grace - now
        if left > 0:
            self.nodes.lookLater(node, left)
        return left > 0

    def forget(self, node_id):
        """The node is gone, or as it should be again."""
        self._since.pop(node_id, None)
