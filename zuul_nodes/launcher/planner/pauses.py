"""Pauses providers, or single labels of them, after a failure of their clouds.

What is paused is the smallest thing that is wrong.  Each pause has an end.  A
pause for lack of quota ends earlier when there may be some: a node that
counted against the same limits is deleted, or a limit is raised.  A pause of a
label ends earlier when a node of that label is deleted.
"""

from collections.abc import Callable, Container, Iterable, Iterator
import math
import time
from typing import NamedTuple

from zuul.model import ProviderNode

from zuul_nodes.launcher.planner.limits import Charges
from zuul_nodes.launcher.providers import Failure, hasFailed


class Subject(NamedTuple):
    """What is paused.

    :ivar provider: canonical name.
    :ivar label: name of a label; None for all of the provider's.
    """
    provider: str
    label: str | None = None

    def __str__(self) -> str:
        return (f'provider {self.provider}' if self.label is None
                else f'label {self.label} at provider {self.provider}')


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

    def get(self, provider: str, label: str | None = None) -> Pause | None:
        """
        :param provider: canonical name.
        :param label: name of a label, or None.
        :return: the Pause of the provider or of the label there, None if
            neither is paused.
        """
        for subject in dict.fromkeys((Subject(provider),
                                      Subject(provider, label))):
            pause = self._pauses.get(subject)
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

    def endAfter(self, node: ProviderNode, names: Container[str]) -> set[str]:
        """End pauses after the deletion of a node.

        :param node: the deleted node.
        :param names: names of the providers with the same limits.
        :return: names of the providers whose pause has ended.
        """
        # A node that lacked capacity frees none.  The record of a node that is
        # deleted during its launch may not show that yet.
        if (any(hasFailed(node, each) for each in (
                Failure.QUOTA, Failure.CAPACITY, Failure.MOVED))
                or node.state in ProviderNode.CREATE_STATES):
            return set()
        ended = {Subject(name) for name in self.getWithoutQuota()
                 if name in names}
        subject = Subject(node.provider, node.label)
        pause = self._pauses.get(subject)
        if pause and pause.failure is Failure.CAPACITY:
            ended.add(subject)
        for subject in ended:
            self.end(subject)
        return {subject.provider for subject in ended}

    def compare(self, names: Iterable[str],
                getUsable: Callable[[str], Charges | None]) -> None:
        """End the pauses of providers whose limits are higher than before.

        :param names: of the providers to check.
        :param getUsable: called with a name; returns the provider's limits, as
            in :class:`Pause`.
        """
        for name in self.getWithoutQuota() & set(names):
            subject = Subject(name)
            pause, usable = self._pauses[subject], getUsable(name)
            if pause.usable is not None and usable is not None and any(
                    limit < usable.get(key, math.inf)
                    for key, limit in pause.usable.items()):
                self.end(subject)
            elif usable is not None:
                self.begin(subject, pause._replace(usable=usable))

    def getWithoutQuota(self) -> set[str]:
        """:return: the names of the providers that are paused for lack of
            quota, a set."""
        return {subject.provider for subject, pause in self._pauses.items()
                if pause.failure is Failure.QUOTA}
