"""What launchers have reserved, told to one another."""

from zuul.zk import ZooKeeperClient

from zuul_nodes.launcher.planner.demand import Demand
from zuul_nodes.launcher.planner.planner import Planner
from zuul_nodes.launcher.planner.published import (
    PublishedReservations,
    Several,
)


class ReservationExchange:
    """
    :param owner: the launcher's name.
    :param planner: has the reservations.
    :param demand: is told when others wait for capacity.
    """

    def __init__(self, zk_client: ZooKeeperClient, owner: str,
                 planner: Planner, demand: Demand) -> None:
        self.planner = planner
        self.demand = demand
        self.published = PublishedReservations(zk_client, owner, self._take)

    def _take(self, reservations: dict[str, Several]) -> None:
        """Others wait for room that our nodes may take."""
        self.planner.setReservations(reservations)
        if reservations:
            self.demand.tellReclaim()

    def reconcile(self) -> None:
        """Tell others what this launcher has reserved."""
        reservations = (self.planner.getReservations()
                        if self.demand.isShared() else {})
        self.published.publish(reservations)
        if reservations:
            # They pass on to others without our being told.
            self.demand.tellReservations()

    def forgetSession(self) -> None:
        """Called in another thread: what was written is no more."""
        self.published.forgetSession()

    def stop(self) -> None:
        self.published.stop()
