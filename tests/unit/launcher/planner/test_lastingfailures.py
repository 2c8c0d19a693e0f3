"""What fails for too long is no reason to wait without end."""

import math

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import Provider, World
from zuul_nodes.launcher.planner.lastingfailures import LastingFailures
from zuul_nodes.launcher.planner.planner import Grant, Impossible, Wait
from zuul_nodes.launcher.providers import Failure, getSubject

State = ProviderNode.State
BIG = getSubject(Provider('a', 'big'), 'big')
KINDS = Failure.CAPACITY, Failure.TEMPORARY


class Failures:
    """Failures with a clock that tests move.

    :param timeout: of each kind.
    """

    def __init__(self, timeout):
        self.now = 1000.0
        self.lasting = LastingFailures(
            dict.fromkeys(KINDS, timeout), lambda: self.now)

    def note(self, errors, *pauses, kind=Failure.TEMPORARY, launch=0.0):
        """
        :param pauses: after each failure, which the next one follows.
        :param launch: seconds that each launch takes.
        :return: number and seconds of the last result, or None.
        """
        for pause in pauses:
            self.now += launch
            row = self.lasting.note(kind, BIG, errors, pause, launch)
            self.now += pause
        return row[:2] if row and self.lasting.isLasting(kind, row) else None


@pytest.mark.parametrize('errors, timeout, pauses, is_lasting', [
    (3, 10, (10, 10, 10), True),
    (3, 10, (10, 10), False),
    (3, 30, (10, 10, 10), False),
    # The pause after the last error is still to come.
    (1, 10, (10,), False),
    (1, 10, (10, 1), True),
    (1, 0, (10, 10, 10), False),
])
@pytest.mark.parametrize('kind', KINDS)
def test_failure_lasts_after_errors_and_time(
        kind, errors, timeout, pauses, is_lasting):
    row = Failures(timeout).note(errors, *pauses, kind=kind)
    assert row == ((len(pauses), sum(pauses[:-1])) if is_lasting else None)


def test_success_begins_anew():
    failures = Failures(10)
    assert failures.note(2, 10, 10)
    assert failures.lasting.clear(Failure.TEMPORARY, BIG)
    assert not failures.lasting.clear(Failure.TEMPORARY, BIG)
    assert not failures.note(2, 10)
    assert failures.note(2, 10) == (2, 10)


def test_kinds_of_failures_count_apart():
    failures = Failures(10)
    assert not failures.note(3, 10, 10)
    assert not failures.note(3, 10, kind=Failure.CAPACITY)
    assert failures.note(3, 10) == (3, 20)


def test_launches_that_hang_count():
    assert Failures(600).note(3, 1, 2, 4, launch=600) == (3, 1203)


def test_time_without_launches_does_not_count():
    failures = Failures(10)
    failures.note(3, 4, 4)
    failures.now += 8
    assert not failures.note(3, 1)
    # After a longer time, what was before says nothing.
    failures.now += 11
    assert not failures.note(3, 10, 10)
    assert failures.note(3, 10)


def test_pause_that_ends_early_counts_as_long_as_it_was():
    failures = Failures(10)
    failures.note(2, 300)
    failures.now -= 299
    assert not failures.note(2, 300)


def refuse(world, name='a'):
    world.planner.pause(world.getSubject(name, 'big'), math.inf, 'full',
                        Failure.CAPACITY)
    world.planner.refuse(
        world.getSubject(name, 'big'), 'no capacity for a day')


def test_who_waits_is_told_that_it_is_in_vain():
    world = World(Provider('a', 'big', 'small', limits={'instances': 1}))
    world.fill(1)
    _, wait = world.request('big')
    assert isinstance(wait, Wait)
    refuse(world)
    decision, = world.serve()
    assert decision == Impossible(
        'No provider can serve it. Label big: a: a is paused: no capacity '
        'for a day')
    # Only this label is concerned.
    assert isinstance(world.request('small')[1], Wait)
    world.planner.admit(BIG)
    world.planner.resume(BIG)
    assert isinstance(world.request('big')[1], Wait)


