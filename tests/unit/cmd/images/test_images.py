"""What the command shows of the records of images."""

import itertools
import json
import re
import types
import urllib.parse

import pytest
from zuul.model import ImageBuildArtifact, ImageUpload
from zuul.zk import ZooKeeperClient
from zuul.zk.components import COMPONENT_REGISTRY
from zuul.zk.layout import LayoutProvidersStore
from zuul.zk.zkobject import ZKContext

from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.programs import getRefusal, writeConf
from tests.unit.cmd.conftest import readNotes
from zuul_nodes import (
    gonefiles,
    imagecontrols,
    imageevents,
    imagelayouts,
    leftfiles,
    undelivered,
    unneededimages,
)
from zuul_nodes.imagecontrols import Control
from zuul_nodes.imageevents import EventKind, Sent
from zuul_nodes.imageremarks import Remarks
from zuul_nodes.launcher.images import policy
from zuul_nodes.launcher.images.policy import isRejected

BUILT = 1700000000
PROVIDER = '''
- image: {name: debian, type: zuul}
- flavor: {name: small}
- label: {name: debian, image: debian, flavor: small}
- section: {name: cloud, connection: cloud, images: [debian], flavors: [small]}
- provider: {name: main, section: cloud, labels: [debian]}
'''


@pytest.fixture
def context(zuul_conf):
    client = ZooKeeperClient.fromConfig(zuul_conf)
    client.connect()
    yield ZKContext(client, None, None, None)
    client.disconnect()


@pytest.fixture
def images(zuulNodes, zuul_conf, tmp_path):
    """:return: a function that runs the command."""
    zuul_conf.read_dict({f'connection {name}': {'driver': 'shelf'}
                         for name in ('cloud', 'away')})
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
    return lambda *arguments: zuulNodes('images', '-c', path, *arguments)


def addArtifact(context, name, **kwargs):
    ImageBuildArtifact.new(context, **{
        'uuid': f'{name}-build', 'name': name, 'format': 'raw',
        'timestamp': BUILT, 'build_uuid': 'job',
        'canonical_name': f'example.com%2Fnodes/{name}',
        '_state': 'ready'} | kwargs)


def addUpload(context, artifact, **kwargs):
    return ImageUpload.new(context, **{
        'uuid': f'{artifact} {len(kwargs)}',
        'artifact_uuid': f'{artifact}-build',
        'canonical_name': f'example.com%2Fnodes/{artifact}',
        'endpoint_name': 'cloud/region', 'timestamp': BUILT,
        '_state': 'ready', 'external_id': 'ami-1',
        'validated': True} | kwargs)


def addTenant(context, name, *images, builds=('image-build',), denied=()):
    """A tenant that has these images."""
    context.client.ensure_path(f'/zuul/layout/{name}')
    imagelayouts.publish(context.client, name, imagelayouts.ImageLayout(
        'layout', {'image-build': list(builds)}, {
            f'example.com%2Fnodes/{image}': {
                'name': image, 'project': 'example.com/nodes',
                'branch': 'main', 'runs': {'image-build': list(builds)},
                'denied': list(denied)}
            for image in images}))


def getRows(result):
    """:return: the rows of a table, its head the first."""
    assert (result.returncode, result.stderr) == (0, '')
    rows = []
    for line in result.stdout.splitlines():
        if line.startswith('|'):
            rows.append([cell.strip() for cell in line.split('|')[1:-1]])
    return rows


def getText(result):
    """:return: what a table says, without its lines being broken."""
    cells = itertools.chain.from_iterable(getRows(result))
    return ' '.join(' '.join(cells).split())


# What is shown

