"""Decides when the launch of a node starts: when there is capacity for it."""

import collections
import threading
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner import isPending

State = ProviderNode.State


class CapacityWaits:
    """Remembers nodes that wait until their provider deletes another node."""

    def __init__(self):
        self._waiting = collections.defaultdict(set)
        self._lock = threading.Lock()

    def add(self, node):
        """Add a node that waits for a deletion at its provider."""
        with self._lock:
            self._waiting[node.provider].add(node.uuid)

    def take(self, provider_name):
        """:return: the uuids of the waiting nodes of the provider, which wait
            no longer."""
        with self._lock:
            return self._waiting.pop(provider_name, ())


class LaunchStart:
    """Decides when the launch of a node starts.

    :param NodeRecords nodes:
    :param Planner planner: knows the capacity of providers.
    :param CapacityWaits waits: receives the nodes that lack capacity.
    :param Settings settings:
    """

    def __init__(self, nodes, planner, waits, settings):
        self.nodes = nodes
        self.planner = planner
        self.waits = waits
        self.settings = settings

    def begin(self, node, log):
        """Record the start of a launch if there is capacity.

        :return: whether the launch may start or continue; if so, the node's
            record says that it has started.
        """
        if node.create_state or node.state != State.REQUESTED:
            return True
        # Zuul's launcher has written the record, without checking the
        # capacity.
        pending = isPending(node)
        if not (self.planner.prepare([node]) if pending
                else self.planner.fits(node)):
            log.debug('Node %s waits for capacity', node)
            self.waits.add(node)
            self.nodes.lookLater(node, self.settings.capacity_interval)
            return False
        try:
            transaction = self.nodes.session.transaction()
            for each in (node, *self.nodes.getSubnodes(node)):
                transaction.update(each, state=State.BUILDING,
                                   state_time=time.time())
            transaction.commit()
        finally:
            if pending:
                self.planner.forget(node.uuid)
        return True

    def getTimeLeft(self, node):
        """:return: seconds until the launcher gives up waiting for the other
            records of a host and its slots."""
        return (node.request_time + self.settings.slot_sync_timeout
                - time.time())
