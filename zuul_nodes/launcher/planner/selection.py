"""How a nodeset can be served: by which providers, and by which nodes.

The same way of choosing is used twice: with all that is in use, for what
a request gets now, and as if nothing were, for what it can ever get.
"""

import collections
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Mapping,
)
import copy
from typing import Any, NamedTuple, Self, TypeAlias
import uuid

from zuul.model import NodesetRequest, ProviderNode
from zuul.provider import BaseProvider, BaseProviderLabel

from zuul_nodes import requestnotes
from zuul_nodes.drivers import getPriority, getZones, turnZones
from zuul_nodes.launcher.planner.capacity import (
    Blocker,
    Capacity,
    Shortage,
    Unknown,
)
from zuul_nodes.launcher.planner.decisions import Grant, Host, Slot
from zuul_nodes.launcher.planner.limits import (
    Charges,
    Key,
    Limits,
    exceeds,
    findExceeded,
    getEntryNames,
    getLabelKey,
    getProviderQuota,
    getSlotProblem,
    getSlots,
    withProblem,
)
from zuul_nodes.launcher.planner.readynodes import ExecutorZone, Kind
from zuul_nodes.launcher.planner.reasons import Obstacle, Reason
from zuul_nodes.launcher.planner.reservations import Rank, Reservation
from zuul_nodes.launcher.providers import isGiven

# The uuid of a node; as if nothing were in use, a machine and one of its jobs.
Choice: TypeAlias = Any


class Want(NamedTuple):
    """One node that a request needs.

    :ivar failed: names of providers, one for each failed attempt.
    :ivar temporary: names of those that could not do it for the
        moment.
    """
    index: int  # type: ignore[assignment]
    label_name: str
    failed: tuple[str, ...]
    temporary: frozenset[str]


class Needs(NamedTuple):
    """All that a decision depends on: equal needs are served alike."""
    tenant_name: str
    wants: tuple[Want, ...]
    preferred_provider: str | None
    image_upload_uuid: str | None
    image_names: tuple[str, ...]
    has_alternative: bool


def getNeeds(request: NodesetRequest) -> Needs:
    """:return: what a request needs that has no nodes."""
    wants = []
    for index, label_name in enumerate(request.labels):
        data = request.getProviderNodeData(index) or {}
        wants.append(Want(
            index, label_name, tuple(data.get('failed_providers') or ()),
            frozenset(data.get('temporary') or ())))
    return Needs(
        request.tenant_name, tuple(wants), request.preferred_provider,
        request.image_upload_uuid, tuple(request.image_names or ()),
        requestnotes.hasAlternative(request))


def countByLauncher(request: NodesetRequest,
                    provider: BaseProvider) -> collections.Counter[str]:
    """:return: name of a launcher -> how often it has failed to launch a node
        of a request at a provider."""
    failed: collections.Counter[str] = collections.Counter()
    for data in request.provider_node_data:
        failed.update(data.get('failed_launchers', {}).get(
            provider.canonical_name, {}))
    return failed


class Machine:
    """A machine to launch: a node, or a host with slots."""

    def __init__(self, provider: BaseProvider, label: BaseProviderLabel,
                 want: Want) -> None:
        self.provider = provider
        self.label = label
        self.wants = [want]
        self.slots = getSlots(label)

    def copy(self) -> Self:
        machine = copy.copy(self)
        machine.wants = list(self.wants)
        return machine

    def hasSlot(self, provider: BaseProvider, label_name: str) -> bool:
        return (len(self.wants) < self.slots and provider is self.provider
                and label_name in (self.label.name, *self.label.aliases))


