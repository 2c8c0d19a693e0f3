"""Nodes that are made.

A node is there when its instance is and its host keys are known.
"""

import time

from zuul.exceptions import LaunchKeyscanException, QuotaException
from zuul.launcher.server import ProviderNodeError
from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.nodes.hostkeyscan import needsScan
from zuul_nodes.launcher.providers import isFor
from zuul_nodes.launcher.zookeeper import (
    UnwritableError,
    setAttributes,
    setContext,
)

State = ProviderNode.State


class NodeLaunch:
    """
    :param NodeRecords nodes:
    :param NodeSteps steps: of their drivers.
    :param Layouts layouts: with the providers that make them.
    :param LaunchStart start: says when one may begin.
    :param HostKeys host_keys: of the instances.
    :param LaunchOutcomes outcomes: records what launches come to.
    :param addFulfilled: called as ``addFulfilled(transaction, node, log)``
        with the transaction that makes a node ready; it may fulfil the
        node's request.
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
        """Take the next step towards a node."""
        if isinstance(node, SubnodeProviderNode):
            return self._followHost(node, log)
        if not (node.create_state_machine or isFor(
                node, self.layouts.scope.findProvider(node))
                or self.layouts.isCertain(node.tenant_name)):
            # It is made by a layout that is about to be read.
            return
        try:
            if not node.create_state_machine and not self.start.begin(
                    node, log):
                return
            if (node.create_state_machine
                    and node.create_state_machine.complete):
                return self._finish(node, log)
            provider = self.layouts.scope.getProviderFor(node)
        except (ProviderNodeError, LaunchKeyscanException,
                QuotaException) as error:
            if (isinstance(error, ProviderNodeError)
                    and not self.layouts.isCertain(node.tenant_name)):
                # While layouts are read, a provider may seem to be missing.
                return
            return self.outcomes.fail(node, error, log)
        self.steps.create(node, provider, self._created, log)

    def _created(self, node, wait, error, log):
        """A step of the creation has ended."""
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
        """The instance is there; the node is when its keys are known."""
        keys = self.host_keys.get(node, log)
        if keys is None:
            return
        subnodes = self.nodes.getSubnodes(node)
        if len(subnodes) < len(node.subnodes):
            # Another launcher is still about to write their records.
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
        self.addFulfilled(transaction, node, log)
        transaction.commit()
        log.debug('Marking node %s as %s', node, state)
        self.steps.end(node.uuid)
        self.outcomes.report(node)

    def _followHost(self, node, log):
        """A slot is made with its host."""
        host = self.nodes.get(node.main_node_id)
        if host is None:
            left = self.start.getTimeLeft(node)
            if left <= 0:
                return self.outcomes.fail(node, ProviderNodeError(
                    'the host of the slot is missing'), log)
            self.nodes.lookLater(node, left)
        elif host.state == State.SLOT_HOST:
            # The slot had failed; whoever saw that died before the host was
            # told.
            self.nodes.failHost(host, log)
        self.session.release(node)
