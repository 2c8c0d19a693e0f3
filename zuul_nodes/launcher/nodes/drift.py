"""Nodes that are ready, and whose label has been defined anew.

Nobody is given one of them.  But a change of a definition may be taken
back soon, and launchers that share the nodes do not read a new layout in
the same moment: so they go some time after those that replace them were
asked for, or as soon as somebody waits for what they use.
"""

import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import isGiven

# Seconds that they may stay, as far as this launcher has seen them.
GRACE = 300.0


class Drift:
    """
    :param Launcher launcher: whose share the nodes are.
    """

    def __init__(self, launcher):
        self.launcher = launcher
        # The id of a node -> since when, by ``time.monotonic()``.
        self._since = {}

    def mayStay(self, node):
        """
        :param ProviderNode node: that no tenant would be given.
        :return: whether it may stay for now; then it will be looked at
            again.
        """
        providers = self.launcher.scope.getProviders(node)
        if (node.state != ProviderNode.State.READY or not providers
                # A machine that is there already has to be made anew
                # before it can be of use.
                or isGiven(providers[0].driver)
                or self.launcher.reclaim.hasToGo(node)):
            return False
        now = time.monotonic()
        left = self._since.setdefault(node.uuid, now) + GRACE - now
        if left > 0:
            self.launcher.queue.addAfter(('node', node.uuid), left)
        return left > 0

    def forget(self, node_id):
        """The node is gone, or as it should be again."""
        self._since.pop(node_id, None)