class Draft:
    """A nodeset on paper.

    :param needs: whose.
    :param view: :class:`Now` or :class:`Ever`.
    :param executor_zone: of all nodes, as a tuple; empty for any.
    :ivar blockers: name of a provider -> why it can't.
    """

    def __init__(self, needs: Needs, view: 'Now | Ever',
                 executor_zone: ExecutorZone = ()) -> None:
        self.needs = needs
        self.view = view
        self.executor_zone = executor_zone
        self.providers: dict[Want, BaseProvider] = {}
        self.machines: list[Machine] = []
        self.charges: dict[Key, float] = {}
        self.blockers: dict[str, Blocker] = {}
        self._taken: dict[Choice, Want] = {}
        # Want -> what makes its choices equal to those of others, and these.
        self._choices: dict[
            Want, tuple[tuple[str, BaseProvider], list[Choice]]] = {}

    def fill(self, candidates: Mapping[Want, Container[BaseProvider]],
             providers: Collection[BaseProvider]) -> bool:
        """
        :param candidates: want -> the providers that may serve it.
        :param providers: the providers to try, the best first.
        :return: whether there is a node for each want.
        """
        return all(
            any(self.add(want, provider)
                for provider in self.getOrder(providers)
                if provider in able)
            for want, able in candidates.items())

    def add(self, want: Want, provider: BaseProvider) -> bool:
        """:return: whether there is a node for a want at a provider."""
        is_there, shortage = self._take(want, provider)
        if shortage and isGiven(provider.driver):
            self.blockers[provider.canonical_name] = shortage
        elif is_there or self._make(want, provider):
            self.providers[want] = provider
            return True
        return False

    def _take(self, want: Want,
              provider: BaseProvider) -> tuple[bool, Blocker | None]:
        """Find a node that is there for a want.

        :return: whether there is one, or what the tenant lacks to have it.
        """
        shortage: Blocker | None = None
        choices = self.view.getChoices(want, provider, self.executor_zone)
        while True:
            before = dict(self._taken)
            self._choices[want] = (want.label_name, provider), choices
            if not self._match(want):
                return False, shortage
            if not self.view.limits.isTenantLimited(provider):
                return True, None
            shortage = self.view.getShortage(
                provider, self._sum(self._getTakenCharges()))
            if shortage is None:
                return True, None
            self._taken = before
            # The tenant's own idle nodes take no more of what it may have.
            own = list(filter(self.view.isOwn, choices))
            if len(own) == len(choices):
                return False, shortage
            choices = own

    def _getTakenCharges(self) -> dict[Key, float]:
        """:return: what the nodes that are there take of what the tenant may
            have."""
        return self.view.getTakenCharges({
            choice: self._choices[want][0]
            for choice, want in self._taken.items()})

    def _sum(self, charges: Charges) -> dict[Key, float]:
        """:return: the charges with those of the wants before."""
        return {key: amount + self.charges.get(key, 0)
                for key, amount in charges.items()}

    def getOrder(
            self,
            providers: Collection[BaseProvider]) -> Collection[BaseProvider]:
        """:return: providers with those first that have others of its nodes
            already."""
        if len(providers) == 1:
            return providers
        used = {provider.canonical_name
                for provider in self.providers.values()}
        used.add(self.needs.preferred_provider)
        return sorted(providers, key=lambda provider: (
            provider.canonical_name not in used))

    def copy(self) -> Self:
        """:return: the same, to go on from here in another way."""
        draft = copy.copy(self)
        for name in ('providers', 'charges', '_taken', '_choices'):
            setattr(draft, name, dict(getattr(self, name)))
        draft.machines = [machine.copy() for machine in self.machines]
        return draft

    def getGrant(
            self, request: NodesetRequest,
            makeNodeId: Callable[[BaseProvider, Mapping[str, int]], str]
    ) -> Grant:
        """
        :param makeNodeId: as of :class:`.Surroundings`.
        :return: the Grant, with uuids for the nodes to launch.
        """
        view = self.view
        assert isinstance(view, Now)
        slots = [
            self._makeSlot(want, view.getNode(node_id), node_id)
            for node_id, want in self._taken.items()]
        for machine in self.machines:
            node_ids = [makeNodeId(machine.provider, countByLauncher(
                request, machine.provider))]
            host = None
            if machine.slots > 1:
                host_id, node_ids = *node_ids, [
                    uuid.uuid4().hex for _ in range(machine.slots)]
                host = Host(host_id, machine.provider, machine.label.name,
                            tuple(node_ids))
            zone = view.getZone(machine.provider, machine.label)
            slots += [
                self._makeSlot(want, None, node_id, host, zone)
                for want, node_id in zip(
                    machine.wants, node_ids, strict=False)]
        return Grant(request.uuid, tuple(sorted(
            slots, key=lambda slot: slot.index)), any(
                provider.canonical_name in want.temporary
                for want, provider in self.providers.items()))

    def getDistance(self) -> tuple[int, int]:
        """:return: how far its nodes are from being ready; of the nearest
            it is the least."""
        view = self.view
        assert isinstance(view, Now)
        return len(self.machines), sum(
            view.getKind(node_id).order for node_id in self._taken)

    def getReservations(self, rank: Rank) -> list[Reservation]:
        """:return: a list of the reservations for it."""
        labels = collections.defaultdict(list)
        quota: dict[BaseProvider, collections.Counter[str]] = (
            collections.defaultdict(collections.Counter))
        for want, provider in self.providers.items():
            labels[provider].append(want.label_name)
        for machine in self.machines:
            quota[machine.provider].update(getProviderQuota(
                self.view.getCharges(machine.provider, machine.label.name)))
        return [Reservation(provider.canonical_name, rank, tuple(names),
                            self.needs.tenant_name, dict(quota[provider]),
                            made=bool(self.needs.image_upload_uuid))
                for provider, names in labels.items()]

    def _makeSlot(self, want: Want, node: ProviderNode | None, node_id: str,
                  host: Host | None = None, zone: str | None = None) -> Slot:
        return Slot(want.index, want.label_name, self.providers[want],
                    node, node_id, host, zone)

    def _match(self, want: Want) -> bool:
        """Find a node that is there, though others may have to take
        other ones then."""
        seen: set[Choice] = set()
        left: set[Choice] = set()
        path: list[tuple[Want, Choice, Choice | None]] = []
        # There may be many in a row: more than Python calls functions in
        # one another.
        while True:
            step = self._findStep(
                want, seen, left, {node_id for _, node_id, _ in path})
            if step is None:
                if not path:
                    return False
                # This one keeps what it has.
                want, _, taken = path.pop()
                left.remove(taken)
                continue
            node_id, taken = step
            path.append((want, node_id, taken))
            if taken is None:
                break
            left.add(taken)
            want = self._taken[taken]
        for each in left:
            del self._taken[each]
        self._taken.update(
            (node_id, taker) for taker, node_id, _ in path)
        return True

    def _findStep(self, want: Want, seen: set[Choice], left: set[Choice],
                  got: set[Choice]) -> tuple[Choice, Choice | None] | None:
        """
        :param seen: uuids of nodes that need no further try.
        :param left: uuids of the nodes that no want takes any more.
        :param got: uuids of the nodes that other wants take instead.
        :return: the uuid of a node for a want, and that of the one that
            another want would have to leave for it, or None; or None if
            there is no such node.
        """
        source, choices = self._choices[want]
        for node_id in choices:
            if node_id in seen:
                continue
            same = {node_id, *self.view.getOthers(node_id)}
            room = self.view.getRoom(node_id) if len(same) > 1 else 1
            # With one job to a machine, its records are all alike.
            seen |= same if room <= 1 else {node_id}
            taken = self._taken.keys() & same - left
            if node_id in taken:
                taken = {node_id}
            elif len(taken | (got & same)) < room:
                return node_id, None
            # A want with the same choices finds no other node.
            for each in taken:
                if source != self._choices[self._taken[each]][0]:
                    return node_id, each
        return None

    def _make(self, want: Want, provider: BaseProvider) -> bool:
        name = provider.canonical_name
        if blocker := self.view.getObstacle(want, provider):
            self.blockers[name] = blocker
            return False
        label = provider.labels[want.label_name]
        if self.executor_zone and (
                label.executor_zone not in self.executor_zone):
            self.blockers[name] = Obstacle(Reason.OTHER, (
                f'has {label.name} in executor zone {label.executor_zone}, '
                'and not all nodes are there'))
            return False
        machine = next((each for each in self.machines if each.hasSlot(
            provider, label.name)), None)
        charges: dict[Key, float] = {
            getLabelKey(self.needs.tenant_name, label.name): 1}
        if machine is None:
            charges.update(self.view.getCharges(provider, label.name))
            charges.update(self.view.limits.getTenantCharges(
                provider, label.name))
        needed = self._sum(charges)
        taken = (self._getTakenCharges()
                 if self.view.limits.isTenantLimited(provider) else {})
        if shortage := self.view.getShortage(provider, {
                key: amount + taken.get(key, 0)
                for key, amount in needed.items()}):
            self.blockers[name] = shortage
            return False
        self.charges.update(needed)
        if machine is None:
            self.machines.append(Machine(provider, label, want))
        else:
            machine.wants.append(want)
        return True


