"""Reservations that launchers tell one another of, whatever becomes of
their sessions."""

import json
import math
import time

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.zk import ZooKeeperClient

from zuul_nodes.launcher.planner.published import ROOT, PublishedReservations
from zuul_nodes.launcher.planner.reservations import Reservation

TIMEOUT = 30


def reserve(request_id, provider='rack'):
    # The ranks of what nobody has asked for begin so.
    return (Reservation(provider, (math.inf, 1, request_id), ('big',),
                        'tenant', {'instances': 1}),)


class Teller:
    """A launcher, as far as it tells of reservations.

    :ivar dict seen: what others have reserved, as it was told last.
    :ivar list told: all that it was told, one after the other.
    """

    def __init__(self, config, name):
        self.told = [{}]
        self.zk_client = ZooKeeperClient.fromConfig(config)
        self.zk_client.connect()
        self.client = self.zk_client.client
        self.published = PublishedReservations(
            self.zk_client, name, self.told.append)

    @property
    def seen(self):
        return self.told[-1]

    def publish(self, *request_ids, provider='rack'):
        self.published.publish({
            each: reserve(each, provider) for each in request_ids})

    def loseSession(self):
        """What a listener does that is told of the end of a session."""
        self.client.stop()
        self.client.start()
        self.published.forgetSession()

    def runUntil(self, predicate):
        end = time.monotonic() + TIMEOUT
        while not predicate():
            assert time.monotonic() < end, self.seen
            self.published.waitForSync(1)

    def end(self):
        # Zuul's caches can not be stopped while they begin anew.
        self.published.ensureReady()
        self.published.stop()
        self.zk_client.disconnect()


@pytest.fixture
def makeTeller(zuul_conf):
    tellers = []

    def make(name):
        tellers.append(Teller(zuul_conf, name))
        return tellers[-1]
    yield make
    for teller in tellers:
        teller.end()


@pytest.fixture
def one(makeTeller):
    return makeTeller('one')


@pytest.fixture
def two(makeTeller):
    return makeTeller('two')


@pytest.fixture
def names(kazoo_client):
    """:return: a function that gives the requests that are told of."""
    return lambda: set(kazoo_client.get_children(ROOT))


def test_others_are_told(one, two):
    one.publish('a', 'b')
    two.runUntil(lambda: two.seen == {'a': reserve('a'), 'b': reserve('b')})
    one.publish('b', provider='other')
    two.runUntil(lambda: two.seen == {'b': reserve('b', 'other')})
    one.publish()
    two.runUntil(lambda: two.seen == {})
    assert one.seen == {}


def test_what_is_kept_is_kept_all_the_time(one, two, monkeypatch):
    """The place of its request changes, or others come before that, and it is
    gone before the other launcher reads what was changed."""
    one.publish('a')
    two.runUntil(lambda: two.seen)
    del two.told[:-1]
    read = two.client.get_async

    def readLate(path, *args, **kwargs):
        while path.endswith('/a') and one.client.exists(path):
            time.sleep(.01)
        return read(path, *args, **kwargs)
    monkeypatch.setattr(two.client, 'get_async', readLate)
    one.publish('a', provider='other')
    one.publish('b', provider='other')
    two.runUntil(lambda: two.seen == {'b': reserve('b', 'other')})
    assert all(two.told)


def test_what_is_told_goes_with_the_launcher(one, two):
    one.publish('a')
    two.runUntil(lambda: two.seen)
    one.client.stop()
    two.runUntil(lambda: not two.seen)
    one.client.start()


def test_a_lost_session(one, two, names):
    """What was told of in the old one is told of in the new."""
    one.publish('a', 'b')
    one.loseSession()
    assert names() == set()
    one.publish('b', 'c')
    assert names() == {'b', 'c'}
    two.runUntil(lambda: two.seen == {'b': reserve('b'), 'c': reserve('c')})
    one.publish()
    assert names() == set()


def test_a_session_that_is_lost_meanwhile(one, names, monkeypatch):
    """Before or after what is written: in either case it is told of once,
    and can be taken back."""
    good = one.client.create

    def loseBefore(*args, **kwargs):
        one.loseSession()
        good(*args, **kwargs)

    def loseAfter(*args, **kwargs):
        good(*args, **kwargs)
        one.loseSession()

    for lose in (loseBefore, loseAfter):
        with monkeypatch.context() as context:
            context.setattr(one.client, 'create', lose)
            one.publish('a')
        # As it is said again and again.
        one.publish('a')
        assert names() == {'a'}
        one.publish()
        assert names() == set()


def test_a_session_that_is_lost_while_something_is_taken_back(
        one, names, monkeypatch):
    one.publish('a', 'b')
    good = one.client.delete

    def lose(*args):
        good(*args)
        one.loseSession()
    with monkeypatch.context() as context:
        context.setattr(one.client, 'delete', lose)
        one.publish('b')
    one.publish('b')
    assert names() == {'b'}


def test_no_answer(one, names, monkeypatch):
    """It may have been written; then it can be taken back."""
    good = one.client.create

    def lose(*args, **kwargs):
        good(*args, **kwargs)
        raise ConnectionLoss
    for afterwards in ((), ('a',)):
        with monkeypatch.context() as context:
            context.setattr(one.client, 'create', lose)
            with pytest.raises(ConnectionLoss):
                one.publish('a', provider='other')
        one.publish(*afterwards)
        assert names() == set(afterwards)
    data, _ = one.client.get(f'{ROOT}/a')
    assert json.loads(data)['reservations'][0]['provider'] == 'rack'


def test_another_launcher_has_the_request(one, two):
    """It is told of by one at a time, and by the other afterwards."""
    one.publish('a')
    two.publish('a', provider='other')
    two.runUntil(lambda: two.seen == {'a': reserve('a')})
    one.publish()
    two.publish('a', provider='other')
    one.runUntil(lambda: one.seen == {'a': reserve('a', 'other')})
    # What one has not written, it does not take back.
    one.publish()
    one.runUntil(lambda: one.seen == {'a': reserve('a', 'other')})


def test_another_launcher_gets_the_request_meanwhile(one, two, names):
    one.publish('a')
    one.loseSession()
    two.publish('a')
    one.publish()
    assert names() == {'a'}


def test_what_changes_while_nobody_looks(one, two):
    """Without a session, no watch tells."""
    one.publish('a')
    two.runUntil(lambda: two.seen == {'a': reserve('a')})
    two.client.stop()
    one.publish('a', provider='other')
    two.client.start()
    two.runUntil(lambda: two.seen == {'a': reserve('a', 'other')})
