"""Counts launches that fail in a row, to tell a lasting failure from a short
one.

The counts are in memory only.  Each launcher counts the failures that all
launchers record, so the next planner knows the counts of the former one.  A
launcher that restarts begins anew: requests then wait longer, but none fails
too early.
"""

from collections.abc import Callable, Mapping
import time
from typing import NamedTuple

from zuul_nodes.launcher.providers import Failure, Subject


class Row(NamedTuple):
    """Failures in a row.

    :ivar errors: number of failures.
    :ivar seconds: sum of the pauses and launches between them.
    :ivar at: when the last failure was noted, in seconds.
    :ivar pause: seconds from then until the next launch.
    """
    errors: int
    seconds: float
    at: float
    pause: float


class LastingFailures:
    """The failures of providers and their labels since the last success.

    :param timeouts: kind of failure -> seconds after which it is lasting; 0 if
        it never is.
    :param clock: returns seconds.
    """

    def __init__(self, timeouts: Mapping[Failure, float],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.timeouts = timeouts
        self.clock = clock
        self._rows: dict[tuple[Failure, Subject], Row] = {}

    def note(self, failure: Failure, subject: Subject, errors: int,
             pause: float, seconds: float = 0.0) -> Row | None:
        """Note a failure.

        :param errors: least number of failures in a row that are lasting.
        :param pause: seconds until the next launch.
        :param seconds: that this launch took.
        :return: the row up to this failure if there are so many; else None.
        """
        key, now = (failure, subject), self.clock()
        timeout = self.timeouts[failure]
        row = Row(1, 0.0, now, pause)
        if former := self._rows.get(key):
            passed = now - former.at
            known = min(passed, former.pause + seconds)
            # A longer time without a launch tells nothing.
            if passed - known <= timeout:
                row = Row(former.errors + 1, former.seconds + known, now,
                          pause)
        self._rows[key] = row
        return row if timeout and row.errors >= errors else None

    def isLasting(self, failure: Failure, row: Row) -> bool:
        """:return: whether failures have lasted for long."""
        return row.seconds >= self.timeouts[failure]

    def clear(self, failure: Failure, subject: Subject) -> bool:
        """Forget the failures of a kind: a launch has or had success.

        :return: whether there were any.
        """
        return self._rows.pop((failure, subject), None) is not None
