"""Launches nodes.

A node is ready when its instance exists and its host keys are known.
"""

import time

from zuul.exceptions import LaunchKeyscanException, QuotaException
from zuul.launcher.server import ProviderNodeError
from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.model import ProviderNode

from zuul_nodes import audit, nodenotes
from zuul_nodes.launcher.nodes.hostkeyscan import needsScan
from zuul_nodes.launcher.providers import MovedError, getIdentity, isGiven
from zuul_nodes.launcher.zookeeper import (
    UnwritableError,
    setAttributes,
    setContext,
)

State = ProviderNode.State


class NodeLaunch:
    """Launches nodes, one step at a time.

    :param NodeRecords nodes:
    :param NodeSteps steps: run the steps of the drivers.
    :param Layouts layouts: hold the providers of the nodes.
    :param LaunchStart start: decides when a launch may start.
    :param HostKeys host_keys: reads the host keys of the instances.
    :param LaunchOutcomes outcomes: records and reports the results of
        launches.
    :param addFulfilled: called as ``addFulfilled(transaction, node, log)``
        with the transaction that makes a node ready; it may fulfill the
        node's request in the same transaction.
    """

    def __init__(self, nodes, steps, layouts, start, host_keys, outcomes,
                 addFulfilled):
        self.nodes = nodes
        self.session = nodes.session
        self.steps = steps
        self.layouts = layouts
        self.start = start
        self.host_keys = host_keys
        self.outcomes = outcomes
        self.addFulfilled = addFulfilled

    def create(self, node, log):
        """Take the next step of a node's launch."""
        if isinstance(node, SubnodeProviderNode):
            return self._followHost(node, log)
        if not (node.create_state_machine or self.layouts.scope.isFor(
                node, self.layouts.scope.findProvider(node))
                or self.layouts.isCertain(node.tenant_name)):
            # The provider that launches it is in a layout that is being read.
            return
        try:
            if not node.create_state_machine and not self.start.begin(
                    node, log):
                return
            if (node.create_state_machine
                    and node.create_state_machine.complete):
                return self._finish(node, log)
            provider = self._getProvider(node)
        except (ProviderNodeError, LaunchKeyscanException,
                QuotaException) as error:
            if (isinstance(error, ProviderNodeError)
                    and not self.layouts.isCertain(node.tenant_name)):
                # While layouts are being read, a provider may seem to be
                # missing.
                return
            return self.outcomes.fail(node, error, log)
        self.steps.create(node, provider, self._endStep, log)

    def _getProvider(self, node):
        """
        :return: the provider that launches a node.
        :raises MovedError: the launch has not begun, and the label of its
            tenant is another one by now.
        """
        scope = self.layouts.scope
        provider = scope.findProvider(node)
        if not node.create_state_machine and not node.create_state and (
                nodenotes.getMadeOf(node) and provider is not None
                # A static node becomes what its label says.
                and not isGiven(provider.driver)
                and not scope.isFor(node, provider)):
            raise MovedError(
                f'label {node.label} is not what it was when the node was '
                'requested')
        return scope.getProviderFor(node)

    def _getNotes(self, node):
        """:return: attributes of a node that is ready: static ones may have
            another label than before."""
        provider = self.layouts.scope.findProvider(node)
        known = provider and isGiven(provider.driver) and getIdentity(
            provider, node.label)
        return nodenotes.make(known.made_of, None) if known else {}

    def _endStep(self, node, wait, error, log):
        """Record the result of a step."""
        if error is not None:
            return self.outcomes.fail(node, error, log)
        try:
            if wait is None and not needsScan(node):
                return self._finish(node, log)
            self.nodes.save(node)
        except UnwritableError as unwritable:
            return self.outcomes.fail(node, unwritable, log)
        self.nodes.lookLater(node, wait or 0)

    def _finish(self, node, log):
        """Make the node ready if its host keys are known."""
        keys = self.host_keys.get(node, log)
        if keys is None:
            return
        subnodes = self.nodes.getSubnodes(node)
        if len(subnodes) < len(node.subnodes):
            # Another launcher is still writing their records.
            if self.start.getTimeLeft(node) < 0:
                return self.outcomes.fail(
                    node, ProviderNodeError('the slots are missing'), log)
            self.nodes.lookLater(node, 1)
            return
        state = State.SLOT_HOST if subnodes else State.READY
        setAttributes(
            node, host_keys=keys or node.host_keys, nodescan_request=None)
        transaction = self.session.transaction()
        now = time.time()
        transaction.update(
            node, state=state, state_time=now, **self._getNotes(node))
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
        self.addFulfilled(transaction, node, log)
        transaction.commit()
        log.debug('Marking node %s as %s', node, state)
        self.steps.end(node.uuid)
        self.outcomes.report(node)

    def _followHost(self, node, log):
        """Wait for the host of a slot."""
        host = self.nodes.get(node.main_node_id)
        if host is None:
            left = self.start.getTimeLeft(node)
            if left <= 0:
                return self.outcomes.fail(node, ProviderNodeError(
                    'the host of the slot is missing'), log)
            self.nodes.lookLater(node, left)
        elif host.state == State.SLOT_HOST:
            # The slot had failed, and the launcher that recorded its failure
            # died before it wrote the state of the host.
            self.nodes.failHost(host, log)
        self.session.release(node)
