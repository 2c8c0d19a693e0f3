"""Pauses providers, or single labels of them, after a failure of their clouds.

What is paused is the smallest thing that is wrong.  Each pause has an end.  A
pause for lack of quota ends earlier when there may be some: a node that
counted against the same limits is deleted, or a limit is raised.  A pause of a
label ends earlier when a node of that label is deleted.
"""

from collections.abc import Callable, Container, Iterator
import math
import time
from typing import NamedTuple

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner.limits import Charges
from zuul_nodes.launcher.providers import Failure, Subject, hasFailed


class Pause(NamedTuple):
    """A pause of a provider or of a label.

    :ivar until: when the pause ends at the latest.
    :ivar reason: for users.
    :ivar failure: what kind of failure is the cause; None if it is unknown.
    :ivar usable: limits of the provider at the last check, key -> limit; None
        if they were unknown.
    """
    until: float
    reason: str
    failure: Failure | None = None
    usable: Charges | None = None


class Pauses:
    """All pauses.

    :param clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._pauses: dict[Subject, Pause] = {}

    def begin(self, subject: Subject, pause: Pause) -> None:
        self._pauses[subject] = pause

    def end(self, subject: Subject) -> None:
        self._pauses.pop(subject, None)

    def get(self, subject: Subject) -> Pause | None:
        """
        :param subject: a provider, or a label at one.
        :return: the Pause of the provider or of the label, None if neither is
            paused.
        """
        for each in (subject.whole, subject):
            pause = self._pauses.get(each)
            if pause and self.clock() < pause.until:
                return pause
        return None

    def getAll(self) -> Iterator[tuple[Subject, Pause, float]]:
        """:return: yields what is paused, its Pause, and for how many
            seconds more."""
        now = self.clock()
        for subject, pause in self._pauses.items():
            if now < pause.until:
                yield subject, pause, pause.until - now

    def endAfter(self, node: ProviderNode, node_subject: Subject,
                 names: Container[str]) -> set[str]:
        """End pauses after the deletion of a node.

        :param node: the deleted node.
        :param node_subject: the label that it was made from.
        :param names: names of the providers with the same limits.
        :return: names of the providers whose pause has ended.
        """
        # A node that lacked capacity frees none.  The record of a node that is
        # deleted during its launch may not show that yet.
        if (any(hasFailed(node, each) for each in (
                Failure.QUOTA, Failure.CAPACITY, Failure.MOVED))
                or node.state in ProviderNode.CREATE_STATES):
            return set()
        ended = {subject for subject in self.getWithoutQuota()
                 if subject.provider in names}
        pause = self._pauses.get(node_subject)
        if pause and pause.failure is Failure.CAPACITY:
            ended.add(node_subject)
        for subject in ended:
            self.end(subject)
        return {subject.provider for subject in ended}

    def compare(self, names: Container[str],
                getUsable: Callable[[Subject], Charges | None]) -> None:
        """End the pauses of providers whose limits are higher than before.

        :param names: of the providers to check.
        :param getUsable: returns the limits of a provider, as in
            :class:`Pause`.
        """
        for subject in self.getWithoutQuota():
            if subject.provider not in names:
                continue
            pause, usable = self._pauses[subject], getUsable(subject)
            if pause.usable is not None and usable is not None and any(
                    limit < usable.get(key, math.inf)
                    for key, limit in pause.usable.items()):
                self.end(subject)
            elif usable is not None:
                self.begin(subject, pause._replace(usable=usable))

    def getWithoutQuota(self) -> set[Subject]:
        """:return: the providers that are paused for lack of quota, a set."""
        return {subject for subject, pause in self._pauses.items()
                if pause.failure is Failure.QUOTA}
