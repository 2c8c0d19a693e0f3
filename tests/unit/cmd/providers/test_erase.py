"""What ``zuul-nodes providers erase`` removes."""

import functools
import json
import logging

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import ImageUpload, ProviderNode
from zuul.zk.zkobject import ZKContext

from tests.fixtures.programs import getRefusal, writeConf
from tests.fixtures.racks import cloud
from tests.unit.cmd.conftest import readNotes
from zuul_nodes import orders, zkrecords
from zuul_nodes.orders import Order

GONE = 'example.com%2Fnodes/gone'
UPLOADS = '/zuul/image-uploads/uploads'


@pytest.fixture
def erase(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'providers', 'erase')


@pytest.fixture
def site(zk_client, offer):
    """:return: a node and an upload of a provider that is gone, and the client
        of ZooKeeper."""
    context = ZKContext(zk_client, None, None, logging.getLogger())
    offer(cloud('one'))
    node = StaticProviderNode.new(
        context, label='big', provider=GONE, state=ProviderNode.State.FAILED,
        connection_name='rack', endpoint_name='rack/a',
        create_state={'instance_id': 'i-1'})
    StaticProviderNode.new(
        context, label='big', provider='example.com%2Fnodes/one',
        state=ProviderNode.State.READY, connection_name='rack')
    for uuid, providers in (
            ('a', [GONE]), ('b', [GONE, 'example.com%2Fnodes/one'])):
        ImageUpload.new(
            context, uuid=uuid, artifact_uuid='c', providers=providers,
            canonical_name='example.com%2Fnodes/debian', _state='ready',
            endpoint_name='rack/a', external_id=f'image-{uuid}')
    return node, zk_client.client


def getOrders(client):
    return zkrecords.getNames(client, f'{orders.ROOT}/{Order.REMOVE}')


def test_it_lists_what_it_would_remove(erase, site):
    node, client = site
    text = erase('gone')
    for each in (node.uuid, 'i-1', 'image-a', 'Nothing is removed'):
        assert each in text
    assert 'image-b' not in text
    assert max(map(len, text.splitlines())) <= 100
    assert (getOrders(client), readNotes(client)) == (set(), [])
    assert zkrecords.getNames(client, UPLOADS) == {'a', 'b'}


@pytest.mark.parametrize('name', ['gone', GONE])
def test_it_removes_what_no_other_provider_needs(erase, site, name):
    node, client = site
    found = json.loads(erase('--yes', '--format', 'json', name))
    assert (found['provider'], found['done']) == (GONE, True)
    assert found['nodes'] == [{
        'uuid': node.uuid, 'state': 'failed', 'request': None,
        'endpoint': 'rack/a', 'external_id': 'i-1'}]
    assert [each['external_id'] for each in found['uploads']] == ['image-a']
    # The launcher removes the records of nodes.
    assert getOrders(client) == {node.uuid}
    assert zkrecords.getNames(client, UPLOADS) == {'b'}
    assert {each['action'] for each in readNotes(client)} == {
        'providers erase', 'nodes delete --force'}


@pytest.mark.parametrize('name, message', [
    ('one', 'the provider example.com%2Fnodes/one is in the layout of these '
            'tenants: tenant. Remove it there first'),
    ('gon', 'no record names a provider "gon" that is gone. Did you mean '
            '"gone"?')])
def test_what_it_refuses(zuulNodes, zuul_conf, tmp_path, site, name, message):
    result = zuulNodes('providers', '-c', writeConf(
        zuul_conf, tmp_path / 'zuul.conf'), 'erase', '--yes', name)
    assert getRefusal(result) == f'zuul-nodes providers: {message}'
    assert getOrders(site[1]) == set()
