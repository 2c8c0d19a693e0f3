"""Nodes that users hold, which may not come back: a request that needs more
than what comes back does not keep the rest from others."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import (
    Label,
    Provider,
    StaticProvider,
    World,
    assign,
    getReservations,
)
from zuul_nodes.launcher.planner.planner import Grant, Wait

State = ProviderNode.State


def hold(world, request):
    """A user holds the nodes of a request, which is done."""
    for node in world.getNodes(request):
        node._set(state=State.HOLD)
        world.planner.updateNode(node)
    world.planner.forget(request.uuid)
    return world.getNodes(request)


def makeWorld(kind):
    """:return: a World with room for four nodes."""
    return World({
        'limit': lambda: Provider('a', 'big', limits={'instances': 4}),
        'static': lambda: StaticProvider('a', *[['big']] * 4),
    }[kind]())


@pytest.mark.parametrize('kind', ['limit', 'static'])
@pytest.mark.parametrize('is_first', [True, False])
def test_others_are_served_while_a_node_is_held(kind, is_first):
    """Whether the node is held before the request for all comes, or after."""
    world = makeWorld(kind)
    running = world.fill(4, 'big')
    if is_first:
        hold(world, running[0])
    large, wait = world.request(*['big'] * 4)
    assert isinstance(wait, Wait)
    if not is_first:
        hold(world, running[0])
    assert getReservations(world.planner) == {}
    world.finish(running[1])
    _, decision = world.request('big')
    assert isinstance(decision, Grant)
    assert getReservations(world.planner) == {}
    assert large.uuid in world.planner.waiting.requests


def test_the_reason_names_what_is_held():
    world = makeWorld('limit')
    hold(world, world.fill(1, 'big')[0])
    _, wait = world.request(*['big'] * 4)
    assert (
        'has 4 instances, 1 in use, 4 needed, 1 on hold or stuck in deletion'
        ) in wait.reason


def test_a_request_waits_in_its_place_again_when_the_hold_is_over():
    world = makeWorld('limit')
    running = world.fill(4, 'big')
    node, = hold(world, running[0])
    large, _ = world.request(*['big'] * 4)
    world.removeNode(node)
    assert set(getReservations(world.planner)) == {large.uuid}
    assert isinstance(world.request('big')[1], Wait)
    for request in running[1:]:
        world.finish(request)
    assert world.woken == [large.uuid]


def test_what_is_enough_beside_a_held_node_is_kept():
    world = makeWorld('limit')
    running = world.fill(4, 'big')
    hold(world, running[0])
    large, _ = world.request(*['big'] * 3)
    assert set(getReservations(world.planner)) == {large.uuid}
    world.finish(running[1])
    assert isinstance(world.request('big')[1], Wait)


def test_a_machine_with_a_held_slot_does_not_come_back():
    world = World(Provider('a', Label('big', slots=2), 'small',
                           limits={'instances': 2}))
    first, second = world.fill(2, 'big'), world.fill(2, 'big')
    hold(world, first[0])
    _, wait = world.request('small', 'small')
    assert isinstance(wait, Wait)
    assert getReservations(world.planner) == {}
    for request in second:
        world.finish(request)
    assert getReservations(world.planner) == {}


def test_others_are_served_while_a_deletion_is_stuck():
    world = makeWorld('limit')
    running = world.fill(4, 'big')
    large, _ = world.request(*['big'] * 4)
    node, = world.getNodes(running[0])
    node._set(state=State.USED)
    world.planner.updateNode(node)
    world.planner.forget(running[0].uuid)
    assert set(getReservations(world.planner)) == {large.uuid}
    world.planner.setStuck({node.uuid})
    assert getReservations(world.planner) == {}
    world.finish(running[1])
    _, decision = world.request('big')
    assert isinstance(decision, Grant)
    # It goes in the end.
    world.removeNode(node)
    assert set(getReservations(world.planner)) == {large.uuid}


@pytest.mark.parametrize('state', [State.FAILED, State.REBUILDING])
def test_others_are_served_while_a_static_machine_does_not_answer(state):
    """Between two attempts, and during one."""
    world = makeWorld('static')
    running = world.fill(4, 'big')
    large, _ = world.request(*['big'] * 4)
    dead, = world.getNodes(running[0])
    world.planner.forget(running[0].uuid)
    assign(dead, None)
    dead._set(state=State.FAILED)
    world.planner.updateNode(dead)
    # It may answer in a moment.
    assert set(getReservations(world.planner)) == {large.uuid}
    world.planner.setStuck({dead.uuid})
    dead._set(state=state)
    world.planner.updateNode(dead)
    assert getReservations(world.planner) == {}
    assert world.planner.getReason(large.uuid).endswith(
        'a: no node is free; 1 on hold or not answering')
    world.finish(running[1])
    _, decision = world.request('big')
    assert isinstance(decision, Grant)
    # It answers again.
    dead._set(state=State.READY)
    world.planner.updateNode(dead)
    assert set(getReservations(world.planner)) == {large.uuid}
    assert 'not answering' not in world.planner.getReason(large.uuid)


@pytest.mark.parametrize('state', [State.FAILED, State.REBUILDING])
def test_no_slot_of_a_machine_that_does_not_answer_comes_back(state):
    provider = StaticProvider('a', ['big'], ['big'])
    for entry in provider.nodes.values():
        entry.slots = 2
    world = World()
    world.setProviders(provider)
    machines = []
    for node_id in provider.nodes:
        host = world.nodes[node_id]
        slots = [world.addNode(
            provider, 'big', State.IN_USE, main_node_id=node_id)
            for _ in range(2)]
        host._set(state=State.SLOT_HOST,
                  subnodes=[slot.uuid for slot in slots])
        world.planner.updateNode(host)
        machines.append([host, *slots])
    large, _ = world.request(*['big'] * 3)
    assert set(getReservations(world.planner)) == {large.uuid}
    for node in machines[0]:
        node._set(state=State.FAILED)
        world.planner.updateNode(node)
    world.planner.setStuck({node.uuid for node in machines[0]})
    for node in machines[0]:
        node._set(state=state)
        world.planner.updateNode(node)
    assert getReservations(world.planner) == {}
    small, _ = world.request(*['big'] * 2)
    assert set(getReservations(world.planner)) == {small.uuid}
