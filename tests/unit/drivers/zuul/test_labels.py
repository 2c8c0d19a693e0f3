"""Launchers are told why no provider offers a label."""

from tests.unit.drivers.zuul.site import PROVIDERS, PROVIDERS_FILE
from zuul_nodes import labelproblems

BROKEN = PROVIDERS.replace('section: rack\n', 'section: rock\n')


def test_problems_of_labels(loadTenant, makeScheduler, kazoo_client):
    loaded = loadTenant({PROVIDERS_FILE: BROKEN}, complete=False)
    makeScheduler(loaded)
    loaded.connections.reconfigureDrivers(loaded.tenant)
    problems = labelproblems.read(kazoo_client, 'tenant')
    # The other one has a provider still.
    assert problems.keys() == {'stock'}
    assert 'The provider "rack" refers to the section "rock"' in (
        problems['stock'])
    assert ('(project example.com/nodes, branch main, '
            'zuul.d/providers.yaml, line 7)') in problems['stock']
    loaded.files[PROVIDERS_FILE] = PROVIDERS
    loaded.load()
    loaded.connections.reconfigureDrivers(loaded.tenant)
    assert labelproblems.read(kazoo_client, 'tenant') == {}


def test_a_layout_without_problems_is_not_written(
        loadTenant, makeScheduler, kazoo_client):
    loaded = loadTenant()
    makeScheduler(loaded)
    loaded.connections.reconfigureDrivers(loaded.tenant)
    assert not kazoo_client.exists(labelproblems.ROOT)
