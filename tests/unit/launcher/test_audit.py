"""What the audit log tells of the lives of nodes and images."""

import datetime
import logging

import pytest
from zuul.model import ProviderNode

from tests.fixtures.cloud import INTERVAL, leak
from tests.fixtures.images import IMAGE
from tests.fixtures.racks import cloud, finish
from tests.fixtures.waiting import waitFor
from zuul_nodes import audit, imageevents
from zuul_nodes.audit import Event
from zuul_nodes.drivers import PermanentError
from zuul_nodes.launcher.zookeeper.transaction import Conflict, Transaction

State = ProviderNode.State
FAKE = '''
- image: {name: image, type: cloud}
- flavor: {name: small}
- label: {name: label, image: image, flavor: small}
- section:
    name: section
    connection: fake
    images: [image]
    flavors: [small]
- provider:
    name: provider
    section: section
    labels: [{name: label, host-key-checking: false}]
'''


class Killed(BaseException):
    """The launcher is no more."""


# Nodes

def test_life_of_a_node(steps, racks, audited):
    steps.setLayout(cloud('one'))
    request = steps.addRequest(
        'big', buildset_uuid='buildset', job_name='unit')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert audited.getEvents(node=node.uuid) == [
        ('created', 'begun'), ('created', 'done'), ('used', 'done'),
        ('deleted', 'done')]
    for line in audited.read():
        assert datetime.datetime.fromisoformat(line.pop('time')).tzinfo
        assert {name: line[name] for name in (
            'launcher', 'tenant', 'request', 'provider', 'label')} == {
            'launcher': steps.hostname, 'tenant': 'tenant',
            'request': request.uuid, 'provider': node.provider,
            'label': 'big'}
    line, = audited.read(event='used')
    assert (line['pipeline'], line['job'], line['buildset']) == (
        'check', 'unit', 'buildset')


def test_id_of_the_instance(launchFake, audited):
    launcher = launchFake(create_delay='0')
    launcher.setLayout(FAKE)
    node, = launcher.serve(launcher.addRequest('label'))
    line, = audited.read(event='created', result='done')
    assert line['external_id'] == node.create_state['instance_id']
    line, = audited.read(event='used')
    assert line['external_id'] == node.create_state['instance_id']


def test_node_that_a_request_finds_ready(steps, racks, audited):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    request = steps.addRequest('big')
    assert steps.serve(request) == [node]
    line, = audited.read()
    assert (line['event'], line['node'], line['request'], line['tenant']) == (
        'used', node.uuid, request.uuid, 'tenant')


