"""Runs the steps of drivers, and processes their results.

A step ends in a thread of its endpoint.  Its result is processed in that
thread by a worker's rules: only the holder of the node's lock writes, and an
error is retried after a back-off.
"""

from zuul_nodes.launcher.nodes.statemachines import (
    RefusedError,
    WithdrawnError,
)
from zuul_nodes.launcher.workers import Backoff
from zuul_nodes.launcher.zookeeper import Conflict, setAttributes


class NodeSteps:
    """Runs the steps of drivers.

    :param NodeRecords nodes:
    :param StateMachines state_machines: run the steps.
    :param Settings settings:
    """

    def __init__(self, nodes, state_machines, settings):
        self.nodes = nodes
        self.state_machines = state_machines
        # Of the uuids of nodes whose results could not be processed.
        self.backoff = Backoff(settings.first_backoff,
                               settings.longest_backoff)

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
        if isinstance(error, WithdrawnError):
            log.info('Leaving node %s to another launcher, because its cloud '
                     'refuses the log-in', node)
            self.drop(node)
            return
        if isinstance(error, RefusedError):
            log.warning('Repeating a step of node %s, because its cloud '
                        'refuses the log-in', node)
            # Before the lock is released, as below.
            self.nodes.retry(node)
            self.drop(node)
            return
        try:
            function(node, wait, error, log)
            self.backoff.clear(node.uuid)
        except Exception as problem:
            if isinstance(problem, Conflict):
                log.debug('Retrying node %s: %s', node, problem)
            else:
                log.exception('Unable to process node %s:', node)
            # Before the lock is released, so that the release does not process
            # the node before its back-off is over.
            self.nodes.retry(node, self.backoff.noteFailure(node.uuid))
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
        self.state_machines.forgetRefusal(node_id)
        self.backoff.clear(node_id)
        self.state_machines.forget(node_id)
