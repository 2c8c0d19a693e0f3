"""When the creation of a node begins: while there is capacity for it."""

import collections
import threading
import time

from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from zuul_nodes.launcher.planner import isPending
from zuul_nodes.launcher.providers import Failure

State = ProviderNode.State


class TakenError(QuotaException):
    """Other launchers were quicker; the records tell when there is room.
    """
    failure = Failure.OVERTAKEN.value


class CapacityWaits:
    """Nodes that wait until their provider has lost another."""

    def __init__(self):
        self._waiting = collections.defaultdict(set)
        self._lock = threading.Lock()

    def add(self, node):
        """Look at a node again when its provider has lost another."""
        with self._lock:
            self._waiting[node.provider].add(node.uuid)

    def take(self, provider_name):
        """:return: the uuids of the nodes that have waited so far."""
        with self._lock:
            return self._waiting.pop(provider_name, ())


class LaunchStart:
    """
    :param NodeRecords nodes:
    :param Planner planner: knows the capacity.
    :param CapacityWaits waits: gets the nodes for which there is none.
    :param Settings settings:
    """

    def __init__(self, nodes, planner, waits, settings):
        self.nodes = nodes
        self.planner = planner
        self.waits = waits
        self.settings = settings

    def begin(self, node, log):
        """
        :return: whether creation may begin or go on; its record says so.
        :raises QuotaException: others were quicker.
        """
        if node.create_state or node.state not in (
                State.REQUESTED, State.BUILDING):
            return True
        if node.state == State.BUILDING:
            if not self.planner.fits(node):
                raise TakenError('others have taken the room')
            return True
        # Zuul's launcher has written it; perhaps there is no room.
        pending = isPending(node)
        if not (self.planner.prepare([node]) if pending
                else self.planner.fits(node)):
            log.debug('Node %s waits for room', node)
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
        """:return: seconds in which the other records of a machine and its
            slots may still appear."""
        return (node.request_time + self.settings.slot_sync_timeout
                - time.time())
