"""What launches come to: how a failure is recorded, and what is told."""

import time

from zuul.exceptions import LaunchKeyscanException
from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes import audit, messages
from zuul_nodes.launcher.nodes import tracing
from zuul_nodes.launcher.providers import Failure, classify, describe
from zuul_nodes.launcher.zookeeper import (
    UnwritableError,
    serialize,
    setAttributes,
)

State = ProviderNode.State

# Errors that say all there is to say.
EXPECTED = (LaunchKeyscanException, ProviderNodeError)


class LaunchOutcomes:
    """
    :param NodeRecords nodes:
    :param NodeSteps steps: of these nodes.
    :param Layouts layouts: with their providers.
    :param ConsoleLogs console_logs: of instances that do not come up.
    :param Stats stats: is told of each launch.
    """

    def __init__(self, nodes, steps, layouts, console_logs, stats):
        self.nodes = nodes
        self.session = nodes.session
        self.steps = steps
        self.layouts = layouts
        self.console_logs = console_logs
        self.stats = stats

    def report(self, node, error=None):
        """Tell how a launch has ended.

        :param Exception error: why it has failed, or None.
        """
        tracing.traceCreation(node)
        self.stats.reportLaunch(
            node, self.layouts.scope.findProvider(node), error)

    def fail(self, node, error, log):
        """Creation has come to nothing; its record says why."""
        if self.console_logs.ask(node, error, log):
            return
        failure = classify(error)
        state = State.FAILED if failure in (
            Failure.PERMANENT, Failure.ATTEMPT) else State.TEMPFAILED
        log.warning('Marking node %s as %s: %s', node, state, (
            messages.getTraceback(error) if failure is Failure.ATTEMPT
            and not isinstance(error, EXPECTED)
            else messages.withoutSecrets(error)))
        machine = node.create_state_machine
        comment = describe(error, node)
        if said := self.console_logs.take(node):
            comment += f'; its console ends with: {said}'
        attributes = {'state': state, 'comment': comment}
        try:
            self._writeFailure(node, failure, attributes)
        except UnwritableError:
            # Of what the driver says, there is only what was written before.
            setAttributes(node, create_state_machine=None)
            node.refresh(self.session.context())
            self._writeFailure(node, failure, attributes)
        setAttributes(
            node, create_state_machine=machine, nodescan_request=None)
        self.report(node, error)
        setAttributes(node, create_state_machine=None)
        self.steps.end(node.uuid)

    def _writeFailure(self, node, failure, attributes):
        """Write what has become of a node, also to its slots.

        :raises UnwritableError: because of what its driver says of it.
        """
        # With that, what the driver's machine says becomes its state.
        serialize(node, self.session.context())
        transaction = self.session.transaction()
        for each in (node, *self.nodes.getSubnodes(node)):
            transaction.audit(
                audit.Event.CREATED, each, result=audit.Result.FAILED,
                reason=attributes['comment'])
            transaction.update(
                each, state_time=time.time(), create_state_machine=None,
                create_state=node.create_state | {'failure': failure.value},
                **attributes)
        transaction.commit()