class Ever:
    """As if nothing were in use.

    :param getRefusal: gives for a provider, a label and whether the request
        has failed there why the provider does not make it, whatever it has
        room for; or None.
    :param isHandled: tells whether a launcher handles a provider.
    """

    def __init__(self, limits: Limits,
                 getRefusal: Callable[
                     [BaseProvider, str, bool], Obstacle | None],
                 isHandled: Callable[[BaseProvider], bool]) -> None:
        self.limits = limits
        self.getRefusal = getRefusal
        self.isHandled = isHandled
        self.held: Mapping[str, int] = {}

    def without(self, held: Mapping[str, int]) -> Self:
        """
        :param held: uuid of a static machine -> how many jobs it does not
            take.
        :return: the same, without these.
        """
        view = copy.copy(self)
        view.held = held
        return view

    def getChoices(self, want: Want, provider: BaseProvider,
                   executor_zone: ExecutorZone = ()) -> list[Choice]:
        if not provider.nodes:
            return []
        # The machine counts once, whichever providers have it.
        return [
            (getattr(entry, 'machine', entry.node_id), number)
            for entry in sorted(provider.nodes.values(),
                                key=lambda entry: len(entry.aliases or ()))
            if want.label_name in getEntryNames(entry, provider)
            and (not executor_zone or provider.labels[
                entry.label].executor_zone in executor_zone)
            and not getSlotProblem(provider.labels[entry.label])
            for number in range((getattr(entry, 'slots', None) or getSlots(
                provider.labels[entry.label]))
                - self.held.get(entry.node_id, 0))]

    def isOwn(self, choice: Choice) -> bool:
        return False

    def getTakenCharges(
            self, taken: Mapping[Choice, tuple[str, BaseProvider]]
    ) -> dict[Key, float]:
        charges: dict[Key, float] = {}
        # A machine counts once, with all of its slots.
        for label_name, provider in {
                machine: source for (machine, _), source
                in taken.items()}.values():
            for key, amount in self.limits.getTenantCharges(
                    provider, label_name).items():
                charges[key] = charges.get(key, 0) + amount
        return charges

    def getOthers(self, choice: Choice) -> Collection[Choice]:
        return ()

    def getRoom(self, choice: Choice) -> float:
        return 1

    def getObstacle(self, want: Want,
                    provider: BaseProvider) -> Obstacle | None:
        if isGiven(provider.driver):
            return Obstacle(Reason.NO_FREE_NODE, withProblem(
                f'{provider.name} has not enough nodes',
                getSlotProblem(provider.labels[want.label_name])))
        refusal = self.getRefusal(
            provider, want.label_name,
            provider.canonical_name in want.temporary)
        return refusal and refusal._replace(text=f'{provider.name} {refusal}')

    def getCharges(self, provider: BaseProvider, label_name: str) -> Charges:
        return self.limits.getCharges(provider, label_name) or {}

    def getPart(self, provider: BaseProvider, label_name: str) -> float:
        """:return: of what the provider has in all, the largest part that
            a node needs."""
        limits = self.limits.getTotal(provider) or {}
        return max((
            amount / limits[key] for key, amount
            in self.getCharges(provider, label_name).items()
            if limits.get(key)), default=0)

    def fits(self, provider: BaseProvider, needed: Charges,
             keys: Iterable[Key]) -> bool:
        """
        :param needed: key -> amount.
        :param keys: that count.
        :return: whether a provider has so much of these in all.
        """
        limits = self.limits.getTotal(provider) or {}
        for key in keys:
            if (amount := needed.get(key)) and exceeds(
                    amount, limits.get(key, amount)):
                return False
        return True

    def getShortage(self, provider: BaseProvider,
                    needed: Charges) -> Obstacle | None:
        limits = self.limits.getTotal(provider) or {}
        key = findExceeded(needed, limits)
        if key is None:
            return None
        account, resource = key
        return Obstacle(Reason.QUOTA, (
            f'{account} has {limits[key]} {resource} in all, '
            f'{needed[key]} needed'))


