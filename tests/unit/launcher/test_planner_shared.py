"""Limits that several providers share, and several launchers."""

import pytest

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    StaticProvider,
    World,
    makeRequest,
)
from zuul_nodes.launcher.planner import Grant, Impossible, Wait, getRank
from zuul_nodes.launcher.reservations import Reservation

BIG = Label('big', {'instances': 3})


def one():
    """:return: a provider of single nodes and of one that takes all."""
    return Provider('a', 'small', BIG, limits={'instances': 3})


def fill(world, number, label, **kwargs):
    """:return: requests that have been served."""
    requests = []
    for _ in range(number):
        request, decision = world.request(label, **kwargs)
        assert isinstance(decision, Grant)
        requests.append(request)
    return requests


@pytest.mark.parametrize('shared', [
    {'section': {'name': 'site/rack', 'limits': {'instances': 1}}},
    {'endpoint': Endpoint('region', {'instances': 1})}])
def test_room_at_another_provider(shared):
    """What it frees is of use here, if there is a limit for both."""
    world = World(Provider('a', 'big', **shared),
                  Provider('b', 'small', **shared))
    done, = fill(world, 1, 'big')
    request, wait = world.request('small')
    assert 'has 1 instances, 1 in use, 1 needed' in wait.reason
    world.finish(done)
    assert world.woken == [request.uuid]


def test_the_number_of_nodes_of_a_tenant():
    def provider(name, tenant):
        return Provider(name, Label('big', max_nodes=2), tenant=tenant,
                        endpoint=Endpoint(name))
    a, b = provider('a', 'tenant'), provider('b', 'tenant')
    world = World(a, b, provider('a', 'other'))
    # It counts for both tenants as long as it is nobody's.
    world.addNode(a, 'big')
    fill(world, 1, 'big')
    first, = fill(world, 1, 'big')
    request, wait = world.request('big')
    assert 'label big has 2 nodes, 2 in use, 1 needed' in wait.reason
    for _ in range(2):
        assert isinstance(world.request('big', tenant='other')[1], Grant)
    # At whichever provider.
    node = world.addNode(b, 'big')
    assert world.woken == [request.uuid]
    assert world.serve()[0].slots[0].node is node
    second, _ = world.request('big')
    world.finish(first)
    assert world.woken == []
    world.finish(request)
    assert world.woken == [second.uuid]
    assert isinstance(world.request(*['big'] * 3)[1], Impossible)


def test_only_what_is_needed_can_lack():
    world = World(Provider(
        'a', Label('big', {'cores': 4}), Label('odd', {'cores': 0}),
        limits={'cores': 4}))
    fill(world, 1, 'big')
    fill(world, 5, 'odd')
    assert isinstance(world.request('big')[1], Wait)


# Machines of which several tenants have a node

def desks(number, *addresses):
    """:return: a world of two tenants whose providers have as many machines
        together, and the second tenant one more at each of the addresses."""
    providers = [
        StaticProvider('one', *[['desk']] * number, tenant='first'),
        StaticProvider('two', *[['desk']] * (number + len(addresses)),
                       tenant='second')]
    world = World(isGiven=lambda name: True)
    for provider in providers:
        for address, node_id in zip(
                (*'abcd'[:number], *addresses), provider.nodes, strict=False):
            world.addNode(
                provider, 'desk', uuid=node_id, interface_ip=address)
    world.setProviders(*providers)
    return world


def test_who_needs_several_machines_is_not_overtaken_by_another_tenant():
    world = desks(2)
    running = fill(world, 2, 'desk', tenant='second')
    large, _ = world.request('desk', 'desk', tenant='first')
    served = []
    for _ in range(2):
        world.request('desk', tenant='second')
        world.finish(running.pop())
        served += world.serve()
    assert [grant.request_id for grant in served] == [large.uuid]


