"""A launcher knows by itself when ZooKeeper may have ended its session."""

import threading

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.zookeeper.heartbeat import LONGEST, PART, Heartbeat


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def heartbeat(request, client, clock):
    """It asks ZooKeeper only when the test says so."""
    heartbeat = Heartbeat(client, 6, threading.Event(), clock)
    heartbeat.stop_event.set()
    heartbeat.start()
    return heartbeat


def test_answer_is_good_for_a_part_of_the_sessions_timeout(heartbeat, clock):
    assert heartbeat.isCertain()
    clock.now += 6 * PART - 0.1
    assert heartbeat.isCertain()
    clock.now += 0.1
    assert not heartbeat.isCertain()
    heartbeat.beat()
    waitFor(heartbeat.isCertain)


def test_answer_counts_from_when_it_was_asked_for(heartbeat, clock, client):
    """ZooKeeper may have got the question at once."""
    clock.now += 3
    held, syncAsync = [], client.sync_async
    client.sync_async = lambda path: held.append(syncAsync(path)) or held[-1]
    heartbeat.beat()
    clock.now += 2
    held[0].get(30)
    waitFor(heartbeat.isCertain)
    clock.now += 6 * PART - 2
    assert not heartbeat.isCertain()


def test_session_is_not_certain_without_connection(heartbeat, clock, client):
    client.stop()
    clock.now += 5
    for _ in range(2):
        # An error of the first must not be the end of all others.
        heartbeat.beat()
        assert not heartbeat.isCertain()
    client.start()
    heartbeat.beat()
    waitFor(heartbeat.isCertain)


def test_long_timeout_is_not_believed(client):
    """The servers may have a shorter one."""
    assert Heartbeat(
        client, 1000, threading.Event()).lifetime == PART * LONGEST


def test_session_stays_certain_while_zookeeper_answers(steps):
    """The thread asks in time."""
    heartbeat = steps.session.heartbeat
    answered = heartbeat._answered
    waitFor(lambda: heartbeat._answered > answered)
    assert steps.session.isCertain()
