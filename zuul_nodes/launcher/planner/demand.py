"""Somebody waits for capacity."""

from collections.abc import Callable

from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers import WorkQueue

# Keys of the work queue: what launchers have reserved is told to others, and
# idle nodes are looked at whose room somebody waits for.
RESERVATIONS = ('reservations', '')
RECLAIM = ('reclaim', '')


class Demand:
    """
    :param queue: where the keys are looked at.
    :param isShared: tells whether other launchers make nodes, too.
    """

    def __init__(self, queue: WorkQueue, isShared: Callable[[], bool],
                 settings: Settings) -> None:
        self.queue = queue
        self.isShared = isShared
        self.settings = settings

    def tell(self) -> None:
        """Somebody waits for capacity."""
        self.tellReservations()
        self.tellReclaim()

    def tellReservations(self) -> None:
        """Other launchers, if any, are to know what we have reserved, soon.
        """
        if self.isShared():
            self.queue.addAfter(RESERVATIONS, self.settings.publish_interval)

    def tellReclaim(self) -> None:
        """Idle nodes may have to make room."""
        self.queue.addAfter(RECLAIM, self.settings.reclaim_interval)
