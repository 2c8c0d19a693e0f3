"""Ready nodes whose instances are gone.

The owner of an instance may stop it, and the cloud may preempt it or lose its
host, while its node waits for a request.  The launcher finds such nodes in the
lists that the clean-up reads, and fails them before a request gets them.
"""

import logging
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import isGiven

State = ProviderNode.State


# A host with slots serves requests through the nodes of its slots.
WAITING = State.READY, State.SLOT_HOST


class Vanished:
    """Finds ready nodes whose instances are gone or broken.

    Create this before reading the lists, so that nodes which become ready in
    the meantime are left out.

    :param NodeRecords nodes: has the nodes.
    :param BaseProviderEndpoint endpoint: whose instances are listed.
    :param float age: minimum seconds that a node has been ready, because new
        instances may appear in a cloud's list with a delay.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, nodes, endpoint, age):
        self.nodes = nodes
        self.endpoint = endpoint
        self._nodes = {} if isGiven(endpoint.driver) else {
            node.uuid: node for node in nodes.getAll()
            if self._isWaiting(node) and time.time() - node.state_time >= age}

    def find(self, seen):
        """Find the nodes without an intact instance.

        :param seen: yields (node id, instance) for all instances of a list.
        :return: node id -> what is wrong with its instance, in words.
        """
        problems = {}
        for node_id, instance in seen:
            # A node may have several resources, some of them intact.
            problems[node_id] = (problems.get(node_id)
                                 or getattr(instance, 'problem', None))
        # The driver may know of problems that the list does not show.
        ask = getattr(self.endpoint, 'findProblem', lambda node: None)
        # The driver may know that the list cannot contain a node.
        isListed = getattr(self.endpoint, 'isListed', lambda node: True)
        return {node_id: problem for node_id, node in self._nodes.items()
                if (node_id in problems or isListed(node)) and (
                    problem := problems.get(
                        node_id, 'the cloud has no instance of it')
                    or ask(node))}

    def failNodes(self, problems):
        """Fail nodes that are still waiting for a request.

        :param dict problems: as of :meth:`find`.
        """
        for node_id, problem in problems.items():
            node = self.nodes.get(node_id)
            if node is None or not self._isWaiting(node):
                continue
            self.log.warning(
                'Failing node %s, which is %s, but %s at endpoint %s', node,
                node.state, problem, self.endpoint.canonical_name)
            self.nodes.fail(node, problem, self.log)

    def _isWaiting(self, node):
        """:return: whether it has an instance of its own at this endpoint
            and is waiting for a request; a slot uses its host's instance."""
        return (node.state in WAITING and not node.main_node_id
                and not node.is_locked and not node.request_id
                and node.endpoint_name == self.endpoint.name
                and node.connection_name
                == self.endpoint.connection.connection_name)
