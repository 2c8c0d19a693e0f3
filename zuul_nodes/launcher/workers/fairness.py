"""Places for long-running work, shared by tenants.

The next place goes to the tenant with the fewest places, and among equals to
the one that has waited longest.  Work that has begun is never ended in favour
of another tenant.  If one tenant occupies all places while another waits, each
place counts for one minute only; then work of the other tenant begins in
addition.  The first tenant still occupies its places and begins no new work,
so no tenant ever has more than ``size`` places.
"""

import collections
from collections.abc import Callable
import dataclasses
import logging
import time

from zuul_nodes.futures import begin
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers.threads import (
    Gauges,
    Stopped,
    Workplaces,
)

log = logging.getLogger('zuul.nodes.workers')


@dataclasses.dataclass(eq=False)
class Work:
    """Work of a tenant that needs a place.

    :ivar tenant_name: the tenant.
    :ivar what: description, for messages.
    :ivar function: does the work.
    :ivar begun: when it began, of the monotonic clock.
    """
    tenant_name: str
    what: object
    function: Callable[[], object]
    begun: float = 0


class FairPlaces(Workplaces):
    """Shares places for long-running work between tenants.

    :param settings: of the launcher.
    :ivar placed: work that occupies a place.
    """

    def __init__(self, statsd: Gauges | None, name: str, size: int,
                 settings: Settings) -> None:
        super().__init__(statsd, name, size)
        self.time = settings.place_time
        self.shared_time = settings.shared_place_time
        # Tenant -> its waiting work; the longest-waiting tenant first.
        self._waiting: dict[str, collections.deque[Work]] = {}
        self.placed: list[Work] = []

    def submit(self, tenant_name: str, what: object,
               function: Callable[[], object]) -> None:
        """Do some work as soon as the tenant gets a place.

        :param what: description of the work, for messages.
        :raises Stopped: the launcher is stopping.
        """
        with self._changed:
            if not self._running:
                raise Stopped
            self._waiting.setdefault(tenant_name, collections.deque()).append(
                Work(tenant_name, what, function))
            self._fill()

    def _fill(self) -> None:
        """Begin work in free places, and wake the threads that wait."""
        while len(self.placed) < self.size and (
                tenants := self._getTenants()):
            # min() returns the first of equals: the longest-waiting tenant.
            tenant_name = min(tenants, key=self.working.__getitem__)
            queue = self._waiting.pop(tenant_name)
            work = queue.popleft()
            if queue:
                self._waiting[tenant_name] = queue
            work.begun = time.monotonic()
            self.placed.append(work)
            self.working[tenant_name] += 1
            self._reportUsage()
            begin(self.name, self._do, work)
        self._changed.notify_all()

    def _getTenants(self) -> list[str]:
        """:return: a list of the waiting tenants that have places left."""
        return [name for name in self._waiting
                if self.working[name] < self.size]

    def _do(self, work: Work) -> None:
        job = begin('Artifact', work.function)
        job.add_done_callback(self._wake)
        with self._changed:
            while not job.done():
                left = self._getTimeLeft(work, self.time)
                if left <= 0:
                    log.info('%s has taken more than %s seconds; its place is '
                             'free for other artifacts', work.what, self.time)
                    break
                if self._isGreedy(work):
                    share = self._getTimeLeft(work, self.shared_time)
                    if share <= 0:
                        self.placed.remove(work)
                        self._fill()
                        continue
                    left = min(left, share)
                self._changed.wait(left)
            if work in self.placed:
                self.placed.remove(work)
            self.working[work.tenant_name] -= 1
            self._reportUsage()
            self._fill()

    def _wake(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()

    def _isGreedy(self, work: Work) -> bool:
        """:return: whether its tenant occupies all places while another
            tenant waits."""
        return (work in self.placed and len(self.placed) == self.size
                and {each.tenant_name for each in self.placed} == {
                    work.tenant_name}
                and any(name != work.tenant_name
                        for name in self._getTenants()))

    def _getTimeLeft(self, work: Work, seconds: float) -> float:
        return work.begun + seconds - time.monotonic()
