"""The life of a request: planned, granted, fulfilled or failed.

A request waits unlocked and holds nothing.  When the planner has a place
for all of its nodes, all of them are written at once: the new nodes, the
assignments, and the request itself.  If one of them fails, all go back
and the request is planned anew.
"""

import copy
import logging
import time

from opentelemetry import trace
from zuul.lib import tracing
from zuul.lib.logutil import get_annotated_logger
from zuul.model import NodesetRequest, NodesProvisionedEvent, ProviderNode

from zuul_nodes import audit, labelproblems
from zuul_nodes.launcher.planner import Grant, Impossible
from zuul_nodes.launcher.providers import (
    USED_STATES,
    Failure,
    describe,
    describeUnhandled,
    getAttempts,
    hasFailed,
)
from zuul_nodes.launcher.zookeeper import (
    Conflict,
    UnwritableError,
    getPath,
    setAttributes,
)

State = NodesetRequest.State
NodeState = ProviderNode.State
TRACER = trace.get_tracer('zuul')

# In these, a node of a request is there or will be.
GOOD_STATES = (*ProviderNode.CREATE_STATES, NodeState.READY,
               NodeState.SLOT_HOST)


REASONS = ('reasons', '')
# For what requests wait is looked at again so often (seconds).
REASON_INTERVAL = 60

# What the record of a request says of nodes that have failed.
FAILURES = {'failed_providers', 'temporary'}
# What a request waits for that may be from a newer layout than is known.
UNREAD = 'the layout that it may be from has not been read yet'


