"""The client of ZooKeeper works as ever, only with less ado."""

import select
import socket
import ssl
import struct

import pytest
from zuul.zk.vendor.client import ZuulKazooClient

from zuul_nodes.launcher.zookeeper.replacements import ImprovedClient
from zuul_nodes.launcher.zookeeper.sockets import Poller, Socket

poll = Poller().poll


@pytest.fixture
def pair():
    sockets = socket.socketpair()
    yield sockets
    for each in sockets:
        each.close()


def fill(sender):
    sender.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            sender.send(bytes(65536))


@pytest.mark.parametrize('prepare', [
    lambda one, two: None,
    lambda one, two: two.send(b'x'),
    lambda one, two: two.close(),
    lambda one, two: fill(one),
    lambda one, two: (fill(one), two.send(b'x')),
    lambda one, two: (fill(one), two.close()),
], ids=['nothing', 'data', 'end', 'full', 'full, data', 'full, end'])
@pytest.mark.parametrize('read, write', [(1, 0), (0, 1), (1, 1)])
def test_the_same_sockets_are_ready(pair, prepare, read, write):
    one, two = pair
    prepare(one, two)
    asked = [one] * read, [one] * write, []
    assert poll(*asked, 0) == select.select(*asked, 0)


def test_several_sockets_are_polled_together(pair):
    one, two = pair
    two.send(b'x')
    assert poll([one, two], [one, two], []) == ([one], [one, two], [])


def test_closed_socket_raises_error(pair):
    one, _ = pair
    one.close()
    with pytest.raises(ValueError):
        poll([one], [], [], 0)


class Secure:
    """In place of a TLS connection: some of what has come is in it.

    :ivar list parts: what it has, as it came.
    """

    def __init__(self, sock):
        self.sock = sock
        self.parts = []
        self.fileno = sock.fileno

    def pending(self):
        return 0

    def recv(self, size):
        if not self.parts:
            raise ssl.SSLWantReadError
        assert size > 100
        return self.parts.pop(0)

    def send(self, data):
        raise ssl.SSLWantWriteError


def test_reading_ahead(pair):
    one, two = pair
    secure = Secure(one)
    reader = Socket(secure)
    assert poll([reader], [], [], 0) == ([], [], [])
    two.send(b'x')
    assert poll([reader, two], [], [], 0) == ([reader], [], [])
    # It need not be looked at again, until it is read.
    one.recv(1)
    assert poll([reader], [], []) == ([reader], [], [])
    secure.parts = [b'abcdef', b'gh']
    assert [reader.recv(4), reader.recv(4), reader.recv(4)] == [
        b'abcd', b'ef', b'gh']
    assert poll([reader], [], [], 0) == ([], [], [])
    with pytest.raises(ssl.SSLWantReadError):
        reader.recv(4)


def test_what_has_been_read_ahead_is_there_at_once(pair):
    one, two = pair
    secure = Secure(one)
    secure.parts = [b'abcdef']
    reader = Socket(secure)
    assert reader.recv(4) == b'abcd'
    assert reader.pending()
    assert poll([reader, two], [], []) == ([reader], [], [])
    # Others have their turn, too.
    one.send(b'x')
    assert poll([reader, two], [], []) == ([reader, two], [], [])


def makeMessage(data):
    return struct.pack('>i', len(data)) + data


def test_whole_messages_are_read_together(pair):
    one, _ = pair
    secure = Secure(one)
    reader = Socket(secure)
    assert not reader.fetch()
    first, second, third = map(makeMessage, (b'first', b'', b'third'))
    secure.parts = [first + second + third[:2], third[2:7], third[7:]]
    assert reader.fetch()
    assert reader.takeMessage() == b'first'
    assert reader.fetch()
    assert reader.takeMessage() == b''
    # The next read brings a part of it only.
    assert not reader.fetch()
    assert reader.fetch()
    assert reader.takeMessage() == b'third'


def test_part_of_a_message_is_waited_for(pair):
    one, _ = pair
    secure = Secure(one)
    message = makeMessage(b'message')
    secure.parts = [message[:6]]
    reader = Socket(secure)
    assert not reader.fetch()
    assert reader.recv(4) == message[:4]
    assert reader.recv(7) == message[4:6]
    secure.parts = [message[6:] + makeMessage(b'next')]
    assert reader.recv(5) == message[6:]
    assert reader.fetch()
    assert reader.takeMessage() == b'next'


@pytest.mark.parametrize('error', [ssl.SSLError, ConnectionResetError])
def test_end_of_connection_is_found_when_reading(pair, error):
    """Kazoo finds out when it reads."""
    one, _ = pair
    secure = Secure(one)
    reader = Socket(secure)
    secure.parts = [b'']
    assert not reader.fetch()
    secure.parts = [b'']
    assert reader.recv(4) == b''
    secure.recv = raises(error)
    assert not reader.fetch()
    with pytest.raises(error):
        reader.recv(4)


def raises(error):
    def fail(size):
        raise error
    return fail


def test_writing_waits_while_the_buffer_is_full(pair):
    one, two = pair
    writer = Socket(Secure(one))
    fill(one)
    assert poll([], [writer], []) == ([], [writer], [])
    with pytest.raises(ssl.SSLWantWriteError):
        writer.send(b'x')
    assert poll([], [writer], [], 0) == ([], [], [])
    while select.select([two], [], [], 0)[0]:
        two.recv(1048576)
    assert poll([], [writer], []) == ([], [writer], [])


def test_client_begins_its_only_session_with_our_sockets(
        zuul_conf, monkeypatch):
    begun = []
    start = ZuulKazooClient.start

    def noteStart(client, *args):
        start(client, *args)
        begun.append((client.client_id, client._connection._socket))
    monkeypatch.setattr(ZuulKazooClient, 'start', noteStart)
    improved = ImprovedClient.fromConfig(zuul_conf)
    improved.connect()
    (session, sock), = begun
    assert isinstance(sock, Socket)
    assert improved.client.client_id == session
    improved.disconnect()
    assert improved.client is None


@pytest.mark.parametrize('size', [0, 1000, 16384, 65536, 1000000])
def test_records_of_any_size(client, size):
    data = bytes(index % 251 for index in range(size))
    client.create('/some', data)
    # More at once than fits into a socket.
    answers = [client.set_async('/some', data) for _ in range(20)]
    answers += [client.get_async('/some') for _ in range(20)]
    assert {answer.get()[0] for answer in answers[20:]} == {data}


def test_lost_connection(client):
    client.create('/some', b'data', ephemeral=True)
    session = client.client_id
    client._connection._socket.shutdown(socket.SHUT_RDWR)
    assert client.retry(client.get, '/some')[0] == b'data'
    assert client.client_id == session
    assert isinstance(client._connection._socket, Socket)
