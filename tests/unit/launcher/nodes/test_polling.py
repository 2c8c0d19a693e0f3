"""When clouds are asked again."""

import pytest

from zuul_nodes.launcher.nodes.polling import (
    MAX_PAUSE,
    MAX_POLLS,
    POLL_FRACTION,
    SLOWDOWN,
    Polling,
)
from zuul_nodes.launcher.settings import Settings

KIND = 'create', 'cloud', 'debian'
OTHER = 'create', 'cloud', 'fedora'
STATE = 'creating'


@pytest.fixture
def reminders():
    """:return: what is to be asked for earlier than was said, and when."""
    return []


@pytest.fixture
def subject(passed, reminders):
    return Polling(lambda *reminder: reminders.append(reminder),
                   clock=lambda: sum(passed))


@pytest.fixture
def getWait(subject):
    """:return: a function that gives how long not to ask for one that has
        just begun, not being the eldest of its kind."""
    def getWait(kind=KIND, state=STATE):
        subject.begin('elder', kind, False)
        subject.begin('younger', kind, False)
        pause = subject.getWait('younger', state)
        subject.forget('elder')
        subject.forget('younger')
        return pause
    return getWait


@pytest.fixture
def take(subject, passed, getWait):
    """:return: a function that has something take some seconds, being asked
        for after some others, and returns for how long the next one is not
        asked for."""
    def take(seconds, *asked, is_new=True):
        subject.begin('it', KIND, is_new)
        begin = sum(passed)
        for second in asked:
            passed.append(begin + second - sum(passed))
            subject.getWait('it', STATE)
        passed.append(begin + seconds - sum(passed))
        subject.end('it')
        return getWait()
    return take


def test_polls_become_rarer_with_time(subject, passed):
    subject.begin('it', KIND, True)
    pauses = []
    for seconds in (0, 1, 9, 90):
        passed.append(seconds)
        pauses.append(subject.getWait('it', STATE))
    assert pauses == [Settings.shortest_poll, POLL_FRACTION, 1, MAX_PAUSE]
    assert subject.getElapsed('it') == 100


def test_the_usual_time_delays_the_next_poll(subject, take, passed, getWait):
    take(10, 9)
    subject.begin('elder', KIND, True)
    subject.begin('it', KIND, True)
    assert subject.getWait('it', STATE) == MAX_PAUSE
    passed.append(9.5)
    assert subject.getWait('it', STATE) == 0.5
    # It takes longer; from now on, it is asked as if nothing was known.
    passed.append(0.5)
    assert subject.getWait('it', STATE) == 10 * POLL_FRACTION
    # Nothing is known of others.
    assert getWait(kind=OTHER) == Settings.shortest_poll
    assert getWait(state='attaching') == Settings.shortest_poll


def test_the_oldest_resource_is_polled_often(
        subject, take, passed):
    """Or nobody would learn that things have become quicker."""
    take(10, 9)
    subject.begin('it', KIND, True)
    assert subject.getWait('it', STATE) == Settings.shortest_poll
    passed.append(9.5)
    assert subject.getWait('it', STATE) == 0.5
    passed.append(0.2)
    assert subject.getWait('it', STATE) == pytest.approx(0.3)


def test_others_are_asked_earlier_once_it_is_known_how_long_it_takes(
        subject, passed, reminders):
    others = (('near', KIND, STATE), ('it', KIND, STATE),
              ('unlike', KIND, 'attaching'), ('other', OTHER, STATE))
    subject.begin('elder', KIND, True)
    for name, kind, _ in others:
        subject.begin(name, kind, True)
    passed.append(9.5)
    for name, _, state in others:
        if name != 'it':
            subject.getWait(name, state)
    passed.append(0.5)
    subject.getWait('elder', STATE)
    assert subject.getWait('it', STATE) == 1
    assert subject.getRest('it', KIND) == 1
    passed.append(0.5)
    assert reminders == []
    subject.end('elder')
    # The other one is about to be asked for.
    assert reminders == [('it', 10.5)]
    assert subject.getRest('it', KIND) == 0


def test_a_quicker_resource_does_not_hasten_slower_ones(
        take, subject, passed, reminders):
    take(20, 19)
    subject.begin('elder', KIND, True)
    subject.begin('it', KIND, True)
    passed.append(15)
    subject.getWait('it', STATE)
    subject.begin('quick', KIND, True)
    passed.append(9)
    subject.getWait('quick', STATE)
    assert subject.getWait('it', STATE) == MAX_PAUSE
    passed.append(1)
    subject.end('quick')
    assert reminders == []


def test_a_new_attempt_has_time_of_its_own(
        subject, passed, reminders, getWait):
    # By another launcher.
    subject.begin('it', KIND, False)
    passed.append(100)
    subject.getWait('it', STATE)
    subject.beginAgain('it')
    assert subject.getRest('it', KIND) == 0
    # Nobody comes before the pause after the failure is over.
    for seconds in (0, 1):
        passed.append(seconds)
        subject.begin('quick', KIND, True)
        subject.getWait('quick', STATE)
    passed.append(1)
    subject.getWait('quick', STATE)
    subject.end('quick')
    assert reminders == []
    passed.append(60)
    subject.begin('it', KIND, True)
    passed.append(1)
    subject.getWait('it', STATE)
    passed.append(0.5)
    subject.end('it')
    assert getWait() == 1.5


