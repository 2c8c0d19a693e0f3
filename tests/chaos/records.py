"""What became of each request and node, by the history of ZooKeeper."""

import bisect
import collections
import dataclasses
import json
from typing import Any

from zuul.model import NodesetRequest, ProviderNode

from tests.chaos.world import NODE_LOCKS, NODES, REQUESTS
from zuul_nodes import candidates

LAUNCHERS = '/zuul/components/launcher'
State = NodesetRequest.State
NodeState = ProviderNode.State
GRANTED = (State.ACCEPTED, State.FULFILLED)


class Series:
    """The values of something, each from some transaction on."""

    def __init__(self):
        self.transactions = []
        self.values = []

    def add(self, transaction, value):
        if not self.values or self.values[-1] != value:
            self.transactions.append(transaction)
            self.values.append(value)

    def before(self, zxid):
        """:return: the value before a transaction, or None."""
        index = bisect.bisect_left(
            self.transactions, zxid, key=lambda each: each.zxid)
        return self.values[index - 1] if index else None

    def at(self, time):
        """:return: the value at some time, or None."""
        index = bisect.bisect_right(
            self.transactions, time, key=lambda each: each.time)
        return self.values[index - 1] if index else None

    def spans(self):
        """:return: yields each value with the transactions that begin and
            end it; the latter may be None."""
        ends = [*self.transactions, None][1:]
        yield from zip(self.values, self.transactions, ends, strict=True)


@dataclasses.dataclass
class Request:
    """
    :ivar states: None when the record is gone.
    :ivar node_ids: the nodes that the record names, a tuple.
    :ivar ranks: what orders requests: priority, relative priority, time.
    :ivar failures: whether it has failed at some provider.
    """
    id: str
    tenant: str = ''
    labels: tuple = ()
    states: Series = dataclasses.field(default_factory=Series)
    node_ids: Series = dataclasses.field(default_factory=Series)
    ranks: Series = dataclasses.field(default_factory=Series)
    failures: Series = dataclasses.field(default_factory=Series)

    @property
    def created(self):
        return self.states.transactions[0]


@dataclasses.dataclass
class Node:
    """
    :ivar states: None when the record is gone.
    :ivar owners: the session that has the lock, or None.
    """
    id: str
    label: str = ''
    provider: str = ''
    connection: str = ''
    states: Series = dataclasses.field(default_factory=Series)
    owners: Series = dataclasses.field(default_factory=Series)

    @property
    def created(self):
        return self.states.transactions[0]

    @property
    def end(self):
        """The transaction that has deleted the record, or None."""
        is_gone = self.states.values[-1] is None
        return self.states.transactions[-1] if is_gone else None


@dataclasses.dataclass
class Grant:
    """
    :ivar planner: the path of the candidate that leads, or None.
    :ivar session: of that candidate.
    """
    transaction: Any
    request: Request
    planner: str | None
    session: int | None


class Records:
    """
    :param list history: all transactions.
    :ivar dict requests: id -> :class:`Request`
    :ivar dict nodes: id -> :class:`Node`
    :ivar list grants: each :class:`Grant`.
    :ivar list takeovers: seconds from the end of each planner to the first
        transaction of the next one, if that was a candidate already.
    :ivar dict launchers: session -> name of the launcher.
    :ivar dict ends: session -> the transaction that has ended it.
    """

    def __init__(self, history):
        self.requests = {}
        self.nodes = {}
        self.grants = []
        self.takeovers = []
        self.launchers = {}
        self.ends = {}
        self._candidates = {}
        # The transaction that has ended the last planner, until there is
        # another one.
        self._deposed = None
        # Node -> contender for its lock -> session
        self._contenders = collections.defaultdict(dict)
        for transaction in history:
            for operation in transaction.operations:
                self._take(transaction, operation)

    def _take(self, transaction, operation):
        root, _, name = operation.path.rpartition('/')
        if operation.kind == 'close':
            self.ends[transaction.session] = transaction
        elif operation.kind == 'check':
            if self._deposed and operation.path == self._getPlanner():
                self.takeovers.append(
                    transaction.time - self._deposed.time)
                self._deposed = None
        elif operation.kind == 'open':
            pass
        elif root == LAUNCHERS and operation.kind == 'create':
            self.launchers[transaction.session] = json.loads(
                operation.data)['hostname']
        elif root == candidates.ROOT:
            if operation.kind == 'create':
                self._candidates[operation.path] = transaction.session
            else:
                is_planner = operation.path == self._getPlanner()
                self._candidates.pop(operation.path, None)
                if is_planner:
                    self._deposed = transaction if self._candidates else None
        elif root.startswith(f'{NODE_LOCKS}/'):
            self._takeLock(transaction, operation, name,
                           root.rpartition('/')[2])
        elif root == NODES:
            self._takeNode(transaction, operation, name)
        elif root == REQUESTS:
            self._takeRequest(transaction, operation, name)
        elif name == 'revision' and root.startswith(REQUESTS):
            self._takeRevision(transaction, operation,
                               root.rpartition('/')[2])

    def _getPlanner(self):
        return min(self._candidates, default=None,
                   key=lambda path: path[-candidates.DIGITS:])

    def _takeNode(self, transaction, operation, node_id):
        if node_id == '_sync':
            return
        node = self.nodes.setdefault(node_id, Node(node_id))
        if operation.kind == 'delete':
            node.states.add(transaction, None)
            return
        record = _read(ProviderNode, operation.data)
        node.label = record['label']
        node.provider = record['provider'].rpartition('/')[2]
        node.connection = record['connection_name']
        node.states.add(transaction, record['state'])

    def _takeLock(self, transaction, operation, contender, node_id):
        contenders = self._contenders[node_id]
        if operation.kind == 'delete':
            contenders.pop(contender, None)
        else:
            contenders[contender] = transaction.session
        # Names end with a number of ten digits.
        first = min(contenders, default=None, key=lambda name: name[-10:])
        if node_id in self.nodes:
            self.nodes[node_id].owners.add(
                transaction, contenders.get(first))

    def _takeRequest(self, transaction, operation, request_id):
        if request_id == '_sync':
            return
        request = self.requests.setdefault(request_id, Request(request_id))
        if operation.kind == 'delete':
            request.states.add(transaction, None)
            request.node_ids.add(transaction, ())
            return
        record = _read(NodesetRequest, operation.data)
        if operation.kind == 'create':
            request.tenant = record['tenant_name']
            request.labels = tuple(sorted(record['labels']))
            request.ranks.add(transaction, (
                record['priority'], record['_relative_priority'],
                record['request_time']))
        entries = record['provider_node_data']
        previous = request.states.values[-1:]
        request.states.add(transaction, record['state'])
        request.node_ids.add(transaction, tuple(
            entry['uuid'] for entry in entries if entry['uuid']))
        request.failures.add(transaction, any(
            entry.get('failed_providers') or entry.get('temporary')
            for entry in entries))
        if previous == [State.REQUESTED] and record['state'] in GRANTED:
            planner = self._getPlanner()
            self.grants.append(Grant(
                transaction, request, planner,
                self._candidates.get(planner)))

    def _takeRevision(self, transaction, operation, request_id):
        if operation.kind == 'delete':
            return
        request = self.requests[request_id]
        priority, _, request_time = request.ranks.values[-1]
        record = _read(NodesetRequest, operation.data)
        request.ranks.add(transaction, (
            priority, record['relative_priority'], request_time))


def _read(cls, data):
    return json.loads(cls._decompressData(data)[1])
