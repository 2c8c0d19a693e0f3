"""What ``zuul-nodes providers`` shows."""

import functools
import json
import logging

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import ProviderNode, QuotaInformation
from zuul.zk.zkobject import ZKContext

from tests.fixtures.programs import getRefusal, writeConf
from tests.fixtures.racks import addProvider, cloud
from tests.unit.cmd.conftest import getRows, getShown
from zuul_nodes import providerstatus, zkrecords
from zuul_nodes.providerstatus import Limit, Paused, Status

State = ProviderNode.State
PROJECT = 'example.com%2Fnodes'


@pytest.fixture
def providers(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'providers')


@pytest.fixture
def site(zk_client, offer):
    return Site(zk_client, offer)


class Site:
    """The records of providers and nodes."""

    def __init__(self, zk_client, offer):
        self.client = zk_client.client
        self.context = ZKContext(zk_client, None, None, logging.getLogger())
        offer(cloud('west') + addProvider('east', '[big]'))

    def record(self, name, limits=(), pauses=(), problem=None):
        """Write what the planner knows."""
        zkrecords.write(self.client, zkrecords.getPath(
            providerstatus.ROOT, f'{PROJECT}/{name}'),
            providerstatus.makeRecord(Status(
                'cloud', 'section', limits, pauses, problem)))

    def addNode(self, name, state=State.IN_USE, label='big', **quota):
        return StaticProviderNode.new(
            self.context, label=label, state=state, connection_name='rack',
            endpoint_name='cloud', provider=f'{PROJECT}/{name}',
            quota=QuotaInformation(**quota))

    def fill(self):
        shared = Limit('endpoint', 'cloud', 'cores', 40, 12, 6)
        self.record('west', [
            Limit('provider', f'{PROJECT}/west', 'instances', 4), shared], [
                Paused(None, 150.5, 'the cloud has no more quota')])
        self.record('east', [shared], [
            Paused('big', 400.5, 'no machine for this flavor is free')])
        for name in ('west', 'west', 'east'):
            self.addNode(name, instances=1, cores=4)


def test_usage_counts_in_all_limits_that_nodes_share(providers, site):
    site.fill()
    east, west = json.loads(providers('--format', 'json'))
    assert [(each['kind'], each['used']) for each in west['limits']] == [
        ('provider', 2), ('endpoint', 12)]
    assert [(each['kind'], each['used']) for each in east['limits']] == [
        ('endpoint', 12)]
    assert (west['nodes'], west['tenants']) == (2, ['tenant'])


def test_section_counts_the_nodes_of_its_providers(providers, site):
    for name in ('west', 'east'):
        site.record(name, [Limit('section', 'section', 'cores', 9)])
        site.addNode(name, cores=4)
    for each in json.loads(providers('--format', 'json')):
        assert each['limits'][0]['used'] == 8


def test_it_prints_what_the_documentation_shows(
        providers, site, limitTenant):
    site.fill()
    limitTenant('tenant', instances=20)
    assert providers().splitlines() == getShown(
        'howto/watch-providers.rst', 'zuul-nodes providers')


@pytest.mark.parametrize('problem, expected', [
    (None, 'ok'), ('no running launcher handles connection rack',) * 2])
def test_state_of_a_provider_that_is_not_paused(
        providers, site, problem, expected):
    site.record('west', problem=problem)
    rows = {row[0]: row[-1] for row in getRows(providers())}
    assert rows == {'west': expected, 'east': 'not recorded'}


def test_pause_that_has_ended_is_not_shown(providers, site):
    site.record('west', pauses=[Paused(None, -1, 'over')])
    assert 'over' not in providers()


def test_one_provider_is_shown_with_limits_labels_and_pauses(
        providers, site):
    site.fill()
    site.addNode('west', State.FAILED, 'other')
    lines = providers('show', 'west').splitlines()
    for line in ('Endpoint:   cloud', 'Section:    section', 'Nodes:      3'):
        assert line in lines
    assert any(line.startswith('Paused:     until ') and line.endswith(
        ': the cloud has no more quota') for line in lines)
    cells = [[cell.strip() for cell in line.split('|')[1:-1]]
             for line in lines if line.startswith('|')]
    for row in (['provider', 'instances', '4', '2', '0', '0', '2'],
                ['endpoint', 'cores', '40', '12', '12', '6', '10'],
                ['big', 'tenant', '0', '0', '0', '2', '0', '0', '-'],
                ['other', 'tenant', '0', '0', '0', '0', '0', '1', '-']):
        assert row in cells
    assert providers('show', 'east').splitlines()[-1] == (
        'Label big paused for 6 min: no machine for this flavor is free')


def test_tenants_of_a_provider_are_shown_with_their_limits(
        providers, site, limitTenant):
    limitTenant('tenant', cores=100)
    limitTenant('stranger', cores=1)
    site.addNode('west', cores=4).assign(site.context, 'f' * 32, 'tenant')
    line = 'Tenant tenant uses 4 of 100 cores'
    for shown in (providers(), providers('show', 'west')):
        assert shown.splitlines()[-1] == line
        assert max(map(len, shown.splitlines())) <= 100
    east, _ = json.loads(providers('--format', 'json'))
    assert east['tenant_limits'] == {
        'tenant': {'cores': {'used': 4, 'limit': 100}}}


def test_nothing_is_reserved_by_a_record_of_the_previous_release(
        providers, site, monkeypatch):
    asdict = Limit._asdict
    monkeypatch.setattr(Limit, '_asdict', lambda self: {
        key: value for key, value in asdict(self).items()
        if key != 'reserved'})
    site.fill()
    limit, = json.loads(providers('show', 'east', '--format', 'json'))[
        'limits']
    assert limit['reserved'] == 0


@pytest.mark.parametrize('arguments', [
    ('--tenant', 'other'), ('--connection', 'other'), ('--label', 'third'),
    ('--paused',)])
def test_filters(providers, site, offer, arguments):
    offer(cloud('third', connection='other').replace('other}', 'third}')
          .replace('name: other,', 'name: third,').replace(
              '[big, other]', '[third]'), 'other')
    site.record('third', pauses=[Paused('third', 60, 'full')])
    found = json.loads(providers('list', '--format', 'json', *arguments))
    assert [each['name'] for each in found] == [f'{PROJECT}/third']


def test_near_miss_of_a_name(zuulNodes, zuul_conf, tmp_path, site):
    result = zuulNodes('providers', '-c', writeConf(
        zuul_conf, tmp_path / 'zuul.conf'), 'show', 'wst')
    assert getRefusal(result) == (
        'zuul-nodes providers: there is no provider "wst". Did you mean '
        '"west"?')
