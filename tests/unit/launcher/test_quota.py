"""The limits of a section are shared by its providers."""

import pytest
from zuul.model import ProviderNode, QuotaInformation

from tests.fixtures.shelf.shelf_maker import ShelfProvider
from zuul_nodes.launcher.quota import getLeft

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


def available(launcher, provider, **kwargs):
    quota = launcher.getProviderQuotaAvailable(provider, [], **kwargs)
    return quota.quota.get('instances', quota.default)


def hasQuota(launcher, provider, **kwargs):
    return launcher.doesProviderHaveQuotaForLabel(
        provider.tenant_name, provider, provider.labels['big'], [], **kwargs)


@pytest.mark.parametrize('limits, used, left', [
    ({'instances': 5}, [], 5),
    ({'instances': 5}, [2, 1], 2),
    ({'instances': 5}, [5, 1], 0),
    ({'instances': 0}, [], 0),
])
def test_what_others_leave(limits, used, left):
    quota = getLeft(limits, [QuotaInformation(instances=number, cores=99)
                             for number in used])
    assert quota.getResources() == {'instances': left}
    assert quota.default == float('inf')


def test_shared_by_the_providers_of_all_tenants(steps):
    own = section(instances=5)
    steps.setLayout(cloud('one', 'two'), 'first', own)
    steps.setLayout(cloud('one', 'three'), 'second', own)
    steps.setLayout(cloud('four'), 'third', section('other', instances=5))
    one = steps.getProvider('one', 'first')
    assert available(steps, one) == 5
    # The same provider, of another tenant; that is counted by Zuul.
    steps.addNode(steps.getProvider('one', 'second'), 'big',
                  state=State.IN_USE)
    assert available(steps, one) == 5
    steps.addNode(steps.getProvider('two', 'first'), 'big',
                  state=State.READY)
    steps.addNode(steps.getProvider('three', 'second'), 'big',
                  state=State.REQUESTED)
    steps.addNode(steps.getProvider('four', 'third'), 'big',
                  state=State.BUILDING)
    assert available(steps, one) == 4
    assert available(steps, one, include_requested=True) == 3
    three = steps.getProvider('three', 'second')
    assert available(steps, three) == 3


@pytest.mark.parametrize('provider, shared, least', [
    (2, 5, 2), (5, 2, 2), (0, 5, 0), (5, 0, 0)])
def test_the_least_limit_counts(steps, provider, shared, least):
    steps.setLayout(cloud('one', limits=f'{{instances: {provider}}}'),
                    own=section(instances=shared))
    one = steps.getProvider('one')
    assert available(steps, one) == least
    assert hasQuota(steps, one) == bool(least)
    assert hasQuota(steps, one, include_usage=False) == bool(least)


def test_a_section_without_limits(steps):
    steps.setLayout(cloud('one', 'two', limits='{instances: 3}'),
                    own={'big': {'section': {'name': 'rack'}}})
    steps.addNode(steps.getProvider('two'), 'big', state=State.READY)
    one = steps.getProvider('one')
    assert available(steps, one) == 3
    assert hasQuota(steps, one, include_usage=False)


def test_other_resources_are_not_limited(steps):
    steps.setLayout(cloud('one', 'two'), own=section(cores=0))
    one = steps.getProvider('one')
    steps.addNode(steps.getProvider('two'), 'big', state=State.READY,
                  quota=QuotaInformation(instances=1, cores=4))
    # A label that needs no cores may be built.
    assert hasQuota(steps, one)
    assert hasQuota(steps, one, include_usage=False)


def test_a_full_section_makes_its_providers_full(steps):
    steps.setLayout(cloud('one', 'two'), own=section(instances=1))
    assert steps.getQuotaPercentage(steps.getProvider('one'), []) == 0
    for _ in range(2):
        steps.addNode(steps.getProvider('two'), 'big', state=State.READY)
    assert steps.getQuotaPercentage(steps.getProvider('one'), []) == 1


def test_requests_wait_for_the_section(steps):
    steps.setLayout(cloud('one', 'two'), own=section(instances=1))
    requests = [steps.addRequest('big') for _ in range(2)]
    steps.runUntil(lambda: steps.nodes(State.READY))
    first, = (each for each in requests if each.provider_node_data)
    second, = (each for each in requests if each is not first)
    steps._run()
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
    assert asked[-1] == 3
    one = steps.getProvider('one')
    assert not hasQuota(steps, one)
    assert not hasQuota(steps, one, include_usage=False)
