"""Limits of a tenant, over all of its providers."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import (
    Label,
    Provider,
    StaticProvider,
    World,
    getReservations,
    makeRequest,
)
from zuul_nodes.launcher.planner.planner import Grant, Impossible, Wait

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


def test_ready_node_counts_when_a_request_gets_it():
    provider = Provider('a', 'small', 'other')
    world = makeWorld(provider, instances=1)
    for _ in range(2):
        world.addNode(provider, 'small')
    # Ready nodes count for no tenant.
    grant = world.planner.plan(makeRequest('small'))
    assert grant.slots[0].node
    assert isinstance(world.request('small')[1], Wait)
    # The node may change before it is assigned.
    world.planner.updateNode(grant.slots[0].node)
    assert isinstance(world.request('other')[1], Wait)
    world.planner.forget(grant.request_id)
    assert len(world.woken) == 1


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


def test_slot_counts_as_its_part_of_the_machine():
    world = makeWorld(
        Provider('a', Label('small', {'cores': 8}, slots=4)), cores=4)
    world.fill(2)
    assert isinstance(world.request('small')[1], Wait)


def test_nothing_is_left_of_requests_that_have_ended():
    world = makeWorld(Provider('a', 'small'), instances=2)
    for _ in range(3):
        requests = world.fill(2)
        for request in requests:
            world.finish(request)
    assert isinstance(world.request('small', 'small')[1], Grant)
    assert getReservations(world.planner) == {}
