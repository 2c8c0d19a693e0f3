"""The life of a node, a step at a time.

Whoever holds the lock of a node's record takes its steps: the launcher
that wrote the record or whose share it is, an executor while a job uses
it.
"""

import logging
import time

from kazoo.exceptions import NoNodeError
from zuul.exceptions import LaunchKeyscanException, QuotaException
from zuul.launcher.server import ProviderNodeError
from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.lib.logutil import get_annotated_logger
from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes.launcher import nodetraces
from zuul_nodes.launcher.failures import Failure, classify, describe
from zuul_nodes.launcher.hostkeys import (
    checkHostKeys,
    getExpectedHostKeys,
)
from zuul_nodes.launcher.keyscan import needsScan
from zuul_nodes.launcher.store import Conflict, isSeen

State = ProviderNode.State

# Errors that say all there is to say.
EXPECTED = (LaunchKeyscanException, ProviderNodeError)
# In these, nobody can need the node any more.
ENDED_STATES = (State.FAILED, State.TEMPFAILED, State.OUTDATED,
                State.DEREGISTER, State.USED)
# Slots that have come to this are of no use as they are, but nothing is
# wrong with the machine.
REPLACED_STATES = (State.OUTDATED, State.USED, State.SLOT_HOST)
# Without a lock, these are waiting for somebody.
LAUNCHER_STATES = (*ProviderNode.LAUNCHER_STATES, State.TEMPFAILED)
# Deadlines are looked at again at least so often (seconds), for clocks
# may jump.
LONGEST_WAIT = 600
# A node that waits for room looks for it itself now and then (seconds),
# as not all of what takes it can be seen.
ROOM_INTERVAL = 10
# The lock of a node that is gone goes when nobody waits for it any more;
# that is looked at after this time (seconds).
LOCK_INTERVAL = 10
# If a slot's host does not appear within this time (seconds), it will not.
SUBNODE_SYNC_TIME = 300


