"""Writes the planner's grants, each in one transaction."""

from zuul.model import NodesetRequest, ProviderNode

from zuul_nodes.launcher.providers import (
    USED_STATES,
    Failure,
    describe,
    getSubject,
)
from zuul_nodes.launcher.zookeeper import Conflict, commitNew

State = NodesetRequest.State
NodeState = ProviderNode.State


class GrantWriter:
    """Writes grants.

    :param RequestRecords requests: reads and writes requests.
    :param Planner planner: has decided the grants.
    :param NewRecords new_records: creates the records of new nodes.
    :param RequestEnds ends: fulfils requests whose nodes are all ready.
    :param noteFailure: called as :meth:`.Supply.noteFailure`, if a provider
        cannot create a record.
    """

    def __init__(self, requests, planner, new_records, ends, noteFailure):
        self.requests = requests
        self.planner = planner
        self.new_records = new_records
        self.ends = ends
        self.noteFailure = noteFailure

    def write(self, request, grant, log):
        """Write the new nodes of a grant, the assignments of all its nodes,
        and the request.

        :raises Conflict: a record has changed since the grant was planned.
        :raises UnwritableError: a new node cannot be written.
        """
        ready = [slot.node for slot in grant.slots
                 if slot.node is not None
                 and slot.node.state == NodeState.READY]
        transaction = self.requests.begin(request)
        try:
            new = self._addNodes(transaction, request, grant, log)
            for node in ready:
                # A launcher that deletes the expired node, or a user that
                # holds it, has the node's lock.  The lock of a node that is
                # being built is its launcher's.
                transaction.check(node)
                transaction.checkUnlocked(node)
                self._checkMachine(transaction, node, ready)
            self._addRequest(transaction, request, grant,
                             len(ready) == len(grant.slots), log)
            commitNew(self.requests.records, transaction, new)
        except BaseException:
            self.requests.session.release(request)
            raise
        self.planner.confirm(grant)

    def _checkMachine(self, transaction, node, ready):
        """Check that the job limit of a machine allows this grant: another
        launcher may just have granted another record of the machine."""
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
            raise Conflict(f'the machine of {node} is in use')

    def _addNodes(self, transaction, request, grant, log):
        """:return: a list of the records of the new nodes."""
        new = []
        hosts = {}
        for slot in grant.slots:
            node = slot.node
            host_id = slot.host.node_id if slot.host else None
            if node is None and host_id in hosts:
                node = hosts[host_id][slot.node_id]
            elif node is None:
                try:
                    records = self.new_records.makeNode(
                        slot, NodeState.BUILDING, request)
                except Exception as error:
                    # So that another provider is tried.
                    self.noteFailure(
                        getSubject(slot.provider, slot.label_name),
                        Failure.TEMPORARY, describe(error))
                    raise
                self.new_records.create(transaction, records, request)
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
            self.ends.add(transaction, request, State.FULFILLED,
                         provider_node_data=data)
        else:
            log.debug('Accepting request %s', request)
            if not request.hasLock():
                transaction.lock(request)
            transaction.update(request, state=State.ACCEPTED,
                               provider_node_data=data)
