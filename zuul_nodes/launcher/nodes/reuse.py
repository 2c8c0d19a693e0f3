"""Machines that are given out again after they have been used."""

import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import describe, isMadeFrom
from zuul_nodes.launcher.zookeeper import setAttributes

State = ProviderNode.State


class Reuse:
    """
    :param NodeRecords nodes:
    :param Layouts layouts: say whose nodes are used again.
    :param HostKeys host_keys: of the machines.
    :param Reclaim reclaim: knows which of them have to go.
    """

    def __init__(self, nodes, layouts, host_keys, reclaim):
        self.nodes = nodes
        self.layouts = layouts
        self.host_keys = host_keys
        self.reclaim = reclaim

    def canBegin(self, node):
        """:return: whether a node may be used again, as its label says and
            its machine is."""
        provider = self.layouts.scope.findProvider(node)
        if not (isMadeFrom(node, provider)
                and provider.labels[node.label].reuse):
            return False
        main_node = node
        if node.main_node_id:
            main_node = self.nodes.get(node.main_node_id)
        # Not every driver looks whether another slot has failed.
        return (bool(main_node) and main_node.state != State.FAILED
                and provider.canReuseNode(main_node))

    def mayGoOn(self, node):
        """:return: whether nobody needs the room of such a node."""
        return self.reclaim.mayBeReused(node)

    def reuse(self, node, log):
        """Look at a machine that was used, and give it out again."""
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
