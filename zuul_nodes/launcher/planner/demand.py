"""Somebody waits for capacity."""

# Keys of the work queue: what launchers have reserved is told to others, and
# idle nodes are looked at whose room somebody waits for.
RESERVATIONS = ('reservations', '')
RECLAIM = ('surplus', '')


class Demand:
    """
    :param WorkQueue queue: where the keys are looked at.
    :param isShared: tells whether other launchers make nodes, too.
    :param Settings settings:
    """

    def __init__(self, queue, isShared, settings):
        self.queue = queue
        self.isShared = isShared
        self.settings = settings

    def tell(self):
        """Somebody waits for capacity."""
        self.tellReservations()
        self.tellReclaim()

    def tellReservations(self):
        """Other launchers, if any, are to know what we have reserved, soon.
        """
        if self.isShared():
            self.queue.addAfter(RESERVATIONS, self.settings.publish_interval)

    def tellReclaim(self):
        """Idle nodes may have to make room."""
        self.queue.addAfter(RECLAIM, self.settings.reclaim_interval)
