"""The life of a request: planned, granted, fulfilled or failed.

A request waits unlocked and holds nothing.  When the planner has a place
for all of its nodes, all of them are written at once: the new nodes, the
assignments, and the request itself.  If one of them fails, all go back
and the request is planned anew.
"""

import copy
import logging

from zuul.lib.logutil import get_annotated_logger
from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes import audit
from zuul_nodes.launcher.planner import Grant, Impossible
from zuul_nodes.launcher.providers import (
    Failure,
    describe,
    describeUnhandled,
    getAttempts,
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

# In these, a node of a request is there or will be.
GOOD_STATES = (*ProviderNode.CREATE_STATES, NodeState.READY,
               NodeState.SLOT_HOST)

# What the record of a request says of nodes that have failed.
FAILURES = {'failed_providers', 'temporary'}
# What a request waits for that may be from a newer layout than is known.
UNREAD = 'the layout that it may be from has not been read yet'


class RequestReconciler:
    """
    :param RequestRecords requests:
    :param Planner planner: decides what they get.
    :param Layouts layouts: from which they are.
    :param GrantWriter grants: writes what is decided.
    :param RequestEnds ends: writes how they end.
    :param RequestWaits waits: those that wait.
    :param LivenessCheck liveness_check: of nodes that are ready.
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
        # Those whose layout is read, or a later one.
        self._current = set()

    def reconcile(self, request_id):
        """Take the next step of a request, if it is ours to take."""
        request = self.requests.get(request_id)
        if request is None or not self._isOurs(request):
            self._forget(request_id)
            return
        self.ends.startSpan(request)
        log = get_annotated_logger(self.log, request, request=request_id)
        try:
            if request.state == State.REQUESTED and any(request.nodes):
                # Zuul's launcher lets requests keep nodes while they wait.
                self._goBack(request, self.requests.getNodes(request), log)
            elif request.state == State.REQUESTED:
                self._plan(request, log)
            elif request.state == State.ACCEPTED:
                self._check(request, log)
            else:
                self._end(request, request.state, log)
        except Conflict as conflict:
            log.debug('Looking at request %s again: %s', request, conflict)
            self.session.release(request)
            self.requests.retry(request)

    def reconcileWaiting(self):
        """Tell for what those wait that do."""
        self.waits.reconcile(self.requests.remembers)

    def _isOurs(self, request):
        if request.state == State.TEST_HOLD or isDone(request):
            return False
        return self.requests.isMine(request)

    def _forget(self, request_id):
        self.planner.forget(request_id)
        self.requests.forget(request_id)
        self.waits.forget(request_id)
        self._current.discard(request_id)

    # Waiting

    def _plan(self, request, log):
        if not self._hasLayout(request):
            self.waits.tell(request.uuid, UNREAD, log)
            return
        decision = self.planner.plan(request)
        if isinstance(decision, Grant):
            self._grant(request, decision, log)
        elif not isinstance(decision, Impossible):
            self._wait(request, decision, log)
        elif self.layouts.isCertain(request.tenant_name):
            self._end(request, State.FAILED, log, decision.reason)
        else:
            self.waits.tell(request.uuid, UNREAD, log)

    def _hasLayout(self, request):
        """:return: whether the layout that a request is from has been read:
            it must not get what an older one defines.  Later ones will do,
            so this is asked once."""
        if request.uuid not in self._current:
            if not self.layouts.isNewEnough(
                    request.tenant_name, request.getZKczxid()):
                return False
            self._current.add(request.uuid)
        return True

    def _wait(self, request, decision, log):
        self.waits.begin(request, decision.reason, log)
        self._watchUnhandled(
            request, self.planner.getUnhandled(request.uuid), log)

    def _watchUnhandled(self, request, reason, log):
        """
        :param str reason: why nobody who runs can do it; None if somebody
            can.
        """
        if self.waits.isOver(request, reason):
            self._end(request, State.FAILED, log, (
                f'{reason}; waited {self.waits.unhandled_timeout:g} seconds'))

    # Granting

    def _grant(self, request, grant, log):
        try:
            if not self.liveness_check.check(grant, log):
                # The grant is kept meanwhile.
                return
            self.grants.write(request, grant, log)
        except UnwritableError as error:
            self.planner.release(grant)
            self._refuse(request, grant, error, log)
            return
        except BaseException:
            self.planner.release(grant)
            raise
        self._forget(request.uuid)

    def _refuse(self, request, grant, error, log):
        """What is to be made can't be written: that is so at each attempt,
        and the label's fault, not the provider's."""
        data = []
        for slot in grant.slots:
            entry = {'failed_providers': [], 'executor_zone': None,
                     **(request.getProviderNodeData(slot.index) or {}),
                     'uuid': None}
            if slot.node is None:
                _addReason(entry, slot.provider.canonical_name,
                           describe(error), getAttempts(slot.provider))
            data.append(entry)
        self._planAnew(request, (), data, log)

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
            # It was another launcher's.
            if not self.session.acquire(request):
                self.requests.retry(request)
            return
        self._goBack(request, nodes, log)

    def _goBack(self, request, nodes, log):
        """Some nodes have failed: none is kept while others are waited
        for, so that no two requests can wait for one another."""
        data = [self._getEntry(request, index, node)
                for index, node in enumerate(nodes)]
        self._planAnew(request, nodes, data, log)

    def _planAnew(self, request, nodes, data, log):
        """
        :param nodes: that the request gives up.
        :param list data: what its record is to say of each node.
        """
        reason = self._getEnd(request, data)
        if reason and self.layouts.isCertain(request.tenant_name):
            self._end(request, State.FAILED, log, reason)
            return
        if not any(entry.keys() & FAILURES and (
                entry.get('failed_providers') or entry.get('temporary'))
                for entry in data):
            # Zuul's launcher does not go on with entries without nodes.
            data = []
        transaction = self.requests.begin(request)
        for node in nodes:
            if node is not None and node.request_id == request.uuid:
                log.info('Request %s gives up node %s', request.uuid, node)
                transaction.deletePart(node.assignment)
        transaction.update(request, state=State.REQUESTED,
                           provider_node_data=data)
        transaction.unlock(request)
        transaction.commit()

    def _getEntry(self, request, index, node):
        """:return: what the record is to say of a node that goes back."""
        entry = {**request.getProviderNodeData(index), 'uuid': None}
        if node is not None:
            provider = self.layouts.scope.by_tenant.get(
                request.tenant_name, {}).get(node.provider)
            _addFailure(entry, node,
                        getAttempts(provider) if provider else 1)
        return entry

    def _getEnd(self, request, data):
        """
        :return: why no provider is left for a request of which the record
            would say that; None if there is one.  Then it waits from now
            on: what it gives up is for nobody behind it.
        """
        request = copy.copy(request)
        setAttributes(request, provider_node_data=data)
        decision = self.planner.plan(request)
        if isinstance(decision, Grant):
            # With what it gives up, it may need less.
            self.planner.forget(request.uuid)
        if not isinstance(decision, Impossible):
            return None
        failures = [f'{provider}: {reason}' for entry in data
                    for provider, reason in entry.get('reasons', {}).items()]
        return '; '.join(dict.fromkeys((decision.reason, *failures)))

    # The end

    def _end(self, request, state, log, reason=None):
        """Write how a request has ended, and tell the pipeline."""
        transaction = self.requests.begin(request)
        if state == State.FAILED:
            # Its nodes go when the scheduler has removed the record.
            reason = self.ends.explain(request, reason)
            log.error('Marking request %s as %s: %s', request, state, reason)
            transaction.audit(
                audit.Event.REFUSED, request, reason=reason,
                label=', '.join(request.labels))
        else:
            log.debug('Marking request %s as %s', request, state)
        self.ends.add(transaction, request, state)
        transaction.commit()
        self._forget(request.uuid)


def _addFailure(entry, node, attempts):
    """Remember which provider has failed, and how."""
    if hasFailed(node, Failure.OVERTAKEN):
        return
    if node.state == NodeState.TEMPFAILED:
        entry['temporary'] = entry.get('temporary', {}) | {
            node.provider: node.comment or 'unknown'}
    elif node.state == NodeState.FAILED:
        _addReason(entry, node.provider, node.comment or 'unknown',
                   attempts if hasFailed(node, Failure.PERMANENT) else 1)


def _addReason(entry, name, reason, attempts):
    """Remember that some attempts of a provider have failed."""
    entry['failed_providers'] = entry.get(
        'failed_providers', []) + [name] * attempts
    entry['reasons'] = entry.get('reasons', {}) | {name: reason}
