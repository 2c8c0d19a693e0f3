"""Limits of a tenant, over all of its providers."""

import pytest
from zuul.model import ProviderNode, QuotaInformation

from tests.fixtures.planning import (
    Label,
    Provider,
    StaticProvider,
    World,
    assign,
    getReservations,
    makeNode,
    makeRequest,
)
from zuul_nodes import nodenotes, nodeusage
from zuul_nodes.launcher.planner.limits import getTenantAccount
from zuul_nodes.launcher.planner.planner import Grant, Impossible, Wait
from zuul_nodes.launcher.providers import Scope, getIdentity

State = ProviderNode.State


def makeWorld(*providers, **limits):
    """:return: a World in which "tenant" has limits."""
    return World(*providers, getTenantLimits=lambda name: (
        limits if name == 'tenant' else {}))


def test_tenant_has_no_more_than_its_limit_at_all_providers():
    world = makeWorld(Provider('a', 'small'), Provider('b', 'other'),
                      instances=2)
    world.fill(1)
    done, = world.fill(1, 'other')
    request, wait = world.request('small')
    assert isinstance(wait, Wait)
    assert 'tenant tenant has 2 instances, 2 in use, 1 needed' in wait.reason
    world.finish(done)
    assert world.woken == [request.uuid]
    world.serve()
    assert isinstance(world.request('other')[1], Wait)


def test_other_tenants_have_what_a_tenant_may_not():
    world = makeWorld(
        Provider('a', 'small', limits={'instances': 3}),
        Provider('a', 'small', limits={'instances': 3}, tenant='free'),
        instances=1)
    world.fill(1)
    _, wait = world.request('small', 'small')
    assert isinstance(wait, Impossible)
    _, wait = world.request('small')
    assert isinstance(wait, Wait)
    # What waits for its tenant's limit keeps nothing from others.
    world.fill(2, tenant='free')


@pytest.mark.parametrize('resource, amount', [('cores', 7), ('ram', 7000)])
def test_any_resource_may_be_limited(resource, amount):
    world = makeWorld(Provider('a', Label('small', {
        'instances': 1, 'cores': 4, 'ram': 4000})), **{resource: amount})
    world.fill(1)
    assert isinstance(world.request('small')[1], Wait)


def test_request_for_more_than_the_limit_fails_with_it_as_the_reason():
    world = makeWorld(Provider('a', 'small'), instances=2)
    _, decision = world.request('small', 'small', 'small')
    assert isinstance(decision, Impossible)
    _, decision = makeWorld(Provider('a', 'small'), instances=0).request(
        'small')
    assert 'tenant tenant has 0 instances in all, 1 needed' in decision.reason


def addReady(world, provider):
    """:return: a ready node that was launched for a provider's tenant."""
    return world.addNode(provider, 'small', **nodenotes.make(
        getIdentity(provider, 'small').made_of, provider.tenant_name))


def test_idle_node_counts_for_the_tenant_it_was_launched_for():
    provider = Provider('a', 'small', 'other')
    free = Provider('a', 'small', 'other', tenant='free')
    world = makeWorld(provider, free, instances=1)
    node = addReady(world, provider)
    _, wait = world.request('other')
    assert 'tenant tenant has 1 instances, 1 in use' in wait.reason
    # Its own requests may have it, and so may those of others.
    grant = world.planner.plan(makeRequest('small'))
    assert grant.slots[0].node is node
    world.planner.forget(grant.request_id)
    world.fill(1, tenant='free')
    assert node.tenant_name == 'free'
    assert isinstance(world.serve()[0], Grant)


def test_idle_node_of_another_tenant_counts_when_a_request_gets_it():
    provider = Provider('a', 'small', 'other')
    free = Provider('a', 'small', 'other', tenant='free')
    world = makeWorld(provider, free, instances=1)
    for _ in range(2):
        addReady(world, free)
    grant = world.planner.plan(makeRequest('small'))
    assert grant.slots[0].node
    assert isinstance(world.request('small')[1], Wait)
    # The node may change before it is assigned.
    world.planner.updateNode(grant.slots[0].node)
    assert isinstance(world.request('other')[1], Wait)
    world.planner.forget(grant.request_id)
    assert len(world.woken) == 1


def test_tenant_prefers_its_own_idle_nodes_at_its_limit():
    """In whatever order they are in the nodeset."""
    provider = Provider('a', 'small', 'other')
    free = Provider('a', 'small', 'other', tenant='free')
    world = makeWorld(provider, free, instances=2)
    addReady(world, free)
    own = addReady(world, provider)
    addReady(world, free)
    _, grant = world.request('small', 'small')
    assert own.uuid in [slot.node_id for slot in grant.slots]
    assert isinstance(world.request('small')[1], Wait)


def test_tenant_with_too_many_idle_nodes_gets_none_of_them():
    """As after a restart with a lower limit."""
    provider = Provider('a', 'small')
    world = makeWorld(provider, instances=1)
    nodes = [addReady(world, provider) for _ in range(2)]
    request, wait = world.request('small')
    assert isinstance(wait, Wait)
    world.removeNode(nodes[0])
    assert world.woken == [request.uuid]
    grant, = world.serve()
    assert grant.slots[0].node is nodes[1]


def test_min_ready_node_needs_what_its_tenant_may_have():
    world = makeWorld(Provider('a', 'small', 'other'), instances=1)
    provider, = world.providers
    assert world.planner.getObstacle(provider, 'small') is None
    addReady(world, provider)
    assert 'tenant tenant has 1 instances' in str(
        world.planner.getObstacle(provider, 'other'))


def test_static_machines_count():
    world = makeWorld(StaticProvider('desks', ['desk'], ['desk']),
                      instances=1)
    world.fill(1, 'desk')
    assert isinstance(world.request('desk')[1], Wait)


