"""Decides which provider serves a request, and with which nodes.

The planner works in memory; other parts write its decisions.  Between two
calls, no request waits that the planner could serve: it offers free capacity
at once to the waiting requests, in order, and grants it to the first that can
use it.  It wakes that request, which finds its grant when it is planned again.
So no request overtakes another, and a request that cannot use the capacity is
not planned again.
"""

from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
import contextlib
import functools
import heapq
import itertools
import logging
import operator
import random
import time
from typing import Any

from zuul.model import NodesetRequest, ProviderNode
from zuul.provider import BaseProvider

from zuul_nodes.launcher.planner.blockers import Blockers, Refusal
from zuul_nodes.launcher.planner.candidates import Candidates
from zuul_nodes.launcher.planner.capacity import (
    END,
    LAST,
    Blocker,
    Capacity,
)
from zuul_nodes.launcher.planner.decisions import (
    Grant,
    Host,
    Impossible,
    Slot,
    Wait,
    Waiting,
)
from zuul_nodes.launcher.planner.foundoptions import FoundCandidates
from zuul_nodes.launcher.planner.limits import (
    Change,
    Limits,
    getLabelKey,
    getSlots,
)
from zuul_nodes.launcher.planner.news import News
from zuul_nodes.launcher.planner.pauses import Pause, Pauses
from zuul_nodes.launcher.planner.reasons import Reason
from zuul_nodes.launcher.planner.requestqueue import (
    Line,
    RequestQueue,
    getRank,
    hasRank,
)
from zuul_nodes.launcher.planner.reservations import (
    UNCAPPED,
    Rank,
    Reservation,
)
from zuul_nodes.launcher.planner.selection import Needs, Now, getNeeds
from zuul_nodes.launcher.planner.statuses import getPaused, getStatus
from zuul_nodes.launcher.planner.surroundings import Surroundings
from zuul_nodes.launcher.providers import (
    Failure,
    Scope,
    Subject,
    getSubjectOf,
)
from zuul_nodes.launcher.workers import TimedLock
from zuul_nodes.providerstatus import Status

__all__ = ['Grant', 'Host', 'Impossible', 'Planner', 'Slot', 'Wait']

# Nothing is known of other parts.
ALONE = Surroundings()


