"""Exponential back-offs."""

from collections.abc import Callable, Hashable
import math
import random
import time


class Backoff:
    """The back-offs of subjects whose attempts have failed.

    The back-off of a subject doubles with each of its failures in a row.

    :param first: back-off after the first failure, in seconds.
    :param longest: limit of a back-off, in seconds.
    :param jitter: as for :func:`getBackoff`.
    :param clock: returns seconds.
    """

    def __init__(self, first: float, longest: float, jitter: float = 0.5,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.first = first
        self.longest = longest
        self.jitter = jitter
        self.clock = clock
        # Subject -> number of failures in a row, and end of its back-off.
        self._failures: dict[Hashable, tuple[int, float]] = {}

    def noteFailure(self, subject: Hashable) -> float:
        """Begin a back-off.

        :return: seconds until the next attempt.
        """
        failures, _ = self._failures.get(subject, (0, 0))
        seconds = getBackoff(failures, self.first, self.longest, self.jitter)
        self._failures[subject] = failures + 1, self.clock() + seconds
        return seconds

    def getLeft(self, subject: Hashable) -> float:
        """:return: seconds until the back-off ends; 0 if there is none."""
        # Other threads may forget it meanwhile.
        _, end = self._failures.get(subject, (0, -math.inf))
        return max(end - self.clock(), 0)

    def clear(self, subject: Hashable) -> None:
        """Forget the failures of a subject that has succeeded or is gone."""
        self._failures.pop(subject, None)

    def clearOld(self) -> None:
        """Forget all subjects that had no attempt for a long time.

        These are subjects whose back-offs ended more than the longest back-off
        ago.
        """
        now = self.clock()
        for subject, (_, end) in list(self._failures.items()):
            if now > end + self.longest:
                self.clear(subject)


def getBackoff(failures: int, first: float, longest: float,
               jitter: float = 0) -> float:
    """Compute a back-off.

    :param failures: number of failures in a row before the last one.
    :param first: back-off after the first failure, in seconds.
    :param longest: limit of the back-off, in seconds.
    :param jitter: the share of the back-off that is random, so that attempts
        that fail together are not retried together.
    :return: seconds until the next attempt.
    """
    return (min(longest, first * 2 ** min(failures, 30))
            * random.uniform(1 - jitter, 1))
