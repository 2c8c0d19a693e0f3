"""When clouds are asked again."""

import types

import pytest

from zuul_nodes.launcher import patience
from zuul_nodes.launcher.patience import (
    LONGEST_WAIT,
    MOST_QUESTIONS,
    PATIENCE,
    SHORTEST_WAIT,
    Patience,
)

KIND = 'create', 'cloud', 'debian'
OTHER = 'create', 'cloud', 'fedora'


@pytest.fixture
def passed(monkeypatch):
    """:return: a list of seconds that pass, and no others."""
    passed = []
    monkeypatch.setattr(patience, 'time', types.SimpleNamespace(
        monotonic=lambda: sum(passed)))
    return passed


@pytest.fixture
def subject(passed):
    return Patience()


@pytest.fixture
def take(subject, passed):
    """:return: a function that has something take some seconds, being asked
        for at some times, and returns what is known of its kind then."""
    def take(seconds, *asked, is_whole=True):
        subject.begin('it', KIND, is_whole)
        begin = sum(passed)
        for time in asked:
            passed.append(begin + time - sum(passed))
            subject.getPause('it')
        passed.append(begin + seconds - sum(passed))
        subject.end('it')
        # How long another one, that begins now, is not asked for.
        subject.begin('other', KIND, True)
        pause = subject.getPause('other')
        subject.forget('other')
        return pause
    return take


def test_the_longer_it_takes_the_less_often_it_is_asked_for(subject, passed):
    subject.begin('it', KIND, True)
    pauses = []
    for seconds in (0, 1, 9, 90):
        passed.append(seconds)
        pauses.append(subject.getPause('it'))
    assert pauses == [SHORTEST_WAIT, PATIENCE, 1, LONGEST_WAIT]
    assert subject.getElapsed('it') == 100


def test_what_others_took_is_waited_for(subject, take, passed):
    take(10)
    subject.begin('it', KIND, True)
    assert subject.getPause('it') == LONGEST_WAIT
    passed.append(9.5)
    assert subject.getPause('it') == 0.5
    # It takes longer; from now on, it is asked as if nothing was known.
    passed.append(0.5)
    assert subject.getPause('it') == 10 * PATIENCE
    # Nothing is known of others.
    subject.begin('it', OTHER, True)
    assert subject.getPause('it') == SHORTEST_WAIT


def test_what_was_quicker_counts(take):
    assert take(1.5) == 1.5
    assert take(1) == 1


def test_what_was_quicker_is_forgotten(take):
    take(1)
    assert take(1.5, 1) == pytest.approx(1.05)
    assert take(1.5, 1, 1.1) == pytest.approx(1.05 ** 2)
    assert take(1.11, 1.105) == pytest.approx(1.11)


def test_who_comes_late_learns_nothing(take):
    take(1)
    assert take(1.5) == 1
    assert take(1.5, 0.9) == 1


def test_what_others_have_begun_tells_nothing(take):
    take(1)
    assert take(0, is_whole=False) == 1


def test_another_phase_has_time_of_its_own(subject, passed):
    subject.begin('it', KIND, True)
    passed.append(100)
    subject.begin('it', KIND, False)
    assert subject.getElapsed('it') == 100
    subject.begin('it', ('delete', 'cloud'), True)
    assert subject.getElapsed('it') == 0


def test_what_nobody_waits_for(subject):
    subject.forget('it')
    subject.end('it')
    assert subject.getElapsed('it') == 0
    assert subject.getPause('it') == SHORTEST_WAIT


def test_many_are_not_asked_for_more_often(subject):
    number = 400
    names = [str(number) for number in range(number)]
    for name in names:
        subject.begin(name, KIND, True)
    # One of them is, and then the next one.
    assert [subject.getPause(name) for name in names] == [
        SHORTEST_WAIT] + [number / MOST_QUESTIONS] * (number - 1)
    subject.end('0')
    number -= 1
    assert subject.getPause('1') == SHORTEST_WAIT
    assert subject.getPause('2') == number / MOST_QUESTIONS


def test_many_kinds_are_not_asked_for_more_often(subject):
    number = 400
    for name in range(number):
        subject.begin(str(name), ('create', 'cloud', str(name)), True)
    assert subject.getPause('7') == number / MOST_QUESTIONS
