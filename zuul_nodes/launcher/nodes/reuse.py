"""Makes used nodes ready again."""

import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import describe
from zuul_nodes.launcher.zookeeper import setAttributes

State = ProviderNode.State


class Reuse:
    """Makes used nodes ready again.

    :param NodeRecords nodes:
    :param Layouts layouts: hold the labels, with their ``reuse``.
    :param HostKeys host_keys: reads the host keys of the nodes.
    :param Reclaim reclaim: knows which nodes to delete for waiting requests.
    """

    def __init__(self, nodes, layouts, host_keys, reclaim):
        self.nodes = nodes
        self.layouts = layouts
        self.host_keys = host_keys
        self.reclaim = reclaim

    def canBegin(self, node):
        """:return: whether the node's label and its driver allow its reuse."""
        provider = self.layouts.scope.findProvider(node)
        if not (self.layouts.scope.isFor(node, provider)
                and provider.labels[node.label].reuse):
            return False
        main_node = node
        if node.main_node_id:
            main_node = self.nodes.get(node.main_node_id)
        # Some drivers do not check whether another slot of the host has
        # failed.
        return (bool(main_node) and main_node.state != State.FAILED
                and provider.canReuseNode(main_node))

    def mayGoOn(self, node):
        """:return: whether the node may be reused, because no waiting request
            needs its quota."""
        return self.reclaim.mayBeReused(node)

    def reuse(self, node, log):
        """Scan a used node, and make it ready if it shows the expected host
        keys."""
        main_node = node.main_node_id and self.nodes.get(node.main_node_id)
        try:
            keys = self.host_keys.get(node, log)
        except Exception as error:
            log.exception('Marking node %s as failed', node)
            setAttributes(node, nodescan_request=None)
            self.nodes.setState(node, State.FAILED, log,
                                comment=describe(error, node))
            if main_node:
                self.nodes.failHost(main_node, log)
            return
        if keys is None:
            return
        log.debug('Marking node %s as ready for reuse', node)
        setAttributes(
            node, nodescan_request=None, host_keys=keys or node.host_keys)
        transaction = self.nodes.session.transaction()
        transaction.update(node, state=State.READY, state_time=time.time())
        transaction.deletePart(node.assignment)
        transaction.unlock(node)
        transaction.commit()
