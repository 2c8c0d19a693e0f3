"""What is read is handed on when all is read, in the order it came."""

import threading
import types

from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import Callback, EventType
import pytest
from zuul.zk import ZooKeeperClient
from zuul.zk.vendor.states import AddWatchMode

from zuul_nodes.launcher.zookeeper import dispatch, sockets
from zuul_nodes.launcher.zookeeper.dispatch import Delivery, takenAtOnce
from zuul_nodes.launcher.zookeeper.replacements import ImprovedClient

TIMEOUT = 30


class Handler:
    """:ivar list dispatched: what is for kazoo's thread."""

    def __init__(self):
        self.running = False
        self.dispatched = []

    def dispatch_callback(self, callback):
        self.dispatched.append(callback)


class Connection(sockets.Socket):
    """Reads messages: functions, each of which does what has to be done."""

    def __init__(self, messages):
        self.messages = messages
        self._socket = self

    def _read_socket(self, timeout):
        return self.messages.pop(0)()

    def fetch(self):
        return bool(self.messages)


@pytest.fixture
def client():
    client = types.SimpleNamespace(
        handler=Handler(), _connection=Connection([]))
    dispatch.installDispatch(client)
    return client


def test_all_is_read_before_anybody_is_told(client):
    told = []
    answer = client.handler.async_result()

    @takenAtOnce
    def tell(event):
        told.append((event, answer.ready()))

    def read(function, *args):
        def readOne():
            assert told == []
            assert not answer.ready()
            function(*args)
        client._connection.messages.append(readOne)

    callback = Callback('watch', print, ())
    read(client.handler.dispatch_callback, Callback('watch', tell, (1,)))
    read(answer.set, 'answer')
    read(client.handler.dispatch_callback, Callback('watch', tell, (2,)))
    read(client.handler.dispatch_callback, callback)
    client._connection._read_socket(TIMEOUT)
    assert told == [(1, False), (2, True)]
    assert answer.get() == 'answer'
    assert client.handler.dispatched == [callback]


def test_what_was_read_before_the_connection_was_lost(client):
    answers = [client.handler.async_result() for _ in range(2)]

    def lose():
        raise ConnectionLoss
    client._connection.messages = [
        answers[0].set,
        lambda: answers[1].set_exception(ValueError()), lose]
    with pytest.raises(ConnectionLoss):
        client._connection._read_socket(TIMEOUT)
    assert answers[0].get(block=False) is None
    with pytest.raises(ValueError):
        answers[1].get(block=False)


def test_one_that_fails_keeps_nobody_waiting(client, caplog):
    answer = client.handler.async_result()

    @takenAtOnce
    def fail(event):
        raise ValueError(event)
    client._connection.messages = [
        lambda: client.handler.dispatch_callback(
            Callback('watch', fail, ('event',))),
        answer.set]
    client._connection._read_socket(TIMEOUT)
    assert answer.ready()
    assert 'Unable to deliver a message of ZooKeeper' in caplog.text


def test_many_messages(client):
    """There is something to be sent at times."""
    count = dispatch.MOST_MESSAGES + 1
    answers = [client.handler.async_result() for _ in range(count)]
    client._connection.messages = [answer.set for answer in answers]
    client._connection._read_socket(TIMEOUT)
    assert [answer.ready() for answer in answers] == [
        *[True] * dispatch.MOST_MESSAGES, False]


def test_the_end(client):
    """After it, nothing can be read."""
    client._connection.messages = [
        lambda: dispatch.CLOSE_RESPONSE, pytest.fail]
    assert client._connection._read_socket(
        TIMEOUT) == dispatch.CLOSE_RESPONSE


def test_who_does_not_read_tells_at_once(client):
    answers = [client.handler.async_result() for _ in range(2)]

    def read():
        other = threading.Thread(target=answers[0].set)
        other.start()
        other.join(TIMEOUT)
        assert answers[0].ready()
    client._connection.messages = [read]
    client._connection._read_socket(TIMEOUT)
    answers[1].set()
    assert answers[1].ready()


@pytest.mark.parametrize('client_class', [ImprovedClient, ZooKeeperClient])
def test_a_real_client(request, zuul_conf, client_class):
    """ZooKeeper tells of each write before it answers it."""
    zk_client = client_class.fromConfig(zuul_conf)
    zk_client.connect()
    request.addfinalizer(zk_client.disconnect)
    client = zk_client.client
    dispatch.installDispatch(client)
    client.create('/some', b'')
    seen = []
    results = []
    begin = threading.Event()

    @takenAtOnce
    def tell(event):
        if event.type == EventType.CHANGED:
            begin.wait(TIMEOUT)
            seen.append([result.ready() for result in results])
    client.add_watch('/some', tell, AddWatchMode.PERSISTENT_RECURSIVE)
    results += [client.set_async('/some', b'') for _ in range(200)]
    begin.set()
    for result in reversed(results):
        result.get(timeout=TIMEOUT)
    assert seen == [[True] * number + [False] * (200 - number)
                    for number in range(200)]


def test_only_once(zk_client):
    dispatch.installDispatch(zk_client.client)
    read = zk_client.client._connection._read_socket
    dispatch.installDispatch(zk_client.client)
    assert zk_client.client._connection._read_socket is read
    assert isinstance(zk_client.client.delivery, Delivery)
