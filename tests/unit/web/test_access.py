"""Who may ask, how often that costs something, and what browsers are told."""

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes import waits
from zuul_nodes.providerstatus import Limit

ENDPOINTS = ('requests', f'request/{"0" * 32}', 'limits', 'providers',
             'images')


@pytest.mark.parametrize('endpoint', ENDPOINTS)
def test_anybody_reads_of_a_tenant_without_rules(web, endpoint):
    answer = web.request(f'/api/tenant/tenant/zuul-nodes/{endpoint}')
    assert answer.status == (404 if '0' in endpoint else 200)
    assert answer.headers['Access-Control-Allow-Origin'] == '*'
    if answer.status == 200:
        assert answer.headers['Content-Type'] == (
            'application/json; charset=utf-8')


@pytest.mark.parametrize('endpoint', ENDPOINTS)
def test_rules_of_the_tenant_ask_for_a_token(web, endpoint):
    """As with Zuul's own endpoints."""
    web.service.abide.tenants['tenant'].access_rules = ['employees']
    own = web.request(f'/api/tenant/tenant/zuul-nodes/{endpoint}')
    zuuls = web.request('/api/tenant/tenant/nodeset-requests')
    assert (own.status, own.body) == (zuuls.status, zuuls.body)
    assert own.status == 401
    assert own.headers['WWW-Authenticate'] == zuuls.headers[
        'WWW-Authenticate']
    assert web.ask(f'zuul-nodes/{endpoint}')[0] in (200, 404)


@pytest.mark.parametrize('endpoint', ENDPOINTS)
def test_unknown_tenant(web, endpoint):
    assert web.request(
        f'/api/tenant/unknown/zuul-nodes/{endpoint}').status == 404


@pytest.mark.parametrize('endpoint', ENDPOINTS)
def test_a_browser_may_ask_whether_it_may_ask(web, endpoint):
    web.service.abide.tenants['tenant'].access_rules = ['employees']
    answer = web.request(
        f'/api/tenant/tenant/zuul-nodes/{endpoint}', 'OPTIONS')
    assert answer.status == 204
    assert answer.headers['Access-Control-Allow-Headers'] == (
        'Authorization, Content-Type')


@pytest.mark.parametrize('endpoint', [
    'requests', 'request/{}', 'limits', 'providers', 'images'])
def test_zookeeper_is_read_once_for_many_browsers(
        image_launcher, patient, web, site, reads, endpoint):
    """Reads depend on time, not on who asks how often."""
    request, = site.addRequests({})
    site.explain('it is full', request)
    site.describe(limits=[Limit('endpoint', 'cloud', 'cores', 9)])
    upload = image_launcher.addReady('image')
    waitFor(lambda: web.service.image_upload_registry.getItem(upload.uuid))
    path = 'zuul-nodes/' + endpoint.format(request.uuid)
    assert web.ask(path)[0] == 200
    assert reads
    number = len(reads)
    assert [web.ask(path)[0] for _ in range(5)] == [200] * 5
    assert len(reads) == number


def test_each_tenant_asks_for_its_own_reasons(patient, web, site, reads):
    own, other = site.addRequests({}, {'tenant_name': 'other'})
    site.explain('ours', own)
    site.explain('theirs', other, tenant='other')
    reasons = [web.ask('zuul-nodes/requests', tenant=name)[1]['requests'][0][
        'reason'] for name in ('tenant', 'other') * 2]
    assert reasons == ['ours', 'theirs'] * 2
    assert reads == [waits.getPath('tenant'), waits.getPath('other')]
