"""Limits that several providers share, and several launchers."""

import pytest

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    StaticProvider,
    World,
    makeRequest,
    smallProvider,
)
from zuul_nodes.launcher.planner.planner import (
    Grant,
    Impossible,
    Wait,
    getRank,
)
from zuul_nodes.launcher.planner.reservations import Reservation


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


def test_max_nodes_of_a_label_count_for_each_tenant():
    def provider(name, tenant):
        return Provider(name, Label('big', max_nodes=2), tenant=tenant,
                        endpoint=Endpoint(name))
    a, b = provider('a', 'tenant'), provider('b', 'tenant')
    world = World(a, b, provider('a', 'other'))
    # It counts for both tenants as long as it is nobody's.
    world.addNode(a, 'big')
    world.fill(1, 'big')
    first, = world.fill(1, 'big')
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


# Other launchers

def other(**kwargs):
    """:return: what another launcher has reserved."""
    request = makeRequest('big', **kwargs)
    return {request.uuid: (Reservation(
        'a', getRank(request), ('big',), 'tenant', {'instances': 3}),)}


def test_request_waits_for_reservation_of_another_launcher():
    world = World(smallProvider())
    world.planner.setReservations(other())
    request, wait = world.request('small')
    assert 'kept for request' in wait.reason
    assert set(world.planner.getReservations()) == {request.uuid}
    world.planner.setReservations({})
    assert world.woken == [request.uuid]


def test_reservation_of_a_request_behind_does_not_count():
    world = World(smallProvider())
    request = makeRequest('small')
    world.planner.setReservations(other())
    assert isinstance(world.planner.plan(request), Grant)


def test_waiting_request_has_a_reservation_to_publish():
    world = World(smallProvider())
    world.fill(1, 'small')
    request, _ = world.request('big')
    assert world.planner.getReservations() == {request.uuid: (Reservation(
        'a', getRank(request), ('big',), 'tenant', {'instances': 3}),)}


def test_reservation_is_published_until_the_request_is_granted():
    world = World(smallProvider())
    small, = world.fill(1, 'small')
    world.request('big')
    reservations = world.planner.getReservations()
    world.finish(small)
    assert world.planner.getReservations() == reservations
    world.serve()
    assert world.planner.getReservations() == {}


def test_reservation_counts_when_its_provider_becomes_known():
    world = World()
    world.planner.setReservations(other())
    world.setProviders(smallProvider())
    assert isinstance(world.request('small')[1], Wait)


def test_missing_min_ready_nodes_reserve_what_surplus_nodes_have():
    """All launchers delete surplus nodes for them; requests do not wait for
    them."""
    ours, others = World(smallProvider()), World(smallProvider())
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
    others.fill(3, 'small')

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


def test_missing_machine_with_slots_needs_room_of_all_slots():
    provider = Provider('a', Label('big', max_nodes=3, slots=2))
    world = World(provider)
    nodes = [world.addNode(provider, 'big') for _ in range(2)]
    assert world.planner.getObstacle(provider, 'big')
    assert not any(map(world.planner.isShort, nodes))
    world.planner.setMissing({(provider, 'big')})
    assert all(map(world.planner.isShort, nodes))
