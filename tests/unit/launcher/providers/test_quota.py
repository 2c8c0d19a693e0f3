"""The limits of a section are shared by its providers."""

import collections
import itertools
import math

import pytest
from zuul.model import ProviderNode, QuotaInformation

from tests.fixtures.cloud import CloudInstance
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint, ShelfProvider

State = ProviderNode.State

CLOUD = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: big, image: debian, flavor: small}
- section:
    name: rack
    connection: rack
    images: [debian]
    flavors: [small]
'''
PROVIDER = '''
- provider:
    name: {name}
    section: rack
    resource-limits: {limits}
    labels:
      - name: big
        host-key-checking: false
'''


def cloud(*names, limits='{}'):
    return CLOUD + ''.join(
        PROVIDER.format(name=name, limits=limits) for name in names)


def section(name='rack', **limits):
    """:return: what labels say of their section."""
    return {'big': {'section': {'name': name, 'limits': limits}}}


def count(launcher, number=6):
    """:return: how many of some requests get a node."""
    requests = [launcher.addRequest('big', tenant=tenant)
                for tenant, _ in zip(
                    itertools.cycle(launcher.tenant_providers),
                    range(number))]
    launcher.runUntil(lambda: all(
        request.state in request.FINAL_STATES
        or launcher.planner.getReason(request.uuid)
        for request in requests))
    return sum(request.state == request.State.FULFILLED
               for request in requests)


def test_shared_by_the_providers_of_all_tenants(steps):
    own = section(instances=5)
    steps.setLayout(cloud('one', 'two'), 'first', own)
    steps.setLayout(cloud('one', 'three'), 'second', own)
    other = cloud('four').replace('name: rack', 'name: other')
    steps.setLayout(other.replace('section: rack', 'section: other'),
                    'third', section('other', instances=1))
    # Of the same provider, as another tenant has it; of another provider;
    # and of another section.
    for name, tenant in (('one', 'second'), ('three', 'second'),
                         ('four', 'third')):
        steps.addNode(steps.getProvider(name, tenant), 'big',
                      state=State.HOLD)
    assert count(steps, 9) == 3


@pytest.mark.parametrize('provider, shared, least', [
    (2, 5, 2), (5, 2, 2), (0, 5, 0), (5, 0, 0)])
def test_the_least_limit_counts(steps, provider, shared, least):
    steps.setLayout(cloud('one', limits=f'{{instances: {provider}}}'),
                    own=section(instances=shared))
    assert count(steps, 3) == least


def test_a_section_without_limits(steps):
    steps.setLayout(cloud('one', limits='{instances: 3}'),
                    own={'big': {'section': {'name': 'rack'}}})
    assert count(steps) == 3


def test_other_resources_are_not_limited(steps):
    steps.setLayout(cloud('one'), own=section(cores=0))
    steps.addNode(steps.getProvider('one'), 'big', state=State.HOLD,
                  quota=QuotaInformation(instances=1, cores=4))
    # A label that needs no cores may be built.
    assert count(steps, 2) == 2


def test_requests_wait_for_the_section(steps):
    steps.setLayout(cloud('one', 'two'), own=section(instances=1))
    requests = [steps.addRequest('big') for _ in range(2)]
    steps.runUntil(lambda: steps.nodes(State.READY))
    first, = (each for each in requests if each.provider_node_data)
    second, = (each for each in requests if each is not first)
    steps.run()
    assert second.state == second.State.REQUESTED
    with steps.context() as context:
        first.delete(context)
    steps.runUntil(lambda: second.state == second.State.FULFILLED)


def test_a_flavor_that_one_label_uses_in_its_own_way(steps, monkeypatch):
    """What it needs is asked for, and counts."""
    def getQuota(provider, label):
        flavor = provider.flavors[label.flavor]
        return QuotaInformation(instances=int(flavor.description or 1))
    asked = []
    monkeypatch.setattr(ShelfProvider, 'getQuotaForLabel', getQuota)
    monkeypatch.setattr(
        ShelfProvider, 'refreshQuotaForLabel', lambda provider, label, update:
        asked.append(getQuota(provider, label).quota['instances']))
    own = section(instances=2)
    own['big']['flavor'] = {'description': '3'}
    steps.setLayout(cloud('one'), own=own)
    steps.runUntil(lambda: asked and asked[-1] == 3)
    assert count(steps, 1) == 0


@pytest.mark.parametrize('others, limits, served', [
    (2, {'one': 2}, 1),
    (1, {'one': 1}, 1),
    (1, {'one': 1, 'two': 5}, 2)], ids=str)
def test_what_others_use(steps, monkeypatch, others, limits, served):
    """It leaves less of what the cloud allows, and no less of what
    providers may have."""
    monkeypatch.setattr(
        ShelfEndpoint, 'listInstances', lambda endpoint: [
            CloudInstance(None, {'instances': 1}) for _ in range(others)])
    monkeypatch.setattr(
        ShelfProvider, 'getEndpointLimits', lambda provider: QuotaInformation(
            default=math.inf, instances=3))
    steps.setLayout(CLOUD + ''.join(
        PROVIDER.format(name=name, limits=f'{{instances: {limit}}}')
        for name, limit in limits.items()))
    cache = steps.getProvider('one').getEndpoint().quota_cache
    steps.runUntil(lambda: cache.getUnmanagedUsage().getResources().get(
        'instances') == others)
    assert count(steps, 4) == served
    # Any of several that have room will do.
    used = collections.Counter(
        node.provider.rpartition('/')[2] for node in steps.nodes())
    assert used.total() == served and used <= collections.Counter(limits)
