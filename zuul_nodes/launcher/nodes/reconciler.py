"""The life of a node, a step at a time.

Whoever holds the lock of a node's record takes its steps: the launcher
that wrote the record or whose share it is, an executor while a job uses
it.
"""

import collections
import contextlib
import logging
import time

from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.lib.logutil import get_annotated_logger
from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.nodes.drift import Drift
from zuul_nodes.launcher.nodes.launch import NodeLaunch
from zuul_nodes.launcher.nodes.reclaim import isRetained
from zuul_nodes.launcher.nodes.termination import NodeTermination
from zuul_nodes.launcher.zookeeper import (
    Conflict,
    getPath,
    isSeen,
    isWrittenAs,
    serialize,
    setAttributes,
)

State = ProviderNode.State

# In these, nobody can need the node any more.
ENDED_STATES = (State.FAILED, State.TEMPFAILED, State.OUTDATED,
                State.DEREGISTER, State.USED)
# Without a lock, these are waiting for somebody.
LAUNCHER_STATES = (*ProviderNode.LAUNCHER_STATES, State.TEMPFAILED)
# Those who use a node hold its lock.
USE_STATES = (State.IN_USE, State.SNAPSHOT)
# Deadlines are looked at again at least so often (seconds), for clocks
# may jump.
LONGEST_WAIT = 600


