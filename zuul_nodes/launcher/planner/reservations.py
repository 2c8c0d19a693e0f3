"""Providers that are paused for a request which waits for them.

What a request has reserved is taken for all requests that are behind it,
so that these can't have what becomes free bit by bit.
"""

import bisect
import collections
from collections.abc import Iterable
import itertools
import math
from typing import Any, NamedTuple, TypeAlias

from zuul_nodes.launcher.planner.limits import ROUNDING, Charges, Key
from zuul_nodes.launcher.providers import WIDTHS

# What requests are served in order of, the least first: numbers, and at the
# end the request's uuid.
Rank: TypeAlias = tuple[Any, ...]


class Cap(NamedTuple):
    """A limit that a request waits for.

    :ivar width: of the account, see :data:`.identity.WIDTHS`.
    :ivar share: part of the request's quota that there is below the limit.
        The rest comes back with nodes that end, also to wider accounts.
    """
    width: int
    share: float

    def getKept(self, amount: float, width: int) -> float:
        """
        :param amount: that the request needs.
        :param width: of an account.
        :return: the amount to keep in the account.
        """
        if width <= self.width:
            return amount
        # Rounded up, as most resources are whole things.
        return min(amount, math.ceil(amount * self.share - ROUNDING))


UNCAPPED = Cap(max(WIDTHS.values()), 0)


class Reservation(NamedTuple):
    """
    :ivar provider: canonical name.
    :ivar rank: of the request; its last part is the request's uuid.
    :ivar labels: that the provider is to serve, of all its nodes.
    :ivar tenant: the name.
    :ivar quota: resource -> amount that the request needs besides nodes of the
        labels.
    :ivar made: whether the request needs new nodes only, because it validates
        an image.
    :ivar cap: limit that the request waits for at the provider.
    """
    provider: str
    rank: Rank
    labels: tuple[str, ...]
    tenant: str
    quota: dict[str, float]
    made: bool = False
    cap: Cap = UNCAPPED


class Reservations:
    """
    :ivar by_request: uuid -> its reservations, a tuple.
    """

    def __init__(self) -> None:
        self.by_request: dict[str, tuple[Reservation, ...]] = {}
        self._charges: dict[str, list[Key]] = collections.defaultdict(list)
        # Provider -> uuid -> rank; provider and label -> uuid -> rank, tenant
        # and number of nodes; key -> uuid -> rank and amount.
        self._ranks: dict[str, dict[str, Rank]] = (
            collections.defaultdict(dict))
        self._labels: dict[
            tuple[str, str], dict[str, tuple[Rank, str, int]]] = (
                collections.defaultdict(dict))
        self._amounts: dict[Key, dict[str, tuple[Rank, float]]] = (
            collections.defaultdict(dict))
        # Key -> ranks in order, and what all up to there have reserved.
        self._sums: dict[
            Key, tuple[tuple[Rank, ...], list[float]]] = {}

    def add(self, reservation: Reservation, charges: Charges) -> None:
        """
        :param charges: key -> amount, see :class:`.limits.Limits`.
        """
        request_id = reservation.rank[-1]
        self.by_request[request_id] = (
            *self.by_request.get(request_id, ()), reservation)
        self._ranks[reservation.provider][request_id] = reservation.rank
        for label_name, number in collections.Counter(
                () if reservation.made else reservation.labels).items():
            self._labels[reservation.provider, label_name][request_id] = (
                reservation.rank, reservation.tenant, number)
        for key, amount in charges.items():
            self._sums.pop(key, None)
            self._charges[request_id].append(key)
            rank, more = self._amounts[key].get(
                request_id, (reservation.rank, 0))
            self._amounts[key][request_id] = rank, amount + more

    def remove(self,
               request_id: str) -> tuple[tuple[Reservation, ...], list[Key]]:
        """:return: what the request had, and a list of the keys of which
            there may be more now."""
        reservations = self.by_request.pop(request_id, ())
        for name, _, label_names, *_ in reservations:
            self._ranks[name].pop(request_id, None)
            for label_name in label_names:
                self._labels[name, label_name].pop(request_id, None)
        keys = self._charges.pop(request_id, [])
        for key in keys:
            self._sums.pop(key, None)
            self._amounts[key].pop(request_id, None)
        return reservations, keys

    def isReserved(self, name: str, rank: Rank,
                   besides: str | None = None) -> bool:
        """
        :param besides: name of a tenant whose requests do not count, or None.
        :return: whether a request ahead has reserved the provider.
        """
        return any(
            other < rank and self._isOthers(request_id, besides)
            for request_id, other in self._ranks[name].items())

    def isWanted(self, key: Key, besides: str | None) -> bool:
        """
        :param besides: as of :meth:`isReserved`.
        :return: whether a request has reserved any of it.
        """
        return any(self._isOthers(request_id, besides)
                   for request_id in self._amounts.get(key, ()))

    def _isOthers(self, request_id: str, tenant_name: str | None) -> bool:
        return any(each.tenant != tenant_name
                   for each in self.by_request[request_id])

    def getWanted(self, name: str, label_names: Iterable[str],
                  rank: Rank) -> collections.Counter[str]:
        """:return: a Counter: tenant -> how many nodes with one of the labels
            of a provider those ahead want."""
        wanted: collections.Counter[str] = collections.Counter()
        for label_name in label_names:
            for other, tenant_name, number in self._labels.get(
                    (name, label_name), {}).values():
                if other < rank:
                    wanted[tenant_name] += number
        return wanted

    def getAhead(self, key: Key, rank: Rank) -> tuple[float, str | None]:
        """
        :return: what those ahead have reserved, and the uuid of the first
            of them or None.
        """
        if not self._amounts.get(key):
            return 0, None
        if key not in self._sums:
            ranks, amounts = zip(
                *sorted(self._amounts[key].values()), strict=True)
            self._sums[key] = ranks, list(itertools.accumulate(amounts))
        ranks, sums = self._sums[key]
        index = bisect.bisect_left(ranks, rank)
        return (sums[index - 1], ranks[0][-1]) if index else (0, None)
