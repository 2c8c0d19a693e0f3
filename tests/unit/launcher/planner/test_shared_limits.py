"""Limits that several providers share."""

import pytest

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    StaticProvider,
    World,
    assign,
    getReservations,
    smallProvider,
)
from zuul_nodes.launcher.planner.planner import (
    Grant,
    Impossible,
    Wait,
)
from zuul_nodes.launcher.planner.requestqueue import getRank
from zuul_nodes.launcher.planner.reservations import Cap, Reservation
from zuul_nodes.launcher.providers import WIDTHS


@pytest.mark.parametrize('shared', [
    {'section': {'name': 'site/rack', 'limits': {'instances': 1}}},
    {'endpoint': Endpoint('region', {'instances': 1})}])
def test_node_deleted_at_another_provider_frees_shared_limit(shared):
    """Whether the limit is that of a section or of an endpoint."""
    world = World(Provider('a', 'big', **shared),
                  Provider('b', 'small', **shared))
    done, = world.fill(1, 'big')
    request, wait = world.request('small')
    assert 'has 1 instances, 1 in use, 1 needed' in wait.reason
    world.finish(done)
    assert world.woken == [request.uuid]


@pytest.mark.parametrize('narrow', [
    {'limits': {'instances': 2}},
    {'section': {'name': 'site/rack', 'limits': {'instances': 2}}}])
def test_request_that_waits_for_a_limit_keeps_nothing_of_a_wider_one(narrow):
    """What it lacks there comes back with the nodes that it waits for."""
    endpoint = Endpoint('region', {'instances': 3})
    world = World(Provider('a', 'big', endpoint=endpoint, **narrow),
                  Provider('b', 'small', endpoint=endpoint))
    done, _ = world.fill(2, 'big')
    request, wait = world.request('big')
    assert 'has 2 instances, 2 in use, 1 needed' in wait.reason
    world.fill(1, 'small')
    _, wait = world.request('small')
    assert 'endpoint region has 3 instances, 3 in use' in wait.reason
    world.finish(done)
    assert world.woken == [request.uuid]


def test_large_request_keeps_of_a_wider_limit_what_it_needs_besides():
    endpoint = Endpoint('region', {'instances': 5})
    world = World(
        Provider('a', 'big', endpoint=endpoint, limits={'instances': 3}),
        Provider('b', 'small', endpoint=endpoint))
    first, second = world.fill(2, 'big')
    request, _ = world.request(*['big'] * 3)
    # Of three, one fits already, and two come back.
    world.fill(2, 'small')
    _, wait = world.request('small')
    assert '1 kept for request' in wait.reason
    # The planner keeps what comes back first.
    world.finish(first)
    assert world.woken == []
    world.finish(second)
    assert world.woken == [request.uuid]
    grant, = world.serve()
    assert len(grant.slots) == 3
    assert isinstance(world.request('small')[1], Wait)


def test_max_nodes_of_a_label_count_for_each_tenant():
    def provider(name, tenant):
        return Provider(name, Label('big', max_nodes=2), tenant=tenant,
                        endpoint=Endpoint(name))
    a, b = provider('a', 'tenant'), provider('b', 'tenant')
    world = World(a, b, provider('a', 'other'))
    # As long as it is idle, it counts for one tenant that can use it.
    world.addNode(a, 'big')
    world.fill(1, 'big')
    first, = world.fill(1, 'big')
    request, wait = world.request('big')
    assert 'label big has 2 nodes, 2 in use, 1 needed' in wait.reason
    for _ in range(2):
        assert isinstance(world.request('big', tenant='other')[1], Grant)
    # An idle node takes no more when a request gets it.
    node, = world.getNodes(first)
    assign(node, None)
    world.planner.updateNode(node)
    assert world.woken == [request.uuid]
    assert world.serve()[0].slots[0].node is node
    second, _ = world.request('big')
    assert world.woken == []
    world.finish(request)
    assert world.woken == [second.uuid]
    assert isinstance(world.request(*['big'] * 3)[1], Impossible)


def test_resource_that_a_label_does_not_need_has_no_limit():
    world = World(Provider(
        'a', Label('big', {'cores': 4}), Label('odd', {'cores': 0}),
        limits={'cores': 4}))
    world.fill(1, 'big')
    world.fill(5, 'odd')
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


def test_large_request_keeps_shared_machines_from_other_tenants():
    world = desks(2)
    running = world.fill(2, 'desk', tenant='second')
    large, _ = world.request('desk', 'desk', tenant='first')
    served = []
    for _ in range(2):
        world.request('desk', tenant='second')
        world.finish(running.pop())
        served += world.serve()
    assert [grant.request_id for grant in served] == [large.uuid]


def test_shared_machines_are_released_with_their_reservation():
    world = desks(2)
    world.fill(1, 'desk', tenant='second')
    large, _ = world.request('desk', 'desk', tenant='first')
    small, wait = world.request('desk', tenant='second')
    assert isinstance(wait, Wait)
    world.planner.forget(large.uuid)
    assert world.woken == [small.uuid]


def test_request_keeps_no_machine_of_another_tenant_only():
    world = desks(2, 'apart')
    world.fill(1, 'desk', tenant='first')
    world.request('desk', 'desk', tenant='first')
    request, = world.fill(1, 'desk', tenant='second')
    node, = world.getNodes(request)
    assert node.interface_ip == 'apart'


def test_waiting_request_has_a_reservation_until_it_is_granted():
    world = World(smallProvider())
    small, = world.fill(1, 'small')
    request, _ = world.request('big')
    assert getReservations(world.planner) == {request.uuid: (Reservation(
        'a', getRank(request), ('big',), 'tenant', {'instances': 3},
        cap=Cap(WIDTHS['provider'], 2 / 3)),)}
    world.finish(small)
    assert getReservations(world.planner) == {}
    world.serve()
    assert getReservations(world.planner) == {}


def test_missing_min_ready_nodes_reserve_what_surplus_nodes_have():
    """Surplus nodes are deleted for them; requests do not wait for them."""
    world = World(smallProvider())
    planner = world.planner
    provider, = planner.scope.by_name['a']
    node = world.addNode(provider, 'small')
    assert planner.getObstacle(provider, 'big')
    assert not planner.isShort(node)
    planner.setMissing({(provider, 'big')})
    assert planner.isShort(node)
    assert planner.getObstacle(provider, 'small') is None
    world.fill(3, 'small')
    planner.setScope(planner.scope)
    assert getReservations(planner) == {}
    planner.setMissing({(provider, 'big')})
    assert planner.isShort(node)
    planner.setMissing(set())
    assert getReservations(planner) == {}
    assert not planner.isShort(node)


def test_missing_machine_with_slots_needs_room_of_all_slots():
    provider = Provider('a', Label('big', max_nodes=3, slots=2))
    world = World(provider)
    nodes = [world.addNode(provider, 'big') for _ in range(2)]
    assert world.planner.getObstacle(provider, 'big')
    assert not any(map(world.planner.isShort, nodes))
    world.planner.setMissing({(provider, 'big')})
    assert all(map(world.planner.isShort, nodes))
