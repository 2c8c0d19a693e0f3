"""Pauses for want of room are over when there may be room."""

import math

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import Endpoint, Provider, World
from zuul_nodes.launcher.planner.planner import Grant
from zuul_nodes.launcher.providers import Failure

State = ProviderNode.State


@pytest.fixture
def full():
    """A world of providers that are paused, ``a`` for want of room; and a
    request that waits for it."""
    endpoint = Endpoint('cloud')
    providers = [
        Provider('a', 'big', endpoint=endpoint, limits={'instances': 3}),
        Provider('b', 'small', endpoint=endpoint), Provider('c', 'small')]
    world = World(*providers)
    world.used = [world.addNode(provider, *provider.labels, State.USED)
                  for provider in providers]
    world.planner.pause(world.getSubject('a'), math.inf, 'there is no quota',
                        failure=Failure.QUOTA)
    world.planner.pause(world.getSubject('b'), math.inf, 'it does not answer')
    world.waiting, _ = world.request('big')
    return world


@pytest.mark.parametrize('index', [0, 1])
def test_a_node_goes_where_there_was_no_room(full, index):
    """Its own, or one at its endpoint."""
    full.removeNode(full.used[2])
    assert full.waiting.uuid not in full.woken
    full.removeNode(full.used[index])
    assert full.waiting.uuid in full.woken
    assert full.planner.getPause(full.getSubject('a')) == 0
    # A cloud that does not answer has no more to say for that.
    assert full.planner.getPause(full.getSubject('b')) == math.inf


@pytest.mark.parametrize('state', [State.TEMPFAILED, State.BUILDING])
def test_what_had_no_room_leaves_none(full, state):
    """Another launcher may be done with it before we see that it failed."""
    provider = full.providers[0]
    node = full.addNode(
        provider, 'big', state, image_upload_uuid='tested', create_state={
            'failure': 'quota'} if state == State.TEMPFAILED else {})
    full.removeNode(node)
    assert full.planner.getPause(full.getSubject('a')) == math.inf
    assert not full.woken


@pytest.mark.parametrize('before, after, ends', [
    (0, 0, False), (1, 1, False), (0, 1, False), (1, 0, True),
], ids=['nothing', 'as much', 'more', 'less'])
def test_what_others_use_where_there_was_no_room(full, before, after, ends):
    """It is compared with what it was when it was last looked at."""
    endpoint = full.providers[0].endpoint
    endpoint.limits['instances'] = 9
    full.planner.limitsChanged({'a'})
    for used in (before, after):
        endpoint.quota_cache.quota = {'instances': used}
        full.planner.limitsChanged({'a'})
    assert bool(full.woken) == ends
    assert (full.planner.getPause(full.getSubject('a')) == 0) == ends


def test_a_limit_is_raised_where_there_was_no_room(full):
    full.providers[0].resource_limits['instances'] = 2
    full.planner.limitsChanged()
    assert full.planner.getPause(full.getSubject('a'))
    full.providers[0].resource_limits['instances'] = 3
    full.planner.limitsChanged(['b'])
    assert full.planner.getPause(full.getSubject('a'))
    full.planner.limitsChanged()
    assert full.woken == [full.waiting.uuid]
    grant, = full.serve()
    assert grant.slots[0].provider.name == 'a'


# Labels


@pytest.fixture
def labels():
    """:return: a World with a provider that has idle nodes of a label, and
        requests that wait for another one."""
    provider = Provider('a', 'big', 'small')
    world = World(provider)
    world.idle = world.addNode(provider, 'small')
    return world


@pytest.mark.parametrize('failure', [Failure.CAPACITY, Failure.TEMPORARY])
def test_paused_label_concerns_no_other_label(labels, failure):
    labels.planner.pause(
        labels.getSubject('a', 'big'), math.inf, 'full', failure)
    request, wait = labels.request('big')
    assert 'a: is paused: full' in wait.reason
    # Deleting other nodes is of no use.
    assert not labels.planner.isShort(labels.idle)
    for _ in range(3):
        assert isinstance(labels.request('small')[1], Grant)
    labels.planner.resume(labels.getSubject('a', 'big'))
    assert labels.woken == [request.uuid]


def test_deleted_node_of_a_label_ends_its_pause_for_lack_of_capacity(labels):
    used, = labels.fill(1, 'big')
    labels.planner.pause(labels.getSubject('a', 'big'), math.inf, 'full',
                         Failure.CAPACITY)
    request, _ = labels.request('big')
    labels.removeNode(labels.idle)
    assert labels.woken == []
    for node in labels.getNodes(used):
        node._set(state=State.USED)
    labels.finish(used)
    assert labels.woken == [request.uuid]


def test_those_who_wait_are_told_of_a_pause():
    world = World(Provider('a', 'big', limits={'instances': 1}))
    world.fill(1, 'big')
    request, wait = world.request('big')
    assert 'is paused' not in wait.reason
    world.planner.pause(world.getSubject('a'), math.inf, 'it does not answer')
    assert 'is paused: it does not answer' in (
        world.planner.getReason(request.uuid))
