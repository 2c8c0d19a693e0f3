"""Which providers a nodeset can come from, and which are tried first.

All of its nodes come from one provider, if there is one that could serve
them all when nothing else is in use; and from one availability zone of it,
if there is one that can serve them all now.
"""

from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
)
import copy
import functools
from typing import Self

from zuul.provider import BaseProvider

from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.launcher.planner.capacity import Blocker, Shortage
from zuul_nodes.launcher.planner.limits import Change
from zuul_nodes.launcher.planner.readynodes import ExecutorZone
from zuul_nodes.launcher.planner.reasons import Obstacle, Reason
from zuul_nodes.launcher.planner.reservations import Reservation
from zuul_nodes.launcher.planner.selection import (
    Draft,
    Ever,
    Needs,
    Now,
    Want,
)
from zuul_nodes.launcher.planner.split import findMix
from zuul_nodes.launcher.providers import (
    Unreadable,
    describeUnhandled,
    getAttempts,
    isGiven,
)


class Candidates:
    """
    :param needs: of one request, or of all that have the same.
    :param providers: the tenant's: canonical name -> provider.
    :param unreadable: of the same tenant, canonical name ->
        Unreadable.
    :param ever: what there is if nothing is in use.
    :ivar ways: provider -> a draft of the nodeset, all from there, as
        it can be served once; of all providers that ever can.
    :ivar mix: the same from several providers, if no provider that a
        launcher handles can serve it alone; or None.
    :ivar has_hope: whether there is no way, but might be one by what
        can't be read here.
    :ivar names: canonical names of the providers that may be tried.
    """

    def __init__(self, needs: Needs, providers: Mapping[str, BaseProvider],
                 unreadable: Mapping[str, Unreadable], ever: Ever) -> None:
        self.needs = needs
        self.providers = list(providers.values())
        self.unreadable = unreadable
        candidates = {
            want: {provider for provider in self.providers
                   if not self._getRefusal(want, provider)}
            for want in needs.wants}
        # Where there is the least choice, it is made first.
        self.candidates = dict(sorted(
            candidates.items(), key=lambda item: len(item[1])))
        self.executor_zones = self._getExecutorZones()
        self.names = {
            provider.canonical_name
            for each in candidates.values() for provider in each}
        # Some of them have no room even if nothing is in use, but perhaps
        # they have nodes that are there.
        self.singles = {
            provider.canonical_name: provider for provider in self.providers
            if all(provider in each for each in self.candidates.values())}
        self._look(ever, {})

    def renew(self, ever: Ever, names: Container[str]) -> Self:
        """:return: the same, when some of the providers may have changed."""
        options = copy.copy(self)
        options._look(ever, {
            provider: self.ways.get(provider)
            for name, provider in self.singles.items() if name not in names})
        return options

    def adapt(self, limited: Mapping[str, Change]) -> Self:
        """
        :param limited: names of the providers of which only limits have
            changed -> how.
        :return: what they are now; the same object if that makes no
            difference.
        """
        for name, change in limited.items():
            if (provider := self.singles.get(name)) is None:
                continue
            # What it needs is the same as before.
            if way := self.ways.get(provider):
                is_other = bool(change.less) and not self.ever.fits(
                    provider, way.charges, change.less)
            else:
                is_other = bool(
                    change.more and self._fill(self.ever, [provider]))
            if is_other:
                return self.renew(self.ever, limited)
        if self.mix or not self.ways:
            return self.renew(self.ever, limited)
        return self

    def _look(self, ever: Ever,
              known: Mapping[BaseProvider, Draft | None]) -> None:
        """:param known: provider -> its way, or None if it has none."""
        self.ever = ever
        self.ways = {
            provider: draft for provider in self.singles.values()
            if (draft := known[provider] if provider in known
                else self._fill(ever, [provider]))}
        self.mix, self.has_hope = None, False
        if not any(map(ever.isHandled, self.ways)):
            able = self._getAble()
            self.mix = self._makeMix(able)
            self.has_hope = not self.possible and self._hasHope(able)

    @property
    def possible(self) -> bool:
        return bool(self.ways or self.mix or self.has_hope)

    def getRefusals(self) -> dict[str, Blocker]:
        """:return: canonical name -> why that provider is not tried any
            more, though it has the label."""
        return {
            provider.canonical_name: refusal for want in self.needs.wants
            if want.failed for provider in self.providers
            if want.label_name in provider.labels
            and (refusal := self._getRefusal(want, provider))}

    def getMakers(self) -> dict[str, set[BaseProvider]]:
        """:return: for the name of each label, a set of the providers that
            it may be had from, now or later."""
        if self.ways and not self.mix:
            return {want.label_name: set(self.ways)
                    for want in self.candidates}
        return {want.label_name: able
                for want, able in self._getAble().items()}

    def getUnhandled(self, isHandled: Callable[[str], bool]) -> str | None:
        """
        :param isHandled: tells for the name of a connection whether there
            is a launcher that makes nodes there.
        :return: why no running launcher can serve it, for people, though
            another launcher might; None if one can.
        """
        if self.has_hope:
            return self.explain()
        for providers in self.getMakers().values():
            connections = {
                provider.connection_name for provider in providers}
            if connections and not any(map(isHandled, connections)):
                return describeUnhandled(connections)
        return None

    def choose(
            self,
            view: Now,
            names: Container[str] | None = None
    ) -> tuple[Draft | None, dict[str, Blocker]]:
        """
        :param view: what there is.
        :param names: canonical names of the only providers that may have
            got room; None for all.
        :return: a draft with a node for each want, or None; and a dict,
            name of a provider -> why it can't.
        """
        blockers: dict[str, Blocker] = {}
        scattered = None
        for provider in view.getOrder(self.singles.values(), names):
            # Who has to wait does not ask for each zone.
            draft = self._fill(view, [provider], blockers)
            if draft is None:
                continue
            zones = view.getZones(provider)
            if zones:
                scattered = scattered or draft
                draft = self._gather(view, provider, zones)
            if draft:
                return draft, blockers
        if scattered:
            return scattered, blockers
        if self.mix:
            order = view.getOrder(self._getAll())
            # What is best for each node may leave no room for the others.
            for candidates in (self.candidates, {
                    want: {self.mix.providers[want]}
                    for want in self.candidates}):
                if draft := self._fill(view, order, blockers, candidates):
                    return draft, blockers
        return None, blockers

    def reserve(
            self, view: Now, former: Container[str],
            names: Container[str] | None = None) -> tuple[Reservation, ...]:
        """
        :param view: what there is.
        :param former: canonical names of the providers to stay with.
        :param names: canonical names of the only providers that may do;
            None for all.
        :return: a tuple of the best reservations, if possible at providers
            without reservations of requests ahead; empty if no provider can
            serve the request.
        """
        best = None
        for draft in self._getReservable(view, former, names):
            if not view.isReserved(draft):
                best = draft
                break
            # Those ahead may wait for something else there.
            best = best or draft
        return tuple(best.getReservations(view.rank)) if best else ()

    def _getReservable(self, view: Now, former: Container[str],
                       names: Container[str] | None) -> Iterator[Draft]:
        """:return: yields drafts, the best first."""
        if self.mix:
            yield self.mix
            return
        # What has not room enough beside what is not Zuul's, and what users
        # hold, is of no use to wait for; what makes no nodes for other reasons
        # is, if there is nothing else.
        making = functools.partial(self._isMaking, view)
        order = [provider for provider in view.getOrder(self.ways, names)
                 if self._mayServe(view, provider)]
        stay = [provider for provider in order
                if provider.canonical_name in former]
        yield from map(self.ways.get, filter(making, stay))
        yield from map(self.ways.get, list(filter(making, order))
                       or [*stay, *order])

    def _mayServe(self, view: Now, provider: BaseProvider) -> bool:
        """:return: whether a provider could serve the request with all that
            comes back."""
        if not isGiven(provider.driver):
            return view.mayHaveRoom(provider, self.ways[provider].charges)
        held = {entry.node_id: number for entry in provider.nodes.values()
                if (number := view.capacity.countHeld(entry.node_id))}
        return not held or Draft(
            self.needs, self.ever.without(held)).fill(
                self.candidates, [provider])

    def _isMaking(self, view: Now, provider: BaseProvider) -> bool:
        return isGiven(provider.driver) or (
            view.capacity.limits.getUsable(provider) is not None
            and not any(view.getObstacle(want, provider)
                        for want in self.needs.wants))

    def explain(self) -> str:
        """:return: for each label, why no provider can serve it."""
        reasons = {}
        for want in self.needs.wants:
            blockers: dict[str, Blocker] = {
                name: Obstacle(Reason.UNREADABLE, str(each))
                for name, each in self._getUnreadable(want).items()}
            for provider in self.providers:
                name = provider.canonical_name
                if want.label_name not in provider.labels:
                    continue
                if refusal := self._getRefusal(want, provider):
                    blockers[name] = refusal
                else:
                    self._fill(self.ever, [provider], blockers, {
                        want: {provider}})
            reasons[want.label_name] = '; '.join(
                f'{getShortName(name)}: {reason}'
                for name, reason in blockers.items()) or (
                    self._explainTogether() if self.candidates[want] else
                    f'no provider of tenant {self.needs.tenant_name} has it')
        return 'No provider can serve it. ' + '. '.join(
            f'Label {name}: {reason}' for name, reason in reasons.items())

    def _explainTogether(self) -> str:
        """:return: why no provider can serve what each could serve alone."""
        if len(self.executor_zones) == 1:
            return 'it has no capacity for it beside the others'
        zones = ', '.join(sorted(
            str(zone) if zone else 'none'
            for (zone,) in filter(None, self.executor_zones)))
        return ('all nodes of a nodeset must be in one executor zone, and '
                f'those of its labels are: {zones}')

    def _gather(self, view: Now, provider: BaseProvider,
                zones: Iterable[str]) -> Draft | None:
        """:return: a draft with all nodes in one of the zones, or None."""
        drafts = [draft for zone in zones if (
            draft := self._fill(view.within(zone), [provider]))]
        if not drafts:
            return None
        drafts.sort(key=Draft.getDistance)
        # A zone may have no room, which only shows when nodes are made.
        turn = view.countFailures(provider) if drafts[0].machines else 0
        return drafts[turn % len(drafts)]

    def _makeMix(self, able: Mapping[Want, set[BaseProvider]]) -> Draft | None:
        """
        :param able: as of :meth:`_getAble`.
        :return: a draft from several providers, or None.
        """
        # What is hard to place comes first, what is small fits in after it;
        # and equal ones after each other.
        order = sorted(self.candidates, key=lambda want: (
            len(able[want]), -max((
                self.ever.getPart(provider, want.label_name)
                for provider in able[want]), default=0), want[1:3]))
        self.candidates = {want: self.candidates[want] for want in order}
        providers = self._getAll()
        if self.ways:
            # No launcher handles a provider that could serve all.
            providers = list(filter(self.ever.isHandled, providers))
        candidates = {
            want: [provider for provider in providers
                   if provider in able[want]] for want in order}
        return next(filter(None, (
            findMix(Draft(self.needs, self.ever, zone), candidates)
            for zone in self.executor_zones)), None)

    def _getAble(self) -> dict[Want, set[BaseProvider]]:
        """:return: for each want, a set of the providers that can ever
            serve it if it is alone."""
        return {want: {
            provider for provider in providers
            if self._fill(self.ever, [provider], candidates={
                want: {provider}})}
            for want, providers in self.candidates.items()}

    def _hasHope(self, able: Mapping[Want, set[BaseProvider]]) -> bool:
        unsure = set(filter(self._getUnreadable, able))
        return bool(unsure) and all(
            able[want] for want in able.keys() - unsure)

    def _getUnreadable(self, want: Want) -> dict[str, Unreadable]:
        """:return: canonical name -> Unreadable, of those that may make it.
        """
        return {name: each for name, each in self.unreadable.items()
                if each.mayHave(want.label_name)}

    def _getAll(self) -> list[BaseProvider]:
        return [provider for provider in self.providers
                if provider.canonical_name in self.names]

    def _fill(self, view: Now | Ever, providers: Collection[BaseProvider],
              blockers: dict[str, Blocker] | None = None,
              candidates: Mapping[Want, Container[BaseProvider]] | None = None
              ) -> Draft | None:
        for zone in self.executor_zones:
            draft = Draft(self.needs, view, zone)
            if draft.fill(candidates or self.candidates, providers):
                return draft
            if blockers is None:
                continue
            for name, blocker in draft.blockers.items():
                # What a zone lacks ends; that it is another one does not.
                if name not in blockers or isinstance(blocker, Shortage):
                    blockers[name] = blocker
        return None

    def _getExecutorZones(self) -> list[ExecutorZone]:
        """:return: the zones that the nodeset may be in, as a job runs in one
            with all of its nodes."""
        zones = dict.fromkeys(
            label.executor_zone for want, able in self.candidates.items()
            for provider in able for label in provider.labels.values()
            if want.label_name in (label.name, *label.aliases))
        return [(zone,) for zone in zones] if (
            len(self.candidates) > 1 and len(zones) > 1) else [()]

    def _getRefusal(self, want: Want,
                    provider: BaseProvider) -> Obstacle | None:
        name = provider.canonical_name
        if want.label_name not in provider.labels:
            return Obstacle(Reason.OTHER, 'has no such label')
        attempts = getAttempts(provider)
        if want.failed.count(name) >= attempts:
            return Obstacle(
                Reason.GAVE_UP, f'gave up after {attempts} attempts')
        return None
