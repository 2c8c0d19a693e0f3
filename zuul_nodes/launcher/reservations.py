"""Providers that are paused for a request which waits for them.

What a request has reserved is taken for all requests that are behind it,
so that these can't have what becomes free bit by bit.
"""

import collections
import typing


class Reservation(typing.NamedTuple):
    """
    :ivar str provider: canonical name.
    :ivar tuple rank: of the request; its last part is the request's uuid.
    :ivar tuple labels: that the provider is to serve, of all its nodes.
    :ivar str tenant: the name.
    :ivar dict quota: resource -> amount that is to become free.
    """
    provider: str
    rank: tuple
    labels: tuple
    tenant: str
    quota: dict


class Reservations:
    """
    :ivar dict by_request: uuid -> its reservations, a tuple.
    """

    def __init__(self):
        self.by_request = {}
        self._charges = collections.defaultdict(list)
        self._labels = collections.defaultdict(dict)
        self._amounts = collections.defaultdict(dict)

    def add(self, reservation, charges):
        """
        :param dict charges: key -> amount, see :class:`.limits.Limits`.
        """
        request_id = reservation.rank[-1]
        self.by_request[request_id] = (
            *self.by_request.get(request_id, ()), reservation)
        self._labels[reservation.provider][request_id] = (
            reservation.rank, reservation.labels)
        for key, amount in charges.items():
            self._charges[request_id].append(key)
            rank, more = self._amounts[key].get(
                request_id, (reservation.rank, 0))
            self._amounts[key][request_id] = rank, amount + more

    def remove(self, request_id):
        """:return: the names of providers, and a list of keys, of which
            there may be more now."""
        names = [each.provider for each in self.by_request.pop(
            request_id, ())]
        for name in names:
            self._labels[name].pop(request_id, None)
        keys = self._charges.pop(request_id, [])
        for key in keys:
            self._amounts[key].pop(request_id, None)
        return names, keys

    def isReserved(self, name, rank):
        """:return: whether somebody ahead has reserved the provider."""
        return any(other < rank for other, _ in self._labels[name].values())

    def getLabels(self, name, rank):
        """:return: what those ahead want of a provider's nodes."""
        return {label for other, labels in self._labels[name].values()
                if other < rank for label in labels}

    def getAhead(self, key, rank):
        """
        :return: what those ahead have reserved, and the uuid of the first
            of them or None.
        """
        amount, first = 0, None
        for other, reserved in self._amounts[key].values():
            if other < rank:
                amount += reserved
                first = min(first or other, other)
        return amount, first and first[-1]
