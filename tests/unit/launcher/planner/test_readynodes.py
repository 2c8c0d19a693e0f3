"""Which nodes a request gets: those that are there, or new ones."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import (
    Label,
    Provider,
    StaticProvider,
    World,
    assign,
    makeRequest,
)
from zuul_nodes.launcher.planner.planner import Grant, Wait
from zuul_nodes.launcher.planner.selection import Draft

State = ProviderNode.State


def test_the_nearest_to_be_ready():
    provider = Provider('a', 'big')
    world = World(provider)
    nodes = [world.addNode(provider, 'big', state) for state in (
        State.BUILDING, State.READY)]
    granted = [world.request('big')[1].slots[0].node for _ in range(3)]
    assert granted == [nodes[1], nodes[0], None]


@pytest.mark.parametrize('attributes', [
    {'subnodes': ['other']}, {'is_locked': True},
    {'label_config_hash': 'old'}, {'provider': 'gone'},
    {'max_ready_age': 1, 'state_time': 0},
], ids=str)
def test_what_is_not_to_be_had(attributes):
    provider = Provider('a', 'big')
    world = World(provider)
    world.addNode(provider, 'big', **attributes)
    assert world.request('big')[1].slots[0].node is None


@pytest.mark.parametrize('state', [
    state for state in State
    # Zuul's launcher may have no room for one that is requested.
    if state not in (State.BUILDING, State.READY)])
def test_states_that_are_for_nobody(state):
    provider = Provider('a', 'big')
    world = World(provider)
    world.addNode(provider, 'big', state)
    assert world.request('big')[1].slots[0].node is None


def test_what_is_built_may_be_locked():
    provider = Provider('a', 'big')
    world = World(provider)
    node = world.addNode(provider, 'big', State.BUILDING, is_locked=True)
    assert world.request('big')[1].slots[0].node is node


def test_what_is_somebodys():
    provider = Provider('a', 'big')
    world = World(provider)
    node = world.addNode(provider, 'big')
    assign(node, makeRequest('big'))
    world.planner.updateNode(node)
    assert world.request('big')[1].slots[0].node is None


def test_a_node_is_granted_once():
    provider = Provider('a', 'big')
    world = World(provider)
    node = world.addNode(provider, 'big')
    grants = [world.planner.plan(makeRequest('big')) for _ in range(2)]
    # As its lock is taken, to write the first grant.
    node._set(is_locked=True)
    world.planner.updateNode(node)
    node._set(is_locked=False)
    world.planner.updateNode(node)
    grants.append(world.planner.plan(makeRequest('big')))
    assert [grant.slots[0].node for grant in grants] == [node, None, None]


def test_nodes_with_aliases_are_shared_out():
    """It takes no luck to find the way in which there are enough."""
    world = World(StaticProvider(
        'desks', ['a', 'b'], ['a', 'c'], ['b', 'a'], ['c', 'b']))
    for labels in ('abca', 'bcaa', 'aabb', 'ccbb'):
        request, grant = world.request(*labels)
        assert isinstance(grant, Grant), labels
        assert len({slot.node_id for slot in grant.slots}) == 4
        for slot in grant.slots:
            assert slot.label_name in slot.node.all_labels
        world.finish(request)


def test_nobody_changes_places_for_nothing(monkeypatch):
    """Large nodesets would take long."""
    steps = []
    find = Draft._findStep

    def findStep(*args):
        steps.append(args)
        return find(*args)
    monkeypatch.setattr(Draft, '_findStep', findStep)
    world = World(StaticProvider('a', *[('desk',)] * 20))
    assert isinstance(world.request(*['desk'] * 20)[1], Grant)
    # Once for what there can ever be, and once for what there is.
    assert len(steps) == 2 * 20


def test_nodesets_of_any_size():
    """Of nodes that are there already, each may have to change places."""
    numbers = range(1000)
    world = World(StaticProvider('a', *[
        (f'label{number}', f'label{number + 1}') for number in numbers]))
    # All of them have what the one before could do with, until the last.
    _, grant = world.request(
        *[f'label{number}' for number in numbers[1:]], 'label0')
    assert len({slot.node_id for slot in grant.slots}) == 1000


def test_the_nodes_of_a_tenant():
    ours = Provider('a', Label('big', config_hash='x'), tenant='ours')
    theirs = Provider('a', Label('big', config_hash='y'), tenant='theirs',
                      endpoint=ours.endpoint)
    world = World(ours, theirs)
    node = world.addNode(theirs, 'big')
    assert world.request('big', tenant='ours')[1].slots[0].node is None
    assert world.request('big', tenant='theirs')[1].slots[0].node is node


@pytest.mark.parametrize('config_hash, kept', [('x', True), ('y', False)])
def test_nodes_are_kept_for_a_tenant_that_can_have_them(config_hash, kept):
    """Its labels may be other ones, whatever their names."""
    ours = Provider('a', Label('big', config_hash='x'), tenant='ours',
                    limits={'instances': 2})
    theirs = Provider('a', Label('big', config_hash=config_hash),
                      tenant='theirs', endpoint=ours.endpoint,
                      limits={'instances': 2})
    world = World(ours, theirs)
    world.addNode(theirs, 'big', State.USED)
    node = world.addNode(theirs, 'big')
    assert isinstance(world.request('big', 'big', tenant='ours')[1], Wait)
    _, decision = world.request('big', tenant='theirs')
    assert isinstance(decision, Wait if kept else Grant)
    assert kept or decision.slots[0].node is node


# Slots

def test_a_host_with_slots():
    provider = Provider('a', Label('big', slots=3), limits={'instances': 2})
    world = World(provider)
    _, grant = world.request('big', 'big')
    host, = {slot.host for slot in grant.slots}
    assert len(host.subnode_ids) == 3
    assert {slot.node_id for slot in grant.slots} < set(host.subnode_ids)
    assert (host.provider, host.label_name) == (provider, 'big')
    # The third slot, and a new host.
    _, grant = world.request('big', 'big')
    assert [slot.node_id in host.subnode_ids for slot in grant.slots] == [
        True, False]
    assert grant.slots[1].host not in (None, host)


def test_a_slot_does_not_expire_while_another_one_is_used():
    """Nobody removes it, so somebody may have it."""
    world = World(Provider('a', Label('big', slots=2)))
    _, grant = world.request('big')
    host, = {slot.host for slot in grant.slots}
    for node_id in host.subnode_ids:
        world.nodes[node_id]._set(
            state=State.READY, max_ready_age=1, state_time=0)
    used = world.nodes[grant.slots[0].node_id]
    used._set(state=State.IN_USE)
    for node_id in host.subnode_ids:
        world.planner.updateNode(world.nodes[node_id])
    assert world.request('big')[1].slots[0].node_id in host.subnode_ids


def test_slots_that_are_about_to_be_there():
    """Requests at the same time do not make a host each."""
    world = World(Provider('a', Label('big', slots=2)))
    requests = [makeRequest('big') for _ in range(4)]
    world.requests = {request.uuid: request for request in requests}
    first, *others = [world.planner.plan(request) for request in requests]
    assert all(isinstance(other, Wait) for other in others)
    world.write(first)
    world.serve()
    assert len(world.nodes) == 2 * 3


def test_slots_of_a_host_that_was_not_written():
    world = World(Provider('a', Label('big', slots=2),
                           limits={'instances': 1}))
    grant = world.planner.plan(makeRequest('big'))
    request, _ = world.request('big')
    world.planner.forget(grant.request_id)
    assert world.woken == [request.uuid]
    world.serve()
    assert not world.planner.capacity.claims


# Grants

def test_grants_are_repeated_until_they_are_written():
    world = World(Provider('a', 'big'))
    request = makeRequest('big')
    grant = world.planner.plan(request)
    assert world.planner.plan(request) is grant
    world.planner.postpone(grant)
    assert world.planner.plan(request) != grant


def test_a_grant_of_an_old_layout_is_not_repeated():
    old, new = Provider('a', 'big'), Provider('a', 'big')
    world = World(old)
    request = makeRequest('big')
    world.planner.plan(request)
    world.setProviders(new)
    assert world.planner.plan(request).slots[0].provider is new


def test_a_grant_whose_node_is_gone_is_not_repeated():
    provider = Provider('a', 'big')
    world = World(provider)
    node = world.addNode(provider, 'big')
    request = makeRequest('big')
    assert world.planner.plan(request).slots[0].node is node
    world.removeNode(node)
    assert world.planner.plan(request).slots[0].node is None


@pytest.mark.parametrize('subnodes', [[], ['slot']])
def test_nodes_of_zuul_that_have_not_begun(subnodes):
    """One that nobody has asked for takes no room.  Of a host, nobody knows
    by its record."""
    provider = Provider('a', 'big', limits={'instances': 1})
    world = World(provider)
    world.addNode(provider, 'big', State.REQUESTED, subnodes=subnodes)
    _, decision = world.request('big')
    assert isinstance(decision, Wait if subnodes else Grant)


def test_room_for_one_that_is_about_to_begin():
    """It is kept, whatever is seen of the record meanwhile."""
    provider = Provider('a', 'big', limits={'instances': 1})
    world = World(provider)
    node = world.addNode(provider, 'big', State.REQUESTED)
    assert world.planner.prepare([node])
    world.planner.updateNode(node)
    request, decision = world.request('big')
    assert isinstance(decision, Wait)
    world.planner.forget(node.uuid)
    assert world.woken == [request.uuid]


def test_who_tests_an_image_keeps_no_nodes():
    """It gets new ones only; what is ready is for those behind."""
    provider = Provider('a', 'big', 'small', limits={'instances': 2})
    world = World(provider)
    node = world.addNode(provider, 'big')
    assert isinstance(world.request('small')[1], Grant)
    _, wait = world.request('big', image_upload_uuid='upload')
    assert wait.reservation == ('a',)
    _, grant = world.request('big')
    assert [slot.node for slot in grant.slots] == [node]
