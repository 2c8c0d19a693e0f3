"""Exchanges reservations with other launchers."""

from zuul.zk import ZooKeeperClient

from zuul_nodes.launcher.planner.demand import Demand
from zuul_nodes.launcher.planner.planner import Planner
from zuul_nodes.launcher.planner.published import (
    PublishedReservations,
    Several,
)


class ReservationExchange:
    """Exchanges reservations with other launchers.

    :param owner: the launcher's name.
    :param planner: has the reservations.
    :param demand: is notified when requests of other launchers wait.
    """

    def __init__(self, zk_client: ZooKeeperClient, owner: str,
                 planner: Planner, demand: Demand) -> None:
        self.planner = planner
        self.demand = demand
        self.published = PublishedReservations(zk_client, owner, self._take)

    def _take(self, reservations: dict[str, Several]) -> None:
        """Process the reservations of other launchers, which may need the
        capacity of this launcher's nodes."""
        self.planner.setReservations(reservations)
        if reservations:
            self.demand.tellReclaim()

    def reconcile(self) -> None:
        """Publish this launcher's reservations."""
        reservations = (self.planner.getReservations()
                        if self.demand.isShared() else {})
        self.published.publish(reservations)
        if reservations:
            # No event tells when they pass to other requests.
            self.demand.tellReservations()

    def forgetSession(self) -> None:
        """Note that the published reservations are lost with the session;
        called in another thread."""
        self.published.forgetSession()

    def stop(self) -> None:
        self.published.stop()
