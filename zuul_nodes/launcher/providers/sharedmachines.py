"""Knows the static machines that are nodes of several providers.

Several providers can list the same static machine, for example each provider
that is attached to the same section, for its tenant.  Each has its own record
of the machine, with slots if several jobs may use it.  The use of one record
counts for all of them: the machine runs at most as many jobs as the record
with the fewest slots allows.

A machine is identified by address, port and user.  A name counts as an
address, and so does every known address of the name: the one that the driver
has found (``host_id``), and those that :class:`.names.Names` finds later.
Records with a common address are the same machine.
"""

import collections
import math

from zuul.model import ProviderNode

from zuul_nodes.drivers import addresses
from zuul_nodes.launcher.providers.identity import getMachineId

State = ProviderNode.State

# States in which a node is in use, even if its request is gone.
USED_STATES = (State.IN_USE, State.USED, State.HOLD, State.SNAPSHOT)

# Maximum number of current addresses of a name, and of former ones.  Without a
# limit, the owner of a name server could fill the memory.
MOST = 16


class SharedMachines:
    """Knows which records are the same machine, and how many jobs it runs.

    :param isGiven: called with the name of a connection; returns whether its
        nodes are static.
    :param noteHost: called with the name of a host when the first node with it
        appears; the addresses are then passed to :meth:`setAddresses`.
    :ivar dict places: uuid of a node -> its places: (address, port, user) of
        its name and of each address.
    """

    def __init__(self, isGiven, noteHost=lambda host: None):
        self.isGiven = isGiven
        self.noteHost = noteHost
        self.places = {}
        # Place -> uuid of a host, or of a node without one -> the uuids of its
        # nodes.
        self._machines = collections.defaultdict(
            lambda: collections.defaultdict(set))
        # Place -> uuids of the nodes that use it.
        self._used = collections.defaultdict(set)
        # Uuid of a node that is not a slot -> maximum number of jobs.
        self._slots = {}
        # Host -> the uuids of its nodes; host -> its addresses; uuid of a node
        # -> host.
        self._hosts = collections.defaultdict(set)
        self._addresses = {}
        self._names = {}

    def note(self, node_id, node, is_claimed):
        """Note the current state of a node.

        :param ProviderNode node: its current record; None if it is deleted.
        :param bool is_claimed: whether the node is granted to a request.
        :return: a set of the uuids of other nodes that the change affects.
        """
        places = self._getPlaces(node) if node else frozenset()
        old_places = self.places.get(node_id, frozenset())
        if not (places or old_places):
            return set()
        others = self.getOthers(node_id)
        was_used = any(node_id in self._used.get(place, ())
                       for place in old_places)
        is_used = bool(places) and bool(
            is_claimed or node.request_id or node.state in USED_STATES)
        if is_used and was_used:
            # The name may have moved to other addresses, but the job still
            # uses the machine at the old ones.
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
        """Set the addresses of a host.

        :param str host: normalized name of a host.
        :param found: its addresses.
        :return: a set of the uuids of nodes to pass to :meth:`note` again.
        """
        found = frozenset(sorted(map(addresses.normalizeHost, found))[:MOST])
        if host not in self._hosts or found == self._addresses.get(host):
            return set()
        self._addresses[host] = found
        return set(self._hosts[host])

    def hasHost(self, host):
        """:return: whether a node has the host."""
        return host in self._hosts

    def isUsed(self, node):
        """:return: whether the node's machine runs as many jobs as it may.
            The slots of a host without other records are counted separately.
        """
        return self.getRoom(node) <= 0

    def getRoom(self, node):
        """:return: number of jobs that the node's machine can run in addition
            to those of its other records and slots."""
        used = max((len(found) - (node.uuid in found)
                    for place in self._getPlaces(node)
                    if (found := self._used.get(place))), default=0)
        return self.getLimit(node) - used

    def getLimit(self, node):
        """:return: maximum number of jobs of the node's machine; infinite
            without other records, as only its slots limit it then."""
        machines = {machine_id for place in self._getPlaces(node)
                    for machine_id in self._machines.get(place, ())}
        if not machines - {getMachineId(node)}:
            return math.inf
        return min(self._slots.get(each, 1)
                   for each in machines | {getMachineId(node)})

    def getRivals(self, node_id):
        """:return: a set of the uuids of other nodes of the same machine,
            without the slots of the same host."""
        return {
            other_id for place in self.places.get(node_id, ())
            for node_ids in self._machines[place].values()
            if node_id not in node_ids for other_id in node_ids}

    def getOthers(self, node_id):
        """:return: the same, including the slots of the same host; empty if
            there are no rivals."""
        rivals = self.getRivals(node_id)
        return rivals and {
            other_id for place in self.places[node_id]
            for node_ids in self._machines[place].values()
            for other_id in node_ids} - {node_id}

    def _move(self, node_id, node, old_places, places):
        self.places.pop(node_id, None)
        for place in old_places:
            machines = self._machines[place]
            # The node may be deleted, and its host is not known then.
            for machine_id in [each for each, node_ids in machines.items()
                               if node_id in node_ids]:
                machines[machine_id].discard(node_id)
                if not machines[machine_id]:
                    del machines[machine_id]
            if not machines:
                del self._machines[place]
        if places:
            self.places[node_id] = places
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
                self.noteHost(host)

    def _noteSlots(self, node_id, node):
        """:return: whether the maximum number of jobs has changed."""
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
        """:return: a set of the node's places; empty if the node is not static
            or its address is not known yet."""
        if not node.interface_ip or not self.isGiven(node.connection_name):
            return frozenset()
        host = addresses.normalizeHost(node.interface_ip)
        hosts = {host, *self._addresses.get(host, ())}
        if node.host_id:
            hosts.add(addresses.normalizeHost(node.host_id))
        return frozenset((each, node.connection_port, node.username)
                         for each in hosts)
