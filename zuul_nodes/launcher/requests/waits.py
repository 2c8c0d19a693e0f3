"""Tells why requests wait, and limits their wait for a launcher."""

import collections
import logging
import math
import time

from zuul_nodes import waits
from zuul_nodes.drivers import getRequestTimeout
from zuul_nodes.launcher.planner import Reason

REASONS = ('reasons', '')


class RequestWaits:
    """Logs and records why requests wait, and limits their wait for a
    launcher.

    :param WorkQueue queue: the work queue, in which each request has a key.
    :param Planner planner: knows why requests wait.
    :param PlannerRecords records: of the reasons, by the names of tenants.
    :param noteDemand: called when a request waits.
    :param isUnderWay: called with a provider and the name of a label; returns
        whether the image of its nodes is being built or uploaded.
    :param Settings settings:
    :ivar float unhandled_timeout: seconds that a request waits for a launcher
        that handles a connection that it needs.
    :ivar dict unhandled: uuid of a request -> when it was first seen waiting
        for a launcher, by the monotonic clock.
    :ivar dict unplanned: uuid of a request that the planner does not know yet
        -> its tenant and why it waits.
    """

    log = logging.getLogger('zuul.nodes.requests')

    def __init__(self, queue, planner, records, noteDemand, isUnderWay,
                 settings):
        self.queue = queue
        self.planner = planner
        self.records = records
        self.noteDemand = noteDemand
        self.isUnderWay = isUnderWay
        self.delay = settings.reason_delay
        self.interval = settings.reason_interval
        # When the reasons were recorded the last time, by the monotonic clock.
        self._recorded = -math.inf
        self.unhandled_timeout = settings.unhandled_timeout
        self.timeouts = settings.request_timeout
        self._reasons = {}
        self.unhandled = {}
        self.unplanned = {}

    def noteWait(self, request, reason, log):
        """Log why a request waits for capacity, and queue the checks of its
        reason."""
        self.unplanned.pop(request.uuid, None)
        self._noteReason(request, reason, log)
        self.noteDemand()

    def noteUnplanned(self, request, reason, log):
        """Log and record why a request is not planned yet."""
        self.unplanned[request.uuid] = request.tenant_name, reason
        self._noteReason(request, reason, log)

    def _noteReason(self, request, reason, log):
        self.logReason(request.uuid, reason, log)
        self.queue.addAt(REASONS, max(
            time.monotonic() + self.delay, self._recorded + self.interval))

    def logReason(self, request_id, reason, log):
        """Log why a request waits, if the reason is new."""
        if self._reasons.get(request_id) != reason:
            self._reasons[request_id] = reason
            log.info('Request %s waits: %s', request_id, reason)

    def reconcile(self, remembers):
        """Log the current reasons of the first requests of each kind, and
        record those of all.  A new reason alone does not cause the planner to
        plan them again.

        :param remembers: called with the uuid of a request; returns whether
            the request still waits.
        """
        found = collections.defaultdict(list)
        for request_id, (tenant_name, reason) in self.unplanned.copy().items():
            # Its rank is not known: none is ahead.
            found[tenant_name].append((reason, [request_id]))
        for tenant_name, lines in self.planner.getWaits().items():
            # What the planner knows by now is what readers take.
            found[tenant_name] += lines
            for line in lines:
                if remembers(line.request_ids[0]):
                    self.logReason(line.request_ids[0], line.reason, self.log)
        self._recorded = time.monotonic()
        self.records.write({
            tenant_name: waits.makeRecord(lines)
            for tenant_name, lines in found.items()})
        if found:
            self.queue.addAfter(REASONS, self.interval)

    def count(self):
        """:return: dict, each :class:`.Reason` -> the number of requests that
            wait for it."""
        counts = self.planner.countWaits()
        counts[Reason.UNREADABLE] += len(self.unplanned)
        return counts

    def isOver(self, request, reason):
        """Limit the wait for launchers that do not run.

        :param str reason: why no running launcher can serve the request; None
            if one can.
        :return: whether the request has waited too long.  If not, it is queued
            for the end of the limit.
        """
        if not reason:
            self.unhandled.pop(request.uuid, None)
            return False
        now = time.monotonic()
        since = self.unhandled.setdefault(request.uuid, now)
        left = since + self.unhandled_timeout - now
        if left <= 0 and self._awaitsImage(request):
            # The time begins when the image is no longer under way.
            self.unhandled[request.uuid] = now
            left = self.unhandled_timeout
        if left > 0:
            self.queue.addAfter(('request', request.uuid), left)
        return left <= 0

    def _awaitsImage(self, request):
        """:return: whether an image of a request is being built or uploaded.
        """
        providers = self.planner.scope.by_tenant.get(
            request.tenant_name, {}).values()
        return any(self.isUnderWay(provider, name)
                   for name in set(request.labels) for provider in providers
                   if name in provider.labels)

    def findTimeout(self, request):
        """
        :return: the time-out in seconds if the request has waited for longer;
            None if not, then it is queued for the end of the time.
        """
        timeout = self._getTimeout(request)
        if timeout is None:
            return None
        left = request.request_time + timeout - time.time()
        if left > 0:
            self.queue.addAfter(('request', request.uuid), left)
            return None
        return timeout

    def _getTimeout(self, request):
        """:return: the shortest time-out for a label of a request; None if no
            label has one."""
        providers = self.planner.scope.by_tenant.get(
            request.tenant_name, {}).values()
        found = []
        for name in set(request.labels):
            own = [timeout for provider in providers
                   if (label := provider.labels.get(name))
                   and (timeout := getRequestTimeout(label)) is not None]
            found += own or [self.timeouts.get(request.tenant_name)]
        return min(filter(None, found), default=None)

    def forget(self, request_id):
        self._reasons.pop(request_id, None)
        self.unplanned.pop(request_id, None)
        self.unhandled.pop(request_id, None)
