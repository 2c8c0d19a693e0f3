"""Nodes that are made, or made ready once more.

A node is there when its instance is and its host keys are known.
"""

import time

from zuul.exceptions import LaunchKeyscanException, QuotaException
from zuul.launcher.server import ProviderNodeError
from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.model import ProviderNode

from zuul_nodes import audit, messages
from zuul_nodes.launcher.nodes import tracing
from zuul_nodes.launcher.nodes.hostkeys import (
    checkHostKeys,
    getExpectedHostKeys,
)
from zuul_nodes.launcher.nodes.hostkeyscan import needsScan
from zuul_nodes.launcher.planner import isPending
from zuul_nodes.launcher.providers import (
    Failure,
    classify,
    describe,
    isFor,
    isMadeFrom,
)
from zuul_nodes.launcher.zookeeper import (
    UnwritableError,
    serialize,
    setAttributes,
    setContext,
)

State = ProviderNode.State

# Errors that say all there is to say.
EXPECTED = (LaunchKeyscanException, ProviderNodeError)
# A node that waits for room looks for it itself now and then (seconds),
# as not all of what takes it can be seen.
ROOM_INTERVAL = 10
# If a slot's host does not appear within this time (seconds), it will not.
SUBNODE_SYNC_TIME = 300


class TakenError(QuotaException):
    """Other launchers were quicker; the records tell when there is room.
    """
    failure = Failure.OVERTAKEN.value


