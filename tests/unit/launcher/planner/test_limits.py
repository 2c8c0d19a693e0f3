"""What counts, and whose creation may begin."""

import itertools

import pytest
from zuul.model import ProviderNode, QuotaInformation

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    World,
    assign,
    makeNode,
    makeRequest,
    write,
)
from zuul_nodes.launcher.planner.planner import Grant, Wait

State = ProviderNode.State


@pytest.mark.parametrize('state', State)
def test_every_record_counts(state):
    provider = Provider('a', 'big', limits={'instances': 1})
    world = World(provider)
    node = world.addNode(provider, 'big', state, is_locked=True)
    assign(node, makeRequest('big'))
    world.planner.updateNode(node)
    request, wait = world.request('big')
    assert isinstance(wait, Wait)
    world.removeNode(node)
    assert world.woken == [request.uuid]


def test_a_node_that_turns_out_to_be_larger():
    provider = Provider('a', Label('big', {'cores': 1}), limits={'cores': 4})
    world = World(provider)
    _, grant = world.request('big')
    node = world.nodes[grant.slots[0].node_id]
    node._set(quota=QuotaInformation(cores=4))
    world.planner.updateNode(node)
    request, _ = world.request('big')
    node._set(quota=QuotaInformation(cores=3))
    world.planner.updateNode(node)
    assert world.woken == [request.uuid]


def test_fractions():
    """Three times 0.1 is all of 0.3, though not for a computer."""
    provider = Provider('a', Label('big', {'cores': 0.1}),
                        limits={'cores': 0.3})
    world = World(provider)
    assert isinstance(world.request('big', 'big', 'big')[1], Grant)
    assert isinstance(world.request('big')[1], Wait)
    world = World(provider)
    granted = [world.request('big')[1] for _ in range(4)]
    assert [type(each) for each in granted] == [Grant, Grant, Grant, Wait]


def test_nodes_of_a_provider_that_is_gone():
    """The cloud has them, for all that."""
    endpoint = Endpoint('region', {'instances': 1})
    world = World(Provider('a', 'big', endpoint=endpoint))
    done, _ = world.request('big')
    world.setProviders(Provider('b', 'big', endpoint=endpoint))
    request, wait = world.request('big')
    assert isinstance(wait, Wait)
    world.finish(done)
    assert world.woken == [request.uuid]


def test_updates_may_be_repeated():
    provider = Provider('a', 'big', limits={'instances': 2})
    world = World(provider)
    node = world.addNode(provider, 'big', State.HOLD)
    for _ in range(3):
        world.planner.updateNode(node)
    assert isinstance(world.request('big')[1], Grant)
    assert isinstance(world.request('big')[1], Wait)
    for _ in range(3):
        world.planner.removeNode(node.uuid)
    assert isinstance(world.serve()[0], Grant)
    assert isinstance(world.request('big')[1], Wait)


def test_answers_are_remembered_for_a_while():
    now, asked = [1000], []
    provider = Provider('a', 'big')
    provider.getEndpointLimits = lambda: (
        asked.append(now[0]) or QuotaInformation(default=float('inf')))
    world = World(provider, clock=lambda: now[0])
    for _ in range(10):
        world.request('big')
    assert len(asked) == 1
    now[0] += 60
    world.request('big')
    world.planner.limitsChanged(['a'])
    world.request('big')
    assert len(asked) == 3


@pytest.fixture
def waiting():
    """:return: a World with a request that waits, its provider, and a list of
        the times when the planner has looked what that can make."""
    looked = []
    provider = Provider('a', 'big', endpoint=Endpoint('a', {'instances': 1}))
    state = {'handled': True, 'asked': True, 'problem': None}
    world = World(
        provider, canUse=lambda *args: looked.append(None) or True,
        isHandled=lambda name: state['handled'],
        isAsked=lambda *args: state['asked'],
        getProblem=lambda *args: state['problem'])
    world.fill(1, 'big')
    world.request('big')
    world.planner.limitsChanged()
    looked.clear()
    return world, provider, state, looked


