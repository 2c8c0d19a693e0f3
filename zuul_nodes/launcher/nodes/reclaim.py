"""Nodes that are ready and nobody's, and whose room somebody waits for.

Those that nobody will be given go first, all that are of use.  If there are
none, the others go one at a time at a provider: the oldest first, and those
of labels of which some are to be ready last.  All launchers choose alike,
from the records; each sees to what is its own.
"""

import collections
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner import LAST
from zuul_nodes.launcher.providers import (
    getMachineId,
    isFor,
    isGiven,
    isMadeFrom,
)

State = ProviderNode.State

# What leaves room in a moment.
LEAVING_STATES = (State.OUTDATED, State.USED)


def isRetained(node):
    """:return: whether a node was paid for anyway until a later time, by its
        ``min-retention-time``; nothing but a failure ends it before."""
    return node.request_time + (node.min_retention_time or 0) > time.time()


class Leaving:
    """Nodes that leave room in a moment."""

    def __init__(self):
        # Uuid of a node that leaves -> its provider, and since when, by the
        # monotonic clock.
        self._nodes = {}

    def note(self, node_id, node):
        """
        :param ProviderNode node: as it is now, or None.
        """
        if node is not None and node.state in LEAVING_STATES:
            self._nodes.setdefault(
                node_id, (node.provider, time.monotonic()))
        else:
            self._nodes.pop(node_id, None)

    def getProviders(self, patience):
        """
        :param float patience: seconds; what has not left by then may be
            stuck, and nobody waits for it.
        :return: a set of the names of the providers that have some.
        """
        latest = time.monotonic() - patience
        return {name for name, since in self._nodes.copy().values()
                if since > latest}


class Reclaim:
    """
    :param NodeRecords nodes:
    :param Planner planner: knows who waits for which room.
    :param Layouts layouts: with the providers of the nodes.
    :param Leaving leaving: says where there will be room anyway.
    :param Demand demand: has them looked at again while somebody waits.
    :param Settings settings:
    """

    def __init__(self, nodes, planner, layouts, leaving, demand, settings):
        self.nodes = nodes
        self.planner = planner
        self.layouts = layouts
        self.leaving = leaving
        self.demand = demand
        self.settings = settings
        # Uuids of the nodes that are to go, and of those that would be if
        # nothing changes.
        self._chosen = self._proposed = frozenset()

    def hasToGo(self, node):
        """:return: whether somebody needs the room of a node that is ready
            and nobody's."""
        return node.uuid in self._chosen

    def mayBeReused(self, node):
        """:return: whether nobody needs the room of a node that was used
            before somebody may have the node again."""
        return self._isGiven(node.provider) or isRetained(node) or not (
            self.planner.isShort(node, LAST) and any(self._getSpare(
                [node], [each for each in self.planner.getReserved()
                         if each.provider == node.provider])))

    def reconcile(self):
        """Choose what has to go."""
        reserved = self.planner.getReserved()
        if not reserved:
            self._chosen = self._proposed = frozenset()
            return
        self.demand.tellReclaim()
        if not self.layouts.isUpToDate():
            # While layouts are read, a provider may seem to be missing.
            return
        leaving = self.leaving.getProviders(self.settings.leaving_time)
        wanted = collections.defaultdict(list)
        for each in reserved:
            wanted[each.provider].append(each)
        ready = collections.defaultdict(list)
        for node in self.planner.getReady():
            ready[node.provider].append(node)
        proposed = frozenset(
            node.uuid for name, nodes in ready.items()
            for node in self._choose(name, [
                node for node in nodes if not isRetained(node)],
                name in leaving, wanted[name]))
        # What others have just been given counts twice until they tell so.
        self._chosen = proposed & self._proposed
        self._proposed = proposed
        for node_id in self._chosen:
            self.nodes.look(node_id)

    def _choose(self, name, nodes, is_leaving, reserved):
        """
        :param str name: of a provider.
        :param list nodes: its nodes that anybody may have, and that may
            go.
        :param bool is_leaving: whether it will have room anyway.
        :param list reserved: what is reserved of it, in order.
        :return: a list of those that are to go.
        """
        scope, planner = self.layouts.scope, self.planner
        if self._isGiven(name):
            return []
        useful, superseded = [], []
        for node in nodes:
            if scope.hasProvider(node):
                useful.append(node)
            elif planner.isShort(node):
                superseded.append(node)
        if superseded or is_leaving:
            return superseded
        spare = sorted(self._getSpare(useful, reserved), key=lambda node: (
            self._isToBeReady(node), node.state_time, node.uuid))
        first = next((node for node in spare if self._isWhole(node)
                      and planner.isShort(node, LAST)), None)
        # With a slot, all of its machine goes.
        return [node for node in nodes if first and getMachineId(
            node) == getMachineId(first)]

    def _isGiven(self, name):
        """:return: whether the nodes of a provider leave no room."""
        return any(isGiven(each.driver) for each
                   in self.layouts.scope.by_name.get(name, ()))

    def _getSpare(self, nodes, reserved):
        """:return: yields those that nobody who waits is about to get."""
        wanted = collections.defaultdict(list)
        for each in reserved:
            provider = self.layouts.scope.by_tenant.get(
                each.tenant, {}).get(each.provider)
            for label_name in each.labels if (
                    provider and not each.made) else ():
                wanted[label_name].append((provider, each.rank))
        for node in sorted(
                nodes, key=lambda node: node.state_time, reverse=True):
            for label_name in node.all_labels:
                takers = wanted[label_name]
                if taker := next((each for each in takers
                                  if self._isFor(node, *each)), None):
                    takers.remove(taker)
                    break
            else:
                yield node

    def _isFor(self, node, provider, rank):
        """:return: whether somebody who waits is about to get a node, and
            not only when those ahead have what they need of its room."""
        return (rank < LAST and isFor(node, provider)
                and not self.planner.isShort(node, rank))

    def _isToBeReady(self, node):
        """:return: whether a tenant wants some with its label to be ready.
        """
        return any(provider.labels[node.label].min_ready
                   for provider in self.layouts.scope.getProviders(node)
                   if isMadeFrom(node, provider))

    def _isWhole(self, node):
        """:return: whether nobody has another slot of its machine, which
            would stay."""
        host = node.main_node_id and self.nodes.get(node.main_node_id)
        return not host or all(
            self.planner.capacity.getKind(each) for each in host.subnodes
            if self.nodes.get(each))
