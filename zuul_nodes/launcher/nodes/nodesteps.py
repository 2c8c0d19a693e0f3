"""Steps of drivers, and what there is to do when one has ended.

A step ends in a thread of its endpoint.  What it has come to is written
there, as a worker would write it: only by the holder of the node's lock, and
again after a pause if that fails.
"""

import collections

from zuul_nodes.launcher.zookeeper import Conflict, setAttributes


class NodeSteps:
    """
    :param NodeRecords nodes:
    :param StateMachines state_machines: of these nodes.
    """

    def __init__(self, nodes, state_machines):
        self.nodes = nodes
        self.state_machines = state_machines
        # Node -> how many of its steps have failed, one after the other.
        self._failures = collections.Counter()

    def isBusy(self, node_id):
        """:return: as :meth:`.StateMachines.isBusy`."""
        return self.state_machines.isBusy(node_id)

    def create(self, node, provider, done, log):
        """Take steps towards a node.

        :param done: called as ``done(node, wait, error, log)`` when there is
            something new, see :meth:`.StateMachines.create`.
        """
        self.state_machines.create(
            node, provider, lambda wait, error: self.guard(
                node, done, wait, error, log), log)

    def delete(self, node, provider, done, log):
        """Take steps towards the end of a node; as :meth:`create`."""
        self.state_machines.delete(
            node, provider, lambda wait, error: self.guard(
                node, done, wait, error, log), log)

    def guard(self, node, function, wait, error, log):
        """Do something in an endpoint's thread, as in a worker's."""
        if not node.hasLock():
            setAttributes(node, create_state_machine=None,
                          delete_state_machine=None)
            self.state_machines.forget(node.uuid)
            self.nodes.look(node.uuid)
            return
        try:
            function(node, wait, error, log)
            self._failures.pop(node.uuid, None)
        except Exception as problem:
            if isinstance(problem, Conflict):
                log.debug('Looking at node %s again: %s', node, problem)
            else:
                log.exception('Unable to go on with node %s:', node)
            # Whoever sees that the node is let go does not come earlier.
            self.nodes.retry(node, self._failures[node.uuid])
            self._failures[node.uuid] += 1
            self.drop(node)

    def drop(self, node):
        """Let go of a node whose record is not what we thought."""
        self.state_machines.forget(node.uuid)
        self.nodes.session.release(node)

    def end(self, node_id):
        """There is nothing to be done by a driver any more."""
        self.state_machines.forget(node_id)

    def forget(self, node_id):
        """There is no such node any more."""
        self._failures.pop(node_id, None)
        self.state_machines.forget(node_id)
