"""The requests that wait, in order.

Requests with equal needs stand in one line: if the first of them cannot be
served, the others cannot, either.  So the cost of the search for a request
that can use free capacity does not depend on the number of requests.
"""

import bisect
import collections
from collections.abc import Collection, Container, Iterable, Mapping
from typing import TypeAlias

from zuul.model import NodesetRequest

from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.launcher.planner.candidates import Candidates
from zuul_nodes.launcher.planner.capacity import Blocker, Capacity, Shortage
from zuul_nodes.launcher.planner.limits import Key
from zuul_nodes.launcher.planner.news import News
from zuul_nodes.launcher.planner.reasons import Reason
from zuul_nodes.launcher.planner.reservations import Rank, Reservation
from zuul_nodes.launcher.planner.selection import Needs
from zuul_nodes.launcher.providers import WIDTHS

# It is unknown whether the provider can serve the request.
UNANSWERED = frozenset((
    Reason.PREPARING, Reason.UNKNOWN_QUOTA, Reason.NO_LAUNCHER,
    Reason.NO_IMAGE))


def getRank(request: NodesetRequest) -> Rank:
    """:return: what requests are served in order of; the least first."""
    return (request.priority, request.relative_priority,
            request.request_time, request.uuid)


def hasRank(request: NodesetRequest) -> bool:
    """:return: whether the rank of a request can be compared with others."""
    return all(isinstance(each, int | float) for each in getRank(request)[:-1])


class Line:
    """
    :param needs: what all in it need.
    :param options: how that can be served.
    :ivar ranks: of the requests, the first one's first.
    :ivar tried: the rank of the request that could not be served the last
        time; None at the beginning.
    :ivar reserved_for: the rank for which the reservations were chosen, and
        widths of :meth:`getShortages` and :attr:`.Capacity.holds_changed`
        were then; None if the choice is outdated.
    :ivar reserved: the last reservations, of class Reservation.
    :ivar blockers: name of a provider -> why it cannot serve the first
        request; :meth:`RequestQueue.setBlockers` changes it.
    """

    def __init__(self, needs: Needs, options: Candidates) -> None:
        self.needs = needs
        self.options = options
        self.ranks: list[Rank] = []
        self.tried: Rank | None = None
        self.reserved_for: tuple[Rank, dict[str, int], int] | None = None
        self.reserved: tuple[Reservation, ...] = ()
        self.blockers: dict[str, Blocker] = {}

    @property
    def head(self) -> Rank:
        """:return: the rank of the first request."""
        return self.ranks[0]

    def setOptions(self, options: Candidates,
                   names: Container[str] | None) -> None:
        """:param names: as of :meth:`RequestQueue.setOptions`."""
        if names is None or options.mix or self.options.mix or any(
                each.provider in names for each in self.reserved):
            self.reserved_for = None
        self.options = options

    def getShortages(self) -> dict[str, Shortage]:
        """:return: name of a provider -> what the first request lacks there
            that is limited more narrowly than at its endpoint."""
        return {name: blocker for name, blocker in self.blockers.items()
                if isinstance(blocker, Shortage)
                and blocker.account.width < WIDTHS['endpoint']}

    def mayBeServed(self, name: str, capacity: Capacity,
                    keys: Container[Key] | None = None) -> bool:
        """
        :param name: of a provider that had not enough for the first.
        :param keys: of which there is more there now, if nothing else has
            changed.
        :return: whether to try the provider once more.
        """
        blocker = self.blockers.get(name)
        # Of a mixture, not all is noted that there was not enough of.
        if self.options.mix or not isinstance(blocker, Shortage):
            return True
        # Who has reserved it may be unable to use it, for other reasons.
        if self.reserved and any(
                each.provider == name for each in self.reserved):
            return True
        if keys is not None and blocker.key not in keys:
            # Of all that it lacks, one thing is noted; if it has no
            # reservation, another one may be the cause.
            return not self.reserved
        provider = capacity.scope.by_tenant.get(
            self.needs.tenant_name, {}).get(name)
        if provider is None:
            return True
        if self.reserved:
            return not capacity.isStill(blocker, provider, self.head)
        return capacity.mayEnd(blocker, provider)

    def getReason(self, rank: Rank) -> str:
        """:return: for people, for what a request in it waits."""
        if ahead := self.getAhead(rank):
            return (f'{ahead} requests with the same needs are ahead, '
                    f'the first is {self.head[-1]}')
        if self.options.has_hope:
            return self.options.explain()
        labels = collections.Counter(
            want.label_name for want in self.needs.wants)
        text = ', '.join(f'{number} {name}'
                         for name, number in labels.items())
        reasons = '; '.join(
            f'{getShortName(name)}: {blocker}' for name, blocker
            in self._getAllBlockers().items())
        return f'No provider has capacity for {text} now. {reasons}'

    def getKind(self) -> Reason:
        """:return: for metrics, for what the requests in it wait."""
        if self.options.has_hope:
            return Reason.UNREADABLE
        found = {blocker.reason for blocker in self._getAllBlockers().values()}
        return next(filter(found.__contains__, Reason), Reason.OTHER)

    def getUnanswered(self) -> str | None:
        """:return: for people, that no cloud has answered what the first
            request needs or may use, or has its image; None if one has."""
        found = {blocker.reason for blocker in self.blockers.values()}
        is_unknown = found and found <= UNANSWERED
        return self.getReason(self.head) if is_unknown else None

    def _getAllBlockers(self) -> dict[str, Blocker]:
        return self.options.getRefusals() | self.blockers

    def getAhead(self, rank: Rank) -> int:
        """:return: how many are ahead of that rank."""
        return bisect.bisect_left(self.ranks, rank)