def test_nothing_is_planned_again_if_no_limit_has_changed(waiting):
    world, provider, _, looked = waiting
    for names in (['a'], None, ['a', 'gone']):
        assert not world.planner.limitsChanged(names)
    assert not looked
    provider.endpoint.limits['instances'] = 2
    assert world.planner.limitsChanged(['a'])
    assert len(world.woken) == 1


@pytest.mark.parametrize('name, value', [
    ('handled', False), ('asked', False), ('problem', 'out of order')])
def test_it_is_planned_again_if_a_provider_has_changed(waiting, name, value):
    world, _, state, looked = waiting
    state[name] = value
    assert world.planner.limitsChanged(['a'])
    assert looked
    looked.clear()
    assert not world.planner.limitsChanged(['a'])
    assert not looked


def test_a_limit_that_came_back_meanwhile_counts_as_changed(waiting):
    """A request was told in between that there is no capacity."""
    world, provider, *_ = waiting
    provider.endpoint.limits['instances'] = 2
    world.planner.limitsChanged(['a'])
    world.serve()
    provider.endpoint.limits['instances'] = 1
    # The planner asks again after some time.
    world.planner.capacity.limits.clock = lambda: 1e9
    world.planner.plan(makeRequest('big'))
    provider.endpoint.limits['instances'] = 2
    assert world.planner.limitsChanged(['a'])


def test_images_are_planned_with_again_if_they_have_changed(waiting):
    world, *_, looked = waiting
    world.planner.imagesChanged()
    assert looked


def test_the_younger_do_not_begin():
    """Zuul's launchers do not check the limits."""
    provider = Provider('a', 'big', limits={'instances': 2})
    world = World(provider)
    nodes = [world.addNode(provider, 'big', State.BUILDING)
             for _ in range(3)]
    assert [world.planner.fits(node) for node in nodes] == [
        True, True, False]
    world.removeNode(nodes[0])
    assert world.planner.fits(nodes[2])


def test_of_nodes_with_one_age_some_begin():
    provider = Provider('a', 'big', limits={'instances': 1})
    world = World(provider)
    nodes = [world.addNode(provider, 'big', State.BUILDING, uuid=name)
             for name in 'xy']
    nodes[1]._set(_zstat=nodes[0]._zstat)
    assert [world.planner.fits(node) for node in nodes] == [True, False]


@pytest.mark.parametrize('shared', [
    {'section': {'name': 'site/rack', 'limits': {'instances': 1}}},
    {'endpoint': Endpoint('region', {'instances': 1})}])
def test_the_younger_at_another_provider(shared):
    providers = [Provider(name, 'big', **shared) for name in 'ab']
    world = World(*providers)
    nodes = [world.addNode(provider, 'big', State.BUILDING)
             for provider in providers]
    assert [world.planner.fits(node) for node in nodes] == [True, False]


def test_what_is_only_planned_stops_no_creation():
    provider = Provider('a', 'big', limits={'instances': 2})
    world = World(provider)
    world.planner.plan(makeRequest('big'))
    node = world.addNode(provider, 'big', State.BUILDING)
    provider.resource_limits = {'instances': 1}
    world.planner.limitsChanged()
    assert world.planner.fits(node)


def test_a_node_that_is_not_known_yet():
    provider = Provider('a', 'big', limits={'instances': 1})
    world = World(provider)
    node = makeNode(provider, 'big', State.BUILDING)
    assert world.planner.fits(node)
    world.addNode(provider, 'big', State.BUILDING)
    assert world.planner.fits(node)
    write(node)
    assert not world.planner.fits(node)


def test_a_node_of_nobodys_provider():
    assert World().planner.fits(makeNode(Provider('a', 'big'), 'big'))


def test_who_tests_an_image_is_not_overtaken():
    """It waits for several nodes of a label with ``max-nodes``."""
    world = World(Provider('a', Label('big', max_nodes=2)))
    running = [world.request('big')[0] for _ in range(2)]
    request, _ = world.request('big', 'big', image_upload_uuid='upload')
    small, _ = world.request('big')
    world.finish(running.pop())
    assert not world.woken
    # What is ready is for others meanwhile.
    world.addNode(world.providers[0], 'big')
    assert world.woken == [small.uuid]
    world.serve()
    world.finish(small)
    world.finish(running.pop())
    assert request.uuid in world.woken


