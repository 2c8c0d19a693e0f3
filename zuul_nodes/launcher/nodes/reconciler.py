"""Takes the next step of each node.

Only the holder of the lock of a node's record takes its steps: the launcher
that wrote the record or that handles the node, or an executor while a job uses
it.
"""

import logging
import time

from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.lib.logutil import get_annotated_logger
from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.planner import ENDED_STATES
from zuul_nodes.launcher.zookeeper import Conflict, isSeen, setAttributes

State = ProviderNode.State

# Unlocked nodes in these states need a step by a launcher.
LAUNCHER_STATES = (*ProviderNode.LAUNCHER_STATES, State.TEMPFAILED)
# Executors hold the lock of a node in these states.
USE_STATES = (State.IN_USE, State.SNAPSHOT)
# Maximum seconds between two checks of a deadline, because clocks may jump.
LONGEST_WAIT = 600


class NodeReconciler:
    """Takes the next step of each node.

    :param NodeRecords nodes:
    :param NodeSteps steps: run the steps of the drivers.
    :param NodeLaunch launch: launches nodes.
    :param Reuse reuse: reuses static nodes.
    :param NodeTermination termination: deletes nodes.
    :param Expiry expiry: decides when to delete an unassigned node.
    :param Snapshots snapshots: creates snapshots of nodes.
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, nodes, steps, launch, reuse, termination, expiry,
                 snapshots):
        self.nodes = nodes
        self.session = nodes.session
        self.steps = steps
        self.launch = launch
        self.reuse = reuse
        self.termination = termination
        self.expiry = expiry
        self.snapshots = snapshots

    def reconcile(self, node_id):
        """Take the next step of a node, if this launcher handles it."""
        node = self.nodes.get(node_id)
        if node is None:
            self.nodes.forget(node_id)
            return
        if self.steps.isBusy(node_id) or not isSeen(node):
            # The end of the step or the watch queues the node again.
            return
        log = get_annotated_logger(self.log, node, request=node.request_id)
        if node.state == State.SNAPSHOT:
            self.snapshots.reconcile(node, log)
        self._queueExpiredSlots(node)
        try:
            if node.hasLock() or self._lock(node):
                self._step(node, log)
        except Conflict as conflict:
            log.debug('Retrying node %s: %s', node, conflict)
            self.steps.drop(node)
            self.nodes.retry(node)

    # Choosing a step

    def _lock(self, node):
        """Lock a node that needs a step.

        :return: whether this launcher now holds the lock.
        """
        if node.is_locked or not self.nodes.isMine(node):
            return False
        # Before the check: a deadline that is over by then is seen by it.
        self._watchDeadline(node)
        if not self._isActionable(node):
            return False
        if not self.session.acquire(node):
            # The record has changed, and the watch reads it.
            self.nodes.retry(node)
            return False
        # The state machines in this process may be older than the record,
        # which another holder of the lock may have written.
        setAttributes(node, create_state_machine=None,
                      delete_state_machine=None, nodescan_request=None)
        self.steps.end(node.uuid)
        return True

    def _isActionable(self, node):
        """:return: whether an unlocked node needs a step by a launcher."""
        if isinstance(node, SubnodeProviderNode):
            main_node = self.nodes.get(node.main_node_id)
            if main_node and (
                    main_node.state in ProviderNode.CREATE_STATES
                    or (node.state in ProviderNode.CREATE_STATES
                        and main_node.state != State.SLOT_HOST)):
                # It changes with its host.
                return False
        if node.state == State.SLOT_HOST:
            return not self._hasSubnodes(node)
        if node.state in LAUNCHER_STATES:
            return True
        request = self.nodes.getRequest(node)
        if node.next_state and not request:
            return True
        if node.state == State.HOLD:
            return node.hasHoldExpired()
        if node.request_id or node.state in USE_STATES:
            return request is None
        return self.expiry.isOver(node)

    def _step(self, node, log):
        request = self.nodes.getRequest(node)
        if node.next_state and not request:
            self._setNextState(node, log)
        if node.state in ProviderNode.CREATE_STATES and (
                request or not node.request_id) and not (
                    # An unassigned node that waits for capacity may
                    # have expired.
                    node.state == State.REQUESTED and not request
                    and self.expiry.isOver(node)):
            return self.launch.create(node, log)
        if (not request and node.state not in ENDED_STATES
                and node.state != State.HOLD and self.expiry.isOver(node)):
            self.nodes.setState(node, State.OUTDATED, log)
        elif (node.request_id and not request and node.state in (
                *ProviderNode.ASSIGNABLE_STATES, *ProviderNode.CREATE_STATES)):
            return self._deallocate(node, log)
        if node.state == State.USED and self.reuse.canBegin(node):
            if self.reuse.mayGoOn(node):
                return self.reuse.reuse(node, log)
            # Otherwise reuse would restart after the termination has begun.
            self.nodes.setState(node, State.OUTDATED, log)
        if (node.state in ENDED_STATES
                or node.state == State.SLOT_HOST
                or (not request and (
                    node.request_id or node.state in USE_STATES))
                or (node.state == State.HOLD and node.hasHoldExpired())):
            if node.state in (State.HOLD, *USE_STATES) and (
                    self.termination.isSlotOfEntry(node)):
                # The executor that used it is gone.  The node counts as used;
                # the machine and its other slots stay.
                return self.nodes.setState(node, State.USED, log)
            return self.termination.delete(node, log)
        self.session.release(node)

    def _hasSubnodes(self, node):
        return any(self.nodes.get(each) for each in node.subnodes)

    def _watchDeadline(self, node):
        """Queue an unassigned or held node for the time when it expires."""
        deadlines = []
        if node.state == State.HOLD:
            if node.hold_expiration:
                deadlines.append(node.state_time + node.hold_expiration)
        elif node.state == State.READY and not node.request_id:
            if node.max_age:
                deadlines.append(node.request_time + node.max_age)
            if node.max_ready_age:
                deadlines.append(node.state_time + node.max_ready_age)
            if node.min_retention_time:
                earliest = node.request_time + node.min_retention_time
                # Reclaim and drift were waiting for this time, too.
                deadlines = [earliest, *(
                    max(each, earliest) for each in deadlines)]
        now = time.time()
        # A node past its deadline is a slot that another slot keeps.
        left = min((each - now for each in deadlines if each >= now),
                   default=None)
        if left is not None:
            self.nodes.lookLater(node, min(left + 0.01, LONGEST_WAIT))

    def _queueExpiredSlots(self, host):
        """Queue the expired idle slots of a host, as the slots that kept them
        may have ended."""
        idle = [subnode for subnode in self.nodes.getSubnodes(host)
                if subnode.state == State.READY and not subnode.request_id]
        if idle and self.nodes.records.hasNodeExpired(idle[0]):
            for subnode in idle:
                self.nodes.look(subnode.uuid)

    # Writing

    def _setNextState(self, node, log):
        """Give a node the state that a user has requested."""
        log.debug('Marking node %s as %s', node, node.next_state)
        transaction = self.session.transaction()
        transaction.update(node, state=node.next_state,
                           state_time=time.time(), comment=node.next_comment)
        transaction.audit(audit.Event.OVERRODE, node, state=node.next_state,
                          reason=node.next_comment)
        transaction.deletePart(node.assignment)
        transaction.deletePart(node.lifecycle)
        transaction.commit()
        # What the node waited for in its former state is over.
        setAttributes(node, delete_state_machine=None)
        self.steps.end(node.uuid)

    def _deallocate(self, node, log):
        """Remove the assignment of a node whose request is gone, so that other
        requests can use it."""
        log.debug('Deallocating node %s from missing request %s',
                  node, node.request_id)
        transaction = self.session.transaction()
        transaction.deletePart(node.assignment)
        transaction.commit()