class NodeLaunch:
    """
    :param NodeReconciler nodes: of whose nodes these are steps.
    """

    def __init__(self, nodes):
        self.nodes = nodes
        self.api = nodes.api
        self.launcher = nodes.launcher
        self.state_machines = nodes.state_machines
        self.queue = nodes.queue
        self.session = nodes.session

    def create(self, node, log):
        if isinstance(node, SubnodeProviderNode):
            return self._followHost(node, log)
        if not (node.create_state_machine or isFor(
                node, self.launcher.scope.findProvider(node))
                or self.launcher.layouts.isCertain(node.tenant_name)):
            # It is made by a layout that is about to be read.
            return
        try:
            if not node.create_state_machine and not self._begin(node, log):
                return
            if (node.create_state_machine
                    and node.create_state_machine.complete):
                return self._finish(node, log)
            provider = self.launcher.scope.getProviderFor(node)
        except (ProviderNodeError, LaunchKeyscanException,
                QuotaException) as error:
            if (isinstance(error, ProviderNodeError)
                    and not self.launcher.layouts.isCertain(
                        node.tenant_name)):
                # While layouts are read, a provider may seem to be missing.
                return
            return self._fail(node, error, log)
        self.state_machines.create(
            node, provider, lambda wait, error: self.nodes.guard(
                node, self._created, wait, error, log), log)

    def _begin(self, node, log):
        """
        :return: whether creation may begin or go on; its record says so.
        :raises QuotaException: others were quicker.
        """
        if node.create_state or node.state not in (
                State.REQUESTED, State.BUILDING):
            return True
        planner = self.launcher.planner
        if node.state == State.BUILDING:
            if not planner.fits(node):
                raise TakenError('others have taken the room')
            return True
        # Zuul's launcher has written it; perhaps there is no room.
        pending = isPending(node)
        if not (planner.prepare([node]) if pending else planner.fits(node)):
            log.debug('Node %s waits for room', node)
            self.launcher.record_events.waitForRoom(node)
            self.queue.addAfter(('node', node.uuid), ROOM_INTERVAL)
            return False
        try:
            transaction = self.session.transaction()
            for each in (node, *self.nodes.getSubnodes(node)):
                transaction.update(each, state=State.BUILDING,
                                   state_time=time.time())
            transaction.commit()
        finally:
            if pending:
                planner.forget(node.uuid)
        return True

    def _created(self, node, wait, error, log):
        """A step of the creation has ended."""
        if error is not None:
            return self._fail(node, error, log)
        try:
            if wait is None and not needsScan(node):
                return self._finish(node, log)
            self.nodes.save(node)
        except UnwritableError as unwritable:
            return self._fail(node, unwritable, log)
        self.queue.addAfter(('node', node.uuid), wait or 0)

    def _finish(self, node, log):
        """The instance is there; the node is when its keys are known."""
        keys = self._scan(node, log)
        if keys is None:
            return
        subnodes = self.nodes.getSubnodes(node)
        if len(subnodes) < len(node.subnodes):
            # Another launcher is still about to write their records.
            if time.time() - node.request_time > SUBNODE_SYNC_TIME:
                return self._fail(
                    node, ProviderNodeError('the slots are missing'), log)
            self.queue.addAfter(('node', node.uuid), 1)
            return
        state = State.SLOT_HOST if subnodes else State.READY
        setAttributes(
            node, host_keys=keys or node.host_keys, nodescan_request=None)
        transaction = self.session.transaction()
        now = time.time()
        transaction.update(node, state=state, state_time=now)
        for subnode in subnodes:
            setContext(subnode, self)
            try:
                subnode.updateFromMainNode(node)
            finally:
                setContext(subnode, None)
            transaction.update(subnode, state=State.READY, state_time=now)
        for each in (node, *subnodes):
            transaction.audit(audit.Event.CREATED, each)
        transaction.unlock(node)
        self.launcher.request_reconciler.addFulfilled(transaction, node, log)
        transaction.commit()
        log.debug('Marking node %s as %s', node, state)
        self.state_machines.forget(node.uuid)
        self._reportLaunch(node)

    def _scan(self, node, log):
        """
        :return: the host keys, empty if it shows none; None while they
            are looked for.
        :raises LaunchKeyscanException: it does not show what it should.
        """
        if not needsScan(node):
            return list(node.host_keys)
        if node.nodescan_request is None:
            scan = self.launcher.host_key_scanner.add(
                ('node', node.uuid), node, log)
            setAttributes(node, nodescan_request=scan)
        scan = node.nodescan_request
        if not scan.complete:
            return None
        provider = self.launcher.scope.getProviderFor(node)
        keys = checkHostKeys(node, scan, getExpectedHostKeys(node, provider))
        self.launcher.liveness_check.noteAnswer(node)
        return keys

    def _fail(self, node, error, log):
        """Creation has come to nothing; its record says why."""
        if self.launcher.console_logs.ask(node, error, log):
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
        if said := self.launcher.console_logs.take(node):
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
        self._reportLaunch(node, error)
        setAttributes(node, create_state_machine=None)
        self.state_machines.forget(node.uuid)

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

    def _followHost(self, node, log):
        """A slot is made with its host."""
        host = self.api.getProviderNode(node.main_node_id)
        if host is None:
            left = node.request_time + SUBNODE_SYNC_TIME - time.time()
            if left <= 0:
                return self._fail(node, ProviderNodeError(
                    'the host of the slot is missing'), log)
            self.queue.addAfter(('node', node.uuid), left)
        elif host.state == State.SLOT_HOST:
            # The slot had failed; whoever saw that died before the host was
            # told.
            self._failHost(host, log)
        self.session.release(node)

    def _failHost(self, host, log):
        """Of a machine with a bad slot, nobody gets another one."""
        self.nodes.setStateOfOther(host, State.FAILED, log)
        self.nodes.spread(host, State.FAILED, log)

    def _reportLaunch(self, node, error=None):
        tracing.traceCreation(node)
        self.launcher.stats.reportLaunch(
            node, self.launcher.scope.findProvider(node), error)

    def canReuse(self, node):
        provider = self.launcher.scope.findProvider(node)
        if not (isMadeFrom(node, provider)
                and provider.labels[node.label].reuse):
            return False
        main_node = node
        if node.main_node_id:
            main_node = self.api.getProviderNode(node.main_node_id)
        # Not every driver looks whether another slot has failed.
        return (bool(main_node) and main_node.state != State.FAILED
                and provider.canReuseNode(main_node))

    def reuse(self, node, log):
        """Look at a machine that was used, and give it out again."""
        main_node = node.main_node_id and self.api.getProviderNode(
            node.main_node_id)
        try:
            keys = self._scan(node, log)
        except Exception as error:
            log.exception('Marking node %s as failed', node)
            setAttributes(node, nodescan_request=None)
            self.nodes.setState(node, State.FAILED, log,
                                comment=describe(error, node))
            if main_node:
                self._failHost(main_node, log)
            return
        if keys is None:
            return
        log.debug('Marking node %s as ready for reuse', node)
        setAttributes(
            node, nodescan_request=None, host_keys=keys or node.host_keys)
        transaction = self.session.transaction()
        transaction.update(node, state=State.READY, state_time=time.time())
        transaction.deletePart(node.assignment)
        transaction.unlock(node)
        transaction.commit()
