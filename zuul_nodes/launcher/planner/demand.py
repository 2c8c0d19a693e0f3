"""Queues the work that waiting requests cause."""

from collections.abc import Callable

from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers import WorkQueue

# Keys of the work queue: publishing this launcher's reservations, and
# reclaiming idle nodes.
RESERVATIONS = ('reservations', '')
RECLAIM = ('reclaim', '')


class Demand:
    """Queues the work that waiting requests cause.

    :param queue: the work queue.
    :param isShared: returns whether other launchers run, too.
    """

    def __init__(self, queue: WorkQueue, isShared: Callable[[], bool],
                 settings: Settings) -> None:
        self.queue = queue
        self.isShared = isShared
        self.settings = settings

    def tell(self) -> None:
        """Queue the work: a request or a min-ready node waits for capacity."""
        self.tellReservations()
        self.tellReclaim()

    def tellReservations(self) -> None:
        """Queue the publication of reservations, if there are other launchers.
        """
        if self.isShared():
            self.queue.addAfter(RESERVATIONS, self.settings.publish_interval)

    def tellReclaim(self) -> None:
        """Queue the choice of idle nodes to delete."""
        self.queue.addAfter(RECLAIM, self.settings.reclaim_interval)
