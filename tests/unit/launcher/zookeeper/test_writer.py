"""Requests to ZooKeeper are sent together, and none is left behind."""

import select
import socket
import threading

from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import KazooState
import pytest

from zuul_nodes.launcher.zookeeper import writer
from zuul_nodes.launcher.zookeeper.content import UnwritableError
from zuul_nodes.launcher.zookeeper.requestsize import LARGEST, OVERHEAD
from zuul_nodes.launcher.zookeeper.writer import Bell

TIMEOUT = 30


@pytest.fixture
def bell():
    bell = Bell()
    yield bell
    bell.close()


def isRinging(bell):
    return bool(select.select([bell], [], [], 0)[0])


def test_bell_rings_until_it_is_hushed(bell):
    assert not isRinging(bell)
    for _ in range(3):
        bell.send(b'\0')
    assert isRinging(bell)
    bell.hush()
    assert not isRinging(bell)
    bell.hush()
    bell.send(b'\0')
    assert isRinging(bell)


def test_closed_bell_raises_error(bell):
    bell.close()
    bell.close()
    # Kazoo tells whoever asks.
    with pytest.raises(OSError):
        bell.send(b'\0')
    with pytest.raises(ValueError):
        isRinging(bell)


class Gate:
    """The thread of a connection waits for it before it looks around.

    :ivar list sent: the size of each piece that was sent.
    """

    def __init__(self, client, monkeypatch):
        self.sent = []
        self._may_go = threading.Event()
        self._poll = client.handler.select
        secure = client._connection._socket._socket
        self._send = secure.send
        monkeypatch.setattr(secure, 'send', self.send)
        monkeypatch.setattr(client.handler, 'select', self.wait)

    def send(self, data):
        self.sent.append(len(data))
        return self._send(data)

    def wait(self, *args):
        assert self._may_go.wait(TIMEOUT)
        return self._poll(*args)

    def open(self):
        self._may_go.set()


@pytest.fixture
def gate(client, monkeypatch):
    return Gate(client, monkeypatch)


def test_waiting_requests_are_sent_together(client, gate):
    paths = [f'/{number}' for number in range(20)]
    answers = [client.create_async(path) for path in paths]
    gate.open()
    assert [answer.get(timeout=TIMEOUT) for answer in answers] == paths
    # Somebody may have waited already, and seen the first alone.
    assert len(gate.sent) <= 2
    assert not isRinging(client._connection._read_sock)


def test_more_requests_than_fit_are_sent_in_several_pieces(client, gate):
    number = 3 * writer.MOST_REQUESTS
    answers = [client.exists_async('/') for _ in range(number)]
    gate.open()
    assert all(answer.get(timeout=TIMEOUT) for answer in answers)
    assert 3 <= len(gate.sent) <= 5


def test_requests_of_many_threads_are_all_sent(client):
    def ask(name):
        client.create(name, b'0')
        for number in range(200):
            assert client.set(name, str(number).encode()).version == number + 1
        done.append(name)

    done = []
    names = [f'/{number}' for number in range(8)]
    threads = [threading.Thread(target=ask, args=(name,), daemon=True)
               for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert sorted(done) == names


def test_unsent_requests_fail_when_connection_is_lost(client, gate):
    """Later requests are not delayed by them."""
    answers = [client.create_async(f'/{number}') for number in range(20)]
    client._connection._socket.shutdown(socket.SHUT_RDWR)
    gate.open()
    for answer in answers:
        with pytest.raises(ConnectionLoss):
            answer.get(timeout=TIMEOUT)
    assert client.retry(client.get_children, '/')


def test_requests_without_connection_do_not_block(client, monkeypatch):
    """Not even if there are more than fit into a pipe."""
    def fail(*args, **kwargs):
        may_connect.wait(TIMEOUT)
        return connect(*args, **kwargs)
    may_connect = threading.Event()
    connect = client.handler.create_connection
    monkeypatch.setattr(client.handler, 'create_connection', fail)
    suspended = threading.Event()
    client.add_listener(lambda state: suspended.set()
                        if state == KazooState.SUSPENDED else None)
    client._connection._socket.shutdown(socket.SHUT_RDWR)
    assert suspended.wait(TIMEOUT)
    answers = []

    def ask():
        answers.extend(client.exists_async('/') for _ in range(5000))
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    assert not thread.is_alive()
    may_connect.set()
    assert all(answer.get(timeout=TIMEOUT) for answer in answers)


def test_request_that_is_too_large_is_refused(client):
    """Others do not lose their connection by it."""
    states = []
    client.add_listener(states.append)
    client.create('/large', bytes(LARGEST - OVERHEAD))
    with pytest.raises(UnwritableError):
        client.set('/large', bytes(LARGEST))
    transaction = client.transaction()
    for path in ('/large', '/other'):
        transaction.create(path, bytes(LARGEST // 2))
    with pytest.raises(UnwritableError):
        transaction.commit()
    assert len(client.get('/large')[0]) == LARGEST - OVERHEAD
    assert states == []
