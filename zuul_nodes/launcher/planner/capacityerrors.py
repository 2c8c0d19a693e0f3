"""Counts launches that find no capacity, to tell a lasting lack from a short
one.

The counts are in memory only.  Each launcher counts the failures that all
launchers record, so the next planner knows the counts of the former one.  A
launcher that restarts begins anew: requests then wait longer, but none fails
too early.
"""

from typing import NamedTuple

from zuul_nodes.launcher.providers import Subject


class Row(NamedTuple):
    """Capacity errors in a row.

    :ivar errors: number of errors.
    :ivar seconds: sum of the pauses between them.
    """
    errors: int = 0
    seconds: float = 0.0


class CapacityErrors:
    """The capacity errors of labels at providers since the last success.

    :param errors: number of errors in a row after which a lack is lasting.
    :param seconds: sum of the pauses between them; 0 if no lack is lasting.
    """

    def __init__(self, errors: int, seconds: float) -> None:
        self.errors = errors
        self.seconds = seconds
        self._rows: dict[Subject, Row] = {}

    def note(self, subject: Subject, pause: float) -> Row | None:
        """Note an error.

        :param subject: a label at a provider.
        :param pause: seconds until the next attempt.
        :return: the row up to this error if the lack is lasting; else None.
        """
        former = self._rows.get(subject, Row())
        row = former._replace(errors=former.errors + 1)
        self._rows[subject] = row._replace(seconds=row.seconds + pause)
        is_lasting = self.seconds and row.errors >= self.errors and (
            row.seconds >= self.seconds)
        return row if is_lasting else None

    def clear(self, subject: Subject) -> None:
        """Forget the errors: the label has or had capacity."""
        self._rows.pop(subject, None)