def test_large_request_gets_the_share_of_its_tenant_before_younger_ones():
    world = makeWorld(Provider('a', 'small'), instances=3)
    first, *_ = world.fill(3)
    large, wait = world.request('small', 'small')
    assert isinstance(wait, Wait)
    small, wait = world.request('small')
    assert isinstance(wait, Wait)
    world.finish(first)
    assert world.woken == []
    assert isinstance(world.plan(small), Wait)
    assert world.plan(large)


def makeSlotWorld(cores):
    """:return: a World with machines of 8 cores and 4 slots, for the tenant
        and for others."""
    label = Label('small', {'cores': 8}, slots=4)
    return makeWorld(*(Provider('a', label, tenant=tenant)
                       for tenant in ('tenant', 'free', 'other')), cores=cores)


def test_machine_with_slots_counts_as_a_whole_for_its_only_tenant():
    world = makeSlotWorld(8)
    world.fill(4)
    _, wait = world.request('small')
    assert 'tenant tenant has 8 cores, 8 in use, 8 needed' in wait.reason
    _, decision = makeSlotWorld(7).request('small')
    assert isinstance(decision, Impossible)


def getUsed(world):
    account = getTenantAccount('tenant')
    return world.planner.capacity.used[account, 'cores']


def test_tenants_share_a_machine_by_the_slots_that_they_use():
    world = makeSlotWorld(16)
    world.fill(1)
    assert getUsed(world) == 8
    first, = world.fill(1, tenant='free')
    assert getUsed(world) == pytest.approx(4)
    second, = world.fill(1, tenant='other')
    assert getUsed(world) == pytest.approx(8 / 3)
    world.fill(1)
    assert getUsed(world) == pytest.approx(4)
    # A slot that is free again is at the expense of those that stay.
    for number, request in enumerate((first, second)):
        node, = world.getNodes(request)
        assign(node, None)
        world.planner.updateNode(node)
        world.planner.forget(request.uuid)
        assert getUsed(world) == pytest.approx((16 / 3, 8)[number])


def test_slot_of_a_shared_machine_costs_what_it_adds():
    world = makeSlotWorld(8)
    world.fill(2, tenant='free')
    # A third of a machine, and then a half.
    world.fill(2)
    assert getUsed(world) == pytest.approx(4)
    # A new machine would be too much.
    assert isinstance(world.request('small')[1], Wait)


def test_commands_share_out_machines_as_the_planner_does():
    world = makeSlotWorld(80)
    world.fill(3)
    world.fill(3, tenant='free')
    addReady(world, world.providers[0])
    used = nodeusage.sumUpTenants(list(map(
        nodeusage.toRecord, world.nodes.values())))
    assert used['tenant']['cores'] == pytest.approx(getUsed(world))
    assert sum(each['cores'] for each in used.values()) == 24


def test_nothing_is_left_of_requests_that_have_ended():
    world = makeWorld(Provider('a', 'small'), instances=2)
    for _ in range(3):
        requests = world.fill(2)
        for request in requests:
            world.finish(request)
    assert isinstance(world.request('small', 'small')[1], Grant)
    assert getReservations(world.planner) == {}


def test_slots_of_one_machine_count_as_one_machine():
    """However many of them a nodeset needs."""
    provider = StaticProvider('desks', ['desk'], limits={})
    provider.labels['desk'].slots = 4
    for entry in provider.nodes.values():
        entry.slots = 4
    world = makeWorld(instances=1)
    world.providers = [provider]
    world.planner.setScope(Scope({'tenant': [provider]}))
    host, *slots = (
        makeNode(provider, 'desk', State.READY, uuid=node_id, **attributes)
        for node_id, attributes in (
            ('desks-0', {'subnodes': ['s0', 's1', 's2', 's3']}),
            *((f's{number}', {'main_node_id': 'desks-0',
                              'quota': QuotaInformation()})
              for number in range(4))))
    host._set(state=State.SLOT_HOST)
    for node in (host, *slots):
        world.nodes[node.uuid] = node
        world.planner.updateNode(node)
    _, decision = world.request('desk', 'desk', 'desk')
    assert isinstance(decision, Grant)
    assert isinstance(world.request('desk', 'desk')[1], Wait)


def test_idle_machine_of_another_tenant_counts_once_for_its_slots():
    world = makeSlotWorld(8)
    request, _ = world.request('small', tenant='free')
    node, = world.getNodes(request)
    assign(node, None)
    world.planner.updateNode(node)
    world.planner.forget(request.uuid)
    _, decision = world.request('small', 'small', 'small')
    assert isinstance(decision, Grant)
    assert getUsed(world) == 8


def test_node_that_no_tenant_can_use_counts_for_no_other_one():
    old, new = (Provider('a', Label('small', config_hash=each))
                for each in ('old', 'new'))
    other = Provider('a', Label('small', config_hash='other'), tenant='other')
    world = World(old, other)
    node = addReady(world, old)
    for providers, owner in (((old, other), 'tenant'),
                             ((new, other), 'tenant'), ((other,), None)):
        world.setProviders(*providers)
        assert world.planner.capacity.getOwner(node) == owner
    assert world.planner.isShort(node, by_others=True) is False


def test_own_limit_of_a_tenant_makes_it_give_up_its_retained_nodes():
    """The limit of others does not."""
    for limit in ('tenant', 'provider'):
        provider = Provider('a', 'small', 'other', limits={
            'instances': 1} if limit == 'provider' else {})
        world = makeWorld(provider, **(
            {'instances': 1} if limit == 'tenant' else {}))
        node = addReady(world, provider)
        assert isinstance(world.request('other')[1], Wait)
        assert world.planner.isShort(node, by_others=True) is (
            limit == 'tenant')
