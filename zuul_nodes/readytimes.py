"""How many nodes of a label are kept ready, and when.

The label attribute ``min-ready-times`` is a list of times of the week, each
with a number that counts while it lasts::

    min-ready: 1
    min-ready-times:
      - days: [mon, tue, wed, thu, fri]
        from: "07:00"
        to: "19:00"
        time-zone: Europe/Berlin
        min-ready: 10

Of several times that apply, the highest number counts; if none applies,
``min-ready`` does.
"""

import datetime
import re
from typing import Any, NamedTuple
import zoneinfo

import voluptuous as vs

# The attribute of a label.
MIN_READY_TIMES = 'min-ready-times'
DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')
# Maximum number of times of a label, and of nodes that are kept ready.
MOST_TIMES = 50
MOST_READY = 1_000_000
_TIME = re.compile(r'([01]\d|2[0-3]):[0-5]\d|24:00')
_MINUTES = 24 * 60


class ReadyTime(NamedTuple):
    """
    :ivar days: on which it begins, Monday is 0.
    :ivar begin: in minutes since midnight.
    :ivar end: the same; of the next day if it is not after the beginning.
    :ivar zone: in which the time is told.
    :ivar number: of nodes to keep ready.
    """
    days: frozenset[int]
    begin: int
    end: int
    zone: zoneinfo.ZoneInfo
    number: int

    def applies(self, now: float) -> bool:
        """
        :param now: in seconds since the epoch.
        :return: whether the time has come, and is not over.
        """
        local = datetime.datetime.fromtimestamp(now, self.zone)
        minute = 60 * local.hour + local.minute
        today = local.weekday()
        if self.begin < self.end:
            return today in self.days and self.begin <= minute < self.end
        return (today in self.days and minute >= self.begin) or (
            (today - 1) % 7 in self.days and minute < self.end)

    def getNext(self, now: float) -> float:
        """
        :param now: in seconds since the epoch.
        :return: when it begins or ends the next time, on any day: the same.
        """
        today = datetime.datetime.fromtimestamp(now, self.zone).date()
        return min(moment for moment in (
            self._getMoment(today + datetime.timedelta(days), minutes)
            for days in range(3) for minutes in (self.begin, self.end))
            if moment > now)

    def __str__(self) -> str:
        return (f'{self.number} on {_formatDays(self.days)} '
                f'{_formatTime(self.begin)}-{_formatTime(self.end)} '
                f'{self.zone.key}')

    def _getMoment(self, day: datetime.date, minutes: int) -> float:
        return datetime.datetime.combine(
            day + datetime.timedelta(minutes // _MINUTES),
            datetime.time(*divmod(minutes % _MINUTES, 60)),
            self.zone).timestamp()


def getNumber(number: int | None, entries: Any, now: float) -> int:
    """
    :param number: ``min-ready``, or None.
    :param entries: ``min-ready-times``, or None.
    :param now: in seconds since the epoch.
    :return: how many nodes to keep ready now.
    """
    return max((each.number for each in _getTimes(entries)
                if each.applies(now)), default=number or 0)


def getNext(entries: Any, now: float) -> float | None:
    """
    :param entries: as of :func:`getNumber`.
    :param now: in seconds since the epoch.
    :return: when the number may be another one; None if it is always the same.
    """
    return min((each.getNext(now) for each in _getTimes(entries)),
               default=None)


def describe(number: int | None, entries: Any) -> str | None:
    """
    :param number: as of :func:`getNumber`.
    :param entries: the same.
    :return: the times, for people: for example "10 on mon-fri 07:00-19:00
        Europe/Berlin, otherwise 1".  None if there are none.
    """
    times = _getTimes(entries)
    return ', '.join(
        [*map(str, times), f'otherwise {number or 0}']) if times else None


def isAnyReady(number: int | None, entries: Any) -> bool:
    """:return: whether nodes are kept ready at any time."""
    return bool(number) or any(each.number for each in _getTimes(entries))


def check(value: Any) -> Any:
    """A voluptuous validator.

    :raises Invalid: the value is no list of times.
    """
    if value is None:
        return value
    if not isinstance(value, list):
        raise vs.Invalid('expected a list')
    if len(value) > MOST_TIMES:
        raise vs.Invalid(f'{len(value)} times are given; {MOST_TIMES} are '
                         'allowed')
    for number, entry in enumerate(value, 1):
        try:
            _parse(entry)
        except vs.Invalid as error:
            raise vs.Invalid(
                f'entry {number}: {error.error_message}') from None
    return value


def _getTimes(entries: Any) -> list[ReadyTime]:
    times = []
    for entry in entries or ():
        try:
            times.append(_parse(entry))
        except vs.Invalid:
            # The scheduler that has accepted it knows more time zones.
            continue
    return times


def _parse(entry: Any) -> ReadyTime:
    if not isinstance(entry, dict):
        raise vs.Invalid('expected a dictionary')
    if unknown := entry.keys() - {
            'days', 'from', 'to', 'time-zone', 'min-ready'}:
        raise vs.Invalid(f'extra key {min(map(str, unknown))[:40]!r}')
    number = entry.get('min-ready')
    # A boolean is an integer to Python.
    if type(number) is not int or not 0 <= number <= MOST_READY:
        raise vs.Invalid('expected a whole number from 0 to '
                         f'{MOST_READY} for "min-ready"')
    days = entry.get('days', list(DAYS))
    if not isinstance(days, list) or not days or not all(
            isinstance(day, str) and day in DAYS for day in days):
        raise vs.Invalid(f'expected a list of {", ".join(DAYS)} for "days"')
    begin, end = (_parseTime(entry, name) for name in ('from', 'to'))
    if begin == end:
        raise vs.Invalid('"from" and "to" are the same time')
    return ReadyTime(frozenset(map(DAYS.index, days)), begin, end,
                     _getZone(entry.get('time-zone', 'UTC')), number)


def _parseTime(entry: dict[str, Any], name: str) -> int:
    value = entry.get(name)
    # YAML reads 19:00 as a number.
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise vs.Invalid(f'expected a time such as "07:30", in quotes, for '
                         f'"{name}"')
    hours, minutes = value.split(':')
    return 60 * int(hours) + int(minutes)


def _formatTime(minutes: int) -> str:
    return '{:02}:{:02}'.format(*divmod(minutes, 60))


def _formatDays(days: frozenset[int]) -> str:
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and runs[-1][-1] == day - 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    # Of a run of one day, the first is the last.
    return ','.join('-'.join(dict.fromkeys((DAYS[run[0]], DAYS[run[-1]])))
                    for run in runs)


def _getZone(name: Any) -> zoneinfo.ZoneInfo:
    try:
        # It refuses names that lead out of the directory of time zones.
        return zoneinfo.ZoneInfo(name)
    except (TypeError, ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise vs.Invalid(
            'expected a time zone such as "Europe/Berlin" for "time-zone"'
        ) from None
