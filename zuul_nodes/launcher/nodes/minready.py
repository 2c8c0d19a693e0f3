"""Makes the nodes that are to be ready before anybody asks for them."""

import logging
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes import readycounts
from zuul_nodes.launcher.planner import Shortage
from zuul_nodes.launcher.workers import getPause
from zuul_nodes.launcher.zookeeper import UnwritableError, commitNew

KEY = ('minready', '')


class MinReadyState:
    """What is known of nodes that nobody has asked for: how many there are,
    and where none is made for a while.

    :param WorkQueue queue: where :class:`MinReady` looks at them.
    :param Settings settings:
    :ivar Counts counts: how many there are.
    """

    def __init__(self, queue, settings):
        self.queue = queue
        self.settings = settings
        self.counts = readycounts.Counts()
        # What could not be made ready: provider and label -> how often,
        # and when it is tried again.
        self._failed = {}
        self._checked = 0

    def tell(self):
        """There may be fewer than before, or room for more."""
        due = self._checked + self.settings.min_ready_interval
        if due > time.monotonic():
            self.queue.addAt(KEY, due)
        else:
            self.queue.add(KEY)

    def noteCheck(self):
        """They are counted now."""
        self._checked = time.monotonic()

    def pause(self, node):
        """A node that nobody asked for has failed, though its provider has
        not: not at once another."""
        attempt, _ = self._failed.get((node.provider, node.label), (0, 0))
        pause = getPause(attempt, first=2, longest=300)
        self._failed[node.provider, node.label] = (
            attempt + 1, time.monotonic() + pause)
        self.queue.addAfter(KEY, pause)

    def clearPause(self, node):
        """Such a node could be made."""
        self._failed.pop((node.provider, node.label), None)

    def isPaused(self, provider_name, label_name):
        """:return: whether none is made for a while; then they are counted
            again when that is over."""
        _, until = self._failed.get((provider_name, label_name), (0, 0))
        if until <= time.monotonic():
            return False
        # We may have been woken before.
        self.queue.addAt(KEY, until)
        return True


class MinReady:
    """
    :param MinReadyState state:
    :param NodeRecords nodes:
    :param Planner planner: knows where there is room.
    :param Layouts layouts: say how many are to be ready.
    :param NewRecords new_records: makes those that are missing.
    :param isReady: tells for a provider and the name of a label whether there
        is an image for it.
    :param Demand demand: is told when there is no room for them.
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, state, nodes, planner, layouts, new_records, isReady,
                 demand):
        self.state = state
        self.nodes = nodes
        self.queue = state.queue
        self.settings = state.settings
        self.planner = planner
        self.layouts = layouts
        self.new_records = new_records
        self.isReady = isReady
        self.demand = demand
        # Provider and name of a label for which there was no room.
        self._short = set()
        # The same -> why none is made there, as it was logged.
        self._obstacles = {}

    def reconcile(self):
        """Begin what is missing."""
        self.state.noteCheck()
        if any(self._findMissing()):
            # The launcher before us may just have made some, or we
            # ourselves when the connection was lost.
            if not self.nodes.records.nodes_cache.catchUp():
                self.queue.addAfter(KEY, self.settings.min_ready_pause)
                return
            if not self._makeMissing():
                # What there is no room for is not known yet.
                self.state.tell()
                return
        self.planner.setMissing(self._short)
        if self._short:
            self.demand.tell()

    def _makeMissing(self):
        """:return: whether that was all."""
        for number, (label, provider) in enumerate(self._findMissing()):
            if number == self.settings.min_ready_batch:
                return False
            # What some have no room for, another one makes.
            self._short -= {
                (each, name) for each, name in self._short
                if name == label.name
                and each.tenant_name == provider.tenant_name}
            try:
                self._make(label, provider)
            except Exception as error:
                # Its cloud may not have said yet how much the label needs.
                self.log.warning('Unable to make a node of label %s at %s '
                                 'to be ready: %s', label.name,
                                 provider.canonical_name, error)
                self.queue.addAfter(KEY, self.settings.min_ready_pause)
        return True

    def _findMissing(self):
        """:return: yields label and provider of each node that is to be
            made now, to be ready."""
        self._short.clear()
        return readycounts.findMissing(
            self.layouts.tenant_providers, self.state.counts.get(),
            self.nodes.ownership.isMyLabel, self._canMake,
            self.settings.min_ready_batch)

    def _canMake(self, label, provider):
        """:return: whether a provider makes nodes of a label now, and has
            room besides what is kept for requests."""
        key = provider.canonical_name, label.name
        if self.state.isPaused(*key):
            return False
        obstacle = self._getObstacle(label, provider)
        if isinstance(obstacle, Shortage):
            self._short.add((provider, label.name))
            # How much there is may be different each time.
            obstacle = f'{obstacle.account} has no {obstacle.resource} left'
        if obstacle is None:
            self._obstacles.pop(key, None)
            return True
        if self._obstacles.get(key) != obstacle:
            self._obstacles[key] = obstacle
            self.log.debug('No node of label %s is made at %s to be ready: '
                           '%s', label.name, provider.canonical_name, obstacle)
        # Not of all that is in the way, we are told when it is gone.
        self.queue.addAfter(KEY, self.settings.capacity_interval)
        return False

    def _getObstacle(self, label, provider):
        try:
            obstacle = self.planner.getObstacle(provider, label.name)
            if obstacle is None and not self.isReady(provider, label.name):
                return 'has no image for it'
        except Exception as error:
            # Whatever is wrong with it, there are others.
            return f'can not tell: {error!r}'
        return obstacle

    def _make(self, label, provider):
        records = self.new_records.makeNode(
            readycounts.makeSlot(label, provider), ProviderNode.State.BUILDING)
        if not self.planner.prepare(records):
            # A request was quicker, or it is another tenant's, too, that has
            # enough of them.
            self.queue.addAfter(KEY, self.settings.capacity_interval)
            return
        try:
            transaction = self.nodes.session.transaction()
            self.new_records.create(transaction, records, provider)
            commitNew(self.nodes.records, transaction, records)
        except UnwritableError:
            # So it is until its definition is another one.
            self.state.pause(records[0])
            raise
        finally:
            # From now on, the records say it.
            self.planner.forget(records[0].uuid)
        self.log.info('Making node %s of label %s at %s to be ready',
                      records[0].uuid, label.name, provider.canonical_name)
