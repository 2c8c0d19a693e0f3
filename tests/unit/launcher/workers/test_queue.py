"""The work queue: each key once, none lost, nobody waits for nothing."""

import threading
import time
import unittest.mock

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.workers.backoff import Backoff
from zuul_nodes.launcher.workers.queue import WorkQueue

KEY = ('node', '1')
TIMEOUT = 10


class Handler:
    """Notes what it is called with; waits, or fails, if it is told to."""

    def __init__(self):
        self.calls = []
        self.called = threading.Condition()
        self.gate = threading.Event()
        self.gate.set()
        self.errors = []

    def __call__(self, key):
        with self.called:
            self.calls.append((key, time.monotonic()))
            self.called.notify_all()
        assert self.gate.wait(TIMEOUT)
        if self.errors:
            raise self.errors.pop()

    def waitFor(self, number):
        with self.called:
            assert self.called.wait_for(
                lambda: len(self.calls) >= number, TIMEOUT), self.calls


@pytest.fixture
def handler():
    return Handler()


@pytest.fixture
def queue(handler):
    queue = WorkQueue(handler, Backoff(0.5, 60))
    queue.start()
    yield queue
    handler.gate.set()
    queue.stop()
    queue.join()


@pytest.fixture
def idle(handler):
    """A queue that nobody works on."""
    return WorkQueue(handler, Backoff(0.5, 60))


def stepAll(queue):
    while queue.step():
        pass


def test_a_key_is_looked_at_once(idle, handler):
    for _ in range(3):
        idle.add(KEY)
    stepAll(idle)
    assert len(handler.calls) == 1


def test_a_key_that_changes_meanwhile_is_looked_at_again(queue, handler):
    handler.gate.clear()
    queue.add(KEY)
    handler.waitFor(1)
    queue.add(KEY)
    queue.add(KEY)
    # Not while it is being looked at.
    assert len(handler.calls) == 1
    handler.gate.set()
    handler.waitFor(2)
    queue.add(('node', '2'))
    handler.waitFor(3)
    assert [key for key, _ in handler.calls] == [KEY, KEY, ('node', '2')]


def test_keys_do_not_wait_for_one_another(queue, handler):
    handler.gate.clear()
    queue.add(KEY)
    queue.add(('node', '2'))
    handler.waitFor(2)


def test_threads_come_one_after_the_other(queue, handler, monkeypatch):
    """Nobody is woken for a key that another one takes first."""
    waitFor(lambda: queue._idle == 4)
    notify = unittest.mock.Mock(wraps=queue._work.notify)
    monkeypatch.setattr(queue._work, 'notify', notify)
    handler.gate.clear()
    with queue._lock:
        for number in range(3):
            queue._add(('node', str(number)))
        notify.assert_called_once()
    handler.waitFor(3)
    assert notify.call_count == 3


def test_later(queue, handler):
    begin = time.monotonic()
    queue.addAfter(KEY, 0.2)
    queue.addAfter(('node', '2'), 0.1)
    handler.waitFor(2)
    (first, _), (second, called) = handler.calls
    assert (first, second) == (('node', '2'), KEY)
    assert called - begin >= 0.2


def test_a_time_that_nobody_will_see(queue, handler):
    """It keeps nobody else waiting."""
    queue.addAfter(('node', '2'), 1e12)
    queue.addAfter(KEY, 0.01)
    handler.waitFor(1)
    queue.addAfter(KEY, 0.01)
    handler.waitFor(2)


def test_of_two_times_the_earlier_counts(idle, handler):
    idle.addAfter(KEY, 1000)
    idle.addAfter(KEY, 0)
    idle.addAfter(KEY, 1000)
    stepAll(idle)
    assert len(handler.calls) == 1


def test_a_time_is_forgotten_when_a_key_is_looked_at(idle, handler):
    idle.addAfter(KEY, 0.01)
    idle.add(KEY)
    stepAll(idle)
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        stepAll(idle)
    assert len(handler.calls) == 1


def test_what_fails_is_tried_again(queue, handler):
    handler.errors = [RuntimeError('no'), RuntimeError('no')]
    queue.add(KEY)
    handler.waitFor(3)
    # A pause was made, and each was longer than the one before it.
    times = [called for _, called in handler.calls]
    assert times[1] - times[0] >= 0.25
    assert times[2] - times[1] >= 0.5


def test_a_pause_of_what_is_to_be_looked_at_already(idle, handler):
    """Whoever has added it knew less."""
    idle.add(KEY)
    idle.add(('node', '2'))
    idle.retry(KEY, 1000)
    stepAll(idle)
    assert [key for key, _ in handler.calls] == [('node', '2')]


def test_age_of_keys(queue, handler):
    """It counts from the event until the key is processed."""
    assert queue.getAge() == queue.getLongest() == 0
    handler.gate.clear()
    begin = time.monotonic()
    keys = [('node', number) for number in range(5)]
    for key in keys:
        queue.add(key)
    queue.add(('request', '1'))
    handler.waitFor(4)
    time.sleep(0.02)
    # Again, while it is processed or waits.
    for key in keys:
        queue.add(key)
    least = 0.02
    for age in (queue.getAge(), queue.getAge('node'), queue.getAge('request'),
                queue.getLongest()):
        assert least <= age <= time.monotonic() - begin
    assert queue.getAge('other') == 0
    assert queue.getAge('node') > queue.getAge('request')
    handler.gate.set()
    waitFor(queue.isIdle)
    assert queue.getAge() == queue.getLongest() == 0


def test_stop(queue, handler):
    handler.gate.clear()
    queue.add(KEY)
    handler.waitFor(1)
    queue.add(('node', '2'))
    queue.stop()
    handler.gate.set()
    queue.join()
    assert len(handler.calls) == 1