class Now:
    """As things are.

    :param rank: of the request.
    :param getObstacle: gives for a provider, a label and whether the request
        has failed there why no node can be made now, or None.
    :param shuffle: puts a list into another order.
    :ivar zone: the availability zone of all nodes; None if each may be
        in another one.
    """

    zone: str | None = None

    def __init__(self, capacity: Capacity, rank: Rank, needs: Needs,
                 getObstacle: Callable[
                     [BaseProvider, str, bool], Obstacle | None],
                 shuffle: Callable[[list[Any]], object]) -> None:
        self.capacity = capacity
        self.limits = capacity.limits
        self.rank = rank
        self.needs = needs
        self.shuffle = shuffle
        self._getObstacle = getObstacle
        self.getNode = capacity.getNode
        # Called for nodes that any request may get.
        self.getKind: Callable[[str], Kind] = (
            capacity.getKind)  # type: ignore[assignment]
        self.getOthers = capacity.getOthers
        self.getRoom = capacity.getMachineRoom
        self.label_names = collections.Counter(
            want.label_name for want in needs.wants)
        self.failing = frozenset().union(
            *(want.temporary for want in needs.wants))

    def within(self, zone: str) -> Self:
        """:return: the same, of one availability zone."""
        view = copy.copy(self)
        view.zone = zone
        return view

    def getChoices(self, want: Want, provider: BaseProvider,
                   executor_zone: ExecutorZone = ()) -> list[Choice]:
        return self._getFree(
            provider, want.label_name, len(self.needs.wants), executor_zone)

    def _getFree(self, provider: BaseProvider, label_name: str, number: int,
                 executor_zone: ExecutorZone = ()) -> list[str]:
        if self.needs.image_upload_uuid:
            return []
        return self.capacity.getFree(
            provider, label_name, number, self.rank, self.zone, executor_zone)

    def isOwn(self, choice: Choice) -> bool:
        """:return: whether an idle node counts for the tenant already."""
        node = self.getNode(choice)
        return node is not None and (
            self.capacity.getOwner(node) == self.needs.tenant_name)

    def getTakenCharges(
            self, taken: Mapping[Choice, tuple[str, BaseProvider]]
    ) -> dict[Key, float]:
        """
        :param taken: node -> the label and the provider that it is taken for.
        :return: as of :meth:`.Capacity.getTakenCharges`.
        """
        return self.capacity.getTakenCharges(taken, self.needs.tenant_name)

    def getObstacle(self, want: Want,
                    provider: BaseProvider) -> Obstacle | None:
        if self.zone:
            zones = getZones(provider.labels[want.label_name])
            if zones and self.zone not in zones:
                return Obstacle(Reason.OTHER, (
                    f'makes no {want.label_name} in zone {self.zone}'))
        return self._getObstacle(
            provider, want.label_name,
            provider.canonical_name in want.temporary)

    def getCharges(self, provider: BaseProvider, label_name: str) -> Charges:
        return self.capacity.limits.getCharges(provider, label_name) or {}

    def getShortage(self, provider: BaseProvider,
                    needed: Charges) -> Shortage | Unknown | None:
        return self.capacity.getShortage(
            provider, needed, self.rank)

    def mayHaveRoom(self, provider: BaseProvider, needed: Charges) -> bool:
        """:return: whether there is capacity if no node is in use but those
            that users hold; foreign usage may never end, either.  True if the
            limits are unknown."""
        limits = self.capacity.limits.getUsable(provider)
        held = self.capacity.held
        return limits is None or findExceeded({
            key: amount + held[key] for key, amount in needed.items()
        }, limits) is None

    def isReserved(self, draft: Draft) -> bool:
        """:return: whether a request ahead has reserved one of the providers
            of a draft."""
        return any(
            self.capacity.reservations.isReserved(name, self.rank)
            for name in {provider.canonical_name
                         for provider in draft.providers.values()})

    def getOrder(self, providers: Iterable[BaseProvider],
                 names: Container[str] | None = None) -> list[BaseProvider]:
        """
        :param names: canonical names of those that count; None for all.
        :return: a list of the providers, the best first.
        """
        order = [provider for provider in providers
                 if names is None or provider.canonical_name in names]
        if len(order) > 1:
            self.shuffle(order)
            order.sort(key=self._getMerit)
        return order

    def getZones(self, provider: BaseProvider) -> list[str]:
        """
        :return: a list of the availability zones that all nodes may be in;
            empty if it does not matter, or none is known.
        """
        if len(self.needs.wants) < 2:
            return []
        stock = self.capacity.ready_nodes
        zones = dict.fromkeys(
            zone for name in self.label_names for zone in (
                *getZones(provider.labels[name]),
                *sorted(stock.getZones(provider, name))))
        return turnZones(list(zones), self._getKey())

    def getZone(self, provider: BaseProvider,
                label: BaseProviderLabel) -> str | None:
        """:return: the availability zone of new nodes, or None."""
        if self.zone:
            return self.zone
        zones = turnZones(getZones(label), self._getKey())
        return zones[self.countFailures(provider) % len(zones)] if (
            zones) else None

    def countFailures(self, provider: BaseProvider) -> int:
        """:return: how often the provider has failed to make the nodes."""
        return max(want.failed.count(provider.canonical_name)
                   for want in self.needs.wants)

    def _getKey(self) -> float:
        """:return: the time of the request."""
        return self.rank[-2]

    def _getMerit(self, provider: BaseProvider) -> tuple[Any, ...]:
        label = next(iter(provider.labels.values()))
        return (
            provider.canonical_name in self.failing,
            provider.canonical_name != self.needs.preferred_provider,
            getPriority(label),
            self._getDistance(provider),
            self.capacity.getShare(provider))

    def _getDistance(self, provider: BaseProvider) -> tuple[int, int]:
        """:return: how far a provider is from having all nodes ready; of
            the nearest it is the least."""
        # With aliases, a node may serve several labels, but only once.
        free = {node_id for label_name, number in self.label_names.items()
                for node_id in self._getFree(provider, label_name, number)}
        return -len(free), sum(
            self.getKind(node_id).order for node_id in free)
