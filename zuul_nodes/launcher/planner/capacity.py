"""Who has which nodes, and how much of every limit is used.

``Capacity`` has an entry for each node: for those with a record, as it was
seen last, and for those that were granted and have none yet.
"""

import collections
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
import functools
import math
from typing import Any, NamedTuple, TypeAlias

from zuul.model import ProviderNode
from zuul.provider import BaseProvider

from zuul_nodes import nodeusage
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.launcher.planner.decisions import Grant, Host, Slot
from zuul_nodes.launcher.planner.limits import (
    Charges,
    Key,
    Limits,
    exceeds,
    getEntryNames,
    getLabelKey,
    getProviderQuota,
    getSlots,
    getTenantShare,
    withProblem,
)
from zuul_nodes.launcher.planner.news import News
from zuul_nodes.launcher.planner.readynodes import (
    ExecutorZone,
    Kind,
    ReadyNodes,
    getKind,
    isPending,
)
from zuul_nodes.launcher.planner.reasons import Obstacle, Reason
from zuul_nodes.launcher.planner.reservations import (
    Cap,
    Rank,
    Reservation,
    Reservations,
)
from zuul_nodes.launcher.providers import (
    Account,
    Identity,
    Scope,
    SharedMachines,
    Subject,
    getIdentity,
    getMachineId,
    isGiven,
    isMadeFrom,
)
from zuul_nodes.launcher.zookeeper import hasExpired


class Entry(NamedTuple):
    """
    :ivar node: or None: there is no record yet.
    :ivar charges: key -> amount, see :class:`.limits.Limits`.
    :ivar kind: of a node that the planner may grant to any request, or None.
    :ivar spare: what a slot is that becomes such a node as soon as it has a
        record, or None.
    """
    node: ProviderNode | None = None
    charges: Charges = {}
    kind: Kind | None = None
    spare: Identity | None = None


NOTHING = Entry()
State = ProviderNode.State
# States in which no request can use a node any more.
ENDED_STATES = (State.FAILED, State.TEMPFAILED, State.OUTDATED,
                State.DEREGISTER, State.USED)
# States of nodes that may be stuck; between two of its failures, a static
# machine is tried again.
STUCK_STATES = (*ENDED_STATES, State.REBUILDING)
# States of nodes that were never used.
NEW_STATES = (*ProviderNode.CREATE_STATES, State.FAILED, State.TEMPFAILED)
# Ranks behind those of all requests: of nodes without a request, of
# reservations for such nodes, and the end.
LAST, MISSING, END = ((math.inf, number) for number in range(3))


class Shortage(NamedTuple):
    """Why there is no room."""
    account: Account
    resource: str
    needed: float
    limit: float
    used: float
    reserved: float
    ahead: str | None
    held: float = 0

    @property
    def key(self) -> Key:
        return self.account, self.resource

    @property
    def reason(self) -> Reason:
        if self.ahead and not exceeds(self.used + self.needed, self.limit):
            return Reason.BEHIND
        return {'label': Reason.MAX_NODES, 'tenant': Reason.TENANT_LIMIT}.get(
            self.account.kind, Reason.QUOTA)

    def getCap(self, quota: Mapping[str, float]) -> Cap:
        """
        :param quota: resource -> amount that a request needs at the provider.
        """
        # A tenant's nodes may end anywhere.
        if self.account.is_tenants:
            return Cap(self.account.width, 0)
        free = max(0, self.limit - self.used - self.reserved)
        needed = quota.get(self.resource) or free or 1
        return Cap(self.account.width, min(1, free / needed))

    def __str__(self) -> str:
        text = (f'{self.account} has {self.limit} {self.resource}, '
                f'{self.used} in use, {self.needed} needed')
        if self.held:
            text += f', {self.held} on hold or stuck in deletion'
        if self.ahead:
            text += f', {self.reserved} kept for request {self.ahead}'
        return text


class Unknown(NamedTuple):
    """The driver can't say whether there is room."""
    provider: str
    problem: str | None
    reason: Reason = Reason.UNKNOWN_QUOTA

    def __str__(self) -> str:
        return withProblem(
            f'limits of {getShortName(self.provider)} are not known',
            self.problem)


# Why a provider can't serve a request now; to be read as text.
Blocker: TypeAlias = Shortage | Unknown | Obstacle


