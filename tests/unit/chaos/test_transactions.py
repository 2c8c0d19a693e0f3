"""The history of a real ZooKeeper, as its transaction log has it."""

import pathlib

import pytest

from tests.chaos import transactions
from tests.chaos.transactions import Operation, Transaction


@pytest.fixture
def readOwn(zookeeper, chroot):
    """:return: a function that reads what a session has done below the path
        of this test."""
    def read(session):
        history = transactions.read(pathlib.Path(zookeeper.directory, 'data'))
        return [[(each.kind, each.path.removeprefix(chroot), each.data)
                 for each in transaction.operations]
                for transaction in history
                if transaction.session == session]
    return read


def getSession(client):
    return client.client_id[0] & (1 << 64) - 1


def test_changes_are_read_in_order(kazoo_client, readOwn):
    kazoo_client.create('/one', b'first')
    kazoo_client.set('/one', b'second')
    kazoo_client.delete('/one')
    assert readOwn(getSession(kazoo_client))[-3:] == [
        [('create', '/one', b'first')], [('set', '/one', b'second')],
        [('delete', '/one', None)]]


def test_transactions_are_read_with_what_they_check(kazoo_client, readOwn):
    transaction = kazoo_client.transaction()
    transaction.check('/zuul', -1)
    transaction.create('/one', b'', ephemeral=True)
    transaction.commit()
    assert readOwn(getSession(kazoo_client))[-1] == [
        ('check', '/zuul', None), ('create', '/one', b'')]


def test_transactions_that_fail_have_done_nothing(kazoo_client, readOwn):
    transaction = kazoo_client.transaction()
    transaction.create('/one', b'')
    transaction.check('/none', -1)
    transaction.commit()
    assert readOwn(getSession(kazoo_client))[-1] == []


def test_the_end_of_a_session_deletes_what_belongs_to_it(
        zookeeper, kazoo_client, readOwn):
    client = zookeeper.client()
    client.start()
    client.chroot = kazoo_client.chroot
    client.create('/one', b'', ephemeral=True)
    session = getSession(client)
    client.stop()
    client.close()
    assert readOwn(session)[0] == [('open', '', None)]
    assert readOwn(session)[-1] == [('delete', '/one', None),
                                    ('close', '', None)]


def test_only_what_two_servers_have_logged_was_committed():
    first, lost, last = (
        Transaction(zxid, 0.0, 1, [Operation('delete', '/one')])
        for zxid in (1, 2, 3))
    assert transactions.merge(
        [[first, lost], [first, last], [first, last]]) == [first, last]
