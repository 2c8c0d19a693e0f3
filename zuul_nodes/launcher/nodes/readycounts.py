"""Finds the nodes that ``min-ready`` labels lack."""

import collections
import random
import time
import typing
import uuid

from zuul.model import ProviderNode

from zuul_nodes.drivers import (
    getMinReady,
    getNextMinReady,
    getPriority,
    mayBeReady,
)
from zuul_nodes.launcher.planner import Host, Slot, getSlots
from zuul_nodes.launcher.providers import (
    Identity,
    getIdentity,
    identify,
    isGiven,
    isMadeFrom,
)

# Failed nodes count until they are deleted, so that a cloud whose launches
# fail does not get a new launch every second.
COUNTED_STATES = {*ProviderNode.ASSIGNABLE_STATES,
                  *ProviderNode.CREATE_STATES,
                  *ProviderNode.FAILED_STATES}


class Kind(typing.NamedTuple):
    """The properties that make nodes interchangeable for min-ready."""
    identity: Identity
    names: tuple


def getKind(node):
    """:return: the Kind of a node; None if it is not ready for any request and
        will not be."""
    # Of a host with slots, the slots are counted.
    if (node.request_id or node.subnodes
            or node.state not in COUNTED_STATES):
        return None
    return Kind(identify(node), tuple(node.all_labels))


def findMissing(scope, kinds, is_mine, canMake, limit, batch=50):
    """Find the nodes that labels with ``min-ready`` lack.

    :param Scope scope: the tenants' providers.
    :param Counter kinds: from :meth:`.NodeIndex.getCounts`.
    :param is_mine: called with a label's canonical name; returns whether this
        launcher handles the label.
    :param canMake: called with a label and a provider; returns whether the
        provider can launch a node of the label now.
    :param int limit: maximum ready nodes of a label in a tenant.
    :param int batch: number of nodes that the caller launches before it counts
        again.
    :return: yields label and provider of each missing node that can be
        launched in addition to the ones before it.
    """
    now = time.time()
    tenants = []
    turns = collections.deque()
    for own in scope.by_tenant.values():
        if makers := _getMakers(own.values(), is_mine):
            tenants.append(_Tenant(own))
            turns.extend((tenants[-1], *each) for each in makers.items())
    for kind, number in kinds.items():
        known = kind._replace(identity=scope.complete(kind.identity))
        for tenant in tenants:
            tenant.add(known, number)
    # One node of each label in turn, so that no label takes all the capacity.
    if len(turns) > batch:
        # In random order, so that a caller that stops after a batch does not
        # always skip the same labels.
        random.shuffle(turns)
    while turns:
        tenant, name, candidates = turns.popleft()
        # Providers may define different numbers.
        wanted = min(limit, max(
            getMinReady(provider.labels[name], now)
            for provider in candidates))
        if tenant.ready[name] >= wanted:
            continue
        # With the capacity that the last node has left.
        able = [provider for provider in candidates
                if canMake(provider.labels[name], provider)]
        if not able:
            continue
        # A random one of those with the highest priority.
        provider = min(able, key=lambda each: (
            getPriority(each.labels[name]), random.random()))
        label = provider.labels[name]
        yield label, provider
        kind = Kind(getIdentity(provider, name), (name, *label.aliases))
        for each in tenants:
            each.add(kind, getSlots(label))
        turns.append((tenant, name, candidates))


def getNext(providers, is_mine, now):
    """
    :param providers: the tenants' objects.
    :param is_mine: as of :func:`findMissing`.
    :param float now: in seconds since the epoch.
    :return: when labels may need another number of ready nodes because of the
        time; None if they never do.
    """
    return min((
        moment for provider in providers for label in provider.labels.values()
        # Few labels have times, and the owner of others need not be found.
        if (moment := getNextMinReady(label, now))
        and is_mine(label.canonical_name)), default=None)


class _Tenant:
    """A tenant and the nodes that it can use.

    :ivar Counter ready: name of a label -> number of nodes with it that the
        tenant can use.
    """

    def __init__(self, own):
        """:param dict own: canonical name -> its provider."""
        self.own = own
        self.ready = collections.Counter()

    def add(self, kind, number):
        if isMadeFrom(kind.identity, self.own.get(kind.identity.provider)):
            self.ready.update(dict.fromkeys(kind.names, number))


def _getMakers(providers, is_mine):
    """:return: label -> providers that can launch nodes of it."""
    makers = collections.defaultdict(list)
    for provider in providers:
        # Static nodes are registered, not launched.
        if provider.nodes or isGiven(provider.driver):
            continue
        for label in provider.labels.values():
            if mayBeReady(label) and is_mine(label.canonical_name):
                makers[label.name].append(provider)
    return makers


def makeSlot(label, provider):
    """:return: a Slot for a new node."""
    host = None
    node_id = uuid.uuid4().hex
    if label.slots and label.slots > 1:
        host = Host(node_id, provider, label.name, tuple(
            uuid.uuid4().hex for _ in range(label.slots)))
    return Slot(0, label.name, provider, None, node_id, host)
