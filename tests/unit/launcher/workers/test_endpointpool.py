"""The threads of an endpoint: how many, how often, and their end."""

import itertools
import math
import operator
import threading
import time
import types
import unittest.mock

import pytest
from zuul.provider import BaseProviderEndpoint

from tests.fixtures.waiting import waitFor
from zuul_nodes.drivers import rates
from zuul_nodes.launcher.settings import Settings
from zuul_nodes.launcher.workers.endpointpool import (
    Call,
    EndpointPools,
    Hooks,
    Pool,
)

TIMEOUT = 10
NUMBERS = itertools.count()


class Notes:
    """What is called, and what came of it."""

    def __init__(self):
        self.times = []
        self.results = []
        self._changed = threading.Condition()

    def call(self):
        with self._changed:
            self.times.append(time.monotonic())
            self._changed.notify_all()
        return len(self.times)

    def done(self, result, error):
        with self._changed:
            self.results.append((result, error))
            self._changed.notify_all()

    def waitFor(self, number):
        with self._changed:
            assert self._changed.wait_for(
                lambda: len(self.results) >= number, TIMEOUT), self.results

    def makeCall(self, function=None, endpoint=None):
        return Call(endpoint or types.SimpleNamespace(started=True),
                    function or self.call, self.done, 'A call')


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture
def makePool():
    pools = []

    def make(workers=2, timeout=TIMEOUT, rate=None, **settings):
        pools.append(Pool(
            f'rack/{next(NUMBERS)}', rates.getLimiter(
                types.SimpleNamespace(rate=rate)),
            Settings(endpoint_workers=workers, **settings),
            Hooks(lambda delay: None, lambda: None)))
        # The settings do not allow zero.
        pools[-1].timeout = timeout
        return pools[-1]
    yield make
    for pool in pools:
        pool.stop()


def test_rate(makePool, notes):
    """Calls begin at intervals, whatever number of threads there is."""
    pool = makePool(workers=4, rate=20)
    calls = [notes.makeCall() for _ in range(5)]
    for call in calls:
        pool.submit(call)
    notes.waitFor(5)
    # A busy machine may hold up a thread that has begun.
    assert all(later.started - earlier.started >= 0.049
               for earlier, later in itertools.pairwise(calls))


def test_the_rate_is_that_of_the_connection():
    """Unless the driver keeps to it by itself."""
    connection = types.SimpleNamespace(rate=2)
    pools = EndpointPools(
        Settings(), lambda name, delay: None, lambda: None)

    def getLimiter(name, **attributes):
        return pools.getPool(types.SimpleNamespace(
            canonical_name=name, connection=connection, **attributes)).limiter
    limiter = getLimiter('east')
    assert limiter.delta == 0.5
    assert getLimiter('west') is limiter
    assert getLimiter('own', rate_limiter=None) is None


def test_pools_of_one_connection_share_its_rate(makePool, notes):
    pools = [makePool(workers=4), makePool(workers=4)]
    limiter = rates.getLimiter(types.SimpleNamespace(rate=50))
    calls = []
    for pool in pools:
        pool.limiter = limiter
        for _ in range(4):
            calls.append(notes.makeCall())
            pool.submit(calls[-1])
    notes.waitFor(8)
    # The limiter notes the begin just before.
    began = sorted(call.started for call in calls)
    assert began[-1] - began[0] >= 7 * 0.02 - 0.01


def test_calls_that_wait_for_the_rate_count(makePool, notes):
    pool = makePool(workers=1, rate=0.01)
    for _ in range(3):
        pool.submit(notes.makeCall())
    notes.waitFor(1)
    # The thread is about to note that the first call has ended.
    waitFor(lambda: pool.length() == 2)


def test_calls_wait_until_they_may_begin(makePool, notes):
    pool, answers = makePool(), []

    def mayBegin():
        answers.append(len(answers) >= 3)
        return answers[-1]
    pool.mayBegin = mayBegin
    began = []
    for _ in range(3):
        pool.submit(notes.makeCall(lambda: began.append(answers[-1])))
    notes.waitFor(3)
    assert answers[:4] == [False, False, False, True]
    assert began == [True, True, True]


