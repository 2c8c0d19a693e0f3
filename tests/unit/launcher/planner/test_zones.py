"""Nodesets are in one availability zone if they can be."""

import itertools

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import Label, Provider, StaticProvider, World
from zuul_nodes.launcher.planner.planner import Grant, Wait
from zuul_nodes.launcher.planner.readynodes import ORDER

State = ProviderNode.State
ZONES = ['x', 'y', 'z']


def makeWorld(*zones, **kwargs):
    """:return: a provider with two labels of these zones, and its world."""
    provider = Provider('a', Label('big', zones=zones),
                        Label('small', zones=zones), **kwargs)
    return provider, World(provider)


def getZones(grant):
    """:return: a list of the zones of a grant's nodes."""
    assert isinstance(grant, Grant)
    return [slot.node.az if slot.node else slot.zone for slot in grant.slots]


def isNew(grant):
    return [slot.node is None for slot in grant.slots]


def fail(request, *indexes, provider='a'):
    """Have a provider have failed to make some nodes of a request."""
    data = request.provider_node_data or [
        {'failed_providers': []} for _ in request.labels]
    request._set(provider_node_data=[
        entry | {'uuid': None, 'failed_providers': [
            *entry['failed_providers'],
            *([provider] if index in indexes else [])]}
        for index, entry in enumerate(data)])


# New nodes

@pytest.mark.parametrize('number', [1, 2, 5])
def test_new_nodes(number):
    _, world = makeWorld(*ZONES)
    found = set()
    for _ in range(20):
        zone, = set(getZones(world.request(*['big'] * number)[1]))
        found.add(zone)
    assert found == set(ZONES)


def test_new_nodes_of_labels_with_different_zones():
    world = World(Provider('a', Label('big', zones=['x', 'y']),
                           Label('small', zones=['y', 'z']), 'any'))
    for _ in range(9):
        assert getZones(world.request(
            'any', 'big', 'small')[1]) == ['y', 'y', 'y']


def test_labels_without_a_common_zone():
    world = World(Provider('a', Label('big', zones=['x', 'y']),
                           Label('small', zones=['z', 'v'])))
    one, *others, other = getZones(
        world.request('small', 'big', 'big', 'small')[1])
    assert one == other and one in ('z', 'v')
    assert len(set(others)) == 1 and set(others) < {'x', 'y'}


def test_a_label_of_one_zone():
    provider, world = makeWorld(*ZONES)
    provider.labels['small'].zuul_nodes = {}
    provider.labels['small'].az = 'y'
    for _ in range(9):
        assert getZones(world.request('big', 'small')[1]) == ['y', 'y']


def test_no_zones():
    world = World(Provider('a', 'big'), StaticProvider('desks', ['desk']))
    for labels in (['big'], ['big', 'big'], ['desk']):
        assert set(getZones(world.request(*labels)[1])) == {None}


def test_a_host_with_slots():
    world = World(Provider('a', Label('big', slots=2, zones=ZONES)))
    for _ in range(9):
        # The last one has a slot left.
        first, second, third = getZones(
            world.request('big', 'big', 'big')[1])
        assert first == second == third
        assert getZones(world.request('big')[1]) == [first]


# With others that are there

@pytest.mark.parametrize('zone', ZONES)
@pytest.mark.parametrize('state', ORDER)
def test_new_ones_join(zone, state):
    provider, world = makeWorld(*ZONES)
    node = world.addNode(provider, 'big', state, az=zone)
    grant = world.request('small', 'big', 'small')[1]
    assert grant.slots[1].node is node
    assert getZones(grant) == [zone] * 3


def test_new_ones_of_a_label_without_zones_join():
    """They are where the driver can make them, there if it can."""
    provider = Provider('a', 'big')
    world = World(provider)
    world.addNode(provider, 'big', az='x')
    assert getZones(world.request('big', 'big')[1]) == ['x', 'x']


def test_ready_in_two_zones():
    provider, world = makeWorld(*ZONES)
    for zone in 'xy':
        world.addNode(provider, 'big', az=zone)
    first, second = getZones(world.request('big', 'big')[1])
    assert first == second and first in 'xy'


def test_the_zone_with_the_most():
    provider, world = makeWorld()
    for label_name, zone in (('big', 'x'), ('big', 'y'), ('small', 'y'),
                             ('small', 'z'), ('small', 'z')):
        world.addNode(provider, label_name, az=zone)
    for labels, zone in ((['big', 'small'], 'y'), (['small', 'small'], 'z')):
        grant = world.request(*labels)[1]
        assert getZones(grant) == [zone, zone]
        assert not any(isNew(grant))