def test_node_of_nobody(steps, racks, audited):
    """It is made for the tenant that wants some to be ready."""
    steps.setLayout(cloud('one', labels='[{name: big, min-ready: 1}]'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    begun, done = audited.read(event='created')
    assert begun['tenant'] == 'tenant'
    assert 'request' not in begun
    assert 'tenant' not in done


def test_static_node(steps, audited):
    steps.setLayout('''
- label: {name: desk, host-key-checking: false}
- section:
    name: office
    connection: null
    nodes: [{name: 127.0.0.1, label: desk}]
- provider: {name: office, section: office, labels: [desk]}
''')
    steps.runUntil(lambda: steps.nodes(State.READY))
    assert audited.getEvents() == [('created', 'begun'), ('created', 'done')]
    assert audited.read()[0]['tenant'] == 'tenant'


def test_node_that_fails_and_request_that_is_refused(steps, racks, audited):
    steps.setLayout(cloud('one'))
    racks.errors['one'] = PermanentError('no such flavor\n"big"')
    request = steps.addRequest('big')
    steps.fail(request)
    # The second node confirms what the first was told.
    failed = audited.read(event='created', result='failed')
    assert [line['reason'] for line in failed] == ['no such flavor "big"'] * 2
    refused, = audited.read(event='refused')
    assert (refused['tenant'], refused['request'], refused['label']) == (
        'tenant', request.uuid, 'big')
    assert 'no such flavor' in refused['reason']


@pytest.mark.settings(delete_timeout=0, first_backoff=0.01)
def test_node_that_its_cloud_does_not_delete(
        steps, racks, audited):
    steps.setLayout(cloud('one'))
    racks.delete_errors['one'] = ConnectionError('down')
    steps.addNode(steps.getProvider('one'), 'big', state=State.USED)
    steps.runUntil(lambda: not steps.nodes())
    line, = audited.read(event='deleted')
    assert line['result'] == 'failed'
    assert line['reason'] == 'the cloud may still have it'


def test_state_that_a_user_asks_for(steps, racks, audited):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    with steps.context() as context:
        node.setNextState(context, State.HOLD, 'it is odd')
    steps.runUntil(lambda: node.state == State.HOLD)
    line, = audited.read()
    assert line.items() >= {
        'event': 'overrode', 'node': node.uuid, 'state': 'hold',
        'reason': 'it is odd'}.items()


def test_what_has_leaked(keeper, cleanup, clock, clouds, audited):
    rack = clouds['rack']
    leak(keeper, rack)
    rack.errors['leaked'] = ConnectionError('down')
    for _ in range(2):
        clock.now += INTERVAL
        cleanup.cleanUp(keeper.getEndpoint('rack'))
    rack.errors.clear()
    clock.now += INTERVAL
    cleanup.cleanUp(keeper.getEndpoint('rack'))
    assert audited.getEvents(
        node='leaked', external_id='instance-leaked', endpoint='rack/rack',
        resource='instance', launcher='one') == [
        ('deleted', 'begun'), ('deleted', 'failed'),
        ('deleted', 'begun'), ('deleted', 'done')]


# Tenants

def test_lines_of_two_tenants_do_not_mix(steps, racks, audited):
    names = 'acme', 'umbrella'
    steps.setLayout(cloud('one'), 'acme')
    steps.setLayout(cloud('one'), 'umbrella')
    requests = {name: [steps.addRequest('big', tenant=name, job_name=name)
                       for _ in range(2)] for name in names}
    nodes = {name: {node.uuid for request in requests[name]
                    for node in steps.serve(request)} for name in names}
    for request in [*requests['acme'], *requests['umbrella']]:
        finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert {line['tenant'] for line in audited.read()} == set(names)
    for name in names:
        lines = audited.read(tenant=name)
        assert {line['node'] for line in lines} == nodes[name]
        assert {line['request'] for line in lines} == {
            request.uuid for request in requests[name]}
        assert {line['job'] for line in lines if 'job' in line} == {name}


# Images

@pytest.fixture
def launcher(image_launcher):
    image_launcher.queue.start()
    return image_launcher


def addUpload(launcher, server, **kwargs):
    artifact = launcher.addArtifact(
        state=None, url=f'{server.url}/image?key=secret',
        build_uuid='build', **kwargs)
    upload = launcher.addUpload(artifact)
    launcher.setState(artifact, 'ready')
    return artifact, upload


def test_life_of_an_image(launcher, server, pipelines, audited):
    server.files['image?key=secret'] = IMAGE
    artifact, upload = addUpload(launcher, server)
    launcher.waitForUploads('ready')
    assert audited.getEvents(artifact=artifact.uuid) == [
        ('imported', 'begun'), ('imported', 'done'),
        ('uploaded', 'begun'), ('uploaded', 'done')]
    for line in audited.read():
        assert line.items() >= {
            'launcher': 'launcher', 'tenant': 'tenant',
            'project': 'example.com/nodes', 'build': 'build',
            'image': artifact.canonical_name}.items()
    line, = audited.read(event='uploaded', result='done')
    assert line['external_id'] == f'debian-{upload.uuid}'
    assert line['upload'] == upload.uuid
    assert line['endpoint'] == 'rack/rack'
    assert line['provider'] == launcher.getProvider().canonical_name
    audited.lines.clear()
    launcher.setState(artifact, 'deleting')
    waitFor(lambda: pipelines.getEvents('image-delete'))
    item, = [path for path in pipelines.take() if '/image-delete/' in path]
    imageevents.noteDeletion(
        launcher.zk_client.client, artifact.uuid, problem=None)
    pipelines.finish(item)
    waitFor(lambda: audited.read(event='deleted', result='done',
                                 artifact=artifact.uuid)[1:])
    assert audited.getEvents(upload=upload.uuid) == [
        ('deleted', 'begun'), ('deleted', 'done')]
    assert [(line['event'], line['result']) for line in audited.read()
            if 'upload' not in line] == [
        ('deleted', 'begun'), ('deleted', 'done')]


def test_image_that_can_not_be_had(launcher, server, audited):
    artifact, _ = addUpload(launcher, server, sha256='0' * 64)
    server.files['image?key=secret'] = b'another'
    waitFor(lambda: audited.read(event='imported', result='failed'))
    line = audited.read(event='imported', result='failed')[0]
    assert line['artifact'] == artifact.uuid
    assert 'sha256' in line['reason']
    assert not [line for line in audited.lines if 'secret' in line]
    assert audited.read(event='uploaded') == []


def test_upload_that_its_cloud_refuses(launcher, server, audited):
    server.files['image?key=secret'] = IMAGE
    launcher.clouds['rack'].errors = [RuntimeError('no room at all')]
    addUpload(launcher, server)
    launcher.waitForUploads('ready')
    line, = audited.read(event='uploaded', result='failed')
    assert line['reason'] == 'no room at all'


def test_image_that_its_cloud_does_not_delete(launcher, pipelines, audited):
    launcher.clouds['rack'].errors = [ConnectionError('down')]
    upload = launcher.addReady('1')
    launcher.setState(upload, 'deleting')
    waitFor(lambda: upload not in launcher.getUploads())
    assert audited.getEvents(upload=upload.uuid) == [
        ('deleted', 'begun'), ('deleted', 'failed'), ('deleted', 'begun'),
        ('deleted', 'done')]


# What is written, and when

def test_event_is_told_before_its_record_is_written(
        steps, racks, audited, monkeypatch):
    """A launcher that is killed in between does not lose it."""
    steps.setLayout(cloud('one'))
    steps.run()
    request = steps.addRequest('big')

    def kill(*args):
        raise Killed
    with monkeypatch.context() as patch:
        patch.setattr(Transaction, '_send', kill)
        patch.setattr(Transaction, '_writeAudit', writeOnce())
        with pytest.raises(Killed):
            steps.serve(request)
    assert audited.getEvents() == [('created', 'begun')]
    assert steps.nodes() == []


def writeOnce():
    """:return: in place of a method, what does nothing any more when it was
        called once: who is killed does not see that."""
    write, calls = Transaction._writeAudit, []

    def writeAudit(transaction, **fields):
        if not calls:
            calls.append(fields)
            write(transaction, **fields)
    return writeAudit


@pytest.mark.parametrize('error, result', [
    (Conflict('somebody was quicker'), 'withdrawn'),
    (ConnectionError('lost'), 'unknown')])
def test_what_is_not_written_is_taken_back(
        steps, racks, audited, monkeypatch, error, result):
    steps.setLayout(cloud('one'))
    steps.run()
    request = steps.addRequest('big')
    send, errors = Transaction._send, [error]

    def fail(*args):
        if errors:
            raise errors.pop()
        return send(*args)
    monkeypatch.setattr(Transaction, '_send', fail)
    steps.serve(request)
    begun, back = audited.read()[:2]
    assert (begun['result'], back['result']) == ('begun', result)
    assert begun['node'] == back['node']


def test_a_line_is_one_line_whatever_is_in_it(audited):
    audit.tell(Event.REFUSED, reason='a\r\n{"event": "created"}\x1b[2J\u2028')
    audit.tell(Event.REFUSED, reason='x' * 10000, tenant=None, node='')
    first, second = audited.lines
    assert first.isprintable() and first.isascii()
    assert len(second) < 700
    assert set(audited.read()[1]) == {'time', 'event', 'result', 'reason'}


def test_nothing_is_computed_when_nobody_reads_it(audited, steps):
    logging.getLogger('zuul.nodes.audit').setLevel(logging.WARNING)
    # Nobody asks what this is.
    audit.tell(Event.CREATED, object())
    transaction = steps.session.transaction()
    transaction.audit(Event.CREATED, object())
    assert transaction._audited == []
    assert audited.lines == []