def test_a_table(context, images):
    addArtifact(context, 'fedora', _state=None)
    addArtifact(context, 'debian')
    addUpload(context, 'debian')
    upload = addUpload(context, 'debian', endpoint_name='away',
                       _state='uploading', external_id=None, validated=None)
    progress = 'Downloading: 1 of 4 MiB, 25 %'
    upload._save(context, json.dumps(
        upload.toDict() | {'progress': progress}).encode())
    rows = getRows(images())
    assert [row[0] for row in rows] == [
        'Image', *['example.com/nodes/debian'] * 2, 'example.com/nodes/fedora']
    assert rows[1][1:3] + rows[1][4:] == [
        'debian-b', 'raw', 'ready', 'away', 'uploading', 'not yet', progress]
    assert rows[1][3].startswith('2023-11-1')
    assert rows[2][5:] == ['cloud/region', 'ready', 'yes', 'ami-1']
    assert rows[3][4:] == ['reported', '-', '-', '-', '-']
    assert rows == getRows(images('list'))


def test_json(context, images):
    for name in ('fedora', 'debian'):
        addArtifact(context, name)
        addUpload(context, name)
    result = images('list', '--format', 'json', 'debian')
    assert result.stdout == images(
        '--format', 'json', 'list', 'example.com/nodes/debian').stdout
    image, = json.loads(result.stdout)
    build, = image['builds']
    assert (image['name'], build['name'], build['_state']) == (
        'debian', 'debian', 'ready')
    upload, = build['uploads']
    assert upload['external_id'] == 'ami-1'


def test_all_about_a_build(context, images):
    addArtifact(context, 'debian', url='https://example.com/debian.raw',
                project_branch='main', sha256='abc')
    for number in (1, 2):
        addUpload(context, 'debian', endpoint_name=f'cloud/{number}',
                  uuid=f'upload {number}', providers=['one', 'two'],
                  external_id=f'ami-{number}')
    imagecontrols.add(context.client, Control.KEPT, 'debian-build', 'good')
    result = images('show', 'debian')
    assert (result.returncode, result.stderr) == (0, '')
    build, *uploads = (
        dict(re.split(': +', line, maxsplit=1)
             for line in part.splitlines())
        for part in result.stdout.strip().split('\n\n'))
    # The driver of a connection is not installed here.
    assert build.pop('Decision').startswith('unknown: zuul.conf: ')
    built = build.pop('Built')
    assert built.startswith('2023-11-1')
    assert build == {
        'Build': 'debian-build', 'Image': 'example.com/nodes/debian',
        'Format': 'raw', 'State': 'ready', 'Branch': 'main',
        'Build of the job': 'job', 'File': 'https://example.com/debian.raw',
        'SHA-256': 'abc', 'Kept': 'good'}
    assert uploads == [{
        'Upload': f'upload {number}', 'Endpoint': f'cloud/{number}',
        'Providers': 'one, two', 'Begun': built, 'State': 'ready',
        'Validated': 'yes', 'Image id': f'ami-{number}'}
        for number in (1, 2)]
    shown = json.loads(images('show', '--format', 'json', 'debian').stdout)
    listed, = json.loads(images('list', '--format', 'json').stdout)
    for each in (shown, *shown['uploads']):
        del each['decision']
    assert [shown] == listed['builds']


def test_images_without_records_writes_nothing(images, empty_client):
    result = images('--format', 'json')
    assert (result.returncode, json.loads(result.stdout)) == (0, [])
    assert empty_client.get_children('/') == []


def test_a_record_that_can_not_be_read(context, images):
    addArtifact(context, 'debian')
    context.client.create('/zuul/images/artifacts/bad', b'{')
    image, = json.loads(images('--format', 'json').stdout)
    assert image['name'] == 'debian'


def test_an_image_that_there_is_not(context, images):
    addArtifact(context, 'debian')
    line = getRefusal(images('list', 'debain'))
    assert line == ('zuul-nodes images: there is no image "debain". Did you '
                    'mean "debian"?')


