"""Records what the planner knows about providers, for operators."""

import math
import time

from zuul_nodes import providerstatus

STATUSES = ('statuses', '')


class ProviderStatuses:
    """Records what the planner knows about providers.

    :param WorkQueue queue: the work queue, in which the records have a key.
    :param Planner planner: knows it.
    :param PlannerRecords records: of the providers, by canonical names.
    :param Settings settings:
    """

    def __init__(self, queue, planner, records, settings):
        self.queue = queue
        self.planner = planner
        self.records = records
        self.interval = settings.status_interval
        # When it may be recorded again, by the monotonic clock.
        self._next = -math.inf

    def reconcile(self):
        """Record what has changed since the last time, if this launcher
        plans."""
        if not self.records.isMine():
            return
        now = time.monotonic()
        if now < self._next:
            self.queue.addAt(STATUSES, self._next)
            return
        self._next = now + self.interval
        found = dict(self.planner.getStatuses())
        self.records.write({
            name: providerstatus.makeRecord(status)
            for name, status in found.items()})
        if any(status.pauses or any(each.reserved for each in status.limits)
               for status in found.values()):
            # A pause may end earlier than it was told, and what is reserved
            # is granted.
            self.queue.addAt(STATUSES, self._next)
