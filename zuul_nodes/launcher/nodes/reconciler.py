"""The life of a node, a step at a time.

Whoever holds the lock of a node's record takes its steps: the launcher
that wrote the record or whose share it is, an executor while a job uses
it.
"""

import logging
import time

from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.lib.logutil import get_annotated_logger
from zuul.model import ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.nodes.noderecords import ENDED_STATES
from zuul_nodes.launcher.zookeeper import Conflict, isSeen, setAttributes

State = ProviderNode.State

# Without a lock, these are waiting for somebody.
LAUNCHER_STATES = (*ProviderNode.LAUNCHER_STATES, State.TEMPFAILED)
# Those who use a node hold its lock.
USE_STATES = (State.IN_USE, State.SNAPSHOT)
# Deadlines are looked at again at least so often (seconds), for clocks
# may jump.
LONGEST_WAIT = 600


class NodeReconciler:
    """
    :param NodeRecords nodes:
    :param NodeSteps steps: of their drivers.
    :param NodeLaunch launch:
    :param Reuse reuse: of machines that have been used.
    :param NodeTermination termination:
    :param Expiry expiry: says when a node that is nobody's has to go.
    :param Snapshots snapshots:
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
        """Take the next step of a node, if it is ours to take."""
        node = self.nodes.get(node_id)
        if node is None:
            self.nodes.forget(node_id)
            return
        if self.steps.isBusy(node_id) or not isSeen(node):
            # The end of the step, or the watch, comes back to it.
            return
        log = get_annotated_logger(self.log, node, request=node.request_id)
        if node.state == State.SNAPSHOT:
            self.snapshots.reconcile(node, log)
        self._lookAtSlots(node)
        try:
            if node.hasLock() or self._take(node):
                self._step(node, log)
        except Conflict as conflict:
            log.debug('Looking at node %s again: %s', node, conflict)
            self.steps.drop(node)
            self.nodes.retry(node)

    # What to do

    def _take(self, node):
        """:return: whether we may take steps now."""
        if node.is_locked or not self.nodes.isMine(node):
            return False
        # Before anything is looked at: if its time is over by then, that is
        # seen.
        self._watchDeadline(node)
        if not self._isActionable(node):
            return False
        if not self.session.acquire(node):
            # It has changed; the watch tells how.
            self.nodes.retry(node)
            return False
        # Whoever had it before may have got further than we know.
        setAttributes(node, create_state_machine=None,
                      delete_state_machine=None, nodescan_request=None)
        self.steps.end(node.uuid)
        return True

    def _isActionable(self, node):
        """:return: whether a node that nobody holds needs a launcher."""
        if isinstance(node, SubnodeProviderNode):
            main_node = self.nodes.get(node.main_node_id)
            if main_node and (
                    main_node.state in ProviderNode.CREATE_STATES
                    or (node.state in ProviderNode.CREATE_STATES
                        and main_node.state != State.SLOT_HOST)):
                # It goes with its host.
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
            self._follow(node, log)
        if node.state in ProviderNode.CREATE_STATES and (
                request or not node.request_id) and not (
                    # It waits for room, and nobody waits for it.
                    node.state == State.REQUESTED and not request
                    and self.expiry.isOver(node)):
            return self.launch.create(node, log)
        if (not request and node.state not in ENDED_STATES
                and node.state != State.HOLD and self.expiry.isOver(node)):
            self.nodes.setState(node, State.OUTDATED, log)
        elif (node.request_id and not request and node.state in (
                *ProviderNode.ASSIGNABLE_STATES, *ProviderNode.CREATE_STATES)):
            return self._giveBack(node, log)
        if node.state == State.USED and self.reuse.canBegin(node):
            if self.reuse.mayGoOn(node):
                return self.reuse.reuse(node, log)
            # Once that has begun, there is nothing left to be reused.
            self.nodes.setState(node, State.OUTDATED, log)
        if (node.state in ENDED_STATES
                or node.state == State.SLOT_HOST
                or (not request and (
                    node.request_id or node.state in USE_STATES))
                or (node.state == State.HOLD and node.hasHoldExpired())):
            if node.state in (State.HOLD, *USE_STATES) and (
                    self.termination.isSlotOfEntry(node)):
                # Whoever used it is gone: that is all there is to it, for
                # the machine and its other slots.
                return self.nodes.setState(node, State.USED, log)
            return self.termination.delete(node, log)
        self.session.release(node)

    def _hasSubnodes(self, node):
        return any(self.nodes.get(each) for each in node.subnodes)

    def _watchDeadline(self, node):
        """Come back to a node that nobody has or uses when its time is
        over."""
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
                # Others may have wanted it to go all the time.
                deadlines = [earliest, *(
                    max(each, earliest) for each in deadlines)]
        now = time.time()
        # What stays longer than that, another slot keeps.
        left = min((each - now for each in deadlines if each >= now),
                   default=None)
        if left is not None:
            self.nodes.lookLater(node, min(left + 0.01, LONGEST_WAIT))

    def _lookAtSlots(self, host):
        """Look at slots that were kept longer than their time: nothing that
        has changed may keep them any more."""
        idle = [subnode for subnode in self.nodes.getSubnodes(host)
                if subnode.state == State.READY and not subnode.request_id]
        if idle and self.nodes.records.hasNodeExpired(idle[0]):
            for subnode in idle:
                self.nodes.look(subnode.uuid)

    # Steps that are written and done

    def _follow(self, node, log):
        """Do what a user has asked for."""
        log.debug('Marking node %s as %s', node, node.next_state)
        transaction = self.session.transaction()
        transaction.update(node, state=node.next_state,
                           state_time=time.time(), comment=node.next_comment)
        transaction.audit(audit.Event.OVERRODE, node, state=node.next_state,
                          reason=node.next_comment)
        transaction.deletePart(node.assignment)
        transaction.deletePart(node.lifecycle)
        transaction.commit()

    def _giveBack(self, node, log):
        """The request is gone; others may have the node."""
        log.debug('Deallocating node %s from missing request %s',
                  node, node.request_id)
        transaction = self.session.transaction()
        transaction.deletePart(node.assignment)
        transaction.commit()