def test_a_build_whose_file_is_gone(context, images):
    for name in ('debian', 'fedora'):
        addArtifact(context, name)
    gonefiles.write(context.client, 'debian-build', '404 Client Error')
    rows = getRows(images())
    assert [row[4] for row in rows[1:]] == ['ready, file gone', 'ready']
    debian, fedora = json.loads(images('--format', 'json').stdout)
    assert debian['builds'][0]['file_gone'] == '404 Client Error'
    assert fedora['builds'][0]['file_gone'] is None


def test_why_an_upload_has_failed(context, images):
    addArtifact(context, 'debian')
    upload = addUpload(context, 'debian', _state='failed', validated=None,
                       external_id=None)
    Remarks(context.client).setRemark(
        upload.uuid, 'This cloud takes no images.')
    assert 'This cloud takes no images.' in getText(images())


@pytest.mark.parametrize('builds, text', [
    ((), 'no tenant builds it'), (('image-build',), '-')])
def test_an_image_that_was_never_built(context, images, builds, text):
    addTenant(context, 'one', 'debian', builds=builds)
    # It is none of Zuul's any more.
    addTenant(context, 'gone', 'fedora')
    context.client.delete('/zuul/layout/gone')
    _, row, *more = getRows(images())
    assert (row[0], row[4]) == ('example.com/nodes/debian', 'not built')
    assert row[-1].startswith(text)
    assert all(line[0] == '' for line in more)


def test_an_image_that_tenants_may_not_build(context, images):
    for name in 'ab':
        addTenant(context, name, 'debian', builds=(), denied=['image-build'])
    addTenant(context, 'c', 'debian', builds=())
    expected = ('; "image_build_tenants" in [launcher] of zuul.conf does not '
                'list the tenants a, b for its project')
    assert expected in getText(images())
    assert getRefusal(images('build', 'debian')).endswith(expected)


def test_a_format_that_builds_have_not(context, images):
    addArtifact(context, 'debian')
    undelivered.write(
        context.client, 'example.com%2Fnodes/debian', 'tenant',
        undelivered.Undelivered('layout', {'vhd'}))
    row = getRows(images())[1]
    assert row[:5] == ['example.com/nodes/debian', '-', 'vhd', '-',
                       'not built']
    assert 'builds of the tenant tenant lack this format' in getText(images())


def test_an_image_that_is_about_to_be_built(context, images):
    addTenant(context, 'one', 'debian')
    context.client.create(
        '/zuul/zuul-nodes/image-events/image-build/'
        + urllib.parse.quote_plus('example.com%2Fnodes/debian'),
        b'{"tenant": "one", "attempt": 2, "time": 0}', makepath=True)
    asked = 'the tenant one was asked to build it (attempt 2)'
    assert asked in getText(images())
    # Some endpoint may lack what there is.
    addArtifact(context, 'debian')
    states = [row[4] for row in getRows(images())[1:] if row[4]]
    assert states == ['requested', 'ready']
    assert asked in getText(images())


# What is changed

def test_pausing_an_image(context, images):
    addArtifact(context, 'debian')
    result = images('pause', 'debian', '--reason', 'the mirror is broken')
    assert (result.returncode, result.stderr) == (0, '')
    assert 'The image example.com/nodes/debian is paused' in result.stdout
    assert imagecontrols.readAll(context.client, Control.PAUSED) == {
        'example.com%2Fnodes/debian': 'the mirror is broken'}
    assert 'the mirror is broken' in getText(images())
    assert images('resume', 'debian').returncode == 0
    assert 'paused' not in getText(images())
    assert 'is not paused' in getRefusal(images('resume', 'debian'))
    assert {(each['action'], each['image']) for each
            in readNotes(context.client)} == {
        ('images pause', 'debian'), ('images resume', 'debian')}


