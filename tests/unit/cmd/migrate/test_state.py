"""What ``zuul-nodes migrate --state`` makes of Nodepool's records."""

import json
import time

import pytest

from tests.fixtures.programs import writeConf

POOL = {'hostname': 'nl01', 'state': 'running', 'kind': 'pool', 'id': 'nl01-1',
        'provider_name': 'cloud', 'name': 'main', 'priority': 100,
        'supported_labels': ['large', 'small'], 'paused': False}
NODE = {'state': 'in-use', 'state_time': 1e9, 'type': ['small'],
        'provider': 'cloud', 'pool': 'main', 'cloud': 'c', 'external_id': 'x',
        'resources': {'instances': 1, 'cores': 2, 'ram': 4096},
        'tenant_name': 'one', 'user_data': 'unused', 'comment': None,
        'hold_job': None, 'hold_expiration': None}


@pytest.fixture
def state(zuulNodes, zuul_conf, tmp_path):
    """:return: a function that runs the command."""
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
    return lambda *arguments: zuulNodes(
        'migrate', '--state', '-c', path, *arguments)


@pytest.fixture
def nodepool(kazoo_client):
    """:return: a function that writes a record as Nodepool does."""
    def write(path, record, **changes):
        data = record if isinstance(record, bytes) else json.dumps(
            record | changes).encode()
        kazoo_client.create(f'/nodepool/{path}', data, makepath=True)
    return write


@pytest.fixture
def site(nodepool):
    """A site with records of each kind."""
    nodepool('components/pool/nl010000000000', POOL)
    nodepool('components/builder/nb010000000000',
             {'hostname': 'nb01', 'state': 'running'})
    nodepool('nodes/0000000001', NODE)
    nodepool('nodes/0000000002', NODE, state='ready', type=['large', 'any'])
    nodepool('nodes/0000000003', NODE, state='hold', hold_expiration=3600,
             state_time=time.time(), comment='see\x1b[2J it fail',
             hold_job='one demo test')
    # A slot of another node, a static node, and what remains of a node.
    nodepool('nodes/0000000004', NODE, provider='meta',
             external_id='0000000004')
    nodepool('nodes/0000000005', NODE, provider='rack', resources=None,
             external_id=None)
    nodepool('nodes/0000000006/lock', b'')
    nodepool('requests/300-0000000007', {
        'state': 'requested', 'state_time': 1e9, 'node_types': ['lost'],
        'nodes': [], 'tenant_name': 'two', 'requestor_data': {'a': 1}})
    nodepool('images/debian', b'')
    nodepool('images/debian/builds/0000000001', {
        'state': 'ready', 'state_time': 1e9, 'builder': 'nb01',
        'formats': 'qcow2'})
    nodepool('images/debian/builds/lock', b'')
    nodepool('images/debian/builds/0000000001/providers/cloud/images/0000001',
             {'state': 'ready', 'state_time': 1e9, 'external_id': 'i-1',
              'external_name': 'debian-1', 'format': 'qcow2'})
    nodepool('images/debian/pause', b'')


def readTree(client, path='/'):
    return {path: [readTree(client, f'{path.rstrip("/")}/{child}') for child
                   in sorted(client.get_children(path))]}


def test_it_lists_all_records_and_writes_none(site, state, kazoo_client):
    before = readTree(kazoo_client)
    result = state('--format', 'json')
    assert (result.returncode, result.stderr) == (0, '')
    assert readTree(kazoo_client) == before
    found = json.loads(result.stdout)
    assert [node['id'] for node in found['nodes']] == [
        f'000000000{number}' for number in range(1, 6)]
    request, = found['requests']
    assert (request['labels'], request['tenant_name']) == (['lost'], 'two')
    image, = found['images']
    assert image['paused'] is True
    build, = image['builds']
    upload, = build['uploads']
    assert (upload['provider'], upload['external_name']) == (
        'cloud', 'debian-1')
    assert found['builders'] == ['nb01']
    assert 'unused' not in result.stdout
    assert 'requestor_data' not in result.stdout


def test_labels_that_nodepool_serves(site, state):
    labels = {each.pop('label'): each for each in json.loads(
        state('--format', 'json').stdout)['labels']}
    assert {name: each['pools'] for name, each in labels.items()} == {
        'large': ['cloud/main'], 'small': ['cloud/main'], 'any': [],
        'lost': []}
    assert labels['large']['nodes'] == {
        'ready': 1, 'in-use': 0, 'hold': 0, 'other': 0}
    assert labels['lost']['requests'] == 1


def test_foreign_usage_of_each_provider(site, state):
    providers = {each['provider']: each['usage'] for each in json.loads(
        state('--format', 'json').stdout)['providers']}
    assert providers == {
        'cloud': {'instances': 3, 'cores': 6, 'ram': 12288}, 'meta': {},
        'rack': {}}


def test_tables_fit_into_100_columns(site, state):
    result = state()
    assert (result.returncode, result.stderr) == (0, '')
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    for words in (
            'Pools of launchers of Nodepool that run: 1, on nl01.',
            'Builders of Nodepool that run: nb01.',
            'Requests wait for these labels, which no launcher of Nodepool '
            'serves: lost.', 'instances 3, cores 6, ram 12288',
            'debian (paused)'):
        assert words in result.stdout
    # An autohold's reason cannot write on the terminal.
    assert '\x1b' not in result.stdout
    assert '[2J' in result.stdout


def test_nothing_is_there(state, kazoo_client):
    # Zuul's schedulers make this.
    kazoo_client.create('/nodepool/requests', makepath=True)
    result = state()
    assert result.returncode == 0
    assert 'has no records of Nodepool' in result.stdout
    assert result.stdout.count('\n') == 1
    assert not any(json.loads(state('--format', 'json').stdout).values())


def test_zookeeper_does_not_answer(state, zuul_conf, tmp_path):
    zuul_conf.set('zookeeper', 'hosts', 'localhost:1')
    writeConf(zuul_conf, tmp_path / 'zuul.conf')
    result = state()
    assert (result.returncode, result.stdout) == (1, '')
    assert 'ZooKeeper does not answer at localhost:1 within 4 s' in (
        result.stderr.splitlines()[-1])


@pytest.mark.parametrize('arguments', [[], ['--state', 'nodepool.yaml']])
def test_files_or_the_state(zuulNodes, arguments):
    result = zuulNodes('migrate', *arguments)
    assert result.returncode == 2
    assert 'name files of Nodepool' in result.stderr
