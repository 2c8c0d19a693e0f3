"""Virtual machines that were ready, and whether they run."""

import pytest

from tests.unit.drivers.azure.sites import change
from zuul_nodes.drivers import TemporaryError


def getProblem(site):
    """:return: why a node that is ready is put out of service, or None."""
    instance, = site.endpoint.listInstances()
    return instance.problem


def getName(node):
    return f'np{node.uuid}'


@pytest.fixture
def name(site):
    """:return: the name of a virtual machine whose node is ready."""
    return getName(site.create(site.makeNode()))


@pytest.mark.parametrize(('state', 'problem'), [
    ('running', None), ('starting', None), ('creating', None),
    ('stopping', 'its instance is stopping'),
    ('stopped', 'its instance is stopped'),
    ('deallocating', 'its instance is deallocating'),
    ('deallocated', 'its instance is deallocated'),
    # Azure does not always know it.
    ('unknown', None), (None, None)])
def test_power_states(site, azure, name, state, problem):
    azure.powers.set(name, state)
    assert getProblem(site) == problem


@pytest.mark.parametrize(('action', 'meanwhile', 'then'), [
    ('powerOff', 'stopping', 'stopped'),
    ('deallocate', 'deallocating', 'deallocated')])
def test_machine_that_is_stopped_by_others(
        site, azure, name, action, meanwhile, then):
    azure.operations.polls[f'virtualMachines.{action}'] = None
    site.endpoint._client.resource_group_virtual_machines.post(
        'zuul', name, action, {})
    assert getProblem(site) == f'its instance is {meanwhile}'
    azure.finish(name)
    assert getProblem(site) == f'its instance is {then}'


def test_failed_extension_does_not_matter(site, azure, name):
    azure.vms.failExtension(name)
    assert getProblem(site) is None


def test_machine_with_a_failed_extension_is_stopped(site, azure, name):
    azure.vms.failExtension(name)
    azure.powers.set(name, 'stopped')
    assert getProblem(site) == 'its instance is stopped'


def test_machine_that_is_being_deleted(site, azure, name):
    azure.operations.polls['virtualMachines.delete'] = None
    site.endpoint.calls.call('deleteInstance', azure.vms[name]['id'])
    assert getProblem(site) == 'Azure is deleting its instance'


def test_one_list_has_all_power_states(site, azure):
    nodes = [site.create(site.makeNode()) for _ in range(3)]
    azure.powers.set(getName(nodes[1]), 'stopped')
    before = len(azure.calls)
    problems = {instance.tags['zuul_node_uuid']: instance.problem
                for instance in site.endpoint.listInstances()}
    assert problems == {
        nodes[0].uuid: None, nodes[1].uuid: 'its instance is stopped',
        nodes[2].uuid: None}
    assert len(azure.calls) == before + 2


def test_pages(site, azure):
    azure.page_size = 1
    for _ in range(3):
        azure.powers.set(getName(site.create(site.makeNode())), 'stopped')
    assert [instance.problem for instance in site.endpoint.listInstances()
            ] == ['its instance is stopped'] * 3


def test_nodes_that_are_made_need_no_power_states(site, azure):
    calls = site.endpoint.calls.numbers
    site.delete(site.create(site.makeNode()))
    assert not calls['listPowerStates']


def test_unknown_power_states_are_no_reason(site, azure, name):
    """If Azure does not tell them, it is not as if nothing ran."""
    azure.inject('GET', r'.*/virtualMachines/?', 429, 'slowly',
                 option='statusOnly')
    with pytest.raises(TemporaryError, match='slowly'):
        site.endpoint.listInstances()
    assert getProblem(site) is None


def test_other_regions_are_left_out(makeSite, azure):
    azure.groups.add('west', 'westus')
    site = makeSite(change('region: eastus', 'region: westus'))
    assert not site.endpoint.listInstances()