def test_ordering_a_build(context, images):
    addTenant(context, 'one', 'debian')
    addTenant(context, 'two', 'fedora', builds=())
    result = images('build', 'debian')
    assert (result.returncode, result.stderr) == (0, '')
    assert 'requests a build of the image example.com/nodes/debian' in (
        result.stdout)
    assert imagecontrols.readAll(context.client, Control.ORDERED) == {
        'example.com%2Fnodes/debian': ''}
    assert 'no tenant builds it' in getRefusal(images('build', 'fedora'))
    assert images('pause', 'debian').returncode == 0
    assert 'is paused; "zuul-nodes images resume debian"' in getRefusal(
        images('build', 'debian'))


def test_keeping_a_build(context, images):
    addArtifact(context, 'debian')
    result = images('--format', 'json', 'keep', 'debian-b')
    assert 'debian-b of the image example.com/nodes/debian' in json.loads(
        result.stdout)['done']
    assert 'ready, kept' in getText(images())
    assert images('release', 'debian-build').returncode == 0
    assert 'kept' not in getText(images())
    assert 'is not kept' in getRefusal(images('release', 'debian-b'))


def read(context, record_class, uuid):
    record = record_class()
    record._set(uuid=uuid)
    return record_class.fromZK(context, record.getPath())


@pytest.fixture
def last(context):
    """An upload of the only build in service."""
    addArtifact(context, 'debian')
    return addUpload(context, 'debian')


@pytest.fixture
def succeeded(context, last):
    """As ``last``, but there is a newer build."""
    addArtifact(context, 'debian', uuid='newer-build', timestamp=BUILT + 1)
    addUpload(context, 'debian', uuid='newer', artifact_uuid='newer-build')
    return last


def test_upload_whose_connection_is_gone(context, images, last):
    gone = addUpload(context, 'debian', uuid='gone',
                     endpoint_name='former%2Fcloud/region')
    command = 'forget debian-b --endpoint former%2Fcloud/region'
    build, = json.loads(images('--format', 'json').stdout)[0]['builds']
    remark = build['uploads'][1]['remark']
    assert 'no longer has the connection former/cloud' in remark
    assert f'"zuul-nodes images {command}"' in remark
    assert images(*command.split()).returncode == 0
    assert not context.client.exists(gone.getPath())
    assert read(context, ImageUpload, last.uuid)
    assert 'launchers can delete the uploads' in getRefusal(images(
        'forget', 'debian-b', '--endpoint', 'cloud/region'))
    assert read(context, ImageUpload, last.uuid)


@pytest.mark.parametrize('action', ['delete', 'reject'])
def test_last_build_in_service_goes_only_if_that_is_meant(
        context, images, last, action):
    line = getRefusal(images(action, 'debian-b'))
    assert 'is the only one in service at cloud/region' in line
    assert images(action, 'debian-b', '--force').returncode == 0


def test_deleting_a_build(context, images, succeeded):
    assert images('delete', 'debian-b').returncode == 0
    assert read(context, ImageBuildArtifact, 'debian-build').state == (
        'deleting')
    assert read(context, ImageBuildArtifact, 'newer-build').state == 'ready'


def test_rejecting_a_build(context, images, succeeded):
    assert images('reject', 'debian-b').returncode == 0
    assert isRejected(read(context, ImageUpload, succeeded.uuid))
    assert not isRejected(read(context, ImageUpload, 'newer'))
    assert 'debian-b' in getText(images('list', 'debian'))


def test_validating_a_build_again(context, images, last):
    failed = addUpload(
        context, 'debian', uuid='failed', endpoint_name='away',
        _state='failed', validated=False, build_uuid='job', attempt=2)
    event = '/zuul/zuul-nodes/image-events/image-validate/failed'
    context.client.create(event, b'{}', makepath=True)
    assert images('validate', 'debian-b', '--endpoint',
                  'away').returncode == 0
    again = read(context, ImageUpload, failed.uuid)
    assert (again.state, again.validated, again.attempt,
            again.external_id) == ('pending', None, 0, None)
    assert not isRejected(again)
    assert not context.client.exists(event)
    assert read(context, ImageUpload, last.uuid).validated
    assert images('validate', 'debian-b').returncode == 0
    assert read(context, ImageUpload, last.uuid).validated is None


