"""Records what the planner knows about providers, and limits of tenants."""

import math
import time

from zuul_nodes import providerstatus, tenantlimits

STATUSES = ('statuses', '')


class ProviderStatuses:
    """Records what the planner knows about providers, and the limits that
    zuul.conf sets for tenants.

    :param WorkQueue queue: the work queue, in which the records have a key.
    :param Planner planner: knows it.
    :param PlannerRecords records: of the providers, by canonical names.
    :param PlannerRecords tenant_records: of the tenants, by name.
    :param Settings settings:
    """

    def __init__(self, queue, planner, records, tenant_records, settings):
        self.queue = queue
        self.planner = planner
        self.records = records
        self.tenant_records = tenant_records
        self.getLimits = settings.tenant_limits.get
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
        self.tenant_records.write({
            name: tenantlimits.makeRecord(limits)
            for name in self.planner.scope.by_tenant
            if (limits := self.getLimits(name))})
        if any(status.pauses or any(each.reserved for each in status.limits)
               for status in found.values()):
            # A pause may end earlier than it was told, and what is reserved
            # is granted.
            self.queue.addAt(STATUSES, self._next)
