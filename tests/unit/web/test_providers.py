"""What the REST API tells of a tenant's providers."""

import time

import pytest

from tests.unit.drivers.zuul.site import PROVIDERS, PROVIDERS_FILE
from tests.unit.web.conftest import PROJECT
from zuul_nodes import providerstatus, zkrecords
from zuul_nodes.providerstatus import Limit, Paused

pytestmark = pytest.mark.usefixtures('eager')
PATH = 'zuul-nodes/providers'
NOTHING = {'ready': 0, 'building': 0, 'in_use': 0, 'hold': 0, 'failed': 0}
SECRET = 'b' * 32


def ask(web, name='rack', tenant='tenant'):
    status, answer = web.ask(PATH, tenant=tenant)
    assert status == 200
    found, = (each for each in answer if each['name'] == name)
    return found


def test_providers_of_the_layout(web):
    assert [each['name'] for each in web.ask(PATH)[1]] == ['desk', 'rack']
    assert ask(web) == {
        'name': 'rack', 'canonical_name': f'{PROJECT}/rack',
        'connection': 'rack', 'problem': None, 'limits': None, 'pauses': [],
        'nodes': NOTHING, 'labels': [
            {'name': name, 'min_ready': 0, 'min_ready_times': None} | NOTHING
            for name in ('debian', 'stock')]}


def test_parts_of_a_limit_are_totals_of_all_who_share_it(web, site):
    site.describe(limits=[
        Limit('provider', f'{PROJECT}/rack', 'instances', 4),
        Limit('endpoint', 'cloud', 'cores', 40, 12, 8)])
    # Of a tenant with a provider that this one does not have.
    site.describe('secret', [Limit('endpoint', 'cloud', 'cores', 40, 12, 8)])
    site.addNodes(1, instances=1, cores=4)
    site.addNodes(2, 'secret', instances=1, cores=4)
    instances, cores = ask(web)['limits']
    assert instances == {
        'kind': 'provider', 'name': 'rack', 'resource': 'instances',
        'limit': 4, 'used': 1, 'foreign': 0, 'reserved': 0, 'free': 3}
    assert cores == {
        'kind': 'endpoint', 'name': 'cloud', 'resource': 'cores',
        'limit': 40, 'used': 12, 'foreign': 12, 'reserved': 8, 'free': 8}
    assert 'secret' not in str(web.ask(PATH))


def test_more_may_be_used_than_a_limit_that_was_lowered(web, site):
    site.describe(limits=[Limit('endpoint', 'cloud', 'cores', 4)])
    site.addNodes(1, cores=8)
    limit, = ask(web)['limits']
    assert (limit['used'], limit['free']) == (8, 0)


def test_record_of_the_previous_release_reserves_nothing(
        web, site, monkeypatch):
    monkeypatch.setattr(Limit, '_asdict', lambda self: {
        'kind': 'endpoint', 'name': 'cloud', 'resource': 'cores',
        'limit': 4, 'foreign': 1})
    site.describe(limits=[Limit('endpoint', 'cloud', 'cores', 4, 1)])
    limit, = ask(web)['limits']
    assert (limit['reserved'], limit['free']) == (0, 3)


def test_nodes_are_counted_by_what_they_do(web, site):
    for state in ('building', 'in-use', 'in-use', 'hold', 'failed'):
        site.addNodes(1, state=state)
    site.addNodes(1, state='ready', label='other')
    found = ask(web)
    assert found['nodes'] == {'ready': 1, 'building': 1, 'in_use': 2,
                              'hold': 1, 'failed': 1}
    # No label that another tenant has at the provider.
    assert [(each['name'], each['in_use']) for each in found['labels']] == [
        ('debian', 2), ('stock', 0)]


def test_number_of_nodes_that_are_kept_ready_is_that_of_the_time(
        makeWeb, loadTenant):
    web = makeWeb(loadTenant({PROVIDERS_FILE: PROVIDERS.replace(
        'labels: [debian, stock]', """labels: [stock, {
            name: debian, min-ready: 1, min-ready-times: [
                {from: "00:00", to: "24:00", min-ready: 3}]}]""")}))
    stock, debian = ask(web)['labels']
    assert (stock['min_ready'], stock['min_ready_times']) == (0, None)
    assert (debian['min_ready'], debian['min_ready_times']) == (
        3, '3 on mon-sun 00:00-24:00 UTC, otherwise 1')


def test_pauses_of_a_provider_and_of_the_labels_that_the_tenant_has(
        web, site):
    site.describe(pauses=[
        Paused(None, 60, f'no quota for node {SECRET} at 10.0.0.5'),
        Paused('debian', 90, 'no capacity'),
        Paused('other', 90, 'no capacity'), Paused('stock', -1, 'over')])
    whole, label = ask(web)['pauses']
    assert whole['label'] is None
    assert 0 < whole['left'] <= 60
    assert abs(whole['until'] - time.time()) <= 61
    assert whole['reason'] == 'no quota for node [id] at [address]'
    assert (label['label'], label['reason']) == ('debian', 'no capacity')


def test_problem_gives_nothing_of_the_operator_away(web, site):
    site.describe(problem='its limits are not known: no route to 10.0.0.5')
    assert ask(web)['problem'] == (
        'its limits are not known: no route to [address]')


def test_one_unreadable_record_hides_no_other(web, site):
    zkrecords.write(site.client, zkrecords.getPath(
        providerstatus.ROOT, f'{PROJECT}/desk'), b'?')
    site.describe(problem='it is broken')
    assert ask(web, 'desk')['problem'] is None
    assert ask(web)['problem'] == 'it is broken'