class Capacity:
    """
    :param limits: of all layouts.
    :param news: is told of what becomes free.
    :param isGiven: as for :class:`.SharedMachines`.
    :param noteHost: the same.
    :ivar reservations: of requests.
    :ivar missing: of nodes without a request.
    :ivar used: key -> amount.
    :ivar held: key -> amount, of what is used, that may not come back.
    :ivar holds_changed: how often that has changed.
    :ivar claims: uuid of a node -> the request that it was granted
        to, until the node's record says so.
    """

    def __init__(
            self, limits: Limits, news: News,
            isGiven: Callable[[str], bool] = lambda name: False,
            noteHost: Callable[[str], object] = lambda host: None) -> None:
        self.scope = limits.scope
        self.limits = limits
        self.news = news
        self.reservations = Reservations()
        self.missing = Reservations()
        self.shared_machines = SharedMachines(isGiven, noteHost)
        self.ready_nodes = ReadyNodes(self._hasExpired)
        # Not of whole numbers alone.
        self.used: dict[Key, float] = (
            collections.Counter())  # type: ignore[assignment]
        self.held: dict[Key, float] = (
            collections.Counter())  # type: ignore[assignment]
        self.holds_changed = 0
        self.claims: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        # The other way round: request -> nodes, key -> nodes.
        self._claimed: dict[str, set[str]] = collections.defaultdict(set)
        # Uuid of a claimed node, or of its host -> the request's tenant.
        self._granted: dict[str, str] = {}
        self._members: dict[Key, set[str]] = collections.defaultdict(set)
        self._spare: collections.Counter[Identity] = collections.Counter()
        # Uuid of a machine with nodes that a user holds, or that are stuck ->
        # what it uses.
        self._held: dict[str, Charges] = {}
        self._stuck: Collection[str] = ()
        # Keys of which a waiting request lacks capacity.
        self._short: set[Key] = set()

    def setScope(self, scope: Scope) -> set[str]:
        """
        :param scope: of new layouts.
        :return: as :meth:`.Limits.setScope`.
        """
        # What a node is does not change, but whose it is, and where it counts.
        changed = self._findChanged(self.scope, scope)
        self.scope = scope
        tenants = self.limits.setScope(scope)
        for node_id, entry in list(self._entries.items()) if changed else ():
            if entry.node is not None and not changed.isdisjoint((
                    (entry.node.provider, None),
                    (entry.node.provider, entry.node.label))):
                self._write(node_id, self._describe(entry.node))
        return tenants

    def _findChanged(self, former: Scope,
                     scope: Scope) -> set[tuple[str, str | None]]:
        """:return: canonical name of a provider and a label, or None for all
            of its labels, whose nodes may count for others or elsewhere."""
        changed: set[tuple[str, str | None]] = set()
        for tenant in former.by_tenant.keys() | scope.by_tenant:
            before, after = (each.by_tenant.get(tenant, {})
                             for each in (former, scope))
            if before == after:
                continue
            for name in {name for name, _ in before.items() ^ after.items()}:
                old, new = (self._getMakings(each.get(name))
                            for each in (before, after))
                changed |= {(name, label) for label, _
                            in old.items() ^ new.items()}
        return changed

    def _getMakings(
            self, provider: BaseProvider | None) -> dict[str | None, object]:
        """:return: label -> what its nodes are, and None -> where they count;
            empty without a provider."""
        if provider is None:
            return {}
        # Static nodes are what their entries say.
        return {None: provider if provider.nodes else (
            self.limits.getProviderAccounts(provider)), **{
            name: getIdentity(provider, name) for name in provider.labels}}

    # What is there

    def update(self, node: ProviderNode) -> None:
        """:param node: its record, as it is now."""
        if (node.request_id or node.subnodes
                or self._entries.get(node.uuid, NOTHING).spare):
            self._unclaim(node.uuid)
        self._write(node.uuid, self._describe(node))
        self._renewHost(node)

    def remove(self, node_id: str) -> None:
        """:param node_id: of a node whose record is gone."""
        node = self.getNode(node_id)
        if node is None:
            # The record was not written: the claim ends with the grant.
            return
        self._unclaim(node_id)
        self._write(node_id, NOTHING)
        self._renewHost(node)

    def getNode(self, node_id: str) -> ProviderNode | None:
        """:return: the node, if it has a record."""
        return self._entries.get(node_id, NOTHING).node

    def getKind(self, node_id: str) -> Kind | None:
        """:return: the Kind of a node that any request may get, or None."""
        return self._entries.get(node_id, NOTHING).kind

    def hasLaunched(self, subject: Subject) -> bool:
        """
        :param subject: a label at a provider.
        :return: whether it has nodes whose launch has succeeded.
        """
        return any(
            entry.node is not None and entry.node.provider == subject.provider
            and hasLaunched(entry.node)
            and self.scope.identify(entry.node) == subject.identity
            for entry in self._entries.values())

    def getUsers(self, key: Key) -> set[str]:
        """:return: set of the names of providers that a key limits."""
        return self.limits.users.get(key[0], set())

    def getNeighbours(self, node: ProviderNode) -> set[str]:
        """:return: names of the providers whose nodes count in anything
            that the node does."""
        return set().union(*(
            self.limits.users.get(account, ())
            for account in self._getAccounts(node)))

    def getRivals(self, node_id: str) -> Collection[str]:
        """:return: as :meth:`.SharedMachines.getRivals`."""
        return self.shared_machines.getRivals(node_id)

    def getOthers(self, node_id: str) -> Collection[str]:
        """:return: as :meth:`.SharedMachines.getOthers`."""
        return self.shared_machines.getOthers(node_id)

    def getMachineRoom(self, node_id: str) -> float:
        """:return: as :meth:`.SharedMachines.getRoom`."""
        return self.shared_machines.getRoom(self.getNode(node_id))

    def setAddresses(self, host: str, found: Iterable[str]) -> None:
        """Take in which addresses a host of nodes has."""
        for node_id in self.shared_machines.setAddresses(host, found):
            self._write(node_id, self._describe(self.getNode(node_id)))

    # What is going to be

    def claim(self, grant: Grant) -> None:
        """Have all nodes of a grant be the request's."""
        hosts = set()
        for slot in grant.slots:
            provider = slot.provider
            charges: dict[Key, float] = {
                getLabelKey(provider.tenant_name, slot.label_name): 1}
            if slot.host:
                hosts.add(slot.host)
            elif slot.node is None:
                charges.update(self._getMachineCharges(slot))
            self._granted[slot.node_id] = provider.tenant_name
            self._claim(grant.request_id, slot.node_id, charges=charges)
            if slot.node is not None:
                self._renewHost(slot.node)
        for host in hosts:
            self._granted[host.node_id] = host.provider.tenant_name
            self._claim(grant.request_id, host.node_id,
                        charges=self._getMachineCharges(host))
            for node_id in host.subnode_ids:
                if node_id not in self.claims:
                    self._claim(grant.request_id, node_id, spare=getIdentity(
                        host.provider, host.label_name))

    def keep(self, nodes: Sequence[ProviderNode]) -> bool:
        """Keep capacity for nodes without a request.

        :param nodes: their records, written or not; of one provider.
        :return: whether there is, besides all that is reserved.  It is
            kept until :meth:`release` with the uuid of the first.
        """
        provider = self._findProvider(nodes[0])
        charges = list(map(self._getCharges, nodes))
        needed: collections.Counter[Key] = collections.Counter()
        for each in charges:
            needed.update(each)
        if provider and self.getShortage(provider, needed, LAST):
            return False
        for node, each in zip(nodes, charges, strict=True):
            self._write(node.uuid, Entry(self.getNode(node.uuid), each))
            self._claim(nodes[0].uuid, node.uuid)
        return True

    def holds(self, grant: Grant) -> bool:
        """:return: whether all of its nodes still are the request's."""
        return all(self.claims.get(slot.node_id) == grant.request_id
                   for slot in grant.slots)

    def release(self, request_id: str) -> None:
        """End all claims of a request."""
        for node_id in list(self._claimed.get(request_id, ())):
            self._unclaim(node_id)
            node = self.getNode(node_id)
            self._write(node_id, self._describe(node) if node else NOTHING)
            if node:
                self._renewHost(node)

    def getSpare(self, provider: BaseProvider, label_name: str) -> int:
        """:return: number of slots that any request may get in a moment."""
        identity = getIdentity(provider, label_name)
        return self._spare[identity] if identity else 0

    # What may be had

    def getFree(self, provider: BaseProvider, label_name: str, number: int,
                rank: Rank, zone: str | None = None,
                executor_zone: ExecutorZone = ()) -> list[str]:
        """
        :param rank: of the request that they are for.
        :return: uuids of nodes as of :meth:`.ReadyNodes.find`.
        """
        return self.ready_nodes.find(
            provider, label_name, number,
            functools.partial(self._isKept, rank, number),
            functools.partial(self._countKept, rank), zone, executor_zone)

    def getShortage(self, provider: BaseProvider, charges: Charges,
                    rank: Rank) -> Shortage | Unknown | None:
        """
        :param provider: the tenant's, with its limits.
        :param charges: what is needed, key -> amount.
        :param rank: of the request that it is for.
        :return: None if there is room, or what says why there is none.
        """
        limits = self.limits.getUsable(provider)
        if limits is None:
            return Unknown(provider.canonical_name,
                           self.limits.getProblem(provider))
        for key, needed in charges.items():
            if (limit := limits.get(key)) is not None and (
                    shortage := self._look(key, needed, limit, rank)):
                return shortage
        return None

    def isStill(self, shortage: Shortage, provider: BaseProvider,
                rank: Rank) -> bool:
        """
        :param shortage: that was there at a provider before.
        :param rank: of the request that it is for.
        :return: whether it is.
        """
        limit = (self.limits.getUsable(provider) or {}).get(shortage.key)
        return limit is not None and self._look(
            shortage.key, shortage.needed, limit, rank) is not None

    def mayEnd(self, shortage: Shortage, provider: BaseProvider) -> bool:
        """
        :param shortage: as for :meth:`isStill`.
        :return: whether it ends when all nodes that users do not hold are
            gone.  If not, it still is, and its end will be noted.
        """
        key, limits = shortage.key, self.limits.getUsable(provider) or {}
        limit = limits.get(key)
        if limit is None or not exceeds(
                self.held.get(key, 0) + shortage.needed, limit):
            return True
        self._short.add(key)
        return False

    def _look(self, key: Key, needed: float, limit: float,
              rank: Rank) -> Shortage | None:
        """:return: a Shortage, whose end will be noted; or None."""
        used = self.used[key]
        # What takes no more leaves to those ahead what they wait for.
        reserved, ahead = (self.reservations.getAhead(key, rank)
                           if needed else (0, None))
        if not exceeds(used + reserved + needed, limit):
            return None
        self._short.add(key)
        return Shortage(*key, needed, limit, used, reserved, ahead,
                        self.held[key])

    def getShare(self, provider: BaseProvider) -> float:
        """:return: of what may be used, the part that is."""
        limits = self.limits.getUsable(provider)
        if limits is None:
            return 1.0
        share = 0.0
        for key, limit in limits.items():
            if not key[0].is_tenants:
                share = max(share, self.used[key] / limit if limit else 1.0)
        # Launchers do not all choose the same, if there is little
        # difference.
        return round(share, 1) if share < 1 else share

    def fits(self, node: ProviderNode) -> bool:
        """
        :return: whether there is room for a node, besides those whose
            records are not younger.
        """
        provider = self._findProvider(node)
        limits = provider and self.limits.getUsable(provider)
        if limits is None:
            return provider is None
        for key, amount in self._getCharges(node).items():
            if (limit := limits.get(key)) is None:
                continue
            members = self._members[key]
            others = self.used[key] - (amount if node.uuid in members else 0)
            # Without a look at each of them, in most cases.
            if (exceeds(others + amount, limit)
                    and exceeds(self._getOlder(key, node) + amount, limit)):
                return False
        return True

    def isShort(self, node: ProviderNode, rank: Rank = END,
                besides: str | None = None) -> bool:
        """
        :param rank: before which those who wait count.
        :param besides: name of a tenant whose requests alone do not count, or
            None.
        :return: whether of what a node uses more is wanted, by nodes on
            record and by those who wait, than there is.
        """
        provider = self._findProvider(node)
        limits = (provider and self.limits.getUsable(provider)) or {}
        return any(
            key in limits and exceeds(
                self.used[key] + self.reservations.getAhead(key, rank)[0]
                + self.missing.getAhead(key, rank)[0], limits[key])
            # What is the tenant's own is at the expense of no other one.
            and (besides is None or key[0].is_tenants
                 or self.reservations.isWanted(key, besides))
            # With slots, it is the machine that uses most.
            for node_id in (node.uuid, node.main_node_id)
            for key in self._entries.get(node_id, NOTHING).charges)

    def _getOlder(self, key: Key, node: ProviderNode) -> float:
        """:return: how much is used by nodes that are not younger."""
        age = _getAge(node)
        entries = [self._entries[node_id] for node_id in self._members[key]]
        return sum(entry.charges[key] for entry in entries
                   if entry.node and _getAge(entry.node) < age)

    # Reservations

    def reserve(self, reservations: Iterable[Reservation]) -> None:
        for each in reservations:
            provider = self.scope.by_tenant.get(
                each.tenant, {}).get(each.provider)
            if provider is None:
                continue
            charges = collections.Counter({
                (account, resource): kept for account
                in self.limits.getProviderAccounts(provider)
                for resource, amount in each.quota.items()
                if (kept := each.cap.getKept(amount, account.width))})
            if isGiven(provider.driver):
                for label_name in each.labels:
                    charges.update(self.limits.getTenantCharges(
                        provider, label_name))
            else:
                charges.update(getLabelKey(each.tenant, label_name)
                               for label_name in each.labels)
                charges.update(getTenantShare(
                    each.tenant, self.limits.getTenantLimits(each.tenant),
                    each.quota))
            (self.missing if each.rank > LAST else self.reservations).add(
                each, charges)

    def reserveNode(self, name: str, provider: BaseProvider,
                    label_name: str) -> None:
        """Reserve capacity for a node without a request.

        :param name: in place of the uuid of a request.
        """
        charges = self.limits.getCharges(provider, label_name) or {}
        self.reserve([Reservation(
            provider.canonical_name, (*MISSING, name),
            (label_name,) * getSlots(provider.labels[label_name]),
            provider.tenant_name, getProviderQuota(charges))])

    def unreserve(self, request_id: str) -> None:
        # These reservations are behind all requests, so their end frees
        # nothing for a request.
        self.missing.remove(request_id)
        reservations, keys = self.reservations.remove(request_id)
        # What is there was kept, too.
        for each in reservations:
            if any(self.ready_nodes.has(each.provider, label_name)
                   for label_name in each.labels):
                self.news.providers |= {
                    each.provider, *self._getSharers(each)}
        for key in keys:
            self._improve(key)

    def setRank(self, rank: Rank) -> None:
        """Have what is reserved for a request be at its present place.

        :param rank: of the request.
        """
        reserved = self.reservations.by_request.get(rank[-1], ())
        if any(each.rank != rank for each in reserved):
            self.unreserve(rank[-1])
            self.reserve([each._replace(rank=rank) for each in reserved])

    def _hasExpired(self, node: ProviderNode) -> bool:
        """:return: whether a node is too old to be used.  As Zuul sees it,
            the slots of a host are so together or not at all."""
        host = node.main_node_id and self.getNode(node.main_node_id)
        slots = map(self.getNode, host.subnodes) if host else [node]
        return all(hasExpired(slot) for slot in slots if slot)

    def _isKept(self, rank: Rank, number: int, node_id: str) -> bool:
        """
        :param number: how many are going to be taken at the most.
        :return: whether those ahead may want the machine of a node by way of
            another record of it.
        """
        return any((kept := self._countKept(rank, kind))
                   and self.ready_nodes.count(kind) - number < kept
                   for kind in map(self.getKind, self.getRivals(node_id))
                   if kind)

    def _countKept(self, rank: Rank, kind: Kind) -> int:
        """:return: how many nodes of that kind those ahead want, whose
            tenants may have them."""
        kept = 0
        for tenant_name, number in self.reservations.getWanted(
                kind.provider, kind.names, rank).items():
            provider = self.scope.by_tenant.get(tenant_name, {}).get(
                kind.provider)
            if provider is not None and isMadeFrom(kind.identity, provider):
                # Of what is made, the room may be what is missing.
                kept += (number if provider.nodes
                         else self.ready_nodes.count(kind))
        return kept

    def _getSharers(self, reservation: Reservation) -> set[str]:
        """:return: names of other providers that have records of machines
            which are kept."""
        provider = self.scope.by_tenant.get(
            reservation.tenant, {}).get(reservation.provider)
        # Of machines that are made, there may be many, and one record each.
        return {
            rival.provider
            for label_name in reservation.labels
            for node_id in self.ready_nodes.getIds(
                reservation.provider, label_name)
            for rival in map(self.getNode, self.getRivals(node_id)) if rival
        } if provider and provider.nodes else set()

    def setStuck(self, node_ids: Collection[str]) -> None:
        """:param node_ids: as of :meth:`.Planner.setStuck`."""
        changed = set(node_ids).symmetric_difference(self._stuck)
        self._stuck = node_ids
        for node in map(self.getNode, changed):
            if node is not None:
                self._noteHolds(getMachineId(node))

    def countHeld(self, machine_id: str) -> int:
        """:return: how many nodes of a machine users hold, or are stuck."""
        node = self.getNode(machine_id)
        return 0 if node is None else sum(
            each is not None and (
                each.state == State.HOLD
                or (each.uuid in self._stuck and each.state in STUCK_STATES))
            for each in (node, *map(self.getNode, node.subnodes)))

    def countHeldOf(self, provider: BaseProvider, label_name: str) -> int:
        """:return: how many static machines with a label are of no use now.
        """
        entries = provider.nodes
        return sum(
            label_name in getEntryNames(entries[machine_id], provider)
            for machine_id in self._held.keys() & entries.keys())

    def _noteHolds(self, machine_id: str) -> None:
        """What a machine with a held node uses comes back when a user says
        so, or never; what one uses that is stuck, too."""
        new = (self._entries[machine_id].charges
               if self.countHeld(machine_id) else None)
        old = self._held.get(machine_id)
        if old == new:
            return
        for key, amount in (old or {}).items():
            self.held[key] -= amount
        for key, amount in (new or {}).items():
            self.held[key] += amount
        if new is None:
            del self._held[machine_id]
        else:
            self._held[machine_id] = new
        # Others may use what was reserved for whom that is not enough now.
        self.holds_changed += 1
        for key in {**(old or {}), **(new or {})}:
            self.news.providers |= self.getUsers(key)

    # How it is written

    def _describe(self, node: ProviderNode) -> Entry:
        """:return: an entry for a node."""
        claimed = node.uuid in self.claims
        # A node that may wait without end takes no capacity from others.
        return Entry(
            node,
            self._getCharges(node) if claimed or not isPending(node) else {},
            None if claimed or self.shared_machines.isUsed(node)
            else getKind(node, self.scope.identify(node)))

    def _getCharges(self, node: ProviderNode) -> Charges:
        """:return: what a node uses, or will use, key -> amount."""
        quota = node.quota.getResources() if node.quota else {}
        charges = {
            (account, resource): amount
            for account in self._getAccounts(node)
            for resource, amount in quota.items() if amount > 0}
        if not node.subnodes and (tenant_name := self.getOwner(node)):
            charges[getLabelKey(tenant_name, node.label)] = 1
        if not node.main_node_id:
            charges.update(self._getTenantCharges(node, quota))
        return charges

    def _getTenantCharges(self, node: ProviderNode,
                          quota: Mapping[str, float]) -> Charges:
        """:return: what the tenants on a machine use of what they may have:
            together the whole machine."""
        charges: dict[Key, float] = {}
        for tenant_name, share in self._getShares(node).items():
            if limits := self.limits.getTenantLimits(tenant_name):
                charges.update(
                    getTenantShare(tenant_name, limits, quota, share))
        return charges

    def _getShares(self, machine: ProviderNode,
                   more: Sequence[str] = ()) -> dict[str, float]:
        """
        :param more: tenants that would use further slots.
        :return: name of a tenant -> its part of a machine.
        """
        return nodeusage.shareOut(
            [*(self._getAssigned(slot) for slot
               in filter(None, map(self.getNode, machine.subnodes))), *more],
            self.getOwner(machine))

    def _getMachineCharges(self, machine: Slot | Host) -> Charges:
        """:return: what a machine that is granted and has no record uses."""
        provider, label_name = machine.provider, machine.label_name
        return {**(self.limits.getCharges(provider, label_name) or {}),
                **self.limits.getTenantCharges(provider, label_name)}

    def _getAssigned(self, node: ProviderNode) -> str | None:
        """:return: the tenant of the request that has a node, or None."""
        return node.tenant_name or self._granted.get(node.uuid)

    def getOwner(self, node: ProviderNode) -> str | None:
        """:return: as :meth:`.Scope.getOwner`."""
        return self.scope.getOwner(node, self._granted.get(node.uuid))

    def _findProvider(self, node: ProviderNode) -> BaseProvider | None:
        """:return: as :meth:`.Scope.findProvider`."""
        return self.scope.findProvider(node, self._granted.get(node.uuid))

    def _getAccounts(self, node: ProviderNode) -> tuple[Account, ...]:
        """:return: those of all tenants in which a node counts."""
        # A provider that has moved still has its section.
        return self.limits.getNodeAccounts(
            node, self._findProvider(node) or next(
                iter(self.scope.by_name.get(node.provider, ())), None))

    def getTakenCharges(self, node_ids: Iterable[str],
                        tenant_name: str) -> dict[Key, float]:
        """
        :param node_ids: of nodes that any request may get.
        :return: what a tenant would use of what it may have, if one of its
            requests got the nodes, in addition to what it uses now.
        """
        # Not of whole numbers alone.
        charges: dict[Key, float] = (
            collections.Counter())  # type: ignore[assignment]
        slots: collections.Counter[str] = collections.Counter()
        for node in filter(None, map(self.getNode, node_ids)):
            charges[getLabelKey(tenant_name, node.label)] += (
                self.getOwner(node) != tenant_name)
            slots[getMachineId(node)] += 1
        limits = self.limits.getTenantLimits(tenant_name)
        for machine_id, number in slots.items() if limits else ():
            machine = self.getNode(machine_id)
            if machine is None or not machine.quota:
                continue
            before = self._getShares(machine).get(tenant_name, 0)
            after = self._getShares(
                machine, [tenant_name] * number)[tenant_name]
            for key, amount in getTenantShare(
                    tenant_name, limits, machine.quota.getResources(),
                    after - before).items():
                charges[key] += amount
        return charges

    def _renewHost(self, node: ProviderNode) -> None:
        """Share out the machine of a slot anew."""
        host = node.main_node_id and self.getNode(node.main_node_id)
        if host:
            self._write(host.uuid, self._describe(host))

    def _write(self, node_id: str, new: Entry) -> None:
        """Put an entry in the place of the one that is there."""
        old = self._entries.get(node_id, NOTHING)
        if new is NOTHING:
            self._entries.pop(node_id, None)
        else:
            self._entries[node_id] = new
        if old.charges != new.charges:
            self._charge(node_id, old.charges, new.charges)
        if old.kind != new.kind or old.node is not new.node:
            if old.kind:
                self.ready_nodes.remove(old.kind, old.node)
            if new.kind:
                self.ready_nodes.add(new.kind, new.node)
                self.news.providers.add(new.kind.provider)
        if node := new.node or old.node:
            self._noteHolds(getMachineId(node))
        if old.spare != new.spare:
            if old.spare:
                self._spare[old.spare] -= 1
                self.news.providers.add(old.spare.provider)
            if new.spare:
                self._spare[new.spare] += 1
        for other_id in self.shared_machines.note(
                node_id, new.node, node_id in self.claims):
            other = self._describe(self.getNode(other_id))
            self._write(other_id, other)
            if other.kind:
                # Its machine may have another job, or one less.
                self.news.providers.add(other.kind.provider)

    def _charge(self, node_id: str, old: Charges, new: Charges) -> None:
        for key, amount in new.items():
            self.used[key] += amount
            self._members[key].add(node_id)
        for key, amount in old.items():
            self.used[key] -= amount
            if key not in new:
                self._members[key].discard(node_id)
            if amount > new.get(key, 0):
                self._improve(key)

    def _improve(self, key: Key) -> None:
        if key in self._short:
            self._short.discard(key)
            self.news.keys.add(key)

    def _claim(self, request_id: str, node_id: str, **new: Any) -> None:
        """:param new: the attributes of the Entry of a node without a record.
        """
        self.claims[node_id] = request_id
        self._claimed[request_id].add(node_id)
        node = self.getNode(node_id)
        self._write(node_id, (
            self._entries.get(node_id) or Entry(**new))._replace(kind=None)
            if node is None else self._describe(node))

    def _unclaim(self, node_id: str) -> None:
        self._granted.pop(node_id, None)
        if request_id := self.claims.pop(node_id, None):
            self._claimed[request_id].discard(node_id)
            if not self._claimed[request_id]:
                del self._claimed[request_id]


def hasLaunched(node: ProviderNode) -> bool:
    """:return: whether the launch of a node has succeeded."""
    return node.state not in NEW_STATES


def _getAge(node: ProviderNode) -> tuple[int, str]:
    return node.getZKczxid() or 0, node.uuid