def test_polling_that_has_ended_does_not_begin_again(subject):
    subject.beginAgain('it')
    assert subject.getRest('it', KIND) == 0


@pytest.mark.parametrize('seconds, expected', [
    (5, [('it', 15)]), (9.5, [])])
def test_others_are_asked_earlier_when_it_is_much_quicker_than_before(
        take, subject, passed, reminders, seconds, expected):
    take(10, 9)
    for name in ('elder', 'it'):
        subject.begin(name, KIND, True)
    passed.append(seconds - 0.1)
    for name in ('elder', 'it'):
        subject.getWait(name, STATE)
    passed.append(0.1)
    subject.end('elder')
    assert reminders == expected


def test_the_rest_until_the_next_scheduled_poll(subject, passed):
    assert subject.getRest('it', KIND) == 0
    subject.begin('it', KIND, True)
    assert subject.getRest('it', KIND) == 0
    passed.append(9)
    assert subject.getWait('it', STATE) == pytest.approx(0.9)
    passed.append(0.3)
    assert subject.getRest('it', KIND) == pytest.approx(0.6)
    # It is to be something else.
    assert subject.getRest('it', OTHER) == 0
    passed.append(0.7)
    assert subject.getRest('it', KIND) == 0


def test_each_state_has_time_of_its_own(subject, passed, getWait):
    subject.begin('it', KIND, True)
    for seconds, state in (
            (1, 'creating'), (0.5, 'attaching'), (0.2, 'attaching')):
        passed.append(seconds)
        subject.getWait('it', state)
    passed.append(0.1)
    subject.end('it')
    assert getWait(state='creating') == pytest.approx(1.5)
    assert getWait(state='attaching') == pytest.approx(0.3)


def test_the_usual_time_is_that_of_the_quickest(take):
    assert take(1.5, 1.4) == 1.5
    assert take(1, 0.9) == 1


def test_the_usual_time_grows_with_slower_resources(take):
    take(1, 0.9)
    assert take(1.5, 1) == pytest.approx(SLOWDOWN)
    assert take(1.5, 1, 1.1) == pytest.approx(SLOWDOWN ** 2)
    assert take(1.11, 1.105) == pytest.approx(1.11)


def test_a_late_poll_does_not_change_the_usual_time(take):
    take(1, 0.9)
    assert take(1.5, 0.5) == 1
    assert take(1.5, 0.9) == 1


def test_a_resource_without_polls_does_not_change_the_usual_time(take):
    take(1, 0.9)
    assert take(0) == 1


def test_a_resource_of_another_launcher_does_not_change_the_usual_time(
        take, subject, passed, getWait):
    take(1, 0.9)
    assert take(0.1, 0.05, is_new=False) == 1
    # But what it does next does.
    subject.begin('it', KIND, False)
    for seconds, state in ((0.1, STATE), (0.1, 'next'), (0.3, 'next')):
        passed.append(seconds)
        subject.getWait('it', state)
    subject.end('it')
    assert getWait() == 1
    assert getWait(state='next') == pytest.approx(0.3)


def test_another_phase_has_time_of_its_own(subject, passed):
    subject.begin('it', KIND, True)
    passed.append(100)
    subject.begin('it', KIND, False)
    assert subject.getElapsed('it') == 100
    subject.begin('it', ('delete', 'cloud'), True)
    assert subject.getElapsed('it') == 0


def test_a_resource_that_is_not_polled(subject):
    subject.forget('it')
    subject.end('it')
    assert subject.getElapsed('it') == 0
    assert subject.getWait('it', STATE) == Settings.shortest_poll


def test_many_are_not_asked_for_more_often(subject):
    number = 400
    names = [str(number) for number in range(number)]
    for name in names:
        subject.begin(name, KIND, True)
    # One of them is, and then the next one.
    assert [subject.getWait(name, STATE) for name in names] == [
        Settings.shortest_poll] + [number / MAX_POLLS] * (number - 1)
    subject.end('0')
    number -= 1
    assert subject.getWait('1', STATE) == Settings.shortest_poll
    assert subject.getWait('2', STATE) == number / MAX_POLLS


def test_very_many_are_not_asked_for_more_often(subject, take):
    """Not even those that take long."""
    take(100, 99)
    number = 4 * MAX_POLLS
    for name in range(number):
        subject.begin(str(name), KIND, True)
    assert subject.getWait('7', STATE) == 4


def test_many_kinds_are_not_asked_for_more_often(subject):
    number = 400
    for name in range(number):
        subject.begin(str(name), ('create', 'cloud', str(name)), True)
    assert subject.getWait('7', STATE) == number / MAX_POLLS
