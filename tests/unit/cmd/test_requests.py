"""What ``zuul-nodes requests`` shows."""

import functools
import json
import logging
import pathlib
import time
import zlib

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import NodesetRequest, ProviderNode
from zuul.zk.zkobject import ZKContext

from tests.fixtures.programs import getRefusal, writeConf
from zuul_nodes import candidates, orders, waits
from zuul_nodes.orders import Order

ROOT = pathlib.Path(__file__).parents[3]
State = NodesetRequest.State
REASON = 'No provider has capacity for 1 big now. one: provider one is full'


@pytest.fixture
def requests(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'requests')


class Site:
    """The records of requests and nodes."""

    def __init__(self, zk_client):
        self.client = zk_client.client
        self.context = ZKContext(zk_client, None, None, logging.getLogger())

    def addRequest(self, *labels, tenant='tenant', job='build',
                   **attributes):
        return NodesetRequest.new(
            self.context, tenant_name=tenant, pipeline_name='check',
            job_name=job, labels=list(labels), **attributes)

    def addNode(self, **attributes):
        return StaticProviderNode.new(self.context, **attributes)

    def explain(self, reason, *requests, tenant='tenant'):
        self.client.create(waits.getPath(tenant), waits.makeRecord([
            (reason, [each.uuid for each in requests])]), makepath=True)


@pytest.fixture
def site(zk_client):
    return Site(zk_client)


def getRows(text):
    return [[cell.strip() for cell in line.split('|')[1:-1]]
            for line in text.splitlines() if line.startswith('|')]


def test_requests_are_in_their_order_with_what_they_wait_for(requests, site):
    now = time.time()
    last = site.addRequest('big', request_time=now)
    older = site.addRequest('big', request_time=now - 300)
    urgent = site.addRequest('small', tenant='other', priority=-1,
                             request_time=now - 7300)
    site.explain(REASON, older, last)
    rows = getRows(requests())
    assert [row[0] for row in rows if row[0]] == ['Request', *(
        each.uuid[:8] for each in (urgent, older, last))]
    assert rows[1][1:] == ['other', 'build', 'small', 'requested', '2 h', '-']
    assert ' '.join(row[6] for row in rows[2:]) == (
        f'{REASON} 1 with the same needs ahead')
    assert max(map(len, requests().splitlines())) <= 100


def test_it_prints_what_the_documentation_shows(requests, site):
    now = time.time()
    waiting = [
        site.addRequest('debian-local', tenant='local', job=name,
                        uuid=uuid + 24 * '0', request_time=now - age)
        for uuid, name, age in (('0c757e28', 'hello', 190),
                                ('7b1c9f04', 'unit-tests', 130))]
    site.explain(
        'No provider has capacity for 1 debian-local now. one: provider one '
        'has 4 instances, 4 in use, 1 needed', *waiting, tenant='local')
    page = (ROOT / 'doc/source/howto/debug-request.rst').read_text()
    _, _, shown = page.partition('    $ zuul-nodes requests\n')
    expected, _, _ = shown.partition('\n\n')
    assert requests().splitlines() == [
        line.strip() for line in expected.splitlines()]


def test_filters(requests, site):
    site.addRequest('big')
    wanted = site.addRequest('big', 'small', tenant='other', priority=1)
    site.addRequest('small', tenant='other', state=State.FULFILLED)
    found = json.loads(requests(
        'list', '--format', 'json', '--tenant', 'other', '--label', 'small',
        '--state', 'requested'))
    assert [(each['uuid'], each['position']) for each in found] == [
        (wanted.uuid, 2)]


def test_older_than_counts_from_the_beginning(requests, site):
    now = time.time()
    site.addRequest('big', request_time=now - 60)
    old = site.addRequest('big', request_time=now - 4000)
    found = json.loads(requests(
        'list', '--format', 'json', '--older-than', '1h'))
    assert [each['uuid'] for each in found] == [old.uuid]


def test_one_request_is_shown_with_its_place_and_reason(requests, site):
    first, second = (site.addRequest('big', request_time=time.time() - age)
                     for age in (7400, 7300))
    site.explain(REASON, first, second)
    text = requests('show', second.uuid[:10])
    for line in (f'Request:  {second.uuid}', 'Pipeline: check',
                 'State:    requested, 2 h old',
                 'Position: 2 of those that wait, in all tenants',
                 f'Reason:   {REASON}'):
        assert line in text.splitlines()
    assert 'Ahead:    1 with the same needs' in text