def test_calls_that_wait_for_the_rate_do_not_begin_after_the_stop(
        makePool, notes):
    # The next time would come long after the end of the test.
    pool = makePool(rate=0.001)
    for _ in range(3):
        pool.submit(notes.makeCall())
    notes.waitFor(1)
    threads = getThreads(pool)
    assert threads
    pool.stop()
    for thread in threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert len(notes.times) == 1
    assert pool.length() == 0


def getThreads(pool):
    return [thread for thread in threading.enumerate()
            if thread.name == f'Endpoint {pool.name}']


def test_a_slow_call_does_not_delay_others(makePool, notes):
    """Also if the thread that was told of them waits for its time."""
    pool = makePool(workers=2, rate=50)
    for _ in range(2):
        pool.submit(notes.makeCall())
    notes.waitFor(2)
    release = threading.Event()
    # It may be ahead of the others, but takes one thread only.
    pool.submit(notes.makeCall(lambda: release.wait(TIMEOUT)))
    for _ in range(3):
        pool.submit(notes.makeCall())
    notes.waitFor(5)
    release.set()
    notes.waitFor(6)


def test_join(makePool, notes):
    """It waits for what is under way, to its very end."""
    pool = makePool()
    begun, release = threading.Event(), threading.Event()

    def wait():
        begun.set()
        return release.wait(TIMEOUT)
    pool.submit(notes.makeCall(wait))
    assert begun.wait(TIMEOUT)
    pool.stop()
    pool.join(0.01)
    assert notes.results == []
    release.set()
    pool.join(TIMEOUT)
    assert notes.results == [(True, None)]


def test_a_call_that_is_given_up(makePool, notes):
    """Somebody else has its place; what it returns is not looked at."""
    pool = makePool(workers=1, timeout=0)
    begun, release = threading.Event(), threading.Event()

    def hang():
        begun.set()
        return release.wait(TIMEOUT)
    pool.submit(notes.makeCall(hang))
    assert begun.wait(TIMEOUT)
    late, = getThreads(pool)
    pool.check()
    (result, error), = notes.results
    assert result is None
    assert isinstance(error, TimeoutError)
    assert pool.length() == 0
    pool.timeout = TIMEOUT
    pool.submit(notes.makeCall())
    notes.waitFor(2)
    release.set()
    late.join(TIMEOUT)
    assert notes.results[1:] == [(1, None)]


def test_the_number_of_hanging_threads_is_limited(makePool, notes):
    """At the limit, one call at a time shows whether others would hang, too;
    when they do not, there are as many threads as before."""
    pool = makePool(workers=2, timeout=0, most_hanging_calls=3)
    release = threading.Event()
    begun = []

    def hang():
        begun.append(threading.current_thread())
        return release.wait(TIMEOUT)
    for _ in range(8):
        pool.submit(notes.makeCall(hang))
    for number in (2, 4, 5, 6):
        waitFor(lambda number=number: len(begun) == number)
        assert len(getThreads(pool)) == number
        pool.check()
    waitFor(lambda: len(begun) == 7)
    pool.timeout = TIMEOUT
    release.set()
    waitFor(lambda: len(begun) == 8 and not any(
        thread.is_alive() for thread in begun[:6]))
    together = threading.Barrier(2)
    for _ in range(2):
        pool.submit(notes.makeCall(lambda: together.wait(TIMEOUT)))
    notes.waitFor(10)
    assert {error for _, error in notes.results[-2:]} == {None}


def test_calls_begin_in_the_order_of_their_time(makePool, notes):
    pool = makePool(workers=1)
    release = threading.Event()
    first = notes.makeCall(lambda: release.wait(TIMEOUT))
    pool.submit(first)
    waitFor(lambda: first.started < math.inf)
    calls = [(notes.makeCall(), delay) for delay in (0.2, 0.05, 0, 0.1)]
    begin = time.monotonic()
    for call, delay in calls:
        pool.submit(call, delay)
    # A busy machine may take longer for this than they are to wait.
    order = sorted((call for call, _ in calls),
                   key=operator.attrgetter('due'))
    release.set()
    notes.waitFor(5)
    assert sorted((call for call, _ in calls),
                  key=lambda call: call.started) == order
    assert all(call.started - begin >= delay for call, delay in calls)