class NodeReconciler:
    """
    :param Launcher launcher: whose nodes these are.
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, launcher):
        self.launcher = launcher
        self.api = launcher.api
        self.session = launcher.session
        self.queue = launcher.queue
        self.state_machines = launcher.state_machines
        self.node_launch = NodeLaunch(self)
        self.termination = NodeTermination(self)
        self.drift = Drift(launcher)
        # Node -> how many of its steps have failed, one after the other.
        self._failures = collections.Counter()

    def reconcile(self, node_id):
        """Take the next step of a node, if it is ours to take."""
        node = self.api.getProviderNode(node_id)
        if node is None:
            self.forget(node_id)
            return
        if self.state_machines.isBusy(node_id) or not isSeen(node):
            # The end of the step, or the watch, comes back to it.
            return
        log = get_annotated_logger(self.log, node, request=node.request_id)
        if node.state == State.SNAPSHOT:
            self.launcher.snapshots.reconcile(node, log)
        self._lookAtSlots(node)
        try:
            if node.hasLock() or self._take(node):
                self._step(node, log)
        except Conflict as conflict:
            log.debug('Looking at node %s again: %s', node, conflict)
            self.drop(node)
            self.queue.retry(('node', node_id))

    def forget(self, node_id):
        """There is no such node any more."""
        self._failures.pop(node_id, None)
        self.state_machines.forget(node_id)
        self.termination.forget(node_id)
        self.drift.forget(node_id)
        self.launcher.console_logs.forget(node_id)
        self.launcher.liveness_check.forget(node_id)
        self.launcher.host_key_scanner.cancel(('node', node_id))

    def drop(self, node):
        """Let go of a node whose record is not what we thought."""
        self.state_machines.forget(node.uuid)
        self.session.release(node)

    def save(self, node):
        """Write a node's record, if it has changed.

        :raises UnwritableError: it says what can't be written.
        """
        data = serialize(node, self.session.context())
        if not isWrittenAs(node, data):
            transaction = self.session.transaction()
            transaction.update(node)
            transaction.commit()

    # What to do

    def _take(self, node):
        """:return: whether we may take steps now."""
        if node.is_locked or not self.launcher.ownership.isMyNode(node):
            return False
        # Before anything is looked at: if its time is over by then, that is
        # seen.
        self._watchDeadline(node)
        if not self._isActionable(node):
            return False
        if not self.session.acquire(node):
            # It has changed; the watch tells how.
            self.queue.retry(('node', node.uuid))
            return False
        # Whoever had it before may have got further than we know.
        setAttributes(node, create_state_machine=None,
                      delete_state_machine=None, nodescan_request=None)
        self.state_machines.forget(node.uuid)
        return True

    def _isActionable(self, node):
        """:return: whether a node that nobody holds needs a launcher."""
        if isinstance(node, SubnodeProviderNode):
            main_node = self.api.getProviderNode(node.main_node_id)
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
        request = self.getRequest(node)
        if node.next_state and not request:
            return True
        if node.state == State.HOLD:
            return node.hasHoldExpired()
        if node.request_id or node.state in USE_STATES:
            return request is None
        return self._isOutdated(node)

    def _step(self, node, log):
        request = self.getRequest(node)
        if node.next_state and not request:
            self._follow(node, log)
        if node.state in ProviderNode.CREATE_STATES and (
                request or not node.request_id) and not (
                    # It waits for room, and nobody waits for it.
                    node.state == State.REQUESTED and not request
                    and self._isOutdated(node)):
            return self.node_launch.create(node, log)
        if (not request and node.state not in ENDED_STATES
                and node.state != State.HOLD and self._isOutdated(node)):
            self.setState(node, State.OUTDATED, log)
        elif (node.request_id and not request and node.state in (
                *ProviderNode.ASSIGNABLE_STATES, *ProviderNode.CREATE_STATES)):
            return self._giveBack(node, log)
        if node.state == State.USED and self.node_launch.canReuse(node):
            if self.launcher.reclaim.mayBeReused(node):
                return self.node_launch.reuse(node, log)
            # Once that has begun, there is nothing left to be reused.
            self.setState(node, State.OUTDATED, log)
        if (node.state in ENDED_STATES
                or node.state == State.SLOT_HOST
                or (not request and (
                    node.request_id or node.state in USE_STATES))
                or (node.state == State.HOLD and node.hasHoldExpired())):
            if node.state in (State.HOLD, *USE_STATES) and (
                    self.termination.isSlotOfEntry(node)):
                # Whoever used it is gone: that is all there is to it, for
                # the machine and its other slots.
                return self.setState(node, State.USED, log)
            return self.termination.delete(node, log)
        self.session.release(node)

    def getRequest(self, node):
        """
        :return: the request that a node is assigned to, or None.
        :raises Conflict: it has not been seen yet.
        """
        if not node.request_id:
            return None
        request = self.api.getNodesetRequest(node.request_id)
        if (request is None and node.state not in ENDED_STATES
                and self.session.exists(
                    getPath(NodesetRequest, node.request_id))):
            raise Conflict(f'request {node.request_id} is not known yet')
        return request

    def _isOutdated(self, node):
        """:return: whether a node that is nobody's has to go."""
        if self.api.hasNodeExpired(node):
            return True
        if node.image_upload_uuid and node.state == State.READY:
            # Made to validate an image, not to be used otherwise.
            return True
        if isRetained(node):
            return False
        if not self.launcher.layouts.isUpToDate():
            # While layouts are read, a provider may seem to be missing.
            return False
        if self.launcher.scope.hasProvider(node):
            self.drift.forget(node.uuid)
            return self.launcher.reclaim.hasToGo(node)
        return not self.drift.mayStay(node)

    def _hasSubnodes(self, node):
        return any(self.api.getProviderNode(each) for each in node.subnodes)

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
            self.queue.addAfter(
                ('node', node.uuid), min(left + 0.01, LONGEST_WAIT))

    def _lookAtSlots(self, host):
        """Look at slots that were kept longer than their time: nothing that
        has changed may keep them any more."""
        idle = [subnode for subnode in self.getSubnodes(host)
                if subnode.state == State.READY and not subnode.request_id]
        if idle and self.api.hasNodeExpired(idle[0]):
            for subnode in idle:
                self.queue.add(('node', subnode.uuid))

    # Steps that are written and done

    def setState(self, node, state, log, **attributes):
        """Write a new state, also to slots that nobody uses."""
        log.debug('Marking node %s as %s', node, state)
        transaction = self.session.transaction()
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        transaction.commit()
        self.spread(node, state, log)

    def spread(self, node, state, log, **attributes):
        """Write a state to the slots of a host that nobody uses."""
        for subnode in self.getSubnodes(node):
            if subnode.state == State.READY and not subnode.request_id:
                self.setStateOfOther(subnode, state, log, **attributes)

    def fail(self, node, reason, log):
        """Put a machine out of service that nobody holds, with its slots."""
        self.setStateOfOther(node, State.FAILED, log, comment=reason)
        self.spread(node, State.OUTDATED, log, comment=reason)

    def setStateOfOther(self, node, state, log, **attributes):
        """Write a new state of a node that nobody holds, unless somebody
        was quicker to change or to assign it."""
        if node.hasLock() or node.is_locked:
            return
        log.debug('Marking node %s as %s', node, state)
        transaction = self.session.transaction()
        transaction.checkUnlocked(node)
        transaction.checkNoPart(node.assignment)
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        with contextlib.suppress(Conflict):
            transaction.commit()

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

    def getSubnodes(self, node):
        return [subnode for each in node.subnodes
                if (subnode := self.api.getProviderNode(each))]

    def guard(self, node, function, wait, error, log):
        """Do something in an endpoint's thread, as in a worker's."""
        key = ('node', node.uuid)
        if not node.hasLock():
            setAttributes(node, create_state_machine=None,
                          delete_state_machine=None)
            self.state_machines.forget(node.uuid)
            self.queue.add(key)
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
            self.queue.retry(key, self._failures[node.uuid])
            self._failures[node.uuid] += 1
            self.drop(node)