@pytest.mark.parametrize('order', list(itertools.permutations(ZONES, 2)))
def test_the_zone_of_the_nearest(order):
    provider, world = makeWorld()
    for zone, state in zip(order, ORDER, strict=True):
        for _ in range(2):
            world.addNode(provider, 'big', state, az=zone)
    assert [getZones(world.request('big', 'big')[1])
            for _ in order] == [[zone, zone] for zone in order]


def test_those_whose_zone_is_not_known():
    """Whatever it is, they are the nearest to be ready."""
    provider, world = makeWorld(*ZONES)
    for az in (None, '', 'y'):
        world.addNode(provider, 'big', az=az)
    grant = world.request('big', 'big', 'big')[1]
    assert not any(isNew(grant))


@pytest.mark.parametrize('how', ['paused', 'full'])
def test_nobody_waits_for_a_zone(how):
    provider, world = makeWorld(
        *ZONES, limits={'instances': 2} if how == 'full' else {})
    for zone in 'xy':
        world.addNode(provider, 'big', az=zone)
    if how == 'paused':
        world.planner.pause(world.getSubject('a'), float('inf'), 'of a test')
    assert sorted(getZones(world.request('big', 'big')[1])) == ['x', 'y']
    assert isinstance(world.request('big')[1], Wait)


def test_who_waits_is_served_from_two_zones():
    provider, world = makeWorld(*ZONES, limits={'instances': 2})
    for _ in range(2):
        world.request('big')
    waits, decision = world.request('big', 'big')
    assert isinstance(decision, Wait)
    for zone in 'xy':
        assert not world.woken
        world.addNode(provider, 'big', az=zone)
    assert world.woken == [waits.uuid]
    grant, = world.serve()
    assert sorted(getZones(grant)) == ['x', 'y']


def test_another_provider_has_them_in_one_zone():
    one, other = (Provider(name, 'big', limits={'instances': 2}, priority=1)
                  for name in 'ab')
    world = World(one, other)
    for provider, zone in ((one, 'x'), (one, 'y'),
                           (other, 'z'), (other, 'z')):
        world.addNode(provider, 'big', az=zone)
    grants = [world.request('big', 'big')[1] for _ in range(2)]
    assert getZones(grants[0]) == ['z', 'z']
    assert sorted(getZones(grants[1])) == ['x', 'y']


# Another attempt

@pytest.mark.parametrize('labels', [['big'], ['big', 'small']], ids=len)
def test_another_zone_after_each_failure(labels):
    _, world = makeWorld(*ZONES)
    request, grant = world.request(*labels)
    found = []
    for _ in range(3):
        zone, = set(getZones(grant))
        found.append(zone)
        for node in world.getNodes(request):
            world.removeNode(node)
        # That all of them have failed is one reason.
        fail(request, *range(len(labels)))
        if len(found) < 3:
            grant = world.plan(request)
    assert sorted(found) == ZONES


def test_a_zone_without_room_is_left_though_nodes_are_there():
    provider, world = makeWorld('x', 'y')
    world.addNode(provider, 'big', az='x')
    request, grant = world.request('big', 'small')
    assert getZones(grant) == ['x', 'x']
    world.removeNode(world.nodes[grant.slots[1].node_id])
    world.finish(request)
    world.addNode(provider, 'big', az='x')
    fail(request, 1)
    grant = world.plan(request)
    assert getZones(grant) == ['y', 'y']
    assert isNew(grant) == [True, True]


def test_after_a_failure_nodes_that_are_there_come_first():
    provider, world = makeWorld('x', 'y')
    request, _ = world.request('big', 'small')
    world.finish(request)
    fail(request, 1)
    for label_name in ('big', 'small'):
        world.addNode(provider, label_name, az='y')
        world.addNode(provider, label_name, State.BUILDING, az='x')
    grant = world.plan(request)
    assert getZones(grant) == ['y', 'y']
    assert not any(isNew(grant))


def test_the_failures_of_other_providers_are_theirs():
    _, world = makeWorld(*ZONES)
    request, grant = world.request('big')
    before = getZones(grant)
    world.finish(request)
    fail(request, 0, provider='other')
    assert getZones(world.plan(request)) == before
