"""What launchers have reserved, told to one another."""

from zuul_nodes.launcher.planner.published import PublishedReservations


class ReservationExchange:
    """
    :param ZooKeeperClient zk_client:
    :param str owner: the launcher's name.
    :param Planner planner: has the reservations.
    :param Demand demand: is told when others wait for capacity.
    """

    def __init__(self, zk_client, owner, planner, demand):
        self.planner = planner
        self.demand = demand
        self.published = PublishedReservations(zk_client, owner, self._take)

    def _take(self, reservations):
        """Others wait for room that our nodes may take."""
        self.planner.setReservations(reservations)
        if reservations:
            self.demand.tellReclaim()

    def reconcile(self):
        """Tell others what this launcher has reserved."""
        reservations = (self.planner.getReservations()
                        if self.demand.isShared() else {})
        self.published.publish(reservations)
        if reservations:
            # They pass on to others without our being told.
            self.demand.tellReservations()

    def forgetSession(self):
        """Called in another thread: what was written is no more."""
        self.published.forgetSession()

    def stop(self):
        self.published.stop()
