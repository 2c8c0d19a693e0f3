"""The names of records are read once, and again after a change."""

import socket
import threading

import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes import zkrecords
from zuul_nodes.launcher.zookeeper import Names

ROOT = '/names'
ROUNDS = 100


class Reads(list):
    """The paths whose children a client has read."""

    def __init__(self, client, monkeypatch):
        getChildren = client.get_children

        def note(path, **kwargs):
            self.append(path)
            return getChildren(path, **kwargs)
        monkeypatch.setattr(client, 'get_children', note)


@pytest.fixture
def reads(client, monkeypatch):
    return Reads(client, monkeypatch)


@pytest.fixture
def names(client):
    return Names(client, ROOT)


def write(client, name):
    zkrecords.write(client, zkrecords.getPath(ROOT, name), b'')


def test_names_are_read_again_only_after_a_change(names, client, reads):
    write(client, 'example.com/nodes/a b')
    for _ in range(3):
        assert names.get() == {'example.com/nodes/a b'}
    write(client, 'other')
    zkrecords.delete(client, zkrecords.getPath(ROOT, 'example.com/nodes/a b'))
    for _ in range(3):
        assert names.get() == {'other'}
    # The content of a record does not matter.
    write(client, 'other')
    assert names.get() == {'other'}
    assert reads == [ROOT] * 2


def test_path_that_does_not_exist_yet_is_read_when_it_does(
        names, client, reads):
    for _ in range(3):
        assert names.get() == set()
    assert reads == [ROOT]
    write(client, 'first')
    assert names.get() == {'first'}
    client.delete(ROOT, recursive=True)
    assert names.get() == set()
    write(client, 'second')
    assert names.get() == {'second'}


def test_path_that_is_created_while_it_is_looked_for_is_read(
        names, client, kazoo_client, monkeypatch):
    exists = client.exists

    def createFirst(*args, **kwargs):
        write(kazoo_client, 'first')
        return exists(*args, **kwargs)
    monkeypatch.setattr(client, 'exists', createFirst)
    assert names.get() == {'first'}


def test_change_is_known_before_a_later_record_is_read(
        names, client, kazoo_client):
    kazoo_client.create(ROOT, b'')
    kazoo_client.create('/record', b'-1')
    late = []
    done = threading.Event()

    def read():
        last = -1
        while last < ROUNDS - 1:
            last = int(client.get('/record')[0])
            if len(names.get()) < last + 1:
                late.append(last)
        done.set()
    threading.Thread(target=read, daemon=True).start()
    for number in range(ROUNDS):
        write(kazoo_client, str(number))
        kazoo_client.set('/record', str(number).encode())
    assert done.wait(30)
    assert not late


def test_change_while_the_names_are_read_is_not_missed(
        names, client, kazoo_client, monkeypatch):
    getChildren = client.get_children

    def changeThen(path, **kwargs):
        children = getChildren(path, **kwargs)
        monkeypatch.undo()
        write(kazoo_client, 'second')
        client.sync(ROOT)
        return children
    write(client, 'first')
    monkeypatch.setattr(client, 'get_children', changeThen)
    assert names.get() == {'first'}
    assert names.get() == {'first', 'second'}


def loseConnection(names, client):
    before = names._version
    client._connection._socket.shutdown(socket.SHUT_RDWR)
    waitFor(lambda: names._version is not before)


def test_names_are_read_again_when_the_connection_was_lost(
        names, client, kazoo_client):
    """The watch ends with the connection."""
    write(client, 'first')
    assert names.get() == {'first'}
    for number in range(3):
        loseConnection(names, client)
        write(kazoo_client, str(number))
        client.sync(ROOT)
        assert str(number) in names.get()


def test_names_are_always_read_if_messages_are_not_in_order(
        zk_client, monkeypatch):
    """An event may be late."""
    reads = Reads(zk_client.client, monkeypatch)
    names = Names(zk_client.client, ROOT)
    write(zk_client.client, 'first')
    for _ in range(3):
        assert names.get() == {'first'}
    assert len(reads) == 3
