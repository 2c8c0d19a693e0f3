"""Nodes that are ready, and whose instances are not there any more.

An instance that waits for a job may be preempted, stopped by its owner or lost
with its host.  The lists that are read to clean up tell, so its node goes
before a request gets it.
"""

import logging
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.providers import isGiven

State = ProviderNode.State


# A host with slots is no node of its own.
WAITING = State.READY, State.SLOT_HOST


class Vanished:
    """What lists of the instances of an endpoint tell of nodes.

    To be made before the lists are asked for: nodes that become ready
    meanwhile are none of its business.

    :param NodeRecords nodes:
    :param BaseProviderEndpoint endpoint: whose instances are listed.
    :param float age: seconds that a node has been ready, at least: a cloud
        may list what it has just made a while later.
    """

    log = logging.getLogger('zuul.nodes.endpoints')

    def __init__(self, nodes, endpoint, age):
        self.nodes = nodes
        self.endpoint = endpoint
        self._nodes = {} if isGiven(endpoint.driver) else {
            node.uuid: node for node in nodes.getAll()
            if self._isWaiting(node) and time.time() - node.state_time >= age}

    def find(self, seen):
        """
        :param seen: yields (id of a node, an instance of it): all that a list
            has.
        :return: id of a node -> in words, what is wrong with its instance.
        """
        problems = {}
        for node_id, instance in seen:
            # Something of a node may be well, as its namespace.
            problems[node_id] = (problems.get(node_id)
                                 or getattr(instance, 'problem', None))
        # What a list of instances does not tell, a driver may know.
        ask = getattr(self.endpoint, 'findProblem', lambda node: None)
        # And that it could not have told.
        isListed = getattr(self.endpoint, 'isListed', lambda node: True)
        return {node_id: problem for node_id, node in self._nodes.items()
                if (node_id in problems or isListed(node)) and (
                    problem := problems.get(
                        node_id, 'the cloud has no instance of it')
                    or ask(node))}

    def retire(self, problems):
        """Put nodes out of service, unless they have changed meanwhile.

        :param dict problems: as of :meth:`find`.
        """
        for node_id, problem in problems.items():
            node = self.nodes.get(node_id)
            if node is None or not self._isWaiting(node):
                continue
            self.log.warning(
                'Node %s is %s, but %s at endpoint %s; it goes', node,
                node.state, problem, self.endpoint.canonical_name)
            self.nodes.fail(node, problem, self.log)

    def _isWaiting(self, node):
        """:return: whether it has an instance of this endpoint, and waits for
            a job.  A slot has the instance of its host."""
        return (node.state in WAITING and not node.main_node_id
                and not node.is_locked and not node.request_id
                and node.endpoint_name == self.endpoint.name
                and node.connection_name
                == self.endpoint.connection.connection_name)
