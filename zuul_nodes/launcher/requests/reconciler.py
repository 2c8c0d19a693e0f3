"""Takes the next step of each request: plan, grant, fulfil or fail.

A waiting request is unlocked and holds nothing.  When the planner has capacity
for all of its nodes, one transaction writes everything: the new nodes, the
assignments, and the request.  If one of the nodes fails, the request releases
all of them and is planned again.
"""

import copy
import logging

from kazoo.exceptions import KazooException
from zuul.lib.logutil import get_annotated_logger
from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes import audit, requestnotes
from zuul_nodes.launcher.planner import Grant, Impossible
from zuul_nodes.launcher.providers import (
    Failure,
    countFailed,
    describe,
    describeUnhandled,
    getAttempts,
    getFailure,
    getLauncher,
    hasFailed,
)
from zuul_nodes.launcher.requests.ends import isDone
from zuul_nodes.launcher.zookeeper import (
    Conflict,
    UnwritableError,
    setAttributes,
)

State = NodesetRequest.State
NodeState = ProviderNode.State

# States in which a node of a request is ready or will be.
GOOD_STATES = (*ProviderNode.CREATE_STATES, NodeState.READY,
               NodeState.SLOT_HOST)

# Keys of a request's record about nodes that have failed.
FAILURES = {'failed_providers', 'temporary'}
# Reason to wait for a request that may come from a newer layout than the
# launcher has read.
UNREAD = 'a newer layout of its tenant has not been read yet'


