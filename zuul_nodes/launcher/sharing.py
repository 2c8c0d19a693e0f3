"""Machines of which several providers have a node.

Machines that are there already can be listed by several providers: those
of a section by each provider that is attached to it, each for its tenant.
Each has a record of its own for such a machine.  If one of these is in
use, the machine is, and nobody gets another.
"""

import collections

from zuul.model import ProviderNode

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
        # Uuid of a node -> where it is.
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
        place = node and self._getPlace(node)
        old_place = self._places.get(node_id)
        if place is None and old_place is None:
            return set()
        rivals = self.getRivals(node_id)
        was_used = self._used[old_place].pop(node_id, None) is not None
        if old_place != place:
            self._move(node_id, node, old_place, place)
        is_used = place is not None and bool(
            is_claimed or node.request_id or node.state in USED_STATES)
        if is_used:
            self._used[place][node_id] = getMachineId(node)
        if old_place != place:
            return rivals | self.getRivals(node_id)
        return rivals if was_used != is_used else set()

    def isUsed(self, node):
        """:return: whether the machine of a node is used by way of another
            record of it; its slots are used apart."""
        used = self._used.get(self._getPlace(node), {})
        return any(machine_id != getMachineId(node)
                   for machine_id in used.values())

    def getRivals(self, node_id):
        """:return: a set of the uuids of other nodes that are the same
            machine; without the slots of the same host."""
        machines = self._machines.get(self._places.get(node_id), {})
        return {other_id for other_id, machine_id in machines.items()
                if machine_id != machines[node_id]}

    def _move(self, node_id, node, old_place, place):
        self._places.pop(node_id, None)
        for places in (self._machines, self._used):
            places[old_place].pop(node_id, None)
            if not places[old_place]:
                del places[old_place]
        if place is not None:
            self._places[node_id] = place
            self._machines[place][node_id] = getMachineId(node)

    def _getPlace(self, node):
        """:return: what makes a machine; None for one that is made, or of
            which that is not known yet."""
        if not node.interface_ip or not self.isGiven(node.connection_name):
            return None
        return node.interface_ip, node.connection_port, node.username


def getMachineId(node):
    """:return: the uuid of a node, or of the host of a slot."""
    return node.main_node_id or node.uuid


def isGiven(driver):
    """:return: whether the nodes of a driver are machines that are there
        already."""
    return getattr(driver, 'nodes_are_given', False)
