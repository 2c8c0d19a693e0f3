"""The scheduler learns of which provider a job has its nodes."""

import logging
import threading
import types

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.launcher.client import LauncherClient
from zuul.manager import PipelineManager
from zuul.model import Node, NodeSet, NodesetRequest, ProviderNode
from zuul.zk import ZooKeeperClient

from zuul_nodes.plugin import nodesets
from zuul_nodes.plugin.extensions import Extensions

PROVIDER = 'example.com%2Fnodes/desk'
OTHER = 'example.com%2Fnodes/other'


@pytest.fixture
def client(zuul_conf, monkeypatch):
    """A scheduler's client for launchers, with the seam."""
    monkeypatch.setattr(LauncherClient, 'getNodesetInfo',
                        nodesets.wrapGetNodesetInfo(
                            LauncherClient.getNodesetInfo,
                            Extensions({}, {}, {})))
    zk_client = ZooKeeperClient.fromConfig(zuul_conf)
    zk_client.connect()
    yield LauncherClient(zk_client, threading.Event())
    zk_client.disconnect()


@pytest.fixture
def context(client):
    with client.createZKContext(None, client.log) as context:
        yield context


def makeNode(context, provider=PROVIDER, cls=StaticProviderNode):
    return cls.new(context, provider=provider, label='debian',
                   executor_zone='east')


def makeRequest(client, context, nodes, state=NodesetRequest.State.FULFILLED):
    """:return: the request, as the scheduler reads it."""
    request = NodesetRequest.new(
        context, labels=['debian'] * len(nodes), tenant_name='tenant',
        state=state)
    with request.activeContext(context):
        for node in nodes:
            request.addProviderNode(node)
    return client.getRequest(request.uuid)


@pytest.mark.parametrize('others', [(), (PROVIDER,), (OTHER,)])
def test_provider_of_the_first_node(client, context, others):
    nodes = [makeNode(context, provider) for provider in (PROVIDER, *others)]
    request = makeRequest(client, context, nodes)
    info = client.getNodesetInfo(request)
    assert info.toDict() == {
        'nodes': [node.uuid for node in nodes], 'zone': 'east',
        'provider': PROVIDER}


def test_no_provider_yet(client, context):
    request = makeRequest(client, context, [makeNode(context, None)])
    assert client.getNodesetInfo(request).provider is None


def test_no_nodes(client, context):
    info = client.getNodesetInfo(makeRequest(client, context, []))
    assert (info.nodes, info.provider) == ([], None)


def test_failed_request(client, context):
    request = makeRequest(client, context, [makeNode(context)],
                          NodesetRequest.State.FAILED)
    assert client.getNodesetInfo(request).provider is None


def test_missing_node(client, context, caplog):
    node = makeNode(context)
    request = makeRequest(client, context, [node])
    node.delete(context)
    assert client.getNodesetInfo(request).provider is None
    assert not [record for record in caplog.records
                if record.levelname == 'ERROR']


@pytest.mark.parametrize('data', [
    b'', b'static', b'static\0', b'static\0nonsense', b'static\0[]',
    b'static\0{}', b'static\0{"provider": 3}', b'\xff\0\xff'])
def test_record_that_can_not_be_read(
        client, context, kazoo_client, caplog, data):
    node = makeNode(context)
    request = makeRequest(client, context, [node])
    kazoo_client.set(node.getPath(), data)
    info = client.getNodesetInfo(request)
    assert (info.nodes, info.provider) == ([node.uuid], None)
    assert f'the provider of node {node.uuid}' in caplog.text
    # It is there for those who can.
    assert kazoo_client.get(node.getPath())[0] == data


def test_node_of_a_driver_that_is_not_here(client, context, kazoo_client):
    node = makeNode(context)
    request = makeRequest(client, context, [node])
    data, _ = kazoo_client.get(node.getPath())
    kazoo_client.set(node.getPath(), data.replace(b'static\0', b'nowhere\0'))
    with pytest.raises(RuntimeError, match='nowhere'):
        ProviderNode.fromZK(context, node.getPath())
    assert client.getNodesetInfo(request).provider == PROVIDER


def test_no_zookeeper(client, context):
    request = makeRequest(client, context, [makeNode(context)])
    client.zk_client.disconnect()
    assert client.getNodesetInfo(request).provider is None


def test_one_record_is_read(client, context, monkeypatch):
    request = makeRequest(client, context, [makeNode(context)])
    calls = []
    kazoo = client.zk_client.client
    call = kazoo._call
    monkeypatch.setattr(kazoo, '_call', lambda request, result: (
        calls.append(type(request).__name__), call(request, result))[1])
    client.getNodesetInfo(request)
    assert calls == ['GetData']


def test_a_zuul_that_knows_is_left_alone(client, context):
    known = types.SimpleNamespace(provider=OTHER)
    wrapped = nodesets.wrapGetNodesetInfo(
        lambda self, request: known, Extensions({}, {}, {}))
    request = makeRequest(client, context, [makeNode(context)])
    assert wrapped(client, request).provider == OTHER


@pytest.mark.parametrize('offered, has, use_nodepool, expected', [
    (['debian'], ['debian'], True, False),
    # Its provider is gone or in error: nobody else has the label.
    ([], ['debian'], True, False),
    ([], [], True, True),
    ([], [], False, False),
])
def test_a_label_that_the_tenant_has_is_none_of_nodepool(
        offered, has, use_nodepool, expected):
    use = nodesets.wrapUseNodepool(
        PipelineManager._useNodepoolFallback, Extensions({}, {}, {}))
    provider = types.SimpleNamespace(labels=dict.fromkeys(offered))
    manager = types.SimpleNamespace(tenant=types.SimpleNamespace(
        use_nodepool=use_nodepool, layout=types.SimpleNamespace(
            providers={'desk': provider}, labels=dict.fromkeys(has))))
    nodeset = NodeSet()
    nodeset.addNode(Node(['node'], 'debian'))
    job = types.SimpleNamespace(nodeset=nodeset)
    assert use(manager, logging.getLogger('test'), job) is expected


def test_a_nodeset_with_a_label_of_nodepool_is_all_of_nodepool():
    use = nodesets.wrapUseNodepool(
        PipelineManager._useNodepoolFallback, Extensions({}, {}, {}))
    manager = types.SimpleNamespace(tenant=types.SimpleNamespace(
        use_nodepool=True, layout=types.SimpleNamespace(
            providers={}, labels={'debian': None})))
    nodeset = NodeSet()
    nodeset.addNode(Node(['one'], 'debian'))
    nodeset.addNode(Node(['two'], 'fedora'))
    assert use(manager, logging.getLogger('test'),
               types.SimpleNamespace(nodeset=nodeset))