def test_delayed_calls_do_not_count(makePool, notes):
    pool = makePool(workers=1)
    pool.submit(notes.makeCall(), TIMEOUT)
    assert pool.length() == 0


def test_a_call_overtakes_calls_that_are_due_later(makePool, notes):
    pool = makePool(workers=3)
    for delay in (TIMEOUT * 2, TIMEOUT * 2, 0.05, 0):
        pool.submit(notes.makeCall(), delay)
    notes.waitFor(2)


def test_delayed_calls_begin_together(makePool, notes):
    pool = makePool(call_beat=100)
    begin = time.monotonic()
    calls = [notes.makeCall() for _ in range(10)]
    for number, call in enumerate(calls):
        pool.submit(call, 1000 + number)
    # There may be a beat between them.
    dues = {call.due for call in calls}
    assert len(dues) <= 2
    assert all(due % 100 == 0 and due >= begin + 1000 for due in dues)


def test_a_call_that_is_due_later_wakes_no_thread(makePool, notes):
    pool = makePool(workers=1)
    pool.submit(notes.makeCall(), TIMEOUT)
    waitFor(lambda: pool._awake_at < math.inf)
    pool._condition.notify = notify = unittest.mock.Mock(
        wraps=pool._condition.notify)
    pool.submit(notes.makeCall(), TIMEOUT * 2)
    notify.assert_not_called()
    pool.submit(notes.makeCall(), TIMEOUT / 2)
    notify.assert_called_once()


def test_a_withdrawn_call(makePool, notes):
    pool = makePool(workers=1)
    call = notes.makeCall()
    pool.submit(call, TIMEOUT)
    assert pool.withdraw(call)
    pool.submit(notes.makeCall())
    notes.waitFor(1)
    assert len(notes.times) == 1


def test_a_call_that_has_begun_can_not_be_withdrawn(makePool, notes):
    pool = makePool()
    begun, release = threading.Event(), threading.Event()
    call = notes.makeCall(lambda: (begun.set(), release.wait(TIMEOUT)))
    pool.submit(call)
    assert begun.wait(TIMEOUT)
    assert not pool.withdraw(call)
    release.set()
    notes.waitFor(1)


class Endpoint(BaseProviderEndpoint):
    """Of a driver of somebody's.

    :param list starts: what happens at each start: called.
    """

    def __init__(self, *starts):
        with unittest.mock.patch('zuul.provider.QuotaCache'):
            super().__init__(None, None, None, 'rack', 'system')
        self.starts = list(starts)
        self.number = 0

    def startEndpoint(self):
        self.number += 1
        self.list = self._deepen(self.list)
        if self.starts:
            self.starts.pop(0)()

    def list(self):
        return 0

    def getDepth(self):
        return self.list()

    def _deepen(self, function):
        return lambda: function() + 1


def fail():
    raise ConnectionError('no cloud')


def test_an_endpoint_is_started_before_its_first_call(makePool, notes):
    """And once, however many there are."""
    pool = makePool()
    pool.started = unittest.mock.Mock()
    endpoint, other = Endpoint(), Endpoint()
    for each in (endpoint, endpoint, endpoint, other):
        pool.submit(notes.makeCall(
            lambda each=each: each.started, each))
    notes.waitFor(4)
    assert notes.results == [(True, None)] * 4
    assert (endpoint.number, other.number) == (1, 1)
    pool.started.assert_called()


def test_a_start_that_fails(makePool, notes):
    """It is the call's failure.  The next one starts anew, not on top."""
    pool = makePool(workers=1)
    pool.started = unittest.mock.Mock()
    endpoint = Endpoint(fail, fail)
    for _ in range(2):
        pool.submit(notes.makeCall(endpoint=endpoint))
    notes.waitFor(2)
    assert not notes.times
    assert {type(error) for _, error in notes.results} == {ConnectionError}
    pool.started.assert_not_called()
    pool.submit(notes.makeCall(endpoint.getDepth, endpoint))
    notes.waitFor(3)
    assert notes.results[-1] == (1, None)
    pool.started.assert_called()


