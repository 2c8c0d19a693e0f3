"""A launcher knows by itself when ZooKeeper may have ended its session."""

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.zookeeper.sessionlife import (
    LONGEST,
    PART,
    SessionLife,
)

TIMEOUT = 30


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def asked(client, monkeypatch):
    """:return: a list of the answers of ZooKeeper that were asked for."""
    asked, syncAsync = [], client.sync_async

    def sync(path):
        asked.append(syncAsync(path))
        return asked[-1]
    monkeypatch.setattr(client, 'sync_async', sync)
    return asked


@pytest.fixture
def life(client, clock):
    life = SessionLife(client, 6, clock)
    waitFor(life.isCertain)
    return life


def test_answer_is_good_for_a_part_of_the_sessions_timeout(
        life, clock, client):
    client.stop()
    clock.now += 6 * PART - 0.1
    assert life.isCertain()
    clock.now += 0.1
    assert not life.isCertain()


def test_zookeeper_is_asked_before_its_answer_is_too_old(life, clock, asked):
    clock.now += 6 * PART / 2
    assert life.isCertain()
    assert not asked
    clock.now += 0.1
    assert life.isCertain()
    answer, = asked
    answer.get(TIMEOUT)
    clock.now += 6 * PART - 0.1
    waitFor(life.isCertain)


def test_answer_counts_from_when_it_was_asked_for(life, clock, asked):
    """ZooKeeper may have got the question at once."""
    clock.now += 6 * PART
    assert not life.isCertain()
    clock.now += 6 * PART
    answer, = asked
    answer.get(TIMEOUT)
    waitFor(lambda: not life._is_waiting)
    assert not life.isCertain()


def test_session_is_not_certain_without_connection(life, clock, client):
    client.stop()
    clock.now += 6 * PART
    for _ in range(2):
        # An error of the first must not be the end of all others.
        assert not life.isCertain()
    client.start()
    waitFor(life.isCertain)


def test_long_timeout_is_not_believed(client):
    """The servers may have a shorter one."""
    assert SessionLife(client, 1000).lifetime == PART * LONGEST


def test_what_was_written_is_an_answer(steps, clock):
    life = steps.session.life
    life.clock = clock
    life._answered = 0
    request = steps.addRequest('big')
    record = steps.session.transaction()
    record.update(request, priority=1)
    record.commit()
    life.client = None
    assert life.isCertain()
