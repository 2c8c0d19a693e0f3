"""Records the failures of launches, and reports the results of launches."""

import time

from zuul.exceptions import LaunchKeyscanException
from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode

from zuul_nodes import audit, messages
from zuul_nodes.launcher.nodes import tracing
from zuul_nodes.launcher.providers import (
    Failure,
    classify,
    describe,
    isLoginRefused,
)
from zuul_nodes.launcher.zookeeper import (
    UnwritableError,
    serialize,
    setAttributes,
)

State = ProviderNode.State

# Errors with a complete message, logged without a traceback.
EXPECTED = (LaunchKeyscanException, ProviderNodeError)


class LaunchOutcomes:
    """Records the failures of launches, and reports the results of launches.

    :param NodeRecords nodes:
    :param NodeSteps steps: run the steps of the drivers.
    :param Layouts layouts: hold the providers of the nodes.
    :param ConsoleLogs console_logs: reads the console logs of failed launches.
    :param Stats stats: counts the launches.
    """

    def __init__(self, nodes, steps, layouts, console_logs, stats):
        self.nodes = nodes
        self.session = nodes.session
        self.steps = steps
        self.layouts = layouts
        self.console_logs = console_logs
        self.stats = stats

    def report(self, node, error=None):
        """Report the end of a launch to traces and metrics.

        :param Exception error: why the launch has failed; None if it
            succeeded.
        """
        tracing.traceCreation(node)
        self.stats.reportLaunch(
            node, self.layouts.scope.findProvider(node), error)
        if error is None:
            self.stats.reportPhases(
                node, self.nodes.records.getNodesetRequest(node.request_id))

    def fail(self, node, error, log):
        """Record a failed launch with its reason."""
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
        if isLoginRefused(error):
            comment = f'unable to log in: {comment}'
        if console := self.console_logs.take(node):
            comment += f'; its console ends with: {console}'
        attributes = {'state': state, 'comment': comment}
        try:
            self._writeFailure(node, failure, attributes)
        except UnwritableError:
            # The driver's latest values cannot be written, so the record keeps
            # the ones before.
            setAttributes(node, create_state_machine=None)
            node.refresh(self.session.context())
            self._writeFailure(node, failure, attributes)
        setAttributes(
            node, create_state_machine=machine, nodescan_request=None)
        self.report(node, error)
        setAttributes(node, create_state_machine=None)
        self.steps.end(node.uuid)

    def _writeFailure(self, node, failure, attributes):
        """Write a failure to the node and its slots.

        :raises UnwritableError: the driver has set a value that cannot be
            written.
        """
        # Serializing copies the values of the driver's state machine to the
        # record.
        serialize(node, self.session.context())
        transaction = self.session.transaction()
        for each in (node, *self.nodes.getSubnodes(node)):
            transaction.audit(
                audit.Event.CREATED, each, result=audit.Result.FAILED,
                reason=attributes['comment'])
            transaction.update(
                each, state_time=time.time(), create_state_machine=None,
                create_state=node.create_state | {
                    'failure': failure.value,
                    'launcher': self.session.identifier},
                **attributes)
        transaction.commit()
