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

KEY = ('surplus', '')
# While somebody waits, it is looked at so often (seconds).
LOOK_INTERVAL = 2.0
# What leaves room in a moment.
LEAVING_STATES = (State.OUTDATED, State.USED)
# What has not left by then (seconds) may be stuck; nobody waits for it.
LEAVING_TIME = 60.0


def isRetained(node):
    """:return: whether a node was paid for anyway until a later time, by its
        ``min-retention-time``; nothing but a failure ends it before."""
    return node.request_time + (node.min_retention_time or 0) > time.time()


class Reclaim:
    """
    :param Launcher launcher: whose nodes these are.
    """

    def __init__(self, launcher):
        self.launcher = launcher
        self.planner = launcher.planner
        self.queue = launcher.queue
        # Uuids of the nodes that are to go, and of those that would be if
        # nothing changes.
        self._chosen = self._proposed = frozenset()
        # Uuid of a node that leaves -> its provider, and since when, by the
        # monotonic clock.
        self._leaving = {}

    def note(self, node_id, node):
        """
        :param ProviderNode node: as it is now, or None.
        """
        if node is not None and node.state in LEAVING_STATES:
            self._leaving.setdefault(
                node_id, (node.provider, time.monotonic()))
        else:
            self._leaving.pop(node_id, None)

    def tell(self):
        """Somebody waits for room."""
        self.queue.addAfter(KEY, LOOK_INTERVAL)

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
        self.tell()
        if not self.launcher.layouts.isUpToDate():
            # While layouts are read, a provider may seem to be missing.
            return
        latest = time.monotonic() - LEAVING_TIME
        leaving = {name for name, since in self._leaving.copy().values()
                   if since > latest}
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
            self.queue.add(('node', node_id))

    def _choose(self, name, nodes, is_leaving, reserved):
        """
        :param str name: of a provider.
        :param list nodes: its nodes that anybody may have, and that may
            go.
        :param bool is_leaving: whether it will have room anyway.
        :param list reserved: what is reserved of it, in order.
        :return: a list of those that are to go.
        """
        scope, planner = self.launcher.scope, self.planner
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
                   in self.launcher.scope.by_name.get(name, ()))

    def _getSpare(self, nodes, reserved):
        """:return: yields those that nobody who waits is about to get."""
        wanted = collections.defaultdict(list)
        for each in reserved:
            provider = self.launcher.scope.by_tenant.get(
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
                   for provider in self.launcher.scope.getProviders(node)
                   if isMadeFrom(node, provider))

    def _isWhole(self, node):
        """:return: whether nobody has another slot of its machine, which
            would stay."""
        api = self.launcher.api
        host = node.main_node_id and api.getProviderNode(node.main_node_id)
        return not host or all(
            self.planner.capacity.getKind(each) for each in host.subnodes
            if api.getProviderNode(each))
