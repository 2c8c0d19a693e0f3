"""Providers that make no nodes for a while, as their cloud could not.

A pause has an end of its own.  One for want of room is over before that
when there may be room: a node has gone that counted where the provider's
do, or there is a limit that is higher than it was.
"""

from collections.abc import Callable, Container, Iterable
import math
import time
from typing import NamedTuple

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner.limits import Charges
from zuul_nodes.launcher.providers import Failure, hasFailed


class Pause(NamedTuple):
    """
    :ivar until: when it ends in any case.
    :ivar reason: for people.
    :ivar for_room: whether it is for want of room.
    :ivar usable: what the provider could use when that was last
        looked at, key -> limit; None if it was not known.
    """
    until: float
    reason: str
    for_room: bool = False
    usable: Charges | None = None


class Pauses:
    """
    :param clock: gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._pauses: dict[str, Pause] = {}

    def begin(self, name: str, pause: Pause) -> None:
        """
        :param name: the canonical name of a provider.
        """
        self._pauses[name] = pause

    def end(self, name: str) -> None:
        self._pauses.pop(name, None)

    def get(self, name: str) -> Pause | None:
        """:return: the Pause of a provider, None if it is not paused."""
        pause = self._pauses.get(name)
        return pause if pause and self.clock() < pause.until else None

    def endAfter(self, node: ProviderNode, names: Container[str]) -> set[str]:
        """
        :param node: that has gone.
        :param names: of the providers whose nodes count where it did.
        :return: names of those that are not paused any more.
        """
        # What had no room itself leaves none.  That may not have been seen
        # of what goes while it is made, as far as we know.
        if (hasFailed(node, Failure.QUOTA)
                or hasFailed(node, Failure.OVERTAKEN)
                or node.state in ProviderNode.CREATE_STATES):
            return set()
        ended = {name for name in self.getForRoom() if name in names}
        for name in ended:
            self.end(name)
        return ended

    def compare(self, names: Iterable[str],
                getUsable: Callable[[str], Charges | None]) -> None:
        """End the pauses of providers that have more to use than before.

        :param names: of those that may have.
        :param getUsable: gives for a name what that provider can use, as of
            :class:`Pause`.
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
        """:return: set of the names of those that are paused for want of
            room."""
        return {name for name, pause in self._pauses.items()
                if pause.for_room}