class RequestReconciler:
    """
    :param Launcher launcher: whose requests these are.
    :param float unhandled_timeout: seconds that a request waits for a
        launcher that handles a connection that it needs.
    """

    log = logging.getLogger('zuul.nodes.requests')

    def __init__(self, launcher, unhandled_timeout):
        self.launcher = launcher
        self.api = launcher.api
        self.session = launcher.session
        self.queue = launcher.queue
        self.planner = launcher.planner
        self.unhandled_timeout = unhandled_timeout
        self._reasons = {}
        # The version of each that is being looked at.
        self._versions = {}
        # When we first saw that a request waits for a launcher.
        self._unhandled = {}
        # Those whose layout is read, or a later one.
        self._current = set()

    def reconcile(self, request_id):
        """Take the next step of a request, if it is ours to take."""
        # Before it is looked for: who learns that it is gone asks for it.
        self._versions[request_id] = None
        request = self.api.getNodesetRequest(request_id)
        if request is not None:
            # Before anything is read of it: whoever had it before may
            # write it at any time, and the watch tell us meanwhile.
            self._versions[request_id] = request.getZKVersion()
        if request is None or not self._isOurs(request):
            self._forget(request_id)
            return
        self._startSpan(request)
        log = get_annotated_logger(self.log, request, request=request_id)
        try:
            if request.state == State.REQUESTED and any(request.nodes):
                # Zuul's launcher lets requests keep nodes while they wait.
                self._goBack(request, self._getNodes(request), log)
            elif request.state == State.REQUESTED:
                self._plan(request, log)
            elif request.state == State.ACCEPTED:
                self._check(request, log)
            else:
                self._end(request, request.state, log)
        except Conflict as conflict:
            log.debug('Looking at request %s again: %s', request, conflict)
            self.session.release(request)
            self._retry(request)

    def _begin(self, request):
        """
        :return: a Transaction, which writes the request only if it still is
            what we have looked at.
        """
        transaction = self.session.transaction()
        transaction.expect(request, self._versions[request.uuid])
        return transaction

    def _retry(self, request):
        """Look at a request again: when somebody gives up its lock, or
        later."""
        # Of these locks, no cache tells.
        key = ('request', request.uuid)
        if not self.session.awaitUnlocked(
                request, lambda: self.queue.add(key)):
            self.queue.retry(key)

    def _isOurs(self, request):
        if request.state == State.TEST_HOLD or isDone(request):
            return False
        return request.hasLock() or (
            self.launcher.ownership.isMyRequest(request))

    def remembers(self, request_id):
        """:return: whether there is anything to forget of a request."""
        return request_id in self._versions

    def _forget(self, request_id):
        self.planner.forget(request_id)
        self._versions.pop(request_id, None)
        self._reasons.pop(request_id, None)
        self._current.discard(request_id)
        self._unhandled.pop(request_id, None)

    # RequestQueue

    def _plan(self, request, log):
        if not self._hasLayout(request):
            self._tellReason(request.uuid, UNREAD, log)
            return
        decision = self.planner.plan(request)
        if isinstance(decision, Grant):
            self._grant(request, decision, log)
        elif not isinstance(decision, Impossible):
            self._wait(request, decision, log)
        elif self.launcher.layouts.isCertain(request.tenant_name):
            self._end(request, State.FAILED, log, decision.reason)
        else:
            self._tellReason(request.uuid, UNREAD, log)

    def _hasLayout(self, request):
        """:return: whether the layout that a request is from has been read:
            it must not get what an older one defines.  Later ones will do,
            so this is asked once."""
        if request.uuid not in self._current:
            if not self.launcher.layouts.isNewEnough(
                    request.tenant_name, request.getZKczxid()):
                return False
            self._current.add(request.uuid)
        return True

    def _wait(self, request, decision, log):
        self._tellReason(request.uuid, decision.reason, log)
        self.queue.addAfter(REASONS, REASON_INTERVAL)
        self.launcher.tellReservations()
        self.launcher.reclaim.tell()
        self._watchUnhandled(
            request, self.planner.getUnhandled(request.uuid), log)

    def tellReasons(self):
        """Tell for what those wait now that are the first of their like;
        nobody plans them again just because the reason is another one."""
        reasons = self.planner.getReasons()
        for request_id, reason in reasons.items():
            if self.remembers(request_id):
                self._tellReason(request_id, reason, self.log)
        if reasons:
            self.queue.addAfter(REASONS, REASON_INTERVAL)

    def _tellReason(self, request_id, reason, log):
        if self._reasons.get(request_id) != reason:
            self._reasons[request_id] = reason
            log.info('Request %s waits: %s', request_id, reason)

    def _watchUnhandled(self, request, reason, log):
        """Do not wait for ever for launchers that do not run.

        :param str reason: why nobody who runs can do it; None if somebody
            can.
        """
        if not reason:
            self._unhandled.pop(request.uuid, None)
            return
        now = time.monotonic()
        since = self._unhandled.setdefault(request.uuid, now)
        left = since + self.unhandled_timeout - now
        if left > 0:
            self.queue.addAfter(('request', request.uuid), left)
            return
        self._end(request, State.FAILED, log, (
            f'{reason}; waited {self.unhandled_timeout:g} seconds'))

    # Granting

    def _grant(self, request, grant, log):
        try:
            if not self.launcher.liveness_check.check(grant, log):
                # The grant is kept meanwhile.
                return
            self._write(request, grant, log)
        except UnwritableError as error:
            self.planner.release(grant)
            self._refuse(request, grant, error, log)
            return
        except BaseException:
            self.planner.release(grant)
            raise
        self._forget(request.uuid)

    def _write(self, request, grant, log):
        ready = [slot.node for slot in grant.slots
                 if slot.node is not None
                 and slot.node.state == NodeState.READY]
        transaction = self._begin(request)
        try:
            new = self._addNodes(transaction, request, grant, log)
            for node in ready:
                # It may be about to expire, or be held by a user: they
                # have its lock then.  One that is built is its builder's.
                transaction.check(node)
                transaction.checkUnlocked(node)
                self._checkMachine(transaction, node, ready)
            self._addRequest(transaction, request, grant,
                             len(ready) == len(grant.slots), log)
            self.launcher.commitNew(transaction, new)
        except BaseException:
            self.session.release(request)
            raise
        self.planner.confirm(grant)

    def _checkMachine(self, transaction, node, ready):
        """Look whether other records of a machine leave a job to a node:
        another launcher may just have granted one of these."""
        others, limit = self.planner.getOthers(node)
        used = 1
        for other in others:
            if (other in ready or other.request_id
                    or other.state in USED_STATES):
                used += 1
            else:
                transaction.check(other)
                transaction.checkNoPart(other.assignment)
        if used > limit:
            raise Conflict(f'the machine of {node} is used')

    def _addNodes(self, transaction, request, grant, log):
        """:return: the records of new nodes."""
        new = []
        hosts = {}
        for slot in grant.slots:
            node = slot.node
            host_id = slot.host.node_id if slot.host else None
            if node is None and host_id in hosts:
                node = hosts[host_id][slot.node_id]
            elif node is None:
                try:
                    records = self.launcher.new_records.makeNode(
                        slot, NodeState.BUILDING, request)
                except Exception as error:
                    # Another provider may be able to.
                    self.launcher.pauseProvider(
                        slot.provider.canonical_name, describe(error))
                    raise
                self.launcher.new_records.create(transaction, records, request)
                new += records
                by_id = {record.uuid: record for record in records}
                if slot.host:
                    hosts[host_id] = by_id
                node = by_id[slot.node_id]
            transaction.createPart(
                node.assignment, request_id=request.uuid,
                tenant_name=request.tenant_name,
                min_request_version=request.getZKVersion() + 1)
            log.debug('Assigning node %s', node)
        return new

    def _addRequest(self, transaction, request, grant, is_ready, log):
        data = []
        for slot in grant.slots:
            entry = dict(request.getProviderNodeData(slot.index)
                         or {'failed_providers': []})
            if grant.forgiven:
                entry.pop('temporary', None)
            label = slot.provider.labels[slot.label_name]
            data.append(entry | {
                'uuid': slot.node_id,
                'executor_zone': slot.node.executor_zone if slot.node
                else label.executor_zone})
        if is_ready:
            log.debug('Request %s is fulfilled by ready nodes', request)
            self._addEnd(transaction, request, State.FULFILLED,
                         provider_node_data=data)
        else:
            log.debug('Accepting request %s', request)
            if not request.hasLock():
                transaction.lock(request)
            transaction.update(request, state=State.ACCEPTED,
                               provider_node_data=data)

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
        nodes = self._getNodes(request)
        if all(node is not None and node.state in GOOD_STATES
               and node.request_id == request.uuid for node in nodes):
            if all(node.state in ProviderNode.FINAL_STATES
                   for node in nodes):
                self._end(request, State.FULFILLED, log)
                return
            unhandled = {
                node.connection_name for node in nodes
                if node.state not in ProviderNode.FINAL_STATES
                and not self.launcher.ownership.isHandled(
                    node.connection_name)}
            self._watchUnhandled(
                request, unhandled and describeUnhandled(unhandled), log)
            if request.state != State.ACCEPTED:
                return
            if request.hasLock():
                return
            # It was another launcher's.
            if not self.session.acquire(request):
                self._retry(request)
            return
        self._goBack(request, nodes, log)

    def _getNodes(self, request):
        """
        :return: the nodes of a request; None in place of those that are
            gone.
        :raises Conflict: the watch has not told of one yet.
        """
        nodes = list(map(self.api.getProviderNode, request.nodes))
        for node, node_id in zip(nodes, request.nodes, strict=True):
            if node is None and node_id and self.session.exists(
                    getPath(ProviderNode, node_id)):
                raise Conflict(f'node {node_id} is not known yet')
            if node is not None and not node.request_id and (
                    self.session.exists(node.assignment.getPath())):
                raise Conflict(f'the assignment of {node_id} is not known yet')
        return nodes

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
        if reason and self.launcher.layouts.isCertain(request.tenant_name):
            self._end(request, State.FAILED, log, reason)
            return
        if not any(entry.keys() & FAILURES and (
                entry.get('failed_providers') or entry.get('temporary'))
                for entry in data):
            # Zuul's launcher does not go on with entries without nodes.
            data = []
        transaction = self._begin(request)
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
            provider = self.launcher.scope.by_tenant.get(
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

    def addFulfilled(self, transaction, node, log):
        """Fulfil a request along with the last of its nodes, if it is
        ours.

        :param Transaction transaction: that makes the node ready.
        """
        request = self.api.getNodesetRequest(node.request_id)
        if (request is None or request.state != State.ACCEPTED
                or not request.hasLock()):
            return
        others = [self.api.getProviderNode(node_id)
                  for node_id in request.nodes if node_id != node.uuid]
        if len(others) < len(request.nodes) and all(
                other is not None and other.state == NodeState.READY
                and other.request_id == request.uuid for other in others):
            log.debug('Marking request %s as %s', request, State.FULFILLED)
            self._addEnd(transaction, request, State.FULFILLED)

    def _end(self, request, state, log, reason=None):
        """Write how a request has ended, and tell the pipeline."""
        transaction = self._begin(request)
        if state == State.FAILED:
            # Its nodes go when the scheduler has removed the record.
            reason = self._addProblems(request, reason)
            log.error('Marking request %s as %s: %s', request, state, reason)
            transaction.audit(
                audit.Event.REFUSED, request, reason=reason,
                label=', '.join(request.labels))
        else:
            log.debug('Marking request %s as %s', request, state)
        self._addEnd(transaction, request, state)
        transaction.commit()
        self._forget(request.uuid)

    def _addProblems(self, request, reason):
        """:return: a reason, with the errors in the configuration that are
            behind it."""
        problems = labelproblems.read(
            self.launcher.zk_client.client, request.tenant_name)
        found = dict.fromkeys(
            problems[name] for name in request.labels if name in problems)
        return '. '.join((str(reason), *found))

    def _addEnd(self, transaction, request, state, **attributes):
        if state == State.FULFILLED and audit.isEnabled():
            for entry in attributes.get(
                    'provider_node_data', request.provider_node_data):
                transaction.audit(
                    audit.Event.USED,
                    self.api.getProviderNode(entry['uuid']), request)
        transaction.update(
            request, state=state,
            event_state=request.EventState.COMPLETE, **attributes)
        transaction.unlock(request)
        transaction.tell(
            self.launcher.result_events[request.tenant_name][
                request.pipeline_name],
            NodesProvisionedEvent(request.uuid, request.buildset_uuid))
        transaction.callAfterwards(_endSpan, request)

    def _startSpan(self, request):
        """What is traced begins when we first look at a request, so that
        it has the time for which that waits."""
        if getattr(request, 'span', None) is None:
            with trace.use_span(tracing.restoreSpan(request.span_info)):
                setAttributes(request, span=TRACER.start_span(
                    'NodesetRequestProcessing'))


def _endSpan(request):
    request.span.set_attributes(request.getSpanAttributes())
    request.span.end()


def isDone(request):
    """:return: whether a launcher has nothing more to do with a request."""
    return (request.state in request.FINAL_STATES
            and request.event_state == request.EventState.COMPLETE)


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