class RequestReconciler:
    """Takes the next step of each request.

    :param RequestRecords requests:
    :param Planner planner: decides which nodes a request is granted.
    :param Layouts layouts: hold the providers of the requests' tenants.
    :param GrantWriter grants: writes the grants.
    :param RequestEnds ends: writes the ends of requests.
    :param RequestWaits waits: logs why requests wait, and limits their wait.
    :param LivenessCheck liveness_check: checks ready nodes before a grant.
    """

    log = logging.getLogger('zuul.nodes.requests')

    def __init__(self, requests, planner, layouts, grants, ends, waits,
                 liveness_check):
        self.requests = requests
        self.session = requests.session
        self.planner = planner
        self.layouts = layouts
        self.grants = grants
        self.ends = ends
        self.waits = waits
        self.liveness_check = liveness_check
        # Uuids of requests whose layout, or a later one, has been read.
        self._current = set()

    def reconcile(self, request_id):
        """Take the next step of a request, if this launcher handles it."""
        request = self.requests.get(request_id)
        if request is None or isDone(request):
            self.requests.dropOrder(request_id)

        def isOver():
            return request is None or not self._isHandled(request)
        if isOver():
            self._forget(request_id, isOver)
            return
        self.ends.startSpan(request)
        log = get_annotated_logger(self.log, request, request=request_id)
        try:
            if request.state not in request.FINAL_STATES and (
                    reason := self.requests.findCancellation(request)):
                self._cancel(request, reason, log)
            elif request.state == State.REQUESTED and any(request.nodes):
                # Zuul's launcher lets waiting requests keep nodes.
                self._releaseNodes(
                    request, self.requests.getNodes(request), log)
            elif request.state == State.REQUESTED:
                self._plan(request, log)
            elif request.state == State.ACCEPTED:
                self._check(request, log)
            else:
                self._end(request, request.state, log)
        except Conflict as conflict:
            log.debug('Retrying request %s: %s', request, conflict)
            self.session.release(request)
            self.requests.retry(request)

    def reconcileWaiting(self):
        """Log changed reasons of waiting requests."""
        self.waits.reconcile(self.requests.remembers)

    def getWaiting(self):
        """:return: a list of the requests that can be planned at once, when
            this launcher begins to plan."""
        self.requests.unplanned.update(
            request.uuid for request in self.requests.getAll())
        return list(self._popPlannable())

    def _isPlanned(self, request):
        return (self._isHandled(request) and request.state == State.REQUESTED
                and not any(request.nodes))

    def _isHandled(self, request):
        if request.state == State.TEST_HOLD or isDone(request):
            return False
        return self.requests.isMine(request)

    def _forget(self, request_id, isOver=lambda: True):
        """:param isOver: as of :meth:`.Planner.forget`."""
        if not self.planner.forget(request_id, isOver):
            # The launcher, which plans now, looks at it again.
            return
        self.requests.forget(request_id)
        self.waits.forget(request_id)
        self._current.discard(request_id)

    # Waiting

    def _plan(self, request, log):
        if not self._hasLayout(request):
            self._waitForLayout(request, log)
            return
        unplanned = self.requests.unplanned
        if unplanned - {request.uuid}:
            # Whichever request a worker takes first, it does not overtake
            # those that are known already.
            self.planner.planInOrder(
                lambda: [request, *self._popPlannable()])
        decision = self.planner.plan(request)
        unplanned.discard(request.uuid)
        if isinstance(decision, Grant):
            self._grant(request, decision, log)
        elif not isinstance(decision, Impossible):
            self._wait(request, decision, log)
        elif self.layouts.isCertain(request.tenant_name):
            self._end(request, State.FAILED, log, decision.reason)
        else:
            self._waitForLayout(request, log)

    def _waitForLayout(self, request, log):
        self.requests.unplanned.add(request.uuid)
        if not self._limitWait(request, UNREAD, log):
            self.waits.noteUnplanned(request, UNREAD, log)

    def _popPlannable(self):
        """:return: yields the requests that are not planned yet, and whose
            layout has been read."""
        unplanned = self.requests.unplanned
        for request_id in list(unplanned):
            request = self.requests.find(request_id)
            try:
                is_planned = request is not None and self._isPlanned(request)
                is_waiting = is_planned and not self._hasLayout(request)
            except Exception:
                # Whatever is wrong with it is logged when it is reconciled.
                is_planned = is_waiting = False
            if not is_waiting:
                unplanned.discard(request_id)
            if is_planned and not is_waiting:
                yield request

    def _hasLayout(self, request):
        """:return: whether the layout of a request has been read: a request
            must not be granted nodes of an older one.  A later layout also
            counts, so the result is kept once it is true."""
        if request.uuid not in self._current:
            if not self.layouts.isNewEnough(
                    request.tenant_name, request.getZKczxid()):
                return False
            self._current.add(request.uuid)
        return True

    def _wait(self, request, decision, log):
        self.waits.noteWait(request, decision.reason, log)
        unhandled = self.planner.getUnhandled(request.uuid)
        if not self._watchUnhandled(request, unhandled, log):
            self._limitWait(request, decision.reason, log)

    def _limitWait(self, request, reason, log):
        """Fail a request that has waited for too long.

        :return: whether it has failed.
        """
        timeout = self.waits.findTimeout(request)
        if timeout is not None:
            self._end(request, State.FAILED, log, (
                f'{reason}; waited {timeout:g} seconds (request_timeout)'))
        return timeout is not None

    def _watchUnhandled(self, request, reason, log):
        """Fail a request that has waited too long for a launcher of its
        connections.

        :param str reason: why no running launcher can serve the request; None
            if one can.
        :return: whether it has failed.
        """
        is_over = self.waits.isOver(request, reason)
        if is_over:
            self._end(request, State.FAILED, log, (
                f'{reason}; waited {self.waits.unhandled_timeout:g} seconds'))
        return is_over

    # Granting

    def _grant(self, request, grant, log):
        try:
            if not self.liveness_check.check(grant, log):
                # The planner keeps the grant until the next call.
                return
            self.grants.write(request, grant, log)
        except UnwritableError as error:
            self.planner.postpone(grant)
            self._recordUnwritable(request, grant, error, log)
            return
        except (Conflict, KazooException):
            self.planner.postpone(grant)
            raise
        except BaseException:
            # A request that fails in any other way fails again, and must not
            # keep anything from others.
            self.planner.forget(request.uuid)
            raise
        self._forget(request.uuid)

    def _recordUnwritable(self, request, grant, error, log):
        """Record all attempts of a label as failed, because its new node
        cannot be written.

        Each attempt would fail in the same way.  The cause is the label, not
        the provider.
        """
        data = []
        for slot in grant.slots:
            entry = {'failed_providers': [], 'executor_zone': None,
                     **(request.getProviderNodeData(slot.index) or {}),
                     'uuid': None}
            if slot.node is None:
                _addReason(entry, slot.provider.canonical_name,
                           describe(error), getAttempts(slot.provider))
            data.append(entry)
        self._replan(request, (), data, log)

    # Granted

    def _check(self, request, log):
        nodes = self.requests.getNodes(request)
        if all(node is not None and node.state in GOOD_STATES
               and node.request_id == request.uuid for node in nodes):
            if all(node.state in ProviderNode.FINAL_STATES
                   for node in nodes):
                self._end(request, State.FULFILLED, log)
                return
            unhandled = {
                node.connection_name for node in nodes
                if node.state not in ProviderNode.FINAL_STATES
                and not self.requests.ownership.isHandled(
                    node.connection_name)}
            self._watchUnhandled(
                request, unhandled and describeUnhandled(unhandled), log)
            if request.state != State.ACCEPTED:
                return
            if request.hasLock():
                return
            # Another launcher has accepted the request.
            if not self.session.acquire(request):
                self.requests.retry(request)
            return
        self._releaseNodes(request, nodes, log)

    def _releaseNodes(self, request, nodes, log):
        """Release all nodes of a request of which one has failed, so that no
        two requests can wait for each other."""
        data = [self._getEntry(request, index, node)
                for index, node in enumerate(nodes)]
        self._replan(request, nodes, data, log)

    def _replan(self, request, nodes, data, log):
        """Release nodes of a request, and queue it for planning, or fail it.

        :param nodes: the nodes to release.
        :param list data: the request's new record of each node.
        """
        reason = self._getFailure(request, data)
        if reason and self.layouts.isCertain(request.tenant_name):
            self._end(request, State.FAILED, log, reason)
            return
        if not any(entry.keys() & FAILURES and (
                entry.get('failed_providers') or entry.get('temporary'))
                for entry in data):
            # Zuul's launcher cannot process entries without nodes.
            data = []
        transaction = self.requests.begin(request)
        for node in nodes:
            if node is not None and node.request_id == request.uuid:
                log.info('Request %s releases node %s', request.uuid, node)
                transaction.deletePart(node.assignment)
        transaction.update(request, state=State.REQUESTED,
                           provider_node_data=data)
        transaction.unlock(request)
        transaction.commit()

    def _getEntry(self, request, index, node):
        """:return: the request's record of a node that it releases."""
        entry = {**request.getProviderNodeData(index), 'uuid': None}
        if (node is not None and node.state in ProviderNode.FAILED_STATES
                and not hasFailed(node, Failure.MOVED)):
            provider = self.layouts.scope.by_tenant.get(
                request.tenant_name, {}).get(node.provider)
            _addFailure(entry, node,
                        getAttempts(provider) if provider else 1,
                        self.requests.ownership)
        return entry

    def _getFailure(self, request, data):
        """Plan a request with new failures on record.

        The request keeps its rank, or what it is granted now, so requests
        behind it do not get the nodes that it releases.

        :return: why no provider can serve it; None if one can.
        """
        request = copy.copy(request)
        setAttributes(request, provider_node_data=data)
        decision = self.planner.plan(request)
        if isinstance(decision, Grant):
            # The request is planned again when its nodes are released, and may
            # then need fewer new ones.
            self.planner.postpone(decision)
        if not isinstance(decision, Impossible):
            return None
        failures = [f'{provider}: {reason}' for entry in data
                    for provider, reason in entry.get('reasons', {}).items()]
        return '; '.join(dict.fromkeys((decision.reason, *failures)))

    # The end

    def _cancel(self, request, reason, log):
        """End a request as failed, as an operator has ordered."""
        transaction = self._beginFailure(
            request, reason, log, audit.Event.OVERRODE, state=State.FAILED)
        self.requests.endOrder(transaction, request)
        transaction.commit()
        self._forget(request.uuid)

    def _end(self, request, state, log, reason=None):
        """Write the end of a request, and notify the pipeline."""
        if state == State.FAILED:
            transaction = self._beginFailure(
                request, self.ends.explain(request, reason), log,
                audit.Event.REFUSED)
        else:
            log.debug('Marking request %s as %s', request, state)
            transaction = self.requests.begin(request)
            self.ends.add(transaction, request, state)
        transaction.commit()
        self._forget(request.uuid)

    def _beginFailure(self, request, reason, log, event, **fields):
        """:return: a Transaction that ends a request as failed.  Its nodes are
            released when the scheduler has removed the record."""
        log.error('Marking request %s as %s: %s', request, State.FAILED,
                  reason)
        transaction = self.requests.begin(request)
        transaction.audit(event, request, reason=reason,
                          label=', '.join(request.labels), **fields)
        self.ends.add(transaction, request, State.FAILED,
                      **requestnotes.withReason(request, reason))
        return transaction


