"""Zones, subnets and markets in which an instance may be launched."""

import copy
import typing

from zuul_nodes.drivers import PermanentError, getZones, turnZones

SPOT = 'spot'
ON_DEMAND = 'on-demand'
# Replacements for strategies that only spot instances support.
STRATEGIES = {'capacity-optimized-prioritized': 'prioritized'}


class Place(typing.NamedTuple):
    """A market, and a zone or a subnet.

    :ivar str market: in the terms of flavors.
    :ivar str zone: availability zone, or None if AWS chooses it or the
        subnet determines it.
    :ivar str subnet: or None, if AWS chooses it or the label sets it.
    """

    market: str
    zone: str | None = None
    subnet: str | None = None

    def __str__(self):
        return ', '.join(filter(None, self))

    def apply(self, label, flavor):
        """:return: copies of a label and a flavor with the values of the
            place."""
        label = copy.copy(label)
        if self.zone:
            label.az = self.zone
        if self.subnet:
            label.subnet_ids = [self.subnet]
        return label, (flavor if flavor.market_type == self.market
                       else toOnDemand(flavor))


def toOnDemand(flavor):
    """:return: a copy of a flavor of spot instances, for on-demand instances.
    """
    flavor = copy.copy(flavor)
    flavor.market_type = ON_DEMAND
    if flavor.fleet:
        strategy = flavor.fleet['allocation_strategy']
        flavor.fleet = flavor.fleet | {
            'allocation_strategy': STRATEGIES.get(strategy, 'lowest-price')}
    return flavor


def mayLeaveSpot(flavor):
    """:return: whether on-demand instances are allowed as a fallback."""
    return flavor.market_type == SPOT and bool(flavor.spot_fallback)


def orderZones(label):
    """:return: a list of the zones that a label names, the current one first.
    """
    zones = getZones(label)
    start = zones.index(label.az) if label.az in zones else 0
    return zones[start:] + zones[:start]


def getPlaces(label, flavor, node, locate):
    """
    :param ProviderLabel label: for the node's request.
    :param ProviderNode node: the node to launch.
    :param locate: called with a list of subnets; returns a dictionary,
        subnet -> zone.
    :return: a list of the places for the node, the best first.  All nodes of
        a request begin in the same zone.
    :raises PermanentError: there is no such place.
    """
    markets = [flavor.market_type]
    if mayLeaveSpot(flavor):
        markets.append(ON_DEMAND)
    spots = (_getZones(label, locate) if flavor.fleet
             else _getSpots(label, node, locate))
    return [Place(market, *spot) for market in markets for spot in spots]


def _getSpots(label, node, locate):
    zones, subnets = orderZones(label), list(label.subnet_ids)
    if len(subnets) + len(zones) < 2 or not subnets:
        return [(zone, None) for zone in zones] or [(None, None)]
    if len(subnets) == 1 and len(zones) == 1:
        return [(None, None)]
    where = locate(subnets)
    # Distribute nodes over the subnets.
    subnets = turnZones(subnets, node.uuid)
    if not zones:
        # Begin in the same zone for all nodes of a request.
        found = sorted({where.get(subnet) or '' for subnet in subnets})
        zones = turnZones(found, node.request_time)
        # Other nodes of the request may be in a zone already.
        zones.sort(key=lambda zone: zone != node.az)
        return [(None, subnet) for zone in zones for subnet in subnets
                if (where.get(subnet) or '') == zone]
    spots = [(zone, subnet) for zone in zones for subnet in subnets
             if where.get(subnet, zone) == zone]
    if not spots:
        raise _complain(label, zones, where)
    return spots


def _getZones(label, locate):
    """:return: the zones for a fleet, which selects the subnet itself."""
    zones, subnets = orderZones(label), list(label.subnet_ids)
    if not zones or not subnets:
        return [(zone, None) for zone in zones] or [(None, None)]
    where = locate(subnets)
    spots = [(zone, None) for zone in zones
             if any(where.get(subnet, zone) == zone for subnet in subnets)]
    if not spots:
        raise _complain(label, zones, where)
    return spots


def _complain(label, zones, where):
    return PermanentError(
        f'Label "{label.name}": none of its subnets is in one of its zones, '
        f'{", ".join(zones)}: ' + ', '.join(
            f'{subnet} is in {zone}' for subnet, zone
            in sorted(where.items())))
