"""Machines of which several providers have a node.

Machines that are there already can be listed by several providers: those
of a section by each provider that is attached to it, each for its tenant.
Each has a record of its own for such a machine.  If one of these is in
use, the machine is, and nobody gets another.

What makes a machine is its address, port and user.  A name counts as such, and
as the address that its driver has found for it (``host_id``): others may have
the machine by that, or by another name.
"""

import collections

from zuul.model import ProviderNode

from zuul_nodes.drivers import addresses

State = ProviderNode.State

# In these, a node is used, whatever has become of its request.
USED_STATES = (State.IN_USE, State.USED, State.HOLD, State.SNAPSHOT)


class Sharing:
    """
    :param isGiven: tells for the name of a connection whether its nodes
        are machines that are there already.
    """

    def __init__(self, isGiven):
        self.isGiven = isGiven
        # Uuid of a node -> where it is, by its name and its address.
        self._places = {}
        # Where -> uuid of a node -> that of its host, or its own.
        self._machines = collections.defaultdict(dict)
        self._used = collections.defaultdict(dict)

    def note(self, node_id, node, is_claimed):
        """
        :param ProviderNode node: as it is now, or None.
        :param bool is_claimed: whether it has been granted to a request.
        :return: a set of the uuids of other nodes for which that makes a
            difference.
        """
        places = self._getPlaces(node) if node else ()
        old_places = self._places.get(node_id, ())
        if not (places or old_places):
            return set()
        rivals = self.getRivals(node_id)
        was_used = any([self._used[place].pop(node_id, None)
                        for place in old_places])
        if old_places != places:
            self._move(node_id, node, old_places, places)
        is_used = bool(places) and bool(
            is_claimed or node.request_id or node.state in USED_STATES)
        if is_used:
            for place in places:
                self._used[place][node_id] = getMachineId(node)
        if old_places != places:
            return rivals | self.getRivals(node_id)
        return rivals if was_used != is_used else set()

    def isUsed(self, node):
        """:return: whether the machine of a node is used by way of another
            record of it; its slots are used apart."""
        return any(machine_id != getMachineId(node)
                   for place in self._getPlaces(node)
                   for machine_id in self._used.get(place, {}).values())

    def getRivals(self, node_id):
        """:return: a set of the uuids of other nodes that are the same
            machine; without the slots of the same host."""
        return {
            other_id for place in self._places.get(node_id, ())
            for other_id, machine_id in self._machines[place].items()
            if machine_id != self._machines[place][node_id]}

    def _move(self, node_id, node, old_places, places):
        self._places.pop(node_id, None)
        for index in (self._machines, self._used):
            for place in old_places:
                index[place].pop(node_id, None)
                if not index[place]:
                    del index[place]
        if places:
            self._places[node_id] = places
            for place in places:
                self._machines[place][node_id] = getMachineId(node)

    def _getPlaces(self, node):
        """:return: a tuple of what makes a machine; empty for one that is
            made, or of which that is not known yet."""
        if not node.interface_ip or not self.isGiven(node.connection_name):
            return ()
        hosts = {addresses.normalizeHost(host)
                 for host in (node.interface_ip, node.host_id) if host}
        return tuple((host, node.connection_port, node.username)
                     for host in sorted(hosts))


def getMachineId(node):
    """:return: the uuid of a node, or of the host of a slot."""
    return node.main_node_id or node.uuid


def isGiven(driver):
    """:return: whether the nodes of a driver are machines that are there
        already."""
    return getattr(driver, 'nodes_are_given', False)