@pytest.mark.parametrize('arguments, expected', [
    ('delete fedora-b', 'there is no build "fedora-b"'),
    ('show fedora-b', 'there is no build "fedora-b"'),
    ('delete deb', 'is ambiguous. Give more of it'),
    ('validate debian-b --endpoint away', 'has no upload at away. It has '
     'uploads at: cloud/region'),
])
def test_a_build_that_there_is_not(images, last, arguments, expected):
    assert expected in getRefusal(images(*arguments.split()))


def test_a_record_that_a_launcher_is_at_work_on(context, images, last):
    with last.locked(context):
        line = getRefusal(images('validate', 'debian-b', '--timeout', '0.1'))
    assert 'a launcher is working on' in line
    assert read(context, ImageUpload, last.uuid).validated


@pytest.mark.parametrize('arguments', [('debian',), ('delete',)])
def test_wrong_usage(images, arguments):
    assert images(*arguments).returncode == 2


# What is deleted

def test_what_no_provider_needs(context, images):
    addArtifact(context, 'debian')
    upload = addUpload(context, 'debian')
    addArtifact(context, 'fedora')
    for uuid in ('debian-build', upload.uuid):
        unneededimages.write(context.client, uuid)
    debian, fedora = getRows(images())[1:]
    assert debian[4:7] == ['ready, unneeded', 'cloud/region',
                           'ready, unneeded']
    assert fedora[4] == 'ready'
    shown = images('show', 'debian').stdout
    assert len(re.findall(r'Unneeded since: +2\d{3}-', shown)) == 2
    assert 'Unneeded' not in images('show', 'fedora').stdout


def test_how_often_jobs_were_asked_to_delete_a_file(context, images):
    addArtifact(context, 'debian', _state='deleting')
    assert 'Deletion' not in images('show', 'debian').stdout
    context.client.create(
        imageevents.getPath(EventKind.DELETE, 'debian-build'),
        imageevents.makeRecord(Sent('one', 3, 0, 0)), makepath=True)
    text = 'the tenant one was asked to delete the file (attempt 3)'
    assert text + '\n' in images('show', 'debian').stdout
    imageevents.noteDeletion(context.client, 'debian-build', 'no credentials')
    assert f'{text}; no credentials' in images('show', 'debian').stdout


def test_decision_waits_until_all_is_known(
        context, images, provider, zuul_conf, tmp_path):
    """As launchers do while a project has errors, or a provider needs it
    again."""
    zuul_conf['launcher'] = {'unneeded_image_delay': '0'}
    for section in ('connection rack', 'connection other'):
        zuul_conf.remove_section(section)
    writeConf(zuul_conf, tmp_path / 'zuul.conf')
    addTenant(context, 'tenant', 'debian')
    for name in ('debian', 'fedora'):
        addArtifact(context, name, project_canonical_name='example.com/nodes')
        unneededimages.write(context.client, f'{name}-build')

    def show(name):
        build = json.loads(
            images('show', '--format', 'json', name).stdout)
        return build['decision']['reason']
    assert show('debian') == policy.NEWEST.reason
    assert show('fedora') == policy.UNNEEDED.reason
    # A tenant that no scheduler has told of yet may need it.
    context.client.ensure_path('/zuul/layout/other')
    assert show('fedora') == policy.NEWEST.reason
    addTenant(context, 'other')
    assert show('fedora') == policy.UNNEEDED.reason
    imagelayouts.publish(context.client, 'other', imagelayouts.ImageLayout(
        'layout', {}, {}, broken=['example.com/nodes']))
    assert show('fedora') == policy.NEWEST.reason


