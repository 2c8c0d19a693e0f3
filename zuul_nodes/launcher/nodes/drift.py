"""Keeps ready nodes of an old label definition for a limited time.

Requests are not granted such nodes.  The launcher does not delete them at
once, because the change of the definition may be reverted soon and because
launchers that share the nodes read a new layout at different times.  It
deletes them some time after their replacements were requested.  If a waiting
request needs their quota, :mod:`.reclaim` deletes them earlier.
"""

import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import isGiven


class Drift:
    """Decides how long nodes of an old definition stay.

    :param NodeRecords nodes:
    :param Layouts layouts: hold the providers of the nodes.
    :param Settings settings: ``drift_grace``: seconds that such a node may
        stay after this launcher has first seen it.
    :ivar dict since: uuid of a node -> when it was first seen, by
        ``time.monotonic()``.
    """

    def __init__(self, nodes, layouts, settings):
        self.nodes = nodes
        self.layouts = layouts
        self.grace = settings.drift_grace
        self.since = {}

    def mayStay(self, node):
        """
        :param ProviderNode node: a node that does not fit any tenant's
            providers.
        :return: whether the node may stay for now.  If so, the launcher checks
            it again later.
        """
        providers = self.layouts.scope.getProviders(node)
        if (node.state != ProviderNode.State.READY or not providers
                # A static node has to be registered again before a
                # request can use it.
                or isGiven(providers[0].driver)):
            return False
        now = time.monotonic()
        left = self.since.setdefault(node.uuid, now) + self.grace - now
        if left > 0:
            self.nodes.lookLater(node, left)
        return left > 0

    def forget(self, node_id):
        """Forget a node that is deleted, or that fits its providers again."""
        self.since.pop(node_id, None)
