"""Places for what takes long, shared by tenants.

Who has the fewest gets the next one; among these, who has waited longest for
a turn.  What has begun is not ended for others.  But if one tenant has all
places while another waits, they count for a minute only: then the other one
begins beside them.  For a tenant they count on, so it begins nothing new in
their stead, and there are never more than ``size`` of each.
"""

import collections
from collections.abc import Callable
import dataclasses
import logging
import time

from zuul_nodes.launcher.workers.calls import begin
from zuul_nodes.launcher.workers.threads import (
    Gauges,
    Stopped,
    Workplaces,
)

log = logging.getLogger('zuul.nodes.workers')


@dataclasses.dataclass(eq=False)
class Work:
    """
    :ivar tenant_name: whose it is.
    :ivar what: it is, for people.
    :ivar function: does it.
    :ivar begun: when, of the monotonic clock.
    """
    tenant_name: str
    what: object
    function: Callable[[], object]
    begun: float = 0


class FairPlaces(Workplaces):
    """
    :ivar time: seconds after which work that goes on does not count
        any more.
    :ivar shared_time: seconds after which it has no place any more,
        if its tenant has all and another one waits.
    """

    time: float = 3600
    shared_time: float = 60

    def __init__(self, statsd: Gauges | None, name: str, size: int) -> None:
        super().__init__(statsd, name, size)
        # Tenant -> its work that waits; first, who has waited longest.
        self._waiting: dict[str, collections.deque[Work]] = {}
        # What has a place.
        self._placed: list[Work] = []

    def submit(self, tenant_name: str, what: object,
               function: Callable[[], object]) -> None:
        """
        :param what: is done, for people.
        :raises Stopped: nothing is begun any more.
        """
        with self._changed:
            if not self._running:
                raise Stopped
            self._waiting.setdefault(tenant_name, collections.deque()).append(
                Work(tenant_name, what, function))
            self._fill()

    def _fill(self) -> None:
        """Begin what can begin; those who wait look again."""
        while len(self._placed) < self.size and (able := self._getAble()):
            # The first of equals is the one that has waited longest.
            tenant_name = min(able, key=self._working.__getitem__)
            queue = self._waiting.pop(tenant_name)
            work = queue.popleft()
            if queue:
                self._waiting[tenant_name] = queue
            work.begun = time.monotonic()
            self._placed.append(work)
            self._working[tenant_name] += 1
            self._tell()
            begin(self.name, self._do, work)
        self._changed.notify_all()

    def _getAble(self) -> list[str]:
        """:return: a list of the tenants that may begin something."""
        return [name for name in self._waiting
                if self._working[name] < self.size]

    def _do(self, work: Work) -> None:
        job = begin('Artifact', work.function)
        job.add_done_callback(self._wake)
        with self._changed:
            while not job.done():
                left = self._getLeft(work, self.time)
                if left <= 0:
                    log.info('%s takes more than %s seconds; another artifact '
                             'may have its place', work.what, self.time)
                    break
                if self._isGreedy(work):
                    share = self._getLeft(work, self.shared_time)
                    if share <= 0:
                        self._placed.remove(work)
                        self._fill()
                        continue
                    left = min(left, share)
                self._changed.wait(left)
            if work in self._placed:
                self._placed.remove(work)
            self._working[work.tenant_name] -= 1
            self._tell()
            self._fill()

    def _wake(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()

    def _isGreedy(self, work: Work) -> bool:
        """:return: whether it has a place that others wait for, as have all
            others of its tenant."""
        return (work in self._placed and len(self._placed) == self.size
                and {each.tenant_name for each in self._placed} == {
                    work.tenant_name}
                and any(name != work.tenant_name
                        for name in self._getAble()))

    def _getLeft(self, work: Work, seconds: float) -> float:
        return work.begun + seconds - time.monotonic()