def test_files_that_were_left_behind(context, images):
    for name, cause in (('fedora', 'failed'), ('debian', 'no-job')):
        artifact = types.SimpleNamespace(
            uuid=f'{name}-build', name=name, format='raw', build_uuid='job',
            canonical_name=f'example.com%2Fnodes/{name}',
            build_tenant_name='tenant', url=f'https://host/{name}.raw')
        leftfiles.write(context.client, artifact, cause, f'{name} reason')
    rows = getRows(images('leaks'))
    assert rows[0] == ['Image', 'Build', 'Format', 'Deleted', 'URL', 'Reason']
    assert [(*row[:3], *row[4:]) for row in rows[1:]] == [
        (f'example.com/nodes/{name}', f'{name}-build'[:8], 'raw',
         f'https://host/{name}.raw', f'{name} reason')
        for name in ('fedora', 'debian')]
    found = json.loads(images('leaks', '--format', 'json').stdout)
    assert [(each['uuid'], each['cause']) for each in found] == [
        ('fedora-build', 'failed'), ('debian-build', 'no-job')]
    assert images('forget', 'fedora').stdout == (
        'Removed the record of the file of the build fedora-b of the image '
        'example.com/nodes/fedora; the file is not deleted.\n')
    assert [row[1] for row in getRows(images('leaks'))[1:]] == ['debian-b']
    assert '"zuul-nodes images leaks" lists no file of a build "fedora"' in (
        getRefusal(images('forget', 'fedora')))


@pytest.fixture
def provider(context, zk_client, zuul_conf, tmp_path):
    """:return: one whose driver the command has."""
    for name in ('cloud', 'away'):
        zuul_conf.remove_section(f'connection {name}')
    zuul_conf['connection cloud'] = {
        'driver': 'fake', 'path': str(tmp_path / 'cloud')}
    COMPONENT_REGISTRY.create(zk_client)
    connections = makeRegistry(zuul_conf)
    provider, = makeProviders(connections, PROVIDER, zk_client=zk_client)
    LayoutProvidersStore(zk_client, connections, 'system').set(
        context, 'tenant', [provider])
    yield provider
    connections.stop()


def test_what_launchers_decide_and_why(
        context, images, provider, zuul_conf, tmp_path):
    """As their own functions say it, from the providers of all tenants."""
    for section in ('connection rack', 'connection other'):
        zuul_conf.remove_section(section)
    writeConf(zuul_conf, tmp_path / 'zuul.conf')
    addTenant(context, 'tenant', 'debian')
    for number, kwargs in enumerate((
            {}, {}, {}, {'validated': False, 'build_uuid': 'job'},
            {'endpoint_name': 'former/region'}), 1):
        addArtifact(context, 'debian', uuid=f'{number}-build',
                    timestamp=BUILT + number)
        addUpload(context, 'debian', **{
            'uuid': f'{number}-upload', 'artifact_uuid': f'{number}-build',
            'providers': [provider.canonical_name],
            'config_hash': provider.images['debian'].zuul_config_hash,
            'endpoint_name': provider.getEndpoint().canonical_name} | kwargs)
    imagecontrols.add(context.client, Control.KEPT, '1-build', '')

    def show(number):
        build = json.loads(
            images('show', '--format', 'json', f'{number}-build').stdout)
        return [(each['decision']['is_deleted'], each['decision']['reason'])
                for each in (build, *build['uploads'])]
    assert {number: show(number) for number in range(1, 6)} == {
        1: [policy.KEPT, policy.KEPT],
        2: [policy.IN_USE, policy.NEEDED],
        3: [policy.IN_USE, policy.NEEDED],
        4: [policy.REPLACED, policy.REJECTED],
        5: [policy.NEWEST, policy.STILL_UNNEEDED]}
    unneededimages.write(context.client, '5-upload')
    zuul_conf['launcher'] = {'unneeded_image_delay': '0'}
    writeConf(zuul_conf, tmp_path / 'zuul.conf')
    assert show(5)[1] == policy.UNNEEDED
    text = images('show', '5-build').stdout
    assert re.search('Decision: +to be deleted: no provider needs it', text)
    assert re.search('Decision: +stays: it is the newest build', text)