def _addFailure(entry, node, attempts, ownership):
    """Record the failure of a provider."""
    reason = node.comment or 'unknown'
    failure = getFailure(node)
    launchers = {}
    if failure not in (Failure.QUOTA, Failure.CAPACITY):
        launchers = _addLauncher(entry, node, ownership)
    if node.state == NodeState.TEMPFAILED:
        _addTemporary(entry, node.provider, reason)
        return
    if failure is Failure.PERMANENT:
        # Other providers come before the attempt that confirms it.
        _addTemporary(entry, node.provider, reason)
    else:
        failure = Failure.ATTEMPT
    failed = entry.get('failed_providers', []).count(node.provider)
    _addReason(entry, node.provider, reason, countFailed(
        failed, failure, attempts,
        ownership.countUntried(node, launchers)) - failed)


def _addLauncher(entry, node, ownership):
    """Record which launcher has failed at a provider.

    :return: name of each running launcher that has -> number of its attempts.
    """
    name = getLauncher(node) or ownership.getNodeOwner(node)
    launchers = entry.get('failed_launchers', {})
    attempts = launchers.get(node.provider, {})
    attempts = attempts | {name: attempts.get(name, 0) + 1}
    # One that restarts has another name, and may have been repaired.
    running = ownership.getLaunchers(node.connection_name)
    attempts = {each: attempts[each] for each in running if each in attempts}
    entry['failed_launchers'] = launchers | {node.provider: attempts}
    return attempts


def _addTemporary(entry, name, reason):
    """Record that a provider is tried after others."""
    entry['temporary'] = entry.get('temporary', {}) | {name: reason}


def _addReason(entry, name, reason, attempts):
    """Record failed attempts of a provider."""
    entry['failed_providers'] = entry.get(
        'failed_providers', []) + [name] * attempts
    entry['reasons'] = entry.get('reasons', {}) | {name: reason}
