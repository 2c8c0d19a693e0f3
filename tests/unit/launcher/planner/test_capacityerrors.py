"""A label that never finds capacity is no reason to wait without end."""

import math

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import Provider, World
from zuul_nodes.launcher.planner import CapacityErrors
from zuul_nodes.launcher.planner.planner import Grant, Impossible, Wait
from zuul_nodes.launcher.providers import Failure, getSubject

State = ProviderNode.State
BIG = getSubject(Provider('a', 'big'), 'big')


def note(errors, *pauses):
    """:return: the last result of errors with these pauses after them."""
    for pause in pauses:
        row = errors.note(BIG, pause)
    return row


@pytest.mark.parametrize('errors, seconds, pauses, is_lasting', [
    (3, 10, (10, 10, 10), True),
    (3, 10, (10, 10), False),
    (3, 30, (10, 10, 10), False),
    # The pause after the last error is still to come.
    (1, 10, (10,), False),
    (1, 10, (10, 1), True),
    (1, 0, (10, 10, 10), False),
])
def test_lack_lasts_after_errors_and_time(errors, seconds, pauses, is_lasting):
    row = note(CapacityErrors(errors, seconds), *pauses)
    assert bool(row) == is_lasting
    if row:
        assert row == (len(pauses), sum(pauses[:-1]))


def test_success_begins_anew():
    errors = CapacityErrors(2, 10)
    assert note(errors, 10, 10)
    errors.clear(BIG)
    assert not note(errors, 10)
    assert note(errors, 10) == (2, 10)


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