def test_failed_request_is_shown_with_its_reason(requests, site, zk_client):
    request = site.addRequest('big', state=State.FAILED, provider_node_data=[{
        'uuid': None, 'failed_providers': ['one'],
        'reasons': {'one': 'no such flavor'}}])
    # As the plugin has it written.
    record = json.loads(request.serialize(None)) | {'zuul_nodes': {
        'project_canonical_name': 'example.com/repo',
        'reason': 'No provider can serve it.'}}
    zk_client.client.set(
        request.getPath(), zlib.compress(json.dumps(record).encode()))
    text = requests('show', request.uuid)
    for line in ('Project:  example.com/repo', 'Failed at one: no such flavor',
                 'Reason:   No provider can serve it.'):
        assert line in text.splitlines()


def test_nodes_of_a_request_are_shown(requests, site):
    node = site.addNode(label='big', provider='example.com%2Frepo/one',
                        state=ProviderNode.State.BUILDING)
    request = site.addRequest(
        'big', 'small', state=State.ACCEPTED, provider_node_data=[
            {'uuid': node.uuid}, {'uuid': 'a' * 32}])
    assert getRows(requests('show', request.uuid)) == [
        ['Node', 'Label', 'State', 'Provider'],
        [node.uuid, 'big', 'building', 'example.com%2Frepo/one'],
        ['a' * 32, '-', 'gone', '-']]


@pytest.mark.parametrize('uuid, message', [
    ('abc', '"abc" is too short for the id of a request'),
    ('abcd', 'there is no request whose id begins with "abcd"'),
    ('ffff', 'the ids of 2 requests begin with "ffff"')])
def test_id_that_names_no_request(
        zuulNodes, zuul_conf, tmp_path, site, uuid, message):
    for number in range(2):
        site.addRequest('big', uuid=f'ffff{number:028}')
    result = zuulNodes(
        'requests', '-c', writeConf(zuul_conf, tmp_path / 'zuul.conf'), 'show',
        uuid)
    assert (result.returncode, result.stdout) == (1, '')
    assert result.stderr.startswith(f'zuul-nodes requests: {message}')


def getOrder(site, request):
    path = orders.getPath(Order.CANCEL, request.uuid)
    return site.client.exists(path) and orders.getReason(
        orders.parse(site.client.get(path)[0]))


def test_cancel_leaves_an_order_for_the_launcher(requests, site):
    request, other = (site.addRequest('big') for _ in range(2))
    candidates.create(site.client, 'a', 'launcher', False)
    done = f'The request {request.uuid} of tenant tenant fails.\n'
    # It can be repeated.
    for reason in ('wrong', 'odd'):
        assert requests('cancel', '--reason', reason, request.uuid) == done
    assert getOrder(site, request) == 'odd'
    assert not getOrder(site, other)
    assert json.loads(requests(
        'cancel', '--format', 'json', request.uuid)) == {'done': done[:-2]}


def test_cancel_says_if_no_launcher_plans(requests, site):
    request = site.addRequest('big', state=State.ACCEPTED)
    assert requests('cancel', request.uuid[:8]) == (
        f'The request {request.uuid} fails as soon as a launcher of '
        'zuul-nodes plans; none does now.\n')
    assert getOrder(site, request) == ''


def test_cancel_of_what_has_failed_changes_nothing(requests, site):
    request = site.addRequest('big', state=State.FAILED)
    assert requests('cancel', request.uuid) == (
        f'The request {request.uuid} has failed already.\n')
    assert not getOrder(site, request)


def test_cancel_of_what_has_its_nodes_is_refused(
        zuulNodes, zuul_conf, tmp_path, site):
    request = site.addRequest('big', state=State.FULFILLED)
    result = zuulNodes(
        'requests', '-c', writeConf(zuul_conf, tmp_path / 'zuul.conf'),
        'cancel', request.uuid)
    assert getRefusal(result) == (
        f'zuul-nodes requests: request {request.uuid} has its nodes, so it '
        'cannot be cancelled: dequeue the change, or stop the job build')
    assert not getOrder(site, request)
