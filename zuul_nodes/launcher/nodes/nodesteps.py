"""Runs the steps of drivers, and processes their results.

A step ends in a thread of its endpoint.  Its result is processed in that
thread by a worker's rules: only the holder of the node's lock writes, and an
error is retried after a back-off.
"""

import collections

from zuul_nodes.launcher.zookeeper import Conflict, setAttributes


class NodeSteps:
    """Runs the steps of drivers.

    :param NodeRecords nodes:
    :param StateMachines state_machines: run the steps.
    """

    def __init__(self, nodes, state_machines):
        self.nodes = nodes
        self.state_machines = state_machines
        # Uuid of a node -> number of its steps that have failed in a row.
        self._failures = collections.Counter()

    def isBusy(self, node_id):
        """:return: as :meth:`.StateMachines.isBusy`."""
        return self.state_machines.isBusy(node_id)

    def create(self, node, provider, done, log):
        """Run the steps of a node's launch.

        :param done: called as ``done(node, wait, error, log)`` for each
            change, see :meth:`.StateMachines.create`.
        """
        self.state_machines.create(
            node, provider, lambda wait, error: self.guard(
                node, done, wait, error, log), log)

    def delete(self, node, provider, done, log):
        """Run the steps of a node's termination; as :meth:`create`."""
        self.state_machines.delete(
            node, provider, lambda wait, error: self.guard(
                node, done, wait, error, log), log)

    def guard(self, node, function, wait, error, log):
        """Call a function in an endpoint's thread, by a worker's rules."""
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
                log.debug('Retrying node %s: %s', node, problem)
            else:
                log.exception('Unable to process node %s:', node)
            # Before the lock is released, so that the release does not process
            # the node before its back-off is over.
            self.nodes.retry(node, self._failures[node.uuid])
            self._failures[node.uuid] += 1
            self.drop(node)

    def drop(self, node):
        """Release a node whose record has changed unexpectedly."""
        self.state_machines.forget(node.uuid)
        self.nodes.session.release(node)

    def end(self, node_id):
        """Forget the state machines of a node whose launch or reuse has ended.
        """
        self.state_machines.forget(node_id)

    def forget(self, node_id):
        """Forget a node that is deleted."""
        self._failures.pop(node_id, None)
        self.state_machines.forget(node_id)