class Planner:
    """Decides which provider serves a request, and with which nodes.

    :param wake: called with the uuid of a request to plan again.
    :param surroundings: what the planner has to know of other parts.
    :param capacityChanged: called when there may be capacity where
        :meth:`getObstacle` or :meth:`prepare` found none.
    :param noteHost: called with the name of an existing machine, normalized;
        the caller calls :meth:`setAddresses` as long as :meth:`hasHost`.
    :param shuffle: puts a list into another order.
    :param clock: gives seconds.
    :param limits_lifetime: seconds for which what a driver has said of
        limits is believed.
    """

    log = logging.getLogger('zuul.nodes.planner')

    def __init__(
            self,
            wake: Callable[[str], object],
            surroundings: Surroundings = ALONE,
            capacityChanged: Callable[[], object] = lambda: None,
            noteHost: Callable[[str], object] = lambda host: None,
            shuffle: Callable[[list[Any]], object] = random.shuffle,
            clock: Callable[[], float] = time.monotonic,
            limits_lifetime: float = 5.0
    ) -> None:
        self.wake = wake
        self.makeNodeId = surroundings.makeNodeId
        self.capacityChanged = capacityChanged
        self.shuffle = shuffle
        self.clock = clock
        self.limits_lifetime = limits_lifetime
        self.news = News()
        self.capacity = Capacity(
            Limits(Scope({}), clock, limits_lifetime,
                   surroundings.getTenantLimits),
            self.news, surroundings.isGiven, noteHost)
        self.waiting = RequestQueue(self.news)
        # What has not been written yet: uuid of a request -> its grant, its
        # needs and the request; None if another grant has to be chosen.
        self._grants: dict[
            str, tuple[Grant, Needs | None, NodesetRequest]] = {}
        self._pauses = Pauses(clock)
        self.blockers = Blockers(self.capacity, self._pauses, surroundings)
        self.options = FoundCandidates(self.capacity, self.blockers)
        self._woken: list[str] = []
        # Name of a provider -> as of :meth:`.Blockers.getState`, the last
        # time.
        self._states: dict[str, tuple[object, ...]] = {}
        # Names of providers without capacity for a min-ready node.
        self._refused: set[str] = set()
        self._lock = TimedLock(clock)

    @property
    def scope(self) -> Scope:
        return self.capacity.scope

    # Requests

    def plan(self, request: NodesetRequest) -> Grant | Wait | Impossible:
        """
        :param request: new, or planned before; it has no
            nodes.
        :return: a Grant, a Wait or an Impossible.  The planner grants the
            nodes to no other request until the records have them, or until
            :meth:`forget`.
        """
        with self._change():
            return self._plan(request)

    def planInOrder(
            self, getRequests: Callable[[], Iterable[NodesetRequest]]) -> None:
        """Plan requests in their order, before any other.

        Each request finds its grant when it is planned again.

        :param getRequests: called when no request can be planned; returns the
            requests.  It must not wait for the caches, as their threads may
            wait for the planner.
        """
        with self._change():
            for request in sorted(
                    filter(hasRank, getRequests()), key=getRank):
                self._tryToPlan(request)

    def confirm(self, grant: Grant) -> None:
        """:param grant: that was written."""
        with self._lock:
            self._grants.pop(grant.request_id, None)

    def postpone(self, grant: Grant) -> None:
        """Keep what a request was granted until it is planned again, and then
        choose anew: so no request behind it gets that meanwhile.

        :param grant: that could not be written.
        """
        with self._lock:
            known, _, request = self._grants.get(
                grant.request_id, (None, None, None))
            if known is grant:
                self._grants[grant.request_id] = grant, None, request

    def forget(self, request_id: str,
               isOver: Callable[[], bool] = lambda: True) -> bool:
        """The request is gone, or another launcher's.

        To be called for each request in the end: it ends all that has
        not been seen in the records.

        :param isOver: called when no request can be planned; returns whether
            that still is so.  This launcher may have begun to plan
            meanwhile, with :meth:`planInOrder`.
        :return: the same.
        """
        with self._change():
            if not isOver():
                return False
            self._leave(request_id)
            self._grants.pop(request_id, None)
            self.capacity.release(request_id)
            return True

    def getReason(self, request_id: str) -> str | None:
        """:return: for people, for what a request waits; or None."""
        with self._lock:
            line, rank = self.waiting.find(request_id)
            return None if line is None else self._wait(line, rank).reason

    def getWaits(self) -> dict[str, list[Waiting]]:
        """:return: dict, name of a tenant -> all of its requests that wait.
        """
        found: dict[str, list[Waiting]] = {}
        with self._lock:
            for line in self.waiting.lines.values():
                found.setdefault(line.needs.tenant_name, []).append(
                    Waiting(self._wait(line, line.head).reason,
                            [rank[-1] for rank in line.ranks]))
        return found

    def countWaits(self) -> dict[Reason, int]:
        """:return: dict, each reason -> how many requests wait for it."""
        counts = dict.fromkeys(Reason, 0)
        with self._lock:
            for line in self.waiting.lines.values():
                counts[line.getKind()] += len(line.ranks)
        return counts

    def getStatuses(self) -> Iterator[tuple[str, Status]]:
        """:return: yields the canonical name and the status of each provider;
            others may plan in between."""
        with self._lock:
            paused = getPaused(self._pauses)
        for name, providers in list(self.scope.by_name.items()):
            with self._lock:
                status = getStatus(
                    providers[0], paused.get(name, []), self.capacity,
                    self.blockers)
            yield name, status

    def getUnhandled(self, request_id: str) -> str | None:
        """:return: why neither a running launcher nor a cloud can tell
            whether a request can be served, or none has its image; None if one
            can, or if the request does not wait."""
        with self._lock:
            line, _ = self.waiting.find(request_id)
            return None if line is None else line.options.getUnhandled(
                self.blockers.isHandled) or line.getUnanswered()

    def getOthers(self, node: ProviderNode) -> tuple[list[ProviderNode], int]:
        """
        :return: a list of the other nodes that are the same machine, if they
            are of several records; and how many of all of them may be used.
        """
        with self._lock:
            return (list(map(self.capacity.getNode,
                             self.capacity.getOthers(node.uuid))),
                    self.capacity.shared_machines.getLimit(node))

    def hasHost(self, host: str) -> bool:
        """:return: as :meth:`.SharedMachines.hasHost`."""
        with self._lock:
            return self.capacity.shared_machines.hasHost(host)

    def knows(self, request_id: str) -> bool:
        """:return: whether it waits, or has a grant that is not written yet.
        """
        with self._lock:
            return (request_id in self.waiting.requests
                    or request_id in self._grants)

    def length(self) -> int:
        """:return: how many requests wait."""
        return len(self.waiting.requests)

    def getSeconds(self) -> float:
        """:return: seconds that the current call takes so far; 0 if there is
            none."""
        return self._lock.getSeconds()

    # What changes

    def setScope(self, scope: Scope) -> None:
        """:param scope: of new layouts."""
        with self._change():
            former = self.scope
            tenants = self.capacity.setScope(scope)
            self.blockers.images.clear()
            for each in (former, scope):
                for tenant in tenants:
                    for name in each.by_tenant.get(tenant, ()):
                        self._states.pop(name, None)
            # It is told anew.
            for name in list(self.capacity.missing.by_request):
                self.capacity.unreserve(name)
            # What counts where may be otherwise now.
            for request_id, several in list(
                    self.capacity.reservations.by_request.items()):
                if several[0].tenant in tenants:
                    self.capacity.unreserve(request_id)
                    self.capacity.reserve(several)
            self.options.forget()
            lines = [line for line in self.waiting.lines.values()
                     if line.needs.tenant_name in tenants]
            self._reconsider(lines)
            for line in lines:
                self.news.lines[line] |= line.options.names

    def updateNode(self, node: ProviderNode) -> None:
        """:param node: as it is now."""
        with self._change():
            self.capacity.update(node)

    def setStuck(self, node_ids: Collection[str]) -> None:
        """:param node_ids: of the nodes that are being deleted for so long
            that they may never go, and of static ones that have not answered
            for so long."""
        with self._change():
            self.capacity.setStuck(node_ids)

    def setAddresses(self, host: str, found: Iterable[str]) -> None:
        """
        :param host: as it was told.
        :param found: its addresses, as they are now.
        """
        with self._change():
            self.capacity.setAddresses(host, found)

    def removeNode(self, node_id: str) -> None:
        with self._change():
            node = self.capacity.getNode(node_id)
            request_id = self.capacity.claims.get(node_id)
            self.capacity.remove(node_id)
            if node is not None:
                self.news.providers |= self._pauses.endAfter(
                    node, getSubjectOf(self.scope.identify(node)),
                    self.capacity.getNeighbours(node))
            if request_id in self._grants:
                # It needs another node, before those behind it get this one's
                # capacity.
                self._tryToPlan(self._grants[request_id][-1])

    def limitsChanged(self, names: Iterable[str] | None = None) -> bool:
        """What providers can make may have changed: their quota, what others
        use of it, or their launchers.

        :param names: canonical names of the providers; None for all.
        :return: whether it has.
        """
        with self._change():
            names = set(self.scope.by_name if names is None else names)
            changed, limited = self.capacity.limits.refresh(names)
            for name in names.intersection(self.scope.by_name):
                state = tuple(map(self.blockers.getState,
                                  self.scope.by_name[name]))
                if self._states.get(name) != state:
                    self._states[name] = state
                    changed.add(name)
            self._pauses.compare(
                changed | limited.keys(), self.capacity.limits.getUsableOf)
            self._renew(changed)
            self._adapt({name: keys for name, keys in limited.items()
                         if name not in changed})
        return bool(changed or limited)

    def imagesChanged(self) -> None:
        """Images that providers have changed."""
        with self._change():
            self.blockers.images.clear()
            self._renew(set(self.scope.by_name))

    def pause(self, subject: Subject, until: float, reason: str,
              failure: Failure | None = None) -> bool:
        """Pause a provider or a label; the caller calls :meth:`resume`.

        :param until: when it ends in any case, by
            ``time.monotonic()``.
        :param failure: the cause.  For lack of quota or capacity, it is over
            as soon as there may be some.
        :return: whether it was not paused already.
        """
        with self._change():
            if self._pauses.get(subject):
                return False
            self._pauses.begin(subject, Pause(
                until, reason, failure,
                self.capacity.limits.getUsableOf(subject)))
            # Those who wait there may wait elsewhere, and know why.
            self._renew({subject.provider})
            return True

    def resume(self, subject: Subject) -> None:
        with self._change():
            self._pauses.end(subject)
            self.news.providers.add(subject.provider)

    def refuse(self, subject: Subject, reason: str,
               is_lasting: bool = True) -> None:
        """Have no request wait for a provider, or for a label there.

        :param reason: for users.
        :param is_lasting: as of :class:`.blockers.Refusal`.
        """
        with self._change():
            self.blockers.refusals[subject] = Refusal(reason, is_lasting)
            self._renew({subject.provider})

    def admit(self, subject: Subject, is_certain: bool = True) -> None:
        """End what :meth:`refuse` has begun.

        :param is_certain: if not, for requests that have not failed there.
        """
        if subject not in self.blockers.refusals:
            return
        with self._change():
            if refusal := self.blockers.refusals.pop(subject, None):
                if not is_certain and subject.provider in self.scope.by_name:
                    self.blockers.refusals[subject] = refusal._replace(
                        is_over=True)
                self._renew({subject.provider})

    def hasLaunched(self, subject: Subject) -> bool:
        """:return: whether there are nodes of a label at a provider whose
            launch has succeeded."""
        with self._lock:
            return self.capacity.hasLaunched(subject)

    def getPause(self, subject: Subject) -> float:
        """:return: for how many seconds more a provider or a label is paused
            at the most; 0 if it is not."""
        with self._lock:
            pause = self._pauses.get(subject)
            return pause.until - self.clock() if pause else 0

    def getObstacle(self, provider: BaseProvider,
                    label_name: str) -> Blocker | None:
        """
        :param provider: the tenant's.
        :return: why the provider cannot launch a min-ready node of a label
            now, for people; None if it can.
        """
        with self._lock:
            obstacle: Blocker | None = self.blockers.getPause(
                provider, label_name)
            if obstacle is None:
                limits = self.capacity.limits
                obstacle = self.capacity.getShortage(provider, {
                    **(limits.getCharges(provider, label_name) or {}),
                    **limits.getTenantCharges(provider, label_name),
                    getLabelKey(provider.tenant_name, label_name):
                        getSlots(provider.labels[label_name])}, LAST)
            if obstacle is not None:
                self._refused.add(provider.canonical_name)
            return obstacle

    def setMissing(self, missing: Iterable[tuple[BaseProvider, str]]) -> None:
        """Reserve capacity for min-ready nodes, with a rank behind all
        requests, so that :meth:`isShort` finds nodes to delete for them.

        :param missing: pairs of a provider and the name of a label, for each
            min-ready node without capacity.
        """
        wanted = {' '.join((
            provider.tenant_name, provider.canonical_name, label_name)):
            (provider, label_name) for provider, label_name in missing}
        with self._change():
            known = self.capacity.missing.by_request.keys()
            for name in known - wanted.keys():
                self.capacity.unreserve(name)
            for name in wanted.keys() - known:
                self.capacity.reserveNode(name, *wanted[name])

    def prepare(self, nodes: Sequence[ProviderNode]) -> bool:
        """Keep capacity for a node without a request.

        :param nodes: its records, written or not: the node, or a host with
            its slots after it.
        :return: whether there is capacity beside all reservations of requests.
            It is kept until :meth:`forget` with the uuid of the first record.
        """
        with self._lock:
            found = self.capacity.keep(nodes)
            if not found:
                self._refused.add(nodes[0].provider)
            return found

    def fits(self, node: ProviderNode) -> bool:
        """Check whether the launch of a node may begin that one of Zuul's
        launchers has granted without a check.  If nodes exceed a limit
        together, the younger ones do not begin.

        :param node: with a record.
        """
        with self._lock:
            return self.capacity.fits(node)

    def isShort(self, node: ProviderNode, rank: Rank = END,
                by_others: bool = False) -> bool:
        """
        :param node: with a record.
        :param rank: only requests before it count; min-ready nodes come
            after all requests.
        :param by_others: whether only requests of other tenants count than the
            one whose limits the node counts in.
        :return: whether a request waits for capacity that the node uses.
        """
        with self._lock:
            besides = self.capacity.getOwner(node) if by_others else None
            return (self.capacity.isShort(node, rank, besides)
                    or self._isFull(node, rank, besides))

    def getReserved(self) -> list[Reservation]:
        """:return: a list of all reservations, of those who are to be
            served first before others."""
        with self._lock:
            return sorted(itertools.chain(
                *self.capacity.reservations.by_request.values(),
                *self.capacity.missing.by_request.values()),
                key=operator.attrgetter('rank'))

    def getReady(self) -> list[ProviderNode]:
        """:return: a list of the unassigned ready nodes."""
        with self._lock:
            return list(self.capacity.ready_nodes.getReady())

    # How it is done

    def _plan(self, request: NodesetRequest) -> Grant | Wait | Impossible:
        needs = getNeeds(request)
        if grant := self._collect(request, needs):
            return grant
        options = self.options.get(request, needs)
        line, ahead = self.waiting.put(request, needs, options)
        self.capacity.setRank(getRank(request))
        # Only the first in a line has reservations.
        index = ahead or 1
        for rank in line.ranks[index:index + 1]:
            self.capacity.unreserve(rank[-1])
        if not ahead and (grant := self._serve(line)):
            # Capacity has become free without an event.
            if line.ranks:
                self.news.providers |= options.names
            return grant
        if not options.possible:
            self._leave(request.uuid)
            return Impossible(options.explain())
        return self._wait(line, getRank(request))

    def _tryToPlan(self, request: NodesetRequest) -> None:
        """Plan a request, which finds its grant when it is planned again."""
        try:
            self._plan(request)
        except Exception:
            # Whatever is wrong with it, others go on.
            self.log.exception('Unable to plan request %s', request.uuid)

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        with self._lock:
            yield
            changed = self._offer()
            woken, self._woken = self._woken, []
            has_room = not self._refused.isdisjoint(changed)
            if has_room:
                self._refused.clear()
        for request_id in woken:
            self.wake(request_id)
        if has_room:
            self.capacityChanged()

    def _offer(self) -> set[str]:
        """Offer what has become free to those who wait.

        :return: set of the names of providers that had something.
        """
        offered: set[str] = set()
        while self.news:
            news = self.news.take()
            users = {key: self.capacity.getUsers(key) for key in news.keys}
            offered.update(news.providers, *users.values())
            lines = self.waiting.getLines(news.providers)
            hopes = self.waiting.getShort(users)
            for line, names in news.lines.items():
                hopes[line] |= names
            heads = [(line.head, line) for line in lines.union(hopes)
                     if line.ranks]
            heapq.heapify(heads)
            while heads:
                rank, line = heapq.heappop(heads)
                # Those ahead may have taken it by now.
                room = {name for name in hopes[line]
                        if line.mayBeServed(name, self.capacity)}
                if (line in lines or room or line.tried != rank) and (
                        self._tryToServe(line, news.providers | room)
                        and line.ranks):
                    heapq.heappush(heads, (line.head, line))
        return offered

    def _tryToServe(self, line: Line, names: Container[str]) -> bool:
        """:return: whether the first in the line has got a grant."""
        rank = line.head
        try:
            grant = self._serve(line, names)
        except Exception:
            # Whatever is wrong with it, others go on.
            self.log.exception('Unable to plan request %s', rank[-1])
            return False
        if grant:
            self._woken.append(rank[-1])
        return bool(grant)

    def _serve(self, line: Line,
               names: Container[str] | None = None) -> Grant | None:
        """
        :param names: of the providers that have changed since the line was
            tried the last time; None for all.
        :return: a grant for the first in the line; or None, then it has
            reservations as far as possible.
        """
        rank, options = line.head, line.options
        request_id = rank[-1]
        request = self.waiting.requests[request_id]
        view = Now(self.capacity, rank, line.needs,
                   functools.partial(self.blockers.getObstacle, request),
                   self.shuffle)
        draft, blockers = options.choose(view, names)
        if draft is None:
            line.tried = rank
            self.waiting.setBlockers(line, blockers)
            self._reserve(line, view, names)
            return None
        grant = draft.getGrant(request, self.makeNodeId)
        self.capacity.claim(grant)
        self._leave(request_id)
        self._grants[request_id] = grant, line.needs, request
        return grant

    def _isFull(self, node: ProviderNode, rank: Rank,
                besides: str | None) -> bool:
        """:return: whether the cloud of a node has reported a lack of
            quota, and a request waits for it; the limits of the cloud may
            be unknown."""
        reservations = self.capacity.reservations
        full = {
            subject.provider for subject in self._pauses.getWithoutQuota()
            if reservations.isReserved(subject.provider, rank, besides)}
        return bool(full) and not full.isdisjoint(
            self.capacity.getNeighbours(node))

    def _reserve(self, line: Line, view: Now,
                 names: Container[str] | None) -> None:
        """Reserve a way of serving the first in a line.

        :param names: as of :meth:`_serve`.
        """
        rank = line.head
        former = self.capacity.reservations.by_request.get(rank[-1], ())
        shortages = line.getShortages()
        reserved_for = (rank, {name: shortage.account.width for name, shortage
                               in shortages.items()},
                        self.capacity.holds_changed)
        is_same = (line.reserved_for == reserved_for
                   and line.reserved == former)
        chosen: Iterable[Reservation] = former
        if not (is_same and former):
            # The first request of the line waits where the former one did, so
            # that the capacity that is kept there is not lost.
            chosen = line.options.reserve(
                view, {each.provider for each in former or line.reserved},
                names if is_same else None)
        # Keep no capacity that the request cannot use yet.
        line.reserved = tuple(
            each._replace(cap=shortages[each.provider].getCap(each.quota)
                          if each.provider in shortages else UNCAPPED)
            for each in chosen)
        line.reserved_for = reserved_for
        if line.reserved != former:
            self.capacity.unreserve(rank[-1])
            self.capacity.reserve(line.reserved)

    def _renew(self, names: set[str]) -> None:
        """
        :param names: of the providers that may serve what they could not.
        """
        if names:
            self.news.providers |= names
            self.options.forget()
            self._reconsider(self.waiting.getLines(names), names)

    def _adapt(self, limited: Mapping[str, Change]) -> None:
        """
        :param limited: names of the providers of which only limits have
            changed -> how.
        """
        totals = {name: change for name, change in limited.items()
                  if change.less or change.more}
        if totals:
            self.options.forget()
        for line in self.waiting.getLines(limited):
            if line.reserved and any(
                    each.provider in limited for each in line.reserved):
                line.reserved_for = None
            if totals:
                options = line.options.adapt(totals)
                if options is not line.options:
                    self._replace(line, options, totals)
            for name, change in limited.items():
                if name in line.options.names and line.mayBeServed(
                        name, self.capacity, change.freed):
                    self.news.lines[line].add(name)

    def _reconsider(self, lines: Iterable[Line],
                    names: Collection[str] | None = None) -> None:
        """Look anew at how those who wait can be served.

        :param lines: of those who are concerned.
        :param names: of the providers that may have changed; None if there
            are other ones.
        """
        for line in lines:
            options = self.options.renew(
                self.waiting.requests[line.head[-1]], line.needs,
                line.options, names)
            self._replace(line, options, names)

    def _replace(self, line: Line, options: Candidates,
                 names: Collection[str] | None) -> None:
        """
        :param options: of a line, instead of what they were.
        :param names: as of :meth:`_reconsider`.
        """
        self.waiting.setOptions(line, options, names)
        if not options.possible:
            self._woken += [rank[-1] for rank in line.ranks]

    def _collect(self, request: NodesetRequest, needs: Needs) -> Grant | None:
        """:return: what has been granted to a request already, or None."""
        if request.uuid not in self._grants:
            return None
        grant, granted_needs, _ = self._grants[request.uuid]
        providers = self.scope.by_tenant.get(request.tenant_name, {})
        if needs == granted_needs and self.capacity.holds(grant) and all(
                providers.get(slot.provider.canonical_name) is slot.provider
                for slot in grant.slots):
            return grant
        self._grants.pop(request.uuid)
        self.capacity.release(request.uuid)
        return None

    def _leave(self, request_id: str) -> None:
        self.waiting.remove(request_id)
        self.capacity.unreserve(request_id)

    def _wait(self, line: Line, rank: Rank) -> Wait:
        """:return: what a request is told that has a place in a line."""
        return Wait(line.getReason(rank), tuple(
            each.provider for each
            in self.capacity.reservations.by_request.get(rank[-1], ())))
