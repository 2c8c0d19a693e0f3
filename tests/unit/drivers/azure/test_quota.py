"""Limits, what nodes take of them, and what is asked of a configuration."""

import pytest

from tests.fixtures.kit.azure import makeClient, makeMachine
from tests.unit.drivers.azure.sites import SUBNET, change
from zuul_nodes.drivers import PermanentError


def test_limits_of_families(site, azure):
    azure.limits['standardDSv3Family'] = 10
    assert site.endpoint.refreshQuotaLimits(True)
    limits = site.provider.getEndpointLimits().getResources()
    assert limits['standardDSv3Family'] == 10
    assert limits.keys() == {
        'instances', 'cores', 'lowPriorityCores', 'standardDSv3Family',
        'standardFSv2Family'}


@pytest.mark.parametrize(('priority', 'expected'), [
    ('regular', {'cores': 2, 'standardDSv3Family': 2}),
    ('spot', {'lowPriorityCores': 2})])
def test_needs(makeSite, priority, expected):
    site = makeSite(change('public-ipv4: true', f'priority: {priority}'))
    label = site.provider.labels['small']
    site.provider.refreshQuotaForLabel(label, False)
    assert site.provider.getQuotaForLabel(label).getResources() == {
        'instances': 1, 'ram': 8192, **expected}


def test_foreign_machines_use_up_limits(site, azure):
    client = makeClient(azure)
    client.resource_group_virtual_machines.create(
        'zuul', 'foreign', makeMachine(azure))
    foreign = azure.vms['foreign']
    azure.vms.store({**foreign, 'id': f'{foreign["id"]}-2',
                     'name': 'elsewhere', 'location': 'westus'})
    instance, = site.endpoint.listInstances()
    assert instance.getQuotaInformation().getResources()['cores'] == 2


@pytest.mark.parametrize(('size', 'message'), [
    ('Standard_D2s_v4', 'has no VM size .*Standard_D2s_v3'),
    ('Standard_F2s_v2', 'does not offer the VM size')])
def test_size_that_can_not_be_had(makeSite, azure, size, message):
    azure.vms.restricted['Standard_F2s_v2'] = 'NotAvailableForSubscription'
    site = makeSite(change('Standard_D2s_v3', size))
    with pytest.raises(PermanentError, match=message):
        site.create(site.makeNode())
    label = site.provider.labels['small']
    # Nodes do not wait for an end of that: they fail, and say why.
    site.provider.refreshQuotaForLabel(label, False)
    assert site.provider.getQuotaForLabel(label).getResources() == {
        'instances': 1}
    problems = [check.ask() for check in site.provider.getChecks()
                if check.subject == 'flavor']
    assert [message.split('.*')[0] in each for each in problems] == [True]


def test_sizes_are_asked_for_once(site, azure):
    for _ in range(3):
        site.endpoint.listInstances()
        site.endpoint.adapter.sizes.getNeeds('Standard_D2s_v3', 'regular')
    assert sum('/skus' in path for _, path in azure.calls) == 1


def test_checks(makeSite):
    site = makeSite(change(SUBNET, f"{SUBNET}\n        az: '1'"))
    found = {(check.subject, check.ask() or '')
             for check in site.provider.getChecks()}
    assert found == {(subject, '') for subject in (
        'permission', 'zone', 'quota', 'flavor', 'subnet', 'image')}


@pytest.mark.parametrize(('old', 'new', 'subject'), [
    ('{network: zuul}', '{network: none}', 'subnet'),
    ('{name: base}', '{name: none}', 'image'),
    (SUBNET, f"{SUBNET}\n        az: '9'", 'zone')])
def test_check_that_something_is_missing(makeSite, old, new, subject):
    text = change(old, new)
    if subject == 'image':
        # The name of the image in the layout is another thing.
        text = change('image-filter: {name: base}',
                      'image-filter: {name: none}')
    site = makeSite(text)
    said = {check.subject: check.ask() for check in site.provider.getChecks()
            if check.subject == subject}
    assert said[subject]


def test_each_zone_of_a_label_has_to_have_its_size(makeSite):
    site = makeSite(change(
        SUBNET, f"{SUBNET}\n        availability-zones: ['1', '9']"))
    said = [check.ask() for check in site.provider.getChecks()
            if check.subject == 'flavor']
    assert said[0] == ''
    assert 'The size is not available in zone 9' in said[1]


def test_leaks(site, azure):
    """What is used goes with what uses it."""
    node = site.makeNode()
    site.create(node)
    kinds = {resource.type for resource
             in site.endpoint.listResources([site.provider])
             if resource.metadata.get('zuul_node_uuid') == node.uuid}
    assert kinds == {'instance'}
    azure.vms[f'np{node.uuid}']['properties']['networkProfile'][
        'networkInterfaces'][0]['properties']['deleteOption'] = 'Detach'
    site.delete(node)
    while left := [resource for resource
                   in site.endpoint.listResources([site.provider])
                   if resource.metadata.get('zuul_node_uuid') == node.uuid]:
        for resource in left:
            site.endpoint.deleteResource(resource)
    assert not site.left
