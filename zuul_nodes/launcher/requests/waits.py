"""Requests that wait: for what, and for how long."""

import logging
import time

REASONS = ('reasons', '')


class RequestWaits:
    """
    :param WorkQueue queue: where they are looked at again.
    :param Planner planner: knows for what they wait.
    :param Demand demand: is told that they do.
    :param Settings settings:
    :ivar float unhandled_timeout: seconds that a request waits for a
        launcher that handles a connection that it needs.
    """

    log = logging.getLogger('zuul.nodes.requests')

    def __init__(self, queue, planner, demand, settings):
        self.queue = queue
        self.planner = planner
        self.demand = demand
        self.interval = settings.reason_interval
        self.unhandled_timeout = settings.unhandled_timeout
        self._reasons = {}
        # When we first saw that a request waits for a launcher.
        self._unhandled = {}

    def begin(self, request, reason, log):
        """A request waits."""
        self.tell(request.uuid, reason, log)
        self.queue.addAfter(REASONS, self.interval)
        self.demand.tell()

    def tell(self, request_id, reason, log):
        """Log for what a request waits, if that is new."""
        if self._reasons.get(request_id) != reason:
            self._reasons[request_id] = reason
            log.info('Request %s waits: %s', request_id, reason)

    def reconcile(self, remembers):
        """Tell for what those wait now that are the first of their like;
        nobody plans them again just because the reason is another one.

        :param remembers: tells whether a request is still looked at.
        """
        reasons = self.planner.getReasons()
        for request_id, reason in reasons.items():
            if remembers(request_id):
                self.tell(request_id, reason, self.log)
        if reasons:
            self.queue.addAfter(REASONS, self.interval)

    def isOver(self, request, reason):
        """Do not wait for ever for launchers that do not run.

        :param str reason: why nobody who runs can do it; None if somebody
            can.
        :return: whether it has waited too long.  If not, it is looked at when
            it has.
        """
        if not reason:
            self._unhandled.pop(request.uuid, None)
            return False
        now = time.monotonic()
        since = self._unhandled.setdefault(request.uuid, now)
        left = since + self.unhandled_timeout - now
        if left > 0:
            self.queue.addAfter(('request', request.uuid), left)
        return left <= 0

    def forget(self, request_id):
        self._reasons.pop(request_id, None)
        self._unhandled.pop(request_id, None)
