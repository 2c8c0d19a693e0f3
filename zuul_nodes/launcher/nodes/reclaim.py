"""Chooses unassigned ready nodes to delete when waiting requests need their
quota.

Nodes that no tenant can use any more go first, all that free needed quota.  If
there are none, one node at a time is deleted at a provider: the oldest first,
and those of labels with ``min-ready`` later.  Nodes whose
``min-retention-time`` is not over come last, and only for requests of other
tenants.  The launcher that plans chooses the nodes and marks their records;
each launcher deletes its own nodes.
"""

import collections
import logging
import time

from zuul.lib.logutil import get_annotated_logger
from zuul.model import ProviderNode

from zuul_nodes.drivers import getMinReady
from zuul_nodes.launcher.planner import END, LAST
from zuul_nodes.launcher.providers import getMachineId, isGiven

State = ProviderNode.State

KEY = ('reclaim', '')


def isRetained(node):
    """:return: whether the node's ``min-retention-time`` is not over; until
        then, the launcher deletes the node only if it has failed, or if a
        request of another tenant than its owner waits for what it uses."""
    return node.request_time + (node.min_retention_time or 0) > time.time()


class Reclaim:
    """Chooses unassigned ready nodes to delete for waiting requests.

    :param NodeRecords nodes:
    :param Planner planner: knows which quota the waiting requests need.
    :param Layouts layouts: hold the providers of the nodes.
    :param Settings settings:
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, nodes, planner, layouts, settings):
        self.nodes = nodes
        self.planner = planner
        self.layouts = layouts
        self.settings = settings
        # Uuids of the nodes that the next choice deletes if it proposes them
        # again.
        self._proposed = frozenset()

    def noteDemand(self):
        """Queue a choice: a request or a min-ready node waits for capacity.
        """
        self.nodes.queue.addAfter(KEY, self.settings.reclaim_interval)

    def mayBeReused(self, node):
        """:return: whether a used node may be reused, because no waiting
            request needs its quota more."""
        return self._isGiven(node.provider) or not (
            self._isShort(node, LAST) and any(self._getSpare(
                [node], [each for each in self.planner.getReserved()
                         if each.provider == node.provider])))

    def reconcile(self):
        """Choose the nodes to delete."""
        reserved = self.planner.getReserved()
        if not reserved:
            self._proposed = frozenset()
            return
        term = self.nodes.election.getTerm()
        self.noteDemand()
        if not self.layouts.isUpToDate():
            # While layouts are being read, a provider may seem to be missing.
            return
        self.planner.setStuck(
            self.nodes.index.getStuck(self.settings.leaving_time))
        leaving = self.nodes.index.getLeaving(self.settings.leaving_time)
        wanted = collections.defaultdict(list)
        for each in reserved:
            wanted[each.provider].append(each)
        ready = collections.defaultdict(list)
        for node in self.planner.getReady():
            ready[node.provider].append(node)
        proposed = frozenset(
            node.uuid for name, nodes in ready.items()
            for node in self._choose(
                name, nodes, name in leaving, wanted[name]))
        # Not before the next choice, because a node that is about to be
        # released may serve the request as well.
        chosen = proposed & self._proposed
        self._proposed = proposed
        for node_id in chosen:
            self._end(node_id, term)

    def _end(self, node_id, term):
        """Mark a node, so that the launcher that handles it deletes it."""
        node = self.nodes.get(node_id)
        if node is not None and node.state == State.READY:
            log = get_annotated_logger(self.log, node)
            log.info('Deleting idle node %s for waiting requests', node)
            self.nodes.setStateOfOther(node, State.OUTDATED, log, term)

    def _choose(self, name, nodes, is_leaving, reserved):
        """Choose the nodes of a provider to delete.

        :param str name: of the provider.
        :param list nodes: its unassigned nodes.
        :param bool is_leaving: whether the provider is deleting nodes already.
        :param list reserved: the reservations of its quota, by rank.
        :return: a list of the nodes to delete.
        """
        scope = self.layouts.scope
        if self._isGiven(name):
            return []
        useful, drifted = [], []
        for node in nodes:
            if scope.hasProvider(node):
                useful.append(node)
            elif self._isShort(node):
                drifted.append(node)
        if drifted or is_leaving:
            return drifted
        spare = sorted(self._getSpare(useful, reserved), key=lambda node: (
            isRetained(node), self._hasMinReady(node), node.state_time,
            node.uuid))
        first = next((node for node in spare if self._isWhole(node)
                      and self._isShort(node, LAST)), None)
        # All slots of a host are deleted together.
        return [node for node in nodes if first and getMachineId(
            node) == getMachineId(first)]

    def _isShort(self, node, rank=END):
        """:return: as :meth:`.Planner.isShort`, for requests for which the
            node may be deleted."""
        return self.planner.isShort(node, rank, by_others=isRetained(
            node) and self.layouts.scope.hasProvider(node))

    def _isGiven(self, name):
        """:return: whether the provider's nodes are static and so free no
            quota."""
        return any(isGiven(each.driver) for each
                   in self.layouts.scope.by_name.get(name, ()))

    def _getSpare(self, nodes, reserved):
        """:return: yields the nodes that no waiting request is about to get.
        """
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
        """:return: whether the waiting request is about to get the node, and
            requests ahead of it do not need the node's quota."""
        return (rank < LAST and self.layouts.scope.isFor(node, provider)
                and not self.planner.isShort(node, rank))

    def _hasMinReady(self, node):
        """:return: whether any tenant keeps nodes of the node's label ready
            now."""
        now = time.time()
        return any(getMinReady(provider.labels[node.label], now)
                   for provider in self.layouts.scope.getMakers(node))

    def _isWhole(self, node):
        """:return: whether all slots of the node's host are unassigned;
            otherwise the host would stay."""
        host = node.main_node_id and self.nodes.get(node.main_node_id)
        return not host or all(
            self.planner.capacity.getKind(each) for each in host.subnodes
            if self.nodes.get(each))