def test_machines_of_another_tenant_are_kept_no_longer():
    world = desks(2)
    fill(world, 1, 'desk', tenant='second')
    large, _ = world.request('desk', 'desk', tenant='first')
    small, wait = world.request('desk', tenant='second')
    assert isinstance(wait, Wait)
    world.planner.forget(large.uuid)
    assert world.woken == [small.uuid]


def test_the_machines_that_only_another_tenant_has_are_not_kept():
    world = desks(2, 'apart')
    fill(world, 1, 'desk', tenant='first')
    world.request('desk', 'desk', tenant='first')
    request, = fill(world, 1, 'desk', tenant='second')
    node, = world.getNodes(request)
    assert node.interface_ip == 'apart'


# Other launchers

def other(**kwargs):
    """:return: what another launcher has reserved."""
    request = makeRequest('big', **kwargs)
    return {request.uuid: (Reservation(
        'a', getRank(request), ('big',), 'tenant', {'instances': 3}),)}


def test_the_reservations_of_other_launchers():
    world = World(one())
    world.planner.setReservations(other())
    request, wait = world.request('small')
    assert 'kept for request' in wait.reason
    assert set(world.planner.getReservations()) == {request.uuid}
    world.planner.setReservations({})
    assert world.woken == [request.uuid]


def test_those_of_requests_behind_do_not_count():
    world = World(one())
    request = makeRequest('small')
    world.planner.setReservations(other())
    assert isinstance(world.planner.plan(request), Grant)


def test_what_is_to_be_published():
    world = World(one())
    fill(world, 1, 'small')
    request, _ = world.request('big')
    assert world.planner.getReservations() == {request.uuid: (Reservation(
        'a', getRank(request), ('big',), 'tenant', {'instances': 3}),)}


def test_what_is_published_until_others_see_the_nodes():
    world = World(one())
    small, = fill(world, 1, 'small')
    world.request('big')
    reservations = world.planner.getReservations()
    world.finish(small)
    assert world.planner.getReservations() == reservations
    world.serve()
    assert world.planner.getReservations() == {}


def test_reservations_of_an_unknown_provider():
    world = World()
    world.planner.setReservations(other())
    world.setProviders(one())
    assert isinstance(world.request('small')[1], Wait)


def test_nodes_that_are_to_be_ready():
    """For these, all launchers give up what nobody can use; a request does
    not wait for them."""
    ours, others = World(one()), World(one())
    provider, = ours.planner.scope.by_name['a']
    for world in ours, others:
        node = world.addNode(world.planner.scope.by_name['a'][0], 'small')
    assert ours.planner.getObstacle(provider, 'big')
    ours.planner.setMissing({(provider, 'big')})
    reservations = ours.planner.getReservations()
    assert not others.planner.isShort(node)
    others.planner.setReservations(reservations)
    assert others.planner.isShort(node)
    assert others.planner.getReservations() == {}
    assert others.planner.getObstacle(
        others.planner.scope.by_name['a'][0], 'small') is None
    fill(others, 3, 'small')

    # It is another launcher's turn.
    others.planner.setMissing({(provider, 'big')})
    others.planner.setMissing(set())
    assert others.planner.isShort(node)
    others.planner.setMissing({(provider, 'big')})
    others.planner.setReservations({})
    others.planner.setMissing({(provider, 'big')})
    assert others.planner.getReservations() == reservations
    others.planner.setScope(others.planner.scope)
    assert others.planner.getReservations() == {}
    others.planner.setMissing({(provider, 'big')})
    assert others.planner.isShort(node)
    others.planner.setMissing(set())
    assert others.planner.getReservations() == {}
    assert not others.planner.isShort(node)


def test_all_slots_of_a_machine_that_is_to_be_ready():
    provider = Provider('a', Label('big', max_nodes=3, slots=2))
    world = World(provider)
    nodes = [world.addNode(provider, 'big') for _ in range(2)]
    assert world.planner.getObstacle(provider, 'big')
    assert not any(map(world.planner.isShort, nodes))
    world.planner.setMissing({(provider, 'big')})
    assert all(map(world.planner.isShort, nodes))
