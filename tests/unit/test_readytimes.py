"""How many nodes of a label are kept ready at which time."""

import datetime
import types
import zoneinfo

import pytest
import voluptuous as vs

from zuul_nodes import readytimes
from zuul_nodes.drivers import (
    OWN,
    getMinReady,
    getNextMinReady,
    mayBeReady,
)
from zuul_nodes.readytimes import MIN_READY_TIMES

WORK = {'days': ['mon', 'tue', 'wed', 'thu', 'fri'], 'from': '07:00',
        'to': '19:00', 'time-zone': 'Europe/Berlin', 'min-ready': 10}
NIGHT = {'days': ['sat'], 'from': '22:00', 'to': '02:00', 'min-ready': 5}


def makeLabel(*times, min_ready=1):
    return types.SimpleNamespace(
        min_ready=min_ready, **{OWN: {MIN_READY_TIMES: list(times)}})


def at(text, zone='UTC'):
    """
    :param str text: for example 2026-11-27 07:00, a Friday.
    :return: seconds since the epoch.
    """
    return datetime.datetime.fromisoformat(text).replace(
        tzinfo=zoneinfo.ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize('moment, number', [
    ('2026-11-27 06:59', 1), ('2026-11-27 07:00', 10),
    ('2026-11-27 18:59', 10), ('2026-11-27 19:00', 1),
    ('2026-11-28 12:00', 1), ('2026-11-29 12:00', 1),
    ('2026-11-30 12:00', 10)])
def test_number_counts_on_its_days_between_its_times(moment, number):
    assert getMinReady(
        makeLabel(WORK), at(moment, 'Europe/Berlin')) == number


@pytest.mark.parametrize('moment, number', [
    ('2026-11-28 01:00', 1), ('2026-11-28 21:59', 1),
    ('2026-11-28 22:00', 5), ('2026-11-29 01:59', 5),
    ('2026-11-29 02:00', 1), ('2026-11-29 22:00', 1)])
def test_time_that_ends_on_the_next_day_belongs_to_the_first(moment, number):
    assert getMinReady(makeLabel(NIGHT), at(moment)) == number


def test_clock_of_the_time_zone_counts_in_summer_and_winter():
    label = makeLabel(WORK)
    assert getMinReady(label, at('2026-07-01 05:30')) == 10
    assert getMinReady(label, at('2026-12-01 05:30')) == 1
    assert getMinReady(label, at('2026-12-01 06:30')) == 10


def test_highest_number_of_those_that_apply_counts():
    label = makeLabel({**WORK, 'min-ready': 0}, WORK,
                      {'from': '00:00', 'to': '24:00', 'min-ready': 3})
    assert getMinReady(label, at('2026-11-27 12:00')) == 10
    assert getMinReady(label, at('2026-11-28 12:00')) == 3


def test_number_may_be_lower_than_min_ready():
    label = makeLabel({**WORK, 'min-ready': 0}, min_ready=4)
    assert getMinReady(label, at('2026-11-27 12:00')) == 0
    assert getMinReady(label, at('2026-11-28 12:00')) == 4


@pytest.mark.parametrize('now, moment', [
    ('2026-11-27 06:30', '2026-11-27 07:00'),
    ('2026-11-27 07:00', '2026-11-27 19:00'),
    ('2026-11-27 19:00', '2026-11-28 07:00')])
def test_next_change_is_at_the_next_beginning_or_end(now, moment):
    zone = 'Europe/Berlin'
    assert getNextMinReady(makeLabel(WORK), at(now, zone)) == at(moment, zone)


def test_end_of_the_day_is_a_time():
    label = makeLabel({'from': '23:00', 'to': '24:00', 'min-ready': 7})
    assert getMinReady(label, at('2026-11-27 23:59')) == 7
    assert getMinReady(label, at('2026-11-28 00:00')) == 1
    assert getNextMinReady(label, at('2026-11-27 23:30')) == at(
        '2026-11-28 00:00')


def test_label_without_times_never_changes():
    assert getNextMinReady(makeLabel(), at('2026-11-27 12:00')) is None
    assert getMinReady(makeLabel(), at('2026-11-27 12:00')) == 1


def test_label_may_have_ready_nodes_at_some_times_only():
    assert mayBeReady(makeLabel(WORK, min_ready=None))
    assert not mayBeReady(makeLabel(
        {**WORK, 'min-ready': 0}, min_ready=None))


def test_time_of_an_unknown_zone_is_left_out():
    """Another machine has accepted it."""
    label = makeLabel({**WORK, 'time-zone': 'Mars/Olympus'})
    assert getMinReady(label, at('2026-11-27 12:00')) == 1


@pytest.mark.parametrize('days, expected', [
    (['fri', 'tue', 'mon', 'wed', 'thu'], 'mon-fri'), (['sat'], 'sat'),
    (['mon', 'wed', 'sat', 'sun'], 'mon,wed,sat-sun')])
def test_times_are_told_in_short(days, expected):
    assert readytimes.describe(1, [{**WORK, 'days': days}]) == (
        f'10 on {expected} 07:00-19:00 Europe/Berlin, otherwise 1')
    assert readytimes.describe(None, [WORK, NIGHT]).endswith(
        ', 5 on sat 22:00-02:00 UTC, otherwise 0')
    assert readytimes.describe(1, None) is None


@pytest.mark.parametrize('change, message', [
    ({'days': ['monday']}, 'expected a list of mon, tue'),
    ({'days': []}, 'expected a list of mon, tue'),
    ({'days': 'mon'}, 'expected a list of mon, tue'),
    ({'days': [['mon']]}, 'expected a list of mon, tue'),
    ({'from': 1140}, 'expected a time such as "07:30", in quotes, for "from"'),
    ({'to': '25:00'}, 'in quotes, for "to"'),
    ({'to': '7:00'}, 'in quotes, for "to"'),
    ({'to': '07:00'}, 'are the same time'),
    ({'time-zone': 'Berlin'}, 'expected a time zone'),
    ({'time-zone': '../../etc/passwd'}, 'expected a time zone'),
    ({'time-zone': 'Europe'}, 'expected a time zone'),
    ({'time-zone': ['UTC']}, 'expected a time zone'),
    ({'min-ready': True}, 'expected a whole number from 0'),
    ({'min-ready': -1}, 'expected a whole number from 0'),
    ({'min-ready': 10 ** 9}, 'expected a whole number from 0'),
    ({'cron': '* * * * *'}, "extra key 'cron'"),
])
def test_invalid_time_is_refused(change, message):
    with pytest.raises(vs.Invalid, match='^entry 2: .*' + message):
        readytimes.check([WORK, {**WORK, **change}])


@pytest.mark.parametrize('value, message', [
    ('always', 'expected a list'), ([None], 'expected a dictionary'),
    ([WORK] * 51, '51 times are given')])
def test_what_is_no_list_of_times_is_refused(value, message):
    with pytest.raises(vs.Invalid, match=message):
        readytimes.check(value)


def test_valid_times_are_accepted():
    assert readytimes.check([WORK, NIGHT]) == [WORK, NIGHT]
    assert readytimes.check(None) is None