# Where a request is, and its rank; None, and nothing, if it is nowhere.
Place: TypeAlias = tuple[Line | None, Rank]
NOWHERE: Place = (None, ())


class RequestQueue:
    """
    :param news: is told of lines that have another first.
    :ivar lines: needs -> :class:`Line`.
    :ivar requests: uuid -> a request that waits.
    """

    def __init__(self, news: News) -> None:
        self.news = news
        self.lines: dict[Needs, Line] = {}
        self.requests: dict[str, NodesetRequest] = {}
        self._places: dict[str, Place] = {}
        self._users: dict[str, set[Line]] = collections.defaultdict(set)
        self._mixed: set[Line] = set()
        # Key -> pairs of a line and the name of a provider that has not
        # enough of it.
        self._short: dict[Key, set[tuple[Line, str]]] = (
            collections.defaultdict(set))

    def put(self, request: NodesetRequest, needs: Needs,
            options: Candidates) -> tuple[Line, int]:
        """
        :return: the line that the request is in, at its place; and how
            many are ahead of it there.
        """
        rank = getRank(request)
        line = self.lines.get(needs)
        if line is None or self._places.get(request.uuid) != (line, rank):
            self.remove(request.uuid)
            # It may have been the last one.
            line = self.lines.get(needs)
            if line is None:
                line = self.lines[needs] = Line(needs, options)
                self._enter(line)
            bisect.insort(line.ranks, rank)
            self._places[request.uuid] = line, rank
        self.requests[request.uuid] = request
        return line, line.getAhead(rank)

    def remove(self, request_id: str) -> None:
        line, rank = self._places.pop(request_id, NOWHERE)
        if line is None:
            return
        del self.requests[request_id]
        ahead = line.getAhead(rank)
        del line.ranks[ahead]
        if not line.ranks:
            del self.lines[line.needs]
            self._quit(line)
            self._unblock(line, list(line.blockers))
        elif not ahead:
            # The next one was not tried yet.
            self.news.lines.setdefault(line, set())

    def find(self, request_id: str) -> Place:
        """:return: its line and its rank, or :data:`NOWHERE`."""
        return self._places.get(request_id, NOWHERE)

    def getLines(self, names: Iterable[str]) -> set[Line]:
        """:return: set of those that can use one of the providers."""
        return set().union(*(self._users[name] for name in names))

    def getShort(self, users: Mapping[Key, set[str]]) -> dict[Line, set[str]]:
        """
        :param users: key of which there is more -> names of the
            providers that are limited by it.
        :return: dict, line -> set of names of those that had not enough.
        """
        short: dict[Line, set[str]] = collections.defaultdict(set)
        for key, names in users.items():
            for line, name in self._short.get(key, ()):
                short[line].add(name)
            for line in self._mixed:
                if common := line.options.names & names:
                    short[line] |= common
        return short

    def setBlockers(self, line: Line, blockers: Mapping[str, Blocker]) -> None:
        """
        :param blockers: name of a provider -> why it can't serve the
            first in the line; of those that were tried.
        """
        self._unblock(line, blockers)
        line.blockers.update(blockers)
        for name, blocker in blockers.items():
            if isinstance(blocker, Shortage):
                self._short[blocker.key].add((line, name))

    def setOptions(self, line: Line, options: Candidates,
                   names: Collection[str] | None = None) -> None:
        """
        :param names: of the providers that may have changed; None if there
            are other ones.
        """
        self._quit(line)
        line.setOptions(options, names)
        self._enter(line)
        self._unblock(line, list(line.blockers) if names is None else names)

    def _enter(self, line: Line) -> None:
        for name in line.options.names:
            self._users[name].add(line)
        if line.options.mix:
            self._mixed.add(line)

    def _quit(self, line: Line) -> None:
        for name in line.options.names:
            self._users[name].discard(line)
        self._mixed.discard(line)

    def _unblock(self, line: Line, names: Iterable[str]) -> None:
        for name in names:
            blocker = line.blockers.pop(name, None)
            if isinstance(blocker, Shortage):
                self._short[blocker.key].discard((line, name))
                if not self._short[blocker.key]:
                    del self._short[blocker.key]
