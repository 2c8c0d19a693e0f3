"""Pauses providers after a failure of their clouds.

Each pause has an end.  A pause for lack of capacity ends earlier when there
may be capacity: a node that counted against the same limits is deleted, or a
limit is raised.
"""

from collections.abc import Callable, Container, Iterable
import math
import time
from typing import NamedTuple

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner.limits import Charges
from zuul_nodes.launcher.providers import Failure, hasFailed


class Pause(NamedTuple):
    """A pause of a provider.

    :ivar until: when the pause ends at the latest.
    :ivar reason: for users.
    :ivar for_room: whether the cause is a lack of capacity.
    :ivar usable: limits of the provider at the last check, key -> limit; None
        if they were unknown.
    """
    until: float
    reason: str
    for_room: bool = False
    usable: Charges | None = None


class Pauses:
    """The pauses of all providers.

    :param clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._pauses: dict[str, Pause] = {}

    def begin(self, name: str, pause: Pause) -> None:
        """Pause a provider.

        :param name: canonical name of the provider.
        """
        self._pauses[name] = pause

    def end(self, name: str) -> None:
        self._pauses.pop(name, None)

    def get(self, name: str) -> Pause | None:
        """:return: the Pause of a provider, None if it is not paused."""
        pause = self._pauses.get(name)
        return pause if pause and self.clock() < pause.until else None

    def endAfter(self, node: ProviderNode, names: Container[str]) -> set[str]:
        """End pauses for lack of capacity after the deletion of a node.

        :param node: the deleted node.
        :param names: names of the providers with the same limits.
        :return: names of the providers whose pause has ended.
        """
        # A node that lacked capacity frees none.  The record of a node that is
        # deleted during its launch may not show that yet.
        if (hasFailed(node, Failure.QUOTA)
                or hasFailed(node, Failure.MOVED)
                or node.state in ProviderNode.CREATE_STATES):
            return set()
        ended = {name for name in self.getForRoom() if name in names}
        for name in ended:
            self.end(name)
        return ended

    def compare(self, names: Iterable[str],
                getUsable: Callable[[str], Charges | None]) -> None:
        """End the pauses of providers whose limits are higher than before.

        :param names: of the providers to check.
        :param getUsable: called with a name; returns the provider's limits, as
            in :class:`Pause`.
        """
        for name in self.getForRoom() & set(names):
            pause, usable = self._pauses[name], getUsable(name)
            if pause.usable is not None and usable is not None and any(
                    limit < usable.get(key, math.inf)
                    for key, limit in pause.usable.items()):
                self.end(name)
            elif usable is not None:
                self.begin(name, pause._replace(usable=usable))

    def getForRoom(self) -> set[str]:
        """:return: the names of the providers that are paused for lack of
            capacity, a set."""
        return {name for name, pause in self._pauses.items()
                if pause.for_room}
