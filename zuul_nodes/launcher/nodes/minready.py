"""Keeps ready nodes for labels with ``min-ready``."""

import logging
import time

from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes import readycounts
from zuul_nodes.launcher.planner import Shortage
from zuul_nodes.launcher.providers import getSubject, getSubjectOf
from zuul_nodes.launcher.workers import Backoff
from zuul_nodes.launcher.zookeeper import UnwritableError, commitNew

KEY = ('minready', '')
# Maximum seconds between two looks at the time, because clocks may jump.
LONGEST_WAIT = 600


class MinReadyState:
    """Schedules checks, and pauses providers and labels of which a node has
    failed.

    :param WorkQueue queue: the work queue, in which :class:`MinReady` has a
        key.
    :param Settings settings:
    """

    def __init__(self, queue, settings):
        self.queue = queue
        self.settings = settings
        # Of the labels of failed nodes.
        self.backoff = Backoff(settings.min_ready_first_backoff,
                               settings.min_ready_longest_backoff)
        self._checked = 0

    def queueCheck(self):
        """Queue a check: there may be fewer nodes, or more capacity."""
        due = self._checked + self.settings.min_ready_interval
        if due > time.monotonic():
            self.queue.addAt(KEY, due)
        else:
            self.queue.add(KEY)

    def noteCheck(self):
        """Note that a check is running."""
        self._checked = time.monotonic()

    def pause(self, subject):
        """Delay the next launch after a failed node that was not for a
        request.

        :param Subject subject: the label of the node.
        """
        self.queue.addAfter(KEY, self.backoff.noteFailure(subject))

    def clearPause(self, subject):
        """Forget the failures after a successful launch."""
        self.backoff.clear(subject)

    def isPaused(self, subject):
        """:return: whether launches are delayed after a failure.  If so, a
            check is queued for the end of the delay."""
        left = self.backoff.getLeft(subject)
        if left:
            # The check may run earlier, for another reason.
            self.queue.addAfter(KEY, left)
        return left > 0


class MinReady:
    """Launches nodes for labels with ``min-ready``.

    :param MinReadyState state:
    :param NodeRecords nodes:
    :param Planner planner: knows the capacity of providers.
    :param Layouts layouts: hold the labels with their ``min-ready``.
    :param NewRecords new_records: creates the records of new nodes.
    :param isReady: called with a provider and the name of a label; returns
        whether there is an image for the label.
    :param noteDemand: called when capacity is missing.
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, state, nodes, planner, layouts, new_records, isReady,
                 noteDemand):
        self.state = state
        self.nodes = nodes
        self.queue = state.queue
        self.settings = state.settings
        self.planner = planner
        self.layouts = layouts
        self.new_records = new_records
        self.isReady = isReady
        self.noteDemand = noteDemand
        # Providers and names of labels without capacity.
        self._short = set()
        # Names of provider and label -> the logged blocker.
        self._blockers = {}

    def reconcile(self):
        """Launch the missing nodes."""
        self.state.noteCheck()
        self._watchTime()
        if any(self._findMissing()):
            # This launcher may have created some just before it lost its
            # connection.
            if not self.nodes.records.nodes_cache.catchUp():
                self.queue.addAfter(KEY, self.settings.min_ready_pause)
                return
            if not self._launchMissing():
                # The rest of the batch may lack capacity.
                self.state.queueCheck()
                return
        self.planner.setMissing(self._short)
        if self._short:
            self.noteDemand()

    def _watchTime(self):
        """Queue a check for the next change of a label's number by time."""
        now = time.time()
        moment = readycounts.getNext(
            self.layouts.scope.providers, self.nodes.election.isMyLabel, now)
        if moment is not None:
            self.queue.addAfter(KEY, min(moment - now, LONGEST_WAIT))

    def _launchMissing(self):
        """:return: whether all missing nodes were processed."""
        term = self.nodes.election.getTerm()
        for number, (label, provider) in enumerate(self._findMissing()):
            if number == self.settings.min_ready_batch:
                return False
            # Another provider has the capacity that these lack.
            self._short -= {
                (each, name) for each, name in self._short
                if name == label.name
                and each.tenant_name == provider.tenant_name}
            try:
                self._launch(label, provider, term)
            except Exception as error:
                # The cloud may not yet have said how much quota the label
                # needs.
                self.log.warning('Unable to launch a node of label %s at '
                                 '%s for min-ready: %s', label.name,
                                 provider.canonical_name, error)
                self.queue.addAfter(KEY, self.settings.min_ready_pause)
        return True

    def _findMissing(self):
        """:return: yields label and provider of each node to launch now."""
        self._short.clear()
        return readycounts.findMissing(
            self.layouts.scope, self.nodes.index.getCounts(),
            self.nodes.election.isMyLabel, self.canMake,
            self.settings.min_ready_limit, self.settings.min_ready_batch)

    def canMake(self, label, provider):
        """:return: whether a provider can launch a node of a label now, with
            capacity that is not reserved for requests."""
        key = provider.canonical_name, label.name
        if self.state.isPaused(getSubject(provider, label.name)):
            return False
        blocker = self._getBlocker(label, provider)
        if isinstance(blocker, Shortage):
            self._short.add((provider, label.name))
            # Without the numbers, so that each change is not logged.
            blocker = f'{blocker.account} has no {blocker.resource} left'
        if blocker is None:
            self._blockers.pop(key, None)
            return True
        if self._blockers.get(key) != blocker:
            self._blockers[key] = blocker
            self.log.debug('Not launching a node of label %s at %s for '
                           'min-ready: %s', label.name,
                           provider.canonical_name, blocker)
        # No event tells when some of the blockers are gone.
        self.queue.addAfter(KEY, self.settings.capacity_interval)
        return False

    def _getBlocker(self, label, provider):
        try:
            blocker = self.planner.getObstacle(provider, label.name)
            if blocker is None and not self.isReady(provider, label.name):
                return 'has no image for the label'
        except Exception as error:
            # An error of one label must not stop the others.
            return f'cannot be checked: {error!r}'
        return blocker

    def _launch(self, label, provider, term):
        records = self.new_records.makeNode(
            readycounts.makeSlot(label, provider), ProviderNode.State.BUILDING)
        if not self.planner.prepare(records):
            # A request has used the capacity, or the label is also another
            # tenant's, which has enough nodes.
            self.queue.addAfter(KEY, self.settings.capacity_interval)
            return
        try:
            transaction = self.nodes.session.transaction()
            transaction.require(term)
            self.new_records.create(transaction, records, provider)
            commitNew(self.nodes.records, transaction, records)
        except UnwritableError:
            # The error lasts until the label's definition changes.
            self.state.pause(getSubjectOf(
                self.layouts.scope.identify(records[0])))
            raise
        finally:
            # The planner counts the records from now on.
            self.planner.forget(records[0].uuid)
        self.log.info('Launching node %s of label %s at %s for min-ready',
                      records[0].uuid, label.name, provider.canonical_name)
