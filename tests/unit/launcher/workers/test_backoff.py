"""Back-offs: longer with each failure of a subject, up to a limit."""

import pytest

from zuul_nodes.launcher.workers.backoff import Backoff, getBackoff


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def backoff(now):
    return Backoff(1, 10, jitter=0, clock=lambda: now[0])


def test_a_back_off_doubles_up_to_its_limit(backoff):
    assert [backoff.noteFailure('a') for _ in range(6)] == [
        1, 2, 4, 8, 10, 10]


def test_each_subject_has_its_own_back_off(backoff):
    backoff.noteFailure('a')
    assert backoff.noteFailure('b') == 1
    assert backoff.noteFailure('a') == 2


def test_a_back_off_begins_anew_after_it_was_cleared(backoff):
    backoff.noteFailure('a')
    backoff.clear('a')
    assert backoff.getLeft('a') == 0
    assert backoff.noteFailure('a') == 1


def test_the_time_that_is_left(backoff, now):
    assert backoff.getLeft('a') == 0
    backoff.noteFailure('a')
    now[0] += 0.75
    assert backoff.getLeft('a') == 0.25
    now[0] += 1
    assert backoff.getLeft('a') == 0


def test_only_subjects_without_a_recent_attempt_are_forgotten(backoff, now):
    backoff.noteFailure('a')
    now[0] += 2
    backoff.noteFailure('b')
    now[0] += 10
    # The longest back-off is 10 seconds, and "b" has had one second.
    backoff.clearOld()
    assert backoff.noteFailure('a') == 1
    assert backoff.noteFailure('b') == 2


def test_jitter():
    found = {getBackoff(20, 0.5, 60, jitter=0.5) for _ in range(100)}
    assert len(found) > 1
    assert all(30 <= each <= 60 for each in found)
    # No number is too large.
    assert getBackoff(10 ** 6, 0.5, 60) == 60
