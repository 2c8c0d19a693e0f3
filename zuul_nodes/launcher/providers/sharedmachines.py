"""Machines of which several providers have a node.

Machines that are there already can be listed by several providers: those
of a section by each provider that is attached to it, each for its tenant.
Each has a record of its own for such a machine, with slots if several jobs
may use it.  What one record is used for counts for all of them: the machine
has no more jobs than the record with the fewest slots allows.

What makes a machine is its address, port and user.  A name counts as such, and
as each address that is known of it: the one that its driver has found
(``host_id``), and those that :class:`.names.Names` finds later.  Records with
one of them in common are the same machine.
"""

import collections
import math

from zuul.model import ProviderNode

from zuul_nodes.drivers import addresses

State = ProviderNode.State

# In these, a node is used, whatever has become of its request.
USED_STATES = (State.IN_USE, State.USED, State.HOLD, State.SNAPSHOT)

# As many addresses count that a name has, and as many that it had before: who
# has a name server could fill the memory with others.
MOST = 16


class SharedMachines:
    """
    :param isGiven: tells for the name of a connection whether its nodes
        are machines that are there already.
    :param tellName: called with a host of which the addresses are to be set,
        as soon as there is a node with it.
    """

    def __init__(self, isGiven, tellName=lambda host: None):
        self.isGiven = isGiven
        self.tellName = tellName
        # Uuid of a node -> where it is, by its name and its addresses.
        self._places = {}
        # Where -> uuid of a host, or of a node without one -> those of its
        # nodes.
        self._machines = collections.defaultdict(
            lambda: collections.defaultdict(set))
        # Where -> uuids of nodes.
        self._used = collections.defaultdict(set)
        # Uuid of a node that is no slot -> how many jobs it may have.
        self._slots = {}
        # Host -> the uuids of its nodes, and its addresses; and the other way
        # round.
        self._hosts = collections.defaultdict(set)
        self._addresses = {}
        self._names = {}

    def note(self, node_id, node, is_claimed):
        """
        :param ProviderNode node: as it is now, or None.
        :param bool is_claimed: whether it has been granted to a request.
        :return: a set of the uuids of other nodes for which that makes a
            difference.
        """
        places = self._getPlaces(node) if node else frozenset()
        old_places = self._places.get(node_id, frozenset())
        if not (places or old_places):
            return set()
        others = self.getOthers(node_id)
        was_used = any(node_id in self._used.get(place, ())
                       for place in old_places)
        is_used = bool(places) and bool(
            is_claimed or node.request_id or node.state in USED_STATES)
        if is_used and was_used:
            # Its name may have moved; who uses it has not.
            places |= frozenset(sorted(
                old_places - places, key=str)[:MOST])
        has_changed = old_places != places
        if has_changed:
            self._move(node_id, node, old_places, places)
        self._noteUse(node_id, old_places, places if is_used else ())
        if self._noteSlots(node_id, node if places else None) or has_changed:
            return others | self.getOthers(node_id)
        return others if was_used != is_used else set()

    def setAddresses(self, host, found):
        """
        :param str host: of nodes, as it is normalized.
        :param found: its addresses.
        :return: a set of the uuids of nodes that are to be noted again.
        """
        found = frozenset(sorted(map(addresses.normalizeHost, found))[:MOST])
        if host not in self._hosts or found == self._addresses.get(host):
            return set()
        self._addresses[host] = found
        return set(self._hosts[host])

    def hasHost(self, host):
        """:return: whether there is a node with it."""
        return host in self._hosts

    def isUsed(self, node):
        """:return: whether the machine of a node has all the jobs that it may
            have; the slots of a host that no other record is of are used
            apart."""
        return self.getRoom(node) <= 0

    def getRoom(self, node):
        """:return: how many jobs the machine of a node may have besides those
            of its other records and slots."""
        used = max((len(found) - (node.uuid in found)
                    for place in self._getPlaces(node)
                    if (found := self._used.get(place))), default=0)
        return self.getLimit(node) - used

    def getLimit(self, node):
        """:return: how many jobs the machine of a node may have; infinite for
            one without other records, of which the slots are all there is.
        """
        machines = {machine_id for place in self._getPlaces(node)
                    for machine_id in self._machines.get(place, ())}
        if not machines - {getMachineId(node)}:
            return math.inf
        return min(self._slots.get(each, 1)
                   for each in machines | {getMachineId(node)})

    def getRivals(self, node_id):
        """:return: a set of the uuids of other nodes that are the same
            machine; without the slots of the same host."""
        return {
            other_id for place in self._places.get(node_id, ())
            for node_ids in self._machines[place].values()
            if node_id not in node_ids for other_id in node_ids}

    def getOthers(self, node_id):
        """:return: the same with the slots of the same host, if there are any
            rivals."""
        rivals = self.getRivals(node_id)
        return rivals and {
            other_id for place in self._places[node_id]
            for node_ids in self._machines[place].values()
            for other_id in node_ids} - {node_id}

    def _move(self, node_id, node, old_places, places):
        self._places.pop(node_id, None)
        for place in old_places:
            machines = self._machines[place]
            # The node may be gone, and nothing tells whose slot it was.
            for machine_id in [each for each, node_ids in machines.items()
                               if node_id in node_ids]:
                machines[machine_id].discard(node_id)
                if not machines[machine_id]:
                    del machines[machine_id]
            if not machines:
                del self._machines[place]
        if places:
            self._places[node_id] = places
            for place in places:
                self._machines[place][getMachineId(node)].add(node_id)
        self._noteHost(node_id, node if places else None)

    def _noteUse(self, node_id, old_places, places):
        for place in old_places:
            if place in self._used:
                self._used[place].discard(node_id)
                if not self._used[place]:
                    del self._used[place]
        for place in places:
            self._used[place].add(node_id)

    def _noteHost(self, node_id, node):
        host = node and addresses.normalizeHost(node.interface_ip)
        old = self._names.pop(node_id, None)
        if old and old != host:
            self._hosts[old].discard(node_id)
            if not self._hosts[old]:
                del self._hosts[old]
                self._addresses.pop(old, None)
        if host and addresses.readAddress(host) is None:
            self._names[node_id] = host
            is_new = host not in self._hosts
            self._hosts[host].add(node_id)
            if is_new:
                self.tellName(host)

    def _noteSlots(self, node_id, node):
        """:return: whether another number of jobs may use it now."""
        number = max(len(node.subnodes), 1) if node and (
            not node.main_node_id) else None
        if number == self._slots.get(node_id):
            return False
        if number is None:
            del self._slots[node_id]
        else:
            self._slots[node_id] = number
        return True

    def _getPlaces(self, node):
        """:return: a set of what makes a machine; empty for one that is
            made, or of which that is not known yet."""
        if not node.interface_ip or not self.isGiven(node.connection_name):
            return frozenset()
        host = addresses.normalizeHost(node.interface_ip)
        hosts = {host, *self._addresses.get(host, ())}
        if node.host_id:
            hosts.add(addresses.normalizeHost(node.host_id))
        return frozenset((each, node.connection_port, node.username)
                         for each in hosts)


def getMachineId(node):
    """:return: the uuid of a node, or of the host of a slot."""
    return node.main_node_id or node.uuid
