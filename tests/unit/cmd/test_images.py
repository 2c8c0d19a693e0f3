"""What the command shows of the records of images."""

import json

import pytest
from zuul.model import ImageBuildArtifact, ImageUpload
from zuul.zk import ZooKeeperClient
from zuul.zk.zkobject import ZKContext

from tests.fixtures.programs import writeConf

BUILT = 1700000000


@pytest.fixture
def context(zuul_conf):
    client = ZooKeeperClient.fromConfig(zuul_conf)
    client.connect()
    yield ZKContext(client, None, None, None)
    client.disconnect()


@pytest.fixture
def images(zuulNodes, zuul_conf, tmp_path):
    """:return: a function that runs the command."""
    path = writeConf(zuul_conf, tmp_path / 'zuul.conf')
    return lambda *arguments: zuulNodes('images', '-c', path, *arguments)


def addArtifact(context, name, **kwargs):
    ImageBuildArtifact.new(context, **{
        'uuid': name, 'name': name, 'format': 'raw', 'timestamp': BUILT,
        'canonical_name': f'example.com%2Fnodes/{name}',
        '_state': 'ready'} | kwargs)


def addUpload(context, artifact, **kwargs):
    upload = ImageUpload.new(context, **{
        'uuid': f'{artifact} {kwargs}', 'artifact_uuid': artifact,
        'endpoint_name': 'cloud/region', 'timestamp': BUILT,
        '_state': 'ready', 'external_id': 'ami-1',
        'validated': True} | kwargs)
    return upload


def test_a_table(context, images):
    addArtifact(context, 'fedora', _state=None)
    addArtifact(context, 'debian')
    addUpload(context, 'debian')
    upload = addUpload(context, 'debian', endpoint_name='away',
                       _state='uploading', external_id=None, validated=None)
    progress = 'Downloading: 1 of 4 MiB, 25 %'
    upload._save(context, json.dumps(
        upload.toDict() | {'progress': progress}).encode())
    result = images()
    assert (result.returncode, result.stderr) == (0, '')
    rows = [[cell.strip() for cell in line.split('|')[1:-1]]
            for line in result.stdout.splitlines() if '|' in line]
    assert [row[0] for row in rows] == [
        'Image', *['example.com/nodes/debian'] * 2, 'example.com/nodes/fedora']
    assert rows[1][1:2] + rows[1][3:] == [
        'raw', 'ready', 'away', 'uploading', 'not yet', progress]
    assert rows[1][2].startswith('2023-11-1')
    assert rows[2][4:] == ['cloud/region', 'ready', 'yes', 'ami-1']
    assert rows[3][3:] == ['reported', '-', '-', '-', '-']


def test_json(context, images):
    for name in ('fedora', 'debian'):
        addArtifact(context, name)
        addUpload(context, name)
    result = images('--format', 'json', 'debian')
    build, = json.loads(result.stdout)
    assert (build['name'], build['_state']) == ('debian', 'ready')
    upload, = build['uploads']
    assert upload['external_id'] == 'ami-1'


def test_images_without_records_writes_nothing(images, empty_client):
    result = images('--format', 'json')
    assert (result.returncode, json.loads(result.stdout)) == (0, [])
    assert empty_client.get_children('/') == []


def test_a_record_that_can_not_be_read(context, images):
    addArtifact(context, 'debian')
    context.client.create('/zuul/images/artifacts/bad', b'{')
    result = images('--format', 'json')
    assert [build['name'] for build in json.loads(result.stdout)] == [
        'debian']
