"""What ``zuul-nodes uploads`` shows."""

import functools
import json
import logging
import time

import pytest
from zuul.model import ImageUpload
from zuul.zk.zkobject import ZKContext

from tests.unit.cmd.conftest import getRows, getShown
from zuul_nodes.imageremarks import Remarks


@pytest.fixture
def uploads(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'uploads')


@pytest.fixture
def add(zk_client):
    """:return: a function that writes the record of an upload."""
    context = ZKContext(zk_client, None, None, logging.getLogger())

    def addUpload(uuid, remark=None, age=7300, image='debian', **attributes):
        now = time.time()
        upload = ImageUpload.new(context, **{
            'uuid': uuid.ljust(32, '0'),
            'artifact_uuid': 'a3b1'.ljust(32, '0'),
            'canonical_name': f'example.com%2Fnodes/{image}',
            'endpoint_name': 'cloud/west', 'timestamp': now - age,
            'providers': ['example.com%2Fnodes/one'], '_state': 'ready',
            'state_time': now - age, 'external_id': 'ami-1',
            'validated': True} | attributes)
        if remark:
            Remarks(zk_client.client).setRemark(upload.uuid, remark)
        return upload
    return addUpload


def test_uploads_are_in_the_order_of_images_and_endpoints(uploads, add):
    add('cc', image='fedora', _state='uploading', external_id=None,
        validated=None)
    add('bb', endpoint_name='cloud/west', validated=False)
    add('aa', 'the cloud is full', endpoint_name='away/east', _state='failed')
    text = uploads()
    assert getRows(text) == [
        ['aa000000', 'debian', 'a3b10000', 'away/east', 'one', 'failed',
         '2 h', 'the cloud is full'],
        ['bb000000', 'debian', 'a3b10000', 'cloud/west', 'one', 'not valid',
         '2 h', 'ami-1'],
        ['cc000000', 'fedora', 'a3b10000', 'cloud/west', 'one', 'uploading',
         '2 h', '-']]
    assert max(map(len, text.splitlines())) <= 100


def test_json_has_the_whole_names(uploads, add):
    upload = add('aa')
    found, = json.loads(uploads('--format', 'json'))
    assert found | {'state_age': None} == {
        'uuid': upload.uuid, 'image': 'example.com/nodes/debian',
        'artifact': upload.artifact_uuid, 'endpoint': 'cloud/west',
        'providers': ['example.com%2Fnodes/one'], 'state': 'ready',
        'state_age': None, 'validated': True, 'external_id': 'ami-1',
        'attempt': 0, 'progress': None, 'remark': None}


@pytest.mark.parametrize('arguments', [
    ('--image', 'fedora'), ('--image', 'example.com/nodes/fedora'),
    ('--artifact', 'beef'), ('--provider', 'two'), ('--state', 'failed'),
    ('--provider', 'example.com%2Fnodes/two'), ('--endpoint', 'away/east'),
    ('--older-than', '3h'), ('--older-than', '8000'),
    ('--older-than', '0.1d')])
def test_filters(uploads, add, arguments):
    add('aa')
    wanted = add('bb', image='fedora', artifact_uuid='beef', age=11000,
                 providers=['example.com%2Fnodes/two'], _state='failed',
                 endpoint_name='away/east')
    assert [each['uuid'] for each in json.loads(uploads(
        '--format', 'json', *arguments))] == [wanted.uuid]


@pytest.mark.parametrize('text', ['soon', '-1', '3y', '', 'h', 'nan'])
def test_age_that_is_none_is_wrong_usage(zuulNodes, text):
    result = zuulNodes('uploads', f'--older-than={text}')
    assert result.returncode == 2
    assert '--older-than' in result.stderr


def test_it_prints_what_the_documentation_shows(uploads, add):
    add('5c07d3e1')
    add('91b2f46a', 'quota of images exceeded', 200, _state='failed',
        endpoint_name='away/east', external_id=None, validated=None,
        providers=['example.com%2Fnodes/two', 'example.com%2Fnodes/three'])
    assert uploads().splitlines() == getShown(
        'howto/watch-providers.rst', 'zuul-nodes uploads')