@pytest.mark.parametrize('answers', range(8))
def test_a_driver_that_stops_answering_amid_a_decision(answers):
    provider = Provider('a', 'big', limits={'instances': 5})
    world = World(provider)
    # No answer is good for longer than until the next question.
    limits = world.planner.capacity.limits
    limits.clock = itertools.count(step=limits.lifetime + 1).__next__
    left = iter([provider.getQuotaForLabel] * answers)

    def answer(label):
        if (function := next(left, None)) is None:
            raise TimeoutError
        return function(label)

    provider.getQuotaForLabel = answer
    decision = world.planner.plan(makeRequest('big'))
    assert isinstance(decision, Grant if answers else Wait)


def recordAsked(provider):
    """:return: a list, to which a provider adds each label whose needs it is
        asked for."""
    asked = []
    getQuota = provider.getQuotaForLabel
    provider._set(getQuotaForLabel=lambda label: asked.append(label)
                  or getQuota(label))
    return asked


def test_new_layout_of_a_tenant_asks_nothing_of_others():
    def provider(tenant):
        return Provider('a', 'big', limits={'instances': 1}, tenant=tenant)
    other = provider('other')
    asked = recordAsked(other)
    world = World(provider('tenant'), other)
    world.fill(1, 'big', tenant='other')
    _, wait = world.request('big', tenant='other')
    assert isinstance(wait, Wait)
    asked.clear()
    world.setProviders(provider('tenant'), other)
    assert asked == []
    assert isinstance(world.request('big', tenant='tenant')[1], Wait)


def test_a_changed_limit_does_not_ask_again_what_labels_need():
    provider = Provider('a', 'big', limits={'instances': 1})
    world = World(provider)
    world.fill(1, 'big')
    request, _ = world.request('big')
    asked = recordAsked(provider)
    provider.resource_limits = {'instances': 2}
    world.planner.limitsChanged()
    assert (world.woken, asked) == ([request.uuid], [])


def test_a_label_that_needs_less_than_before_all_the_same():
    provider = Provider('a', Label('big', {'cores': 3}), limits={'cores': 4})
    world = World(provider)
    world.fill(1, 'big')
    request, _ = world.request('big')
    provider.labels['big'].need = {'cores': 1}
    world.planner.limitsChanged()
    assert not world.woken
    limits = world.planner.capacity.limits
    limits.clock = lambda clock=limits.clock: clock() + limits.lifetime + 1
    # The planner asks again before it uses an answer that is too old.
    world.planner.getObstacle(provider, 'big')
    world.planner.limitsChanged()
    assert world.woken == [request.uuid]


def test_section_of_a_new_layout_counts_the_nodes_of_all_tenants():
    def provider(tenant, section=None):
        return Provider('a', 'big', tenant=tenant, section=section)
    section = {'name': 'site/rack', 'limits': {'instances': 2}}
    world = World(provider('tenant'), provider('other'))
    done, _ = world.fill(2, 'big', tenant='other')
    world.setProviders(*(
        provider(tenant, section) for tenant in ('tenant', 'other')))
    request, wait = world.request('big')
    assert 'section rack has 2 instances, 2 in use' in wait.reason
    world.finish(done)
    assert world.woken == [request.uuid]


def test_max_nodes_of_a_new_layout_counts_idle_nodes():
    def provider(max_nodes=None):
        return Provider('a', Label('big', max_nodes=max_nodes))
    world = World(provider())
    world.fill(1, 'big')
    node = world.addNode(world.providers[0], 'big', State.BUILDING)
    world.setProviders(provider(2))
    # The node that is being launched has room for the first one.
    assert isinstance(world.request('big')[1], Grant)
    request, wait = world.request('big')
    assert 'label big has 2 nodes, 2 in use' in wait.reason
    world.setProviders(provider(3))
    assert world.woken == [request.uuid]
    assert node.uuid in world.nodes
