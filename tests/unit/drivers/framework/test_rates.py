"""The rate of a connection is shared by its endpoints and by launchers."""

import itertools
import types

import pytest
from zuul.driver import util

from zuul_nodes.drivers import rates
from zuul_nodes.drivers.framework.calls import Calls

DURATION = 100


class Clock:
    """In place of the module ``time``; to sleep lets time pass."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (util, rates):
        monkeypatch.setattr(module, 'time', clock)
    return clock


class Adapter:
    timeout = 1

    def __init__(self, clock):
        self.clock = clock
        self.times = []

    def getLimits(self):
        self.times.append(self.clock.now)


def makeEndpoints(clock, connection, number):
    """:return: endpoints of a connection, as a launcher has them."""
    return [types.SimpleNamespace(
        name=f'region{each}', connection=connection, adapter=Adapter(clock),
        driver=types.SimpleNamespace(statsd=None)) for each in range(number)]


def call(clock, launchers):
    """Have launchers make as many calls as they may.

    :param launchers: lists of endpoints.
    :return: number of calls a second.
    """
    calls = [[Calls(endpoint) for endpoint in each] for each in launchers]
    end = clock.now + DURATION
    own = [clock.now] * len(launchers)
    turns = [itertools.cycle(each) for each in calls]
    # Each launcher has a time of its own, as they run at the same time.
    for number, turn in enumerate(turns):
        while own[number] < end:
            clock.now = own[number]
            next(turn).call('getLimits')
            own[number] = clock.now
    for each in itertools.chain(*calls):
        each.stop()
    return sum(start <= end for each in itertools.chain(*launchers)
               for start in each.adapter.times) / DURATION


@pytest.mark.parametrize('launchers', [1, 3])
@pytest.mark.parametrize('regions', [1, 3])
def test_the_rate_does_not_multiply(clock, launchers, regions):
    found = call(clock, [
        makeEndpoints(clock, types.SimpleNamespace(
            connection_name='cloud', rate=2, launchers=launchers), regions)
        for _ in range(launchers)])
    assert found == pytest.approx(2, rel=0.02)


def test_connections_have_rates_of_their_own(clock):
    found = [call(clock, [makeEndpoints(clock, types.SimpleNamespace(
        connection_name=f'cloud{rate}', rate=rate), 2)]) for rate in (1, 5)]
    assert found == pytest.approx([1, 5], rel=0.02)


def test_no_rate_is_no_limit(clock):
    for rate in (None, 0):
        limiter = rates.getLimiter(types.SimpleNamespace(rate=rate))
        begun = clock.now
        for _ in range(100):
            with limiter:
                pass
        assert clock.now == begun


def test_launchers_that_start_and_stop_change_the_share(clock):
    connection = types.SimpleNamespace(rate=2)
    limiter = rates.getLimiter(connection)
    found = []
    for connection.launchers in (1, 4, 2):
        assert limiter.begin()
        begun = clock.now
        with limiter:
            found.append(clock.now - begun)
        clock.now += 10
    assert found == pytest.approx([0.5, 2, 1])


def test_a_call_begins_only_when_it_may(clock):
    limiter = rates.getLimiter(types.SimpleNamespace(rate=2))
    assert limiter.begin()
    assert not limiter.begin()
    assert limiter.due == clock.now + 0.5
    clock.now = limiter.due
    assert limiter.begin()


def test_limiters_of_other_drivers_are_shared_by_name(clock):
    """As Zuul's driver for AWS has them: calls that read may be more."""
    connection = types.SimpleNamespace(rate=2, launchers=2)

    def makeEndpoint():
        return types.SimpleNamespace(
            connection=connection, rate_limiter=util.RateLimiter('a', 2),
            non_mutating_rate_limiter=util.RateLimiter('a', 20),
            unlimited=util.RateLimiter('a', None), other='text')
    east, west = makeEndpoint(), makeEndpoint()
    unlimited = east.unlimited
    for _ in range(2):
        for endpoint in (east, west):
            rates.shareLimiters(endpoint)
    assert east.rate_limiter is west.rate_limiter
    assert (east.non_mutating_rate_limiter
            is west.non_mutating_rate_limiter)
    assert (east.rate_limiter.delta,
            east.non_mutating_rate_limiter.delta) == (1, 0.1)
    assert (east.unlimited, east.other) == (unlimited, 'text')
    # The form with a message for the log is theirs.
    begun = clock.now
    for _ in range(3):
        with west.rate_limiter(lambda *args: None, 'a call'):
            pass
    assert clock.now - begun == pytest.approx(2)
