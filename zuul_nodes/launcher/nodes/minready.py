"""Makes the nodes that are to be ready before anybody asks for them."""

import logging
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes import readycounts
from zuul_nodes.launcher.nodes.launch import ROOM_INTERVAL
from zuul_nodes.launcher.planner import Shortage
from zuul_nodes.launcher.workers import getPause
from zuul_nodes.launcher.zookeeper import UnwritableError

KEY = ('minready', '')
# They are counted at most so often (seconds).
INTERVAL = 0.05
# What can not be made ready now is tried again after this time (seconds).
PAUSE = 2.0


class MinReady:
    """
    :param Launcher launcher:
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, launcher):
        self.launcher = launcher
        self.queue = launcher.queue
        self.counts = readycounts.Counts()
        # What could not be made ready: provider and label -> how often,
        # and when it is tried again.
        self._failed = {}
        # Provider and name of a label for which there was no room.
        self._short = set()
        # The same -> why none is made there, as it was logged.
        self._obstacles = {}
        self._checked = 0

    def tell(self):
        """There may be fewer than before, or room for more."""
        due = self._checked + INTERVAL
        if due > time.monotonic():
            self.queue.addAt(KEY, due)
        else:
            self.queue.add(KEY)

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

    def reconcile(self):
        """Begin what is missing."""
        self._checked = time.monotonic()
        launcher = self.launcher
        if any(self._findMissing()):
            # The launcher before us may just have made some, or we
            # ourselves when the connection was lost.
            if not launcher.api.nodes_cache.catchUp():
                self.queue.addAfter(KEY, PAUSE)
                return
            if not self._makeMissing():
                # What there is no room for is not known yet.
                self.tell()
                return
        launcher.planner.setMissing(self._short)
        if self._short:
            launcher.tellReservations()
            launcher.reclaim.tell()

    def _makeMissing(self):
        """:return: whether that was all."""
        for number, (label, provider) in enumerate(self._findMissing()):
            if number == readycounts.MOST_AT_ONCE:
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
                self.queue.addAfter(KEY, PAUSE)
        return True

    def _findMissing(self):
        """:return: yields label and provider of each node that is to be
            made now, to be ready."""
        launcher = self.launcher
        self._short.clear()
        return readycounts.findMissing(
            launcher.tenant_providers, self.counts.get(),
            launcher.ownership.isMyLabel, self._canMake)

    def _canMake(self, label, provider):
        """:return: whether a provider makes nodes of a label now, and has
            room besides what is kept for requests."""
        key = provider.canonical_name, label.name
        _, until = self._failed.get(key, (0, 0))
        if until > time.monotonic():
            # We may have been woken before.
            self.queue.addAt(KEY, until)
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
        self.queue.addAfter(KEY, ROOM_INTERVAL)
        return False

    def _getObstacle(self, label, provider):
        try:
            obstacle = self.launcher.planner.getObstacle(provider, label.name)
            if obstacle is None and not self.launcher.images.isReady(
                    provider, label.name):
                return 'has no image for it'
        except Exception as error:
            # Whatever is wrong with it, there are others.
            return f'can not tell: {error!r}'
        return obstacle

    def _make(self, label, provider):
        planner = self.launcher.planner
        records = self.launcher.new_records.makeNode(
            readycounts.makeSlot(label, provider), ProviderNode.State.BUILDING)
        if not planner.prepare(records):
            # A request was quicker, or it is another tenant's, too, that has
            # enough of them.
            self.queue.addAfter(KEY, ROOM_INTERVAL)
            return
        try:
            transaction = self.launcher.session.transaction()
            self.launcher.new_records.create(transaction, records, provider)
            self.launcher.commitNew(transaction, records)
        except UnwritableError:
            # So it is until its definition is another one.
            self.pause(records[0])
            raise
        finally:
            # From now on, the records say it.
            planner.forget(records[0].uuid)
        self.log.info('Making node %s of label %s at %s to be ready',
                      records[0].uuid, label.name, provider.canonical_name)