def test_a_start_that_hangs(makePool, notes):
    """Calls come to an end, and one thread does not."""
    release = threading.Event()
    endpoint = Endpoint(lambda: release.wait(TIMEOUT))
    pool = makePool(workers=2, timeout=0.1)
    for _ in range(4):
        pool.submit(notes.makeCall(endpoint=endpoint))

    def isOver():
        pool.check()
        return len(notes.results) == 4
    waitFor(isOver)
    assert {type(error) for _, error in notes.results} == {TimeoutError}
    pool.stop()
    waitFor(lambda: len(getThreads(pool)) == 1)
    late, = getThreads(pool)
    release.set()
    late.join(TIMEOUT)
    # Nobody waits any more for what was to come after it.
    assert not notes.times


def test_calls_after_a_start_that_has_hung(makePool, notes):
    release = threading.Event()
    endpoint = Endpoint(lambda: release.wait(TIMEOUT))
    pool = makePool(workers=1, timeout=0)
    pool.submit(notes.makeCall(endpoint=endpoint))
    waitFor(lambda: endpoint.number)
    pool.check()
    notes.waitFor(1)
    pool.timeout = TIMEOUT
    pool.submit(notes.makeCall(endpoint=endpoint))
    release.set()
    notes.waitFor(2)
    assert notes.results[1] == (1, None)
    assert endpoint.number == 1


# Ends


@pytest.fixture
def makePools():
    made = []

    def make(**settings):
        pools = EndpointPools(
            Settings(**settings), lambda name, delay: None, lambda: None)
        made.append(pools)
        return pools
    yield make
    for pools in made:
        pools.stop()


def makeEndpoint():
    return types.SimpleNamespace(
        started=True, canonical_name=f'rack/{next(NUMBERS)}',
        connection=types.SimpleNamespace())


def test_a_pool_without_calls_ends(makePools, notes):
    pools, endpoint = makePools(endpoint_idle_time=0.02), makeEndpoint()
    for number in (1, 2):
        for _ in range(3):
            pools.submit(endpoint, notes.call, notes.done, 'A call')
        notes.waitFor(3 * number)
        pool = pools.getPool(endpoint)
        waitFor(lambda pool=pool: not getThreads(pool))
        # The next call makes a new one.
        waitFor(lambda: not pools.hasPool(endpoint.canonical_name))


def test_threads_end_while_others_have_calls(makePool, notes):
    pool = makePool(workers=4, endpoint_idle_time=0.02)
    gate = threading.Event()
    for function in (gate.wait, None, None):
        pool.submit(notes.makeCall(function))
    notes.waitFor(2)
    waitFor(lambda: len(getThreads(pool)) == 1)
    pool.submit(notes.makeCall())
    notes.waitFor(3)
    gate.set()
    notes.waitFor(4)
    waitFor(lambda: not getThreads(pool))


def test_a_pool_with_a_delayed_call_goes_on(makePools, notes):
    pools, endpoint = makePools(endpoint_idle_time=0.01), makeEndpoint()
    pools.submit(endpoint, notes.call, notes.done, 'A call', 0.2)
    time.sleep(0.1)
    assert pools.hasPool(endpoint.canonical_name)
    notes.waitFor(1)
    waitFor(lambda: not pools.hasPool(endpoint.canonical_name))


def test_a_pool_whose_calls_hang_is_stuck(makePools, notes):
    pools = makePools(
        endpoint_idle_time=0.02, call_timeout=0.01, endpoint_workers=1)
    endpoint, gate = makeEndpoint(), threading.Event()
    name = endpoint.canonical_name
    pools.submit(endpoint, gate.wait, notes.done, 'A call')
    waitFor(lambda: (pools.check(name), notes.results)[1])
    assert pools.countStuck() == 1
    time.sleep(0.1)
    # It counts how many hang there.
    assert pools.hasPool(name)
    pools.submit(endpoint, notes.call, notes.done, 'A call')
    notes.waitFor(2)
    assert pools.countStuck() == 0
    gate.set()
    waitFor(lambda: not pools.hasPool(name))
