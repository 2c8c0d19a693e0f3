"""Where kazoo is not as we know it, its own code does the work."""

import logging

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
import pytest

from tests.fixtures import executor
from tests.unit.drivers.fake.layout import LAYOUT
from zuul_nodes import signatures
from zuul_nodes.launcher.zookeeper.replacements import (
    LIMIT,
    REPLACEMENTS,
    SOCKETS,
    WRITER,
    ImprovedClient,
)
from zuul_nodes.launcher.zookeeper.requestsize import LARGEST
from zuul_nodes.launcher.zookeeper.sockets import Socket
from zuul_nodes.launcher.zookeeper.writer import Bell


def alter(monkeypatch, cls, name):
    """Have kazoo look different, and work as before."""
    original = getattr(cls, name)

    def altered(self, *args, other=None):
        return original(self, *args)
    monkeypatch.setattr(cls, name, altered)


@pytest.fixture
def stock(monkeypatch):
    """Kazoo looks different wherever we replace something."""
    alter(monkeypatch, ConnectionHandler, '_read_header')
    alter(monkeypatch, KazooClient, '_call')
    alter(monkeypatch, SequentialThreadingHandler, 'dispatch_callback')


def test_every_replacement_fits():
    assert [each.findMismatch() for each in REPLACEMENTS] == [None] * 4


def test_client_has_every_replacement(client):
    connection = client._connection
    assert isinstance(connection._socket, Socket)
    assert isinstance(connection._read_sock, Bell)


@pytest.mark.parametrize('cls, name, expected', [
    (ConnectionHandler, '_read_header', [SOCKETS, WRITER]),
    (SequentialThreadingHandler, 'create_connection', [SOCKETS, WRITER]),
    (ConnectionHandler, '_send_request', [WRITER]),
    (KazooClient, '_call', [WRITER, LIMIT])])
def test_replacement_is_left_out_where_kazoo_differs(
        zuul_conf, monkeypatch, caplog, cls, name, expected):
    if name == 'create_connection':
        # It takes its arguments by name.
        monkeypatch.delattr(cls, name)
    else:
        alter(monkeypatch, cls, name)
    assert [each for each in REPLACEMENTS
            if each.findMismatch()] == expected
    if name == 'create_connection':
        return
    improved = ImprovedClient.fromConfig(zuul_conf)
    with caplog.at_level(logging.WARNING, 'zuul.nodes'):
        improved.connect()
    client = improved.client
    lines = [record.getMessage() for record in caplog.records
             if record.name == 'zuul.nodes.zookeeper']
    assert len(lines) == len(expected)
    for line, each in zip(lines, expected, strict=True):
        assert f'the replacement "{each.name}"' in line
        assert f'{name} has the signature' in line
    assert isinstance(client._connection._socket, Socket) == (
        SOCKETS not in expected)
    assert isinstance(client._connection._read_sock, Bell) == (
        WRITER not in expected)
    answers = [client.create_async(f'/{number}') for number in range(100)]
    assert [answer.get(timeout=30) for answer in answers] == [
        f'/{number}' for number in range(100)]
    improved.disconnect()


def test_replacement_is_left_out_where_code_of_kazoo_differs(monkeypatch):
    def _send_request(self, read_timeout, connect_timeout):
        pass
    monkeypatch.setattr(ConnectionHandler, '_send_request', _send_request)
    assert SOCKETS.findMismatch() is None
    assert 'does not use _pending, _queue, _read_sock, _submit, recv' in (
        WRITER.findMismatch())


def test_replacements_are_left_out_with_another_version(monkeypatch):
    _, wanted = signatures.getVersions('kazoo')
    monkeypatch.setattr(
        signatures, 'getVersions', lambda package: ('3.0', wanted))
    assert {each.findMismatch() for each in REPLACEMENTS} == {
        WRITER.findMismatch()}
    assert (
        WRITER.findMismatch()) == 'Kazoo is 3.0, this plugin is for <3,>=2.10'


def test_large_request_ends_the_connection_of_stock_kazoo(stock, client):
    """What the limit is for."""
    with pytest.raises(ConnectionLoss):
        client.create('/large', bytes(LARGEST))


def test_launcher_works_with_stock_kazoo(stock, launchFake, caplog):
    """Requests are served, and nodes are used and deleted."""
    with caplog.at_level(logging.WARNING, 'zuul.nodes'):
        launcher = launchFake()
    assert sum('Using kazoo without the replacement' in record.getMessage()
               for record in caplog.records) == len(REPLACEMENTS)
    assert not isinstance(
        launcher.zk_client.client._connection._socket, Socket)
    launcher.setLayout(LAYOUT)
    for _ in range(3):
        requests = [launcher.addRequest('label') for _ in range(5)]
        launcher.runUntil(lambda: all(
            request.state == request.State.FULFILLED
            for request in requests))  # noqa: B023
        nodes = [launcher.api.getProviderNode(request.nodes[0])
                 for request in requests]
        with launcher.context() as context:
            executor.use(context, nodes)
            for request in requests:
                request.delete(context)
        launcher.runUntil(
            lambda: not list(launcher.api.nodes_cache.getItems()))
    endpoint = launcher.getProvider('provider').getEndpoint()
    assert list(endpoint.adapter.cloud.listInstances()) == []
