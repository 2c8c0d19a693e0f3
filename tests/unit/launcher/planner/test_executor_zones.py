"""Nodesets whose providers are in several executor zones."""

import pytest

from tests.fixtures.planning import (
    Label,
    Provider,
    StaticProvider,
    World,
)
from zuul_nodes.launcher.planner.planner import Grant, Wait


def makeProvider(name, zone):
    return Provider(name, *(Label(label, executor_zone=zone)
                            for label in ('a', 'b')), limits={'instances': 2})


@pytest.mark.parametrize('freed', ['p1', 'p2'])
def test_request_is_offered_what_is_free_in_any_zone(freed):
    world = World(makeProvider('p1', 'x'), makeProvider('p2', 'y'))
    running = [*world.fill(2, 'a'), *world.fill(2, 'b')]
    request, wait = world.request('a', 'b')
    assert isinstance(wait, Wait)
    for each in running:
        if world.getNodes(each)[0].provider == freed:
            world.finish(each)
    assert world.woken == [request.uuid]
    grant, = world.serve()
    assert isinstance(grant, Grant)
    assert {slot.provider.name for slot in grant.slots} == {freed}


@pytest.mark.parametrize('order', [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_idle_machines_of_one_zone_are_found_beside_others(order):
    entries = [('b', 'c'), ('a', 'c'), ('a', 'c')]
    provider = StaticProvider('desks', *(entries[each] for each in order))
    for name, zone in (('a', 'x'), ('b', 'y'), ('c', None)):
        provider.labels[name].executor_zone = zone
        provider.labels[name].aliases = [] if name == 'c' else ['c']
    world = World(provider)
    _, grant = world.request('c', 'c')
    assert {slot.node.label for slot in grant.slots} == {'a'}
