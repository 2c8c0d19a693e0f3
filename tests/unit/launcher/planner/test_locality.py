"""The nodes of a job are where those of its paused parent are, if that is
possible now."""

import pytest
from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from tests.fixtures.planning import getReservations
from tests.fixtures.racks import addProvider, cloud, finish

State = ProviderNode.State


def near(launcher, name):
    """:return: what the request of a child says."""
    return {'preferred_provider': launcher.getProvider(name).canonical_name}


def test_all_nodes_come_from_the_preferred_provider(steps, racks):
    """Even if another provider has ready nodes, or a higher priority."""
    steps.setLayout(cloud('one', 'two'))
    for _ in range(2):
        steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert steps.servedBy(request) == ['two', 'two']
    assert steps.servedBy(steps.addRequest('big')) == ['one']


def test_ready_node_of_preferred_provider_comes_first(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    ready = steps.addNode(steps.getProvider('two'), 'big', state=State.READY)
    request = steps.addRequest('big', **near(steps, 'two'))
    assert steps.servedBy(request) == ['two']
    assert request.nodes == [ready.uuid]


def test_request_goes_elsewhere_when_preferred_provider_has_no_quota(
        steps, racks):
    """The request does not wait for quota, and its nodes still come from one
    provider."""
    steps.setLayout(cloud('one') + addProvider(
        'two', resource_limits='{instances: 1}'))
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert steps.servedBy(request) == ['one', 'one']
    first = steps.addRequest('big', **near(steps, 'two'))
    assert steps.servedBy(first) == ['two']
    second = steps.addRequest('big', **near(steps, 'two'))
    assert steps.servedBy(second) == ['one']
    # As soon as there is, it counts again.
    finish(steps, first)
    steps.runUntil(lambda: 'two' not in racks.instances.values())
    third = steps.addRequest('big', **near(steps, 'two'))
    assert steps.servedBy(third) == ['two']


def test_waiting_request_reserves_its_preferred_provider(steps, racks):
    """It is served by whichever provider has quota first."""
    steps.setLayout(cloud('one', 'two', resource_limits='{instances: 1}'))
    parents = [steps.addRequest('big', **near(steps, name))
               for name in ('one', 'two')]
    assert [steps.servedBy(parent) for parent in parents] == [['one'], ['two']]
    request = steps.addRequest('big', **near(steps, 'two'))
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    provider, = {each.provider for several
                 in getReservations(steps.planner).values()
                 for each in several}
    assert provider == steps.getProvider('two').canonical_name
    finish(steps, parents[1])
    assert steps.servedBy(request) == ['two']


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_request_goes_elsewhere_when_preferred_provider_is_paused(
        steps, racks):
    steps.setLayout(cloud('one', 'two'))
    racks.errors['two'] = QuotaException('full')
    request = steps.addRequest('big', **near(steps, 'two'))
    assert steps.servedBy(request) == ['one']
    assert racks.created == ['two', 'one']
    # Nor is it tried while it is paused.
    request = steps.addRequest('big', **near(steps, 'two'))
    assert steps.servedBy(request) == ['one']
    assert racks.created == ['two', 'one', 'one']


def test_request_goes_elsewhere_after_attempts_at_preferred_provider(
        steps, racks):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['two', 'other'] = RuntimeError('it does not boot')
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert steps.servedBy(request) == ['one', 'one']
    # The other node is kept for the second attempt.
    assert racks.created == ['two'] * 3 + ['one'] * 2


def test_request_goes_elsewhere_when_preferred_provider_lacks_label(
        steps, racks):
    """Also the nodes with labels that the preferred provider has."""
    steps.setLayout(cloud('one') + addProvider('two', labels='[big]'))
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert steps.servedBy(request) == ['one', 'one']
    request = steps.addRequest('other', **near(steps, 'two'))
    assert steps.servedBy(request) == ['one']


def test_nodeset_comes_from_several_providers_as_a_last_resort(steps, racks):
    """No provider has all labels; the preferred one makes what it can."""
    steps.setLayout(cloud('one') + addProvider('two', labels='[big]')
                    + addProvider('three', labels='[big, more]')
                    + '- label: {name: more, image: debian, flavor: small}\n')
    request = steps.addRequest('big', 'other', 'more', **near(steps, 'two'))
    assert steps.servedBy(request) == ['two', 'one', 'three']


def test_request_is_served_when_its_preferred_provider_is_gone(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    wanted = near(steps, 'two')
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', **wanted)
    assert steps.servedBy(request) == ['one']