class NodeReconciler:
    """
    :param Launcher launcher: whose nodes these are.
    """

    log = logging.getLogger('zuul.Launcher')

    def __init__(self, launcher):
        self.launcher = launcher
        self.api = launcher.api
        self.store = launcher.store
        self.queue = launcher.queue
        self.machines = launcher.machines

    def reconcile(self, node_id):
        """Take the next step of a node, if it is ours to take."""
        node = self.api.getProviderNode(node_id)
        if node is None:
            self.machines.forget(node_id)
            self.launcher.scanner.cancel(('node', node_id))
            return
        if self.machines.isBusy(node_id) or not isSeen(node):
            # The end of the step, or the watch, comes back to it.
            return
        log = get_annotated_logger(self.log, node, request=node.request_id)
        if node.state == State.SNAPSHOT:
            self.launcher.snapshots.reconcile(node, log)
        if not node.hasLock() and not self._take(node):
            return
        try:
            self._step(node, log)
        except Conflict as conflict:
            log.debug('Looking at node %s again: %s', node, conflict)
            self.drop(node)
            self.queue.retry(('node', node_id))

    def drop(self, node):
        """Let go of a node whose record is not what we thought."""
        self.machines.forget(node.uuid)
        self.store.release(node)

    def save(self, node):
        """Write a node's record, if it has changed."""
        data = node._trySerialize(self.store.context())
        if hash(data) != node._zkobject_hash:
            transaction = self.store.transaction()
            transaction.update(node)
            transaction.commit()

    # What to do

    def _take(self, node):
        """:return: whether we may take steps now."""
        if node.is_locked or not self.launcher.division.isMyNode(node):
            return False
        if not self._isActionable(node):
            self._watchDeadline(node)
            return False
        if not self.store.acquire(node):
            return False
        try:
            self.store.refresh(node)
        except NoNodeError:
            self.store.release(node)
            return False
        # Whoever had it before may have got further than we know.
        node._set(create_state_machine=None, delete_state_machine=None,
                  nodescan_request=None)
        self.machines.forget(node.uuid)
        self.launcher.planner.updateNode(node)
        return True

    def _isActionable(self, node):
        """:return: whether a node that nobody holds needs a launcher."""
        if isinstance(node, SubnodeProviderNode):
            main_node = self.api.getProviderNode(node.main_node_id)
            if main_node and main_node.state in (
                    State.REQUESTED, State.BUILDING):
                # It goes with its host.
                return False
        if node.state == State.SLOT_HOST:
            return not self._hasSubnodes(node)
        if node.state in LAUNCHER_STATES:
            return True
        request = self._getRequest(node)
        if node.next_state and not request:
            return True
        if node.state == State.HOLD:
            return node.hasHoldExpired()
        if node.request_id:
            return request is None
        return self._isOutdated(node)

    def _step(self, node, log):
        request = self._getRequest(node)
        if node.next_state and not request:
            self._follow(node, log)
        if node.state in ProviderNode.CREATE_STATES and (
                request or not node.request_id) and not (
                    # It waits for room, and nobody waits for it.
                    node.state == State.REQUESTED and not request
                    and self._isOutdated(node)):
            return self._create(node, log)
        if (not request and node.state not in ENDED_STATES
                and node.state != State.HOLD and self._isOutdated(node)):
            self._setState(node, State.OUTDATED, log)
        elif (node.request_id and not request and node.state in (
                *ProviderNode.ASSIGNABLE_STATES, *ProviderNode.CREATE_STATES)):
            return self._giveBack(node, log)
        if node.state == State.USED and self._canReuse(node):
            return self._reuse(node, log)
        if (node.state in ENDED_STATES
                or node.state == State.SLOT_HOST
                or (node.request_id and not request)
                or (node.state == State.HOLD and node.hasHoldExpired())):
            return self._delete(node, log)
        self.store.release(node)
        self._watchDeadline(node)

    def _getRequest(self, node):
        """
        :return: the request that a node is assigned to, or None.
        :raises Conflict: it has not been seen yet.
        """
        if not node.request_id:
            return None
        request = self.api.getNodesetRequest(node.request_id)
        if (request is None and node.state not in ENDED_STATES
                and self.store.exists(
                    NodesetRequest._getPath(node.request_id))):
            raise Conflict(f'request {node.request_id} is not known yet')
        return request

    def _isOutdated(self, node):
        """:return: whether a node that is nobody's has to go."""
        if self.api.hasNodeExpired(node):
            return True
        if node.image_upload_uuid and node.state == State.READY:
            # Made to validate an image, not to be used otherwise.
            return True
        # While layouts are read, a provider may seem to be missing.
        return (self.launcher.layouts.isUpToDate()
                and not self.launcher.scope.hasProvider(node))

    def _hasSubnodes(self, node):
        return any(self.api.getProviderNode(each) for each in node.subnodes)

    def _watchDeadline(self, node):
        """Come back when the node has expired."""
        deadlines = []
        if node.max_age:
            deadlines.append(node.request_time + node.max_age)
        if node.max_ready_age and node.state == State.READY:
            deadlines.append(node.state_time + node.max_ready_age)
        if node.min_retention_time:
            earliest = node.request_time + node.min_retention_time
            deadlines = [max(each, earliest) for each in deadlines]
        if node.hold_expiration and node.state == State.HOLD:
            deadlines.append(node.state_time + node.hold_expiration)
        if deadlines:
            self.queue.addAfter(('node', node.uuid), min(
                max(min(deadlines) - time.time(), 0) + 0.01, LONGEST_WAIT))

    # Steps that are written and done

    def _setState(self, node, state, log, **attributes):
        """Write a new state, also to slots that nobody uses."""
        log.debug('Marking node %s as %s', node, state)
        self._write(node, state, **attributes)
        self._spread(node, state, log)

    def _spread(self, node, state, log):
        """Write a state to the slots of a host that nobody uses."""
        for subnode in self._getSubnodes(node):
            if subnode.state == State.READY and not subnode.request_id:
                self._lockAndSetState(subnode, state, log)

    def _write(self, node, state, **attributes):
        transaction = self.store.transaction()
        transaction.update(node, state=state, state_time=time.time(),
                           **attributes)
        transaction.commit()

    def _lockAndSetState(self, node, state, log):
        """Tell another node of a group, if nobody holds it."""
        if node.hasLock() or not self.store.acquire(node):
            return
        try:
            log.debug('Marking node %s as %s', node, state)
            self._write(node, state)
        finally:
            self.store.release(node)

    def _follow(self, node, log):
        """Do what a user has asked for."""
        log.debug('Marking node %s as %s', node, node.next_state)
        transaction = self.store.transaction()
        transaction.update(node, state=node.next_state,
                           state_time=time.time(), comment=node.next_comment)
        transaction.deletePart(node.assignment)
        transaction.deletePart(node.lifecycle)
        transaction.commit()

    def _giveBack(self, node, log):
        """The request is gone; others may have the node."""
        log.debug('Deallocating node %s from missing request %s',
                  node, node.request_id)
        transaction = self.store.transaction()
        transaction.deletePart(node.assignment)
        transaction.commit()
        self.launcher.planner.updateNode(node)
        self.queue.add(('node', node.uuid))

    # Creation

    def _create(self, node, log):
        if isinstance(node, SubnodeProviderNode):
            return self._followHost(node, log)
        try:
            if not node.create_state_machine and not self._begin(node, log):
                return
            if (node.create_state_machine
                    and node.create_state_machine.complete):
                return self._finish(node, log)
            provider = self.launcher.scope.getProviderFor(node)
        except (ProviderNodeError, LaunchKeyscanException,
                QuotaException) as error:
            return self._fail(node, error, log)
        self.machines.create(
            node, provider, lambda wait, error: self._guard(
                node, self._created, wait, error, log), log)

    def _begin(self, node, log):
        """
        :return: whether creation may begin or go on; its record says so.
        :raises QuotaException: others were quicker.
        """
        if node.create_state or node.state not in (
                State.REQUESTED, State.BUILDING):
            return True
        if not self.launcher.planner.fits(node):
            if node.state == State.BUILDING:
                raise QuotaException('others have taken the room')
            log.debug('Node %s waits for room', node)
            self.launcher.waitForRoom(node)
            self.queue.addAfter(('node', node.uuid), ROOM_INTERVAL)
            return False
        if node.state == State.REQUESTED:
            log.debug('Building node %s', node)
            transaction = self.store.transaction()
            for each in (node, *self._getSubnodes(node)):
                transaction.update(each, state=State.BUILDING,
                                   state_time=time.time())
            transaction.commit()
        return True

    def _created(self, node, wait, error, log):
        """A step of the creation has ended."""
        if error is not None:
            return self._fail(node, error, log)
        if wait is None:
            if not needsScan(node):
                return self._finish(node, log)
            wait = 0
        self.save(node)
        self.queue.addAfter(('node', node.uuid), wait)

    def _guard(self, node, function, wait, error, log):
        """Do something in an endpoint's thread, as in a worker's."""
        key = ('node', node.uuid)
        if not node.hasLock():
            node._set(create_state_machine=None, delete_state_machine=None)
            self.queue.add(key)
            return
        try:
            function(node, wait, error, log)
        except Exception as problem:
            if isinstance(problem, Conflict):
                log.debug('Looking at node %s again: %s', node, problem)
            else:
                log.exception('Unable to go on with node %s:', node)
            self.drop(node)
            self.queue.retry(key)

    def _finish(self, node, log):
        """The instance is there; the node is when its keys are known."""
        keys = self._scan(node, log)
        if keys is None:
            return
        subnodes = self._getSubnodes(node)
        if len(subnodes) < len(node.subnodes):
            # Another launcher is still about to write their records.
            if time.time() - node.request_time > SUBNODE_SYNC_TIME:
                raise ProviderNodeError('the slots are missing')
            self.queue.addAfter(('node', node.uuid), 1)
            return
        state = State.SLOT_HOST if subnodes else State.READY
        node._set(host_keys=keys or node.host_keys, nodescan_request=None)
        transaction = self.store.transaction()
        now = time.time()
        transaction.update(node, state=state, state_time=now)
        for subnode in subnodes:
            subnode._set(_active_context=self)
            try:
                subnode.updateFromMainNode(node)
            finally:
                subnode._set(_active_context=None)
            transaction.update(subnode, state=State.READY, state_time=now)
        transaction.unlock(node)
        transaction.commit()
        log.debug('Marking node %s as %s', node, state)
        self._reportLaunch(node)
        for each in (node, *subnodes):
            self._announce(each)
        self._watchDeadline(node)

    def _scan(self, node, log, expected=None):
        """
        :return: the host keys, empty if it shows none; None while they
            are looked for.
        :raises LaunchKeyscanException: it does not show what it should.
        """
        if not needsScan(node):
            return list(node.host_keys)
        if node.nodescan_request is None:
            node._set(nodescan_request=self.launcher.scanner.add(
                ('node', node.uuid), node, log))
        scan = node.nodescan_request
        if not scan.complete:
            return None
        provider = self.launcher.scope.getProviderFor(node)
        return checkHostKeys(node, scan, getExpectedHostKeys(node, provider))

    def _fail(self, node, error, log):
        """Creation has come to nothing; its record says why."""
        failure = classify(error)
        state = (State.TEMPFAILED
                 if failure in (Failure.QUOTA, Failure.TEMPORARY)
                 else State.FAILED)
        log.warning('Marking node %s as %s: %s', node, state, error,
                    exc_info=error if failure is Failure.ATTEMPT
                    and not isinstance(error, EXPECTED) else None)
        machine = node.create_state_machine
        state_data = machine.toDict() if machine else node.create_state
        group = (node, *self._getSubnodes(node))
        transaction = self.store.transaction()
        for each in group:
            transaction.update(
                each, state=state, state_time=time.time(),
                comment=describe(error), create_state_machine=None,
                create_state=state_data | {'failure': failure.value})
        transaction.commit()
        node._set(create_state_machine=machine, nodescan_request=None)
        self._reportLaunch(node, error)
        node._set(create_state_machine=None)
        self.launcher.pauseAfter(node, failure, describe(error))
        for each in group:
            self._announce(each)
        self.machines.forget(node.uuid)
        self.queue.add(('node', node.uuid))

    def _followHost(self, node, log):
        """A slot is made with its host."""
        if self.api.getProviderNode(node.main_node_id) is None:
            left = node.request_time + SUBNODE_SYNC_TIME - time.time()
            if left <= 0:
                return self._fail(node, ProviderNodeError(
                    'the host of the slot is missing'), log)
            self.queue.addAfter(('node', node.uuid), left)
        self.store.release(node)

    def _getSubnodes(self, node):
        return [subnode for each in node.subnodes
                if (subnode := self.api.getProviderNode(each))]

    def _announce(self, node):
        """Do not wait for the watch to tell us what we have written."""
        self.launcher.planner.updateNode(node)
        if node.request_id:
            self.queue.add(('request', node.request_id))

    def _reportLaunch(self, node, error=None):
        nodetraces.traceCreation(node)
        if error is None:
            self.launcher.clearPause(node)
        self.launcher.stats.reportLaunch(
            node, self.launcher.scope.findProvider(node), error)

    # Use and re-use

    def _canReuse(self, node):
        provider = self.launcher.scope.findProvider(node)
        label = provider and provider.labels.get(node.label)
        if not label or not label.reuse:
            return False
        main_node = node
        if node.main_node_id:
            main_node = self.api.getProviderNode(node.main_node_id)
        return bool(main_node) and provider.canReuseNode(main_node)

    def _reuse(self, node, log):
        """Look at a machine that was used, and give it out again."""
        main_node = node.main_node_id and self.api.getProviderNode(
            node.main_node_id)
        try:
            if main_node and main_node.state == State.FAILED:
                raise ProviderNodeError('the host of the slot has failed')
            keys = self._scan(node, log)
        except Exception as error:
            log.exception('Marking node %s as failed', node)
            node._set(nodescan_request=None)
            self._setState(node, State.FAILED, log, comment=describe(error))
            if main_node:
                self._lockAndSetState(main_node, State.FAILED, log)
                self._spread(main_node, State.FAILED, log)
            self.queue.add(('node', node.uuid))
            return
        if keys is None:
            return
        log.debug('Marking node %s as ready for reuse', node)
        node._set(nodescan_request=None, host_keys=keys or node.host_keys)
        transaction = self.store.transaction()
        transaction.update(node, state=State.READY, state_time=time.time())
        transaction.deletePart(node.assignment)
        transaction.unlock(node)
        transaction.commit()
        self._announce(node)
        self._watchDeadline(node)

    # The end

    def _delete(self, node, log):
        self.launcher.scanner.cancel(('node', node.uuid))
        if any(subnode.state not in ProviderNode.CREATE_STATES
               for subnode in self._getSubnodes(node)):
            # The host goes when its last slot has gone.
            return
        scope = self.launcher.scope
        if node.delete_state_machine and node.delete_state_machine.complete:
            return self._remove(node, log)
        providers = scope.getProviders(node)
        if ((node.main_node_id or node.subnodes)
                and node.state in REPLACED_STATES
                and any(scope.isEntry(node, each) for each in providers)):
            # A machine and its slots can not be rebuilt one by one, so
            # they are removed and registered again.
            return self._remove(node, log)
        if not providers and self.launcher.isStatic(node):
            # There is nobody left who could be asked how to delete it.
            return self._remove(node, log)
        provider = scope.getProviderFor(node, ignore_label=True)
        self.machines.delete(
            node, provider, lambda wait, error: self._guard(
                node, self._deleted, wait, error, log), log)

    def _deleted(self, node, wait, error, log):
        """A step of the deletion has ended."""
        if error is not None:
            raise error
        if wait is not None:
            self.save(node)
            self.queue.addAfter(('node', node.uuid), wait)
            return
        if node.state == State.REBUILDING:
            # A static node begins anew.
            node._set(delete_state_machine=None)
            transaction = self.store.transaction()
            transaction.update(node)
            if node.request_id and not self._getRequest(node):
                transaction.deletePart(node.assignment)
            transaction.commit()
            self.machines.forget(node.uuid)
            self.queue.add(('node', node.uuid))
            return
        self._remove(node, log)

    def _remove(self, node, log):
        """Remove the record, if no request looks at it any more."""
        request = self.api.getNodesetRequest(node.request_id)
        if request is not None and (
                node.uuid in request.nodes or not _isSeen(node, request)):
            return
        log.debug('Removing provider node %s', node)
        self.machines.forget(node.uuid)
        if self.store.remove(node):
            self.queue.addAfter(
                ('lock', node.getLockPath()), LOCK_INTERVAL)
        self.launcher.planner.removeNode(node.uuid)
        nodetraces.traceDeletion(node)


def _isSeen(node, request):
    """:return: whether our copy of the request is not older than the
        assignment of the node to it."""
    version = request.getZKVersion()
    return node.min_request_version is None or (
        version is not None and version >= node.min_request_version)
