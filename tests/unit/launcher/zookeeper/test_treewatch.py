"""A watch tells of a change before anything later is known."""

import socket
import threading

from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import KazooState
import pytest

from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.zookeeper import TreeWatch
from zuul_nodes.launcher.zookeeper.ownwrites import OwnWrites

ROUNDS = 100


class Site:
    """A watch in a client that delivers messages in order.

    :ivar list changes: gets an item with each report.
    """

    def __init__(self, client):
        self.client = client
        self.own_writes = OwnWrites()
        self.changes = []
        client.add_listener(self._listen)
        self.watch = TreeWatch(
            client, self.own_writes, '/watched',
            lambda: self.changes.append(None))

    def _listen(self, state):
        if state != KazooState.CONNECTED:
            self.own_writes.clear()

    def loseConnection(self):
        before = self.own_writes.connection
        self.client._connection._socket.shutdown(socket.SHUT_RDWR)
        waitFor(lambda: self.own_writes.connection > before)


@pytest.fixture
def site(client):
    return Site(client)


def test_change_is_reported_before_a_later_record_is_read(
        site, client, kazoo_client):
    kazoo_client.create('/watched', b'')
    kazoo_client.create('/record', b'-1')
    late = []
    known = threading.Event()
    waitFor(lambda: site.changes)

    def read():
        last = -1
        while last < ROUNDS - 1:
            last = int(client.get('/record')[0])
            # One when the watch begins, one when the path is created.
            if len(site.changes) < last + 3:
                late.append(last)
        known.set()
    threading.Thread(target=read, daemon=True).start()
    for number in range(ROUNDS):
        kazoo_client.create(f'/watched/{number}', b'')
        kazoo_client.set('/record', str(number).encode())
    assert known.wait(30)
    assert not late
    assert site.watch.isComplete()


def test_watch_is_not_complete_if_messages_are_not_in_order(zk_client):
    site = Site(zk_client.client)
    assert site.own_writes.isWatched('/watched')
    assert not site.watch.isComplete()


def test_watch_begins_again_after_the_loss_of_the_connection(
        site, client, kazoo_client):
    assert site.watch.isComplete()
    for _ in range(3):
        before = len(site.changes)
        site.loseConnection()
        waitFor(site.watch.isComplete)
        # What happened meanwhile is unknown.
        assert len(site.changes) > before
    before = len(site.changes)
    kazoo_client.create('/watched', b'')
    waitFor(lambda: len(site.changes) == before + 1)


def test_watch_whose_connection_is_lost_by_now_is_not_complete(
        site, client, monkeypatch):
    addWatch = client.add_watch

    def addLate(*args):
        addWatch(*args)
        site.own_writes.clear()
    monkeypatch.setattr(client, 'add_watch', addLate)
    site.watch._begin()
    assert not site.watch.isComplete()


def test_watch_that_can_not_be_set_is_not_complete(
        site, client, monkeypatch):
    """The next connection has one."""
    def fail(*args):
        failed.append(args)
        raise ConnectionLoss
    failed = []
    with monkeypatch.context() as context:
        context.setattr(client, 'add_watch', fail)
        site.loseConnection()
        waitFor(lambda: failed)
        assert not site.watch.isComplete()
    site.loseConnection()
    waitFor(site.watch.isComplete)