def test_failure_of_a_provider_concerns_all_of_its_labels():
    world = World(Provider('a', 'big', 'small', limits={'instances': 1}))
    world.fill(1)
    subject = world.getSubject('a')
    world.planner.refuse(subject, 'no route for a day')
    for label in ('big', 'small'):
        assert isinstance(world.request(label)[1], Impossible)
    world.planner.admit(subject)
    assert isinstance(world.request('small')[1], Wait)


def test_other_providers_serve_it():
    world = World(Provider('a', 'big'),
                  Provider('b', 'big', limits={'instances': 1}))
    refuse(world)
    _, decision = world.request('big')
    assert isinstance(decision, Grant)
    _, decision = world.request('big')
    assert isinstance(decision, Wait)
    refuse(world, 'b')
    assert [type(each) for each in world.serve()] == [Impossible]
    world.planner.admit(BIG)
    world.planner.resume(BIG)
    _, decision = world.request('big')
    assert decision.slots[0].provider.name == 'a'


def test_request_that_waits_elsewhere_gets_it_again():
    world = World(Provider('a', 'big'),
                  Provider('b', 'big', limits={'instances': 1}))
    refuse(world)
    world.request('big')
    request, _ = world.request('big')
    world.planner.admit(BIG)
    world.planner.resume(BIG)
    grant, = world.serve()
    assert grant.request_id == request.uuid
    assert grant.slots[0].provider.name == 'a'


def test_idle_nodes_still_serve_it():
    world = World(Provider('a', 'big'))
    world.addNode(world.providers[0], 'big')
    refuse(world)
    assert isinstance(world.request('big')[1], Grant)
    assert isinstance(world.request('big')[1], Impossible)


@pytest.mark.parametrize('state, is_launched', [
    (State.READY, True), (State.IN_USE, True), (State.HOLD, True),
    (State.USED, True), (State.BUILDING, False), (State.TEMPFAILED, False),
    (State.FAILED, False)])
def test_nodes_show_that_there_is_capacity(state, is_launched):
    world = World(Provider('a', 'big', 'small'), Provider('b', 'big'))
    world.addNode(world.providers[0], 'small')
    world.addNode(world.providers[1], 'big')
    assert not world.planner.hasLaunched(BIG)
    node = world.addNode(world.providers[0], 'big', state)
    assert world.planner.hasLaunched(BIG) == is_launched
    world.removeNode(node)
    assert not world.planner.hasLaunched(BIG)


def test_request_that_has_failed_there_does_not_wait_for_the_end_of_a_pause():
    """Launches elsewhere may take longer than the pause; others try it."""
    world = World(Provider('a', 'big'), Provider('b', 'big'))
    refuse(world)
    world.planner.admit(BIG, is_certain=False)
    world.planner.resume(BIG)
    failed = {'failed_providers': [], 'temporary': {
        world.getSubject('a').provider: 'full'}}
    _, decision = world.request('big', provider_node_data=[failed])
    assert decision.slots[0].provider.name == 'b'
    refuse(world, 'b')
    _, decision = world.request('big', provider_node_data=[failed])
    assert decision == Impossible(
        'No provider can serve it. Label big: a: a is paused: no capacity for '
        'a day; b: b is paused: no capacity for a day')
    _, decision = world.request('big')
    assert decision.slots[0].provider.name == 'a'
    # A launch has succeeded.
    world.planner.admit(BIG)
    _, decision = world.request('big', provider_node_data=[failed])
    assert decision.slots[0].provider.name == 'a'


def test_refusal_by_a_provider_that_is_gone_is_forgotten():
    world = World(Provider('a', 'big'), Provider('b', 'big'))
    refuse(world)
    refuse(world, 'b')
    del world.planner.scope.by_name[BIG.provider]
    for name in ('a', 'b'):
        world.planner.admit(world.getSubject(name, 'big'), is_certain=False)
    assert [each.provider for each in world.planner.blockers.refusals] == [
        world.getSubject('b').provider]
