"""Nodes that are made before anybody asks for them."""

import collections
import random
import threading
import typing
import uuid

from zuul.model import ProviderNode

from zuul_nodes.drivers import getPriority
from zuul_nodes.launcher.planner import Host, Slot, getSlots
from zuul_nodes.launcher.providers import isGiven, isMadeFrom

# Those that failed count until they are gone, so that a cloud that makes
# no nodes is not asked for one more each second.
COUNTED_STATES = {*ProviderNode.ASSIGNABLE_STATES,
                  *ProviderNode.CREATE_STATES,
                  *ProviderNode.FAILED_STATES}
# So many nodes of a label a tenant has ready at most.
MOST_READY = 10000


class Kind(typing.NamedTuple):
    """What makes nodes equal for those who count them."""
    provider: str
    label: str
    label_config_hash: str
    names: tuple


def getKind(node):
    """:return: None if the node neither is nor will be ready for anybody.
    """
    # With slots, it is these that are handed out.
    if (node.request_id or node.subnodes
            or node.state not in COUNTED_STATES):
        return None
    return Kind(node.provider, node.label, node.label_config_hash,
                tuple(node.all_labels))


class Counts:
    """How many nodes of each kind there are; it takes no longer to look if
    there are more of them."""

    def __init__(self):
        self._kinds = {}
        self._numbers = collections.Counter()
        self._lock = threading.Lock()

    def note(self, node_id, node):
        """
        :param ProviderNode node: as it is now, or None if it is gone.
        :return: whether there are fewer of a kind than before.
        """
        with self._lock:
            # Not before, for another thread may know more of it by then.
            new = node and getKind(node)
            old = self._kinds.pop(node_id, None)
            if new:
                self._kinds[node_id] = new
                self._numbers[new] += 1
            if old:
                self._numbers[old] -= 1
                if not self._numbers[old]:
                    del self._numbers[old]
        return old not in (None, new)

    def get(self):
        """:return: a Counter by kind, the caller's own."""
        with self._lock:
            return self._numbers.copy()


def findMissing(tenant_providers, kinds, is_mine, canMake, batch=50):
    """
    :param dict tenant_providers: tenant -> its providers.
    :param Counter kinds: as of :class:`Counts`.
    :param is_mine: tells by a label's canonical name whether to look
        after it.
    :param canMake: tells for a label and a provider whether that may make
        nodes of it now.
    :param int batch: how many are made without another look at what there
        is.
    :return: yields label and provider of each node that a tenant has to
        have ready and has not, and that can be made when those before it
        are.
    """
    tenants = []
    turns = collections.deque()
    for providers in tenant_providers.values():
        if makers := _getMakers(providers, is_mine):
            tenants.append(_Tenant(providers))
            turns.extend((tenants[-1], *each) for each in makers.items())
    for kind, number in kinds.items():
        for tenant in tenants:
            tenant.add(kind, number)
    # One of each in turn, so that none takes all the room.
    if len(turns) > batch:
        # Who stops before the end does not always stop before the same.
        random.shuffle(turns)
    while turns:
        tenant, name, candidates = turns.popleft()
        # Providers may say different numbers.
        wanted = min(MOST_READY, max(
            provider.labels[name].min_ready for provider in candidates))
        if tenant.ready[name] >= wanted:
            continue
        # With the room that the last one has left.
        able = [provider for provider in candidates
                if canMake(provider.labels[name], provider)]
        if not able:
            continue
        # Of those that come first, any.
        provider = min(able, key=lambda each: (
            getPriority(each.labels[name]), random.random()))
        label = provider.labels[name]
        yield label, provider
        kind = Kind(provider.canonical_name, name, label.config_hash,
                    (name, *label.aliases))
        for each in tenants:
            each.add(kind, getSlots(label))
        turns.append((tenant, name, candidates))


class _Tenant:
    """
    :ivar Counter ready: name of a label -> how many nodes the tenant may
        have with it.
    """

    def __init__(self, providers):
        self.own = {
            provider.canonical_name: provider for provider in providers}
        self.ready = collections.Counter()

    def add(self, kind, number):
        if isMadeFrom(kind, self.own.get(kind.provider)):
            self.ready.update(dict.fromkeys(kind.names, number))


def _getMakers(providers, is_mine):
    """:return: label -> providers that can make nodes of it."""
    makers = collections.defaultdict(list)
    for provider in providers:
        # Static nodes are there already or can not be made.
        if provider.nodes or isGiven(provider.driver):
            continue
        for label in provider.labels.values():
            if label.min_ready and is_mine(label.canonical_name):
                makers[label.name].append(provider)
    return makers


def makeSlot(label, provider):
    """:return: a Slot: the node that is to be made."""
    host = None
    node_id = uuid.uuid4().hex
    if label.slots and label.slots > 1:
        host = Host(node_id, provider, label.name, tuple(
            uuid.uuid4().hex for _ in range(label.slots)))
    return Slot(0, label.name, provider, None, node_id, host)
