"""What a launcher knows of the records."""

import copy
import socket
import threading

from kazoo.exceptions import ConnectionLoss, SessionExpiredError
from kazoo.protocol.serialization import GetData
from kazoo.protocol.states import Callback
import pytest
from zuul.zk import ZooKeeperClient

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.racks import cloud
from zuul_nodes.launcher.nodes import readycounts
from zuul_nodes.launcher.zookeeper.ownwrites import OwnWrites
from zuul_nodes.launcher.zookeeper.recordcache import Cache, Records
from zuul_nodes.launcher.zookeeper.session import Session
from zuul_nodes.launcher.zookeeper.transaction import (
    Conflict,
    Transaction,
)


@pytest.fixture
def cache(steps):
    steps.setLayout(cloud('one'))
    steps.run()
    return steps.api.nodes_cache


@pytest.fixture
def reads(steps, monkeypatch):
    """:return: the names of records that are read."""
    client = steps.zk_client.client
    send = client._call
    names = []

    def call(request, answer):
        path, _, name = getattr(request, 'path', '').rpartition('/')
        if isinstance(request, GetData) and path.endswith('/nodes/nodes'):
            names.append(name)
        return send(request, answer)
    monkeypatch.setattr(client, '_call', call)
    return names


@pytest.fixture
def others(steps):
    """What another launcher writes with."""
    return Session(steps.zk_client, 'other', threading.Event())


def makeRecord(steps):
    """:return: a node's record that is not written."""
    provider = steps.getProvider('one')
    label = next(iter(provider.labels.values()))
    record, = steps.new_records.makeNode(
        readycounts.makeSlot(label, provider), 'ready')
    return record


def create(store, record):
    transaction = store.transaction()
    transaction.create(record)
    transaction.commit()


def addRecord(steps, cache):
    """:return: a node's record that the launcher has written."""
    record = makeRecord(steps)
    cache.insert(record)
    create(steps.session, record)
    return record


def update(store, record, **attributes):
    transaction = store.transaction()
    transaction.update(record, **attributes)
    transaction.commit()


def settle(cache):
    """Wait until all is seen that has been written."""
    assert cache.waitForSync(TIMEOUT)


def test_a_record_that_somebody_else_writes_at_the_same_time(
        steps, cache, others, monkeypatch):
    """The watch tells of theirs while ours is being taken back."""
    own = makeRecord(steps)
    updateFromRaw = cache.updateFromRaw

    def discardFirst(record, *args):
        cache.discard(own)
        updateFromRaw(record, *args)
    monkeypatch.setattr(cache, 'updateFromRaw', discardFirst)
    theirs = copy.deepcopy(own)
    cache.insert(own)
    create(others, theirs)
    settle(cache)
    # It has been looked at again meanwhile.
    settle(cache)
    assert cache.getItem(own.uuid) not in (own, None)


def test_what_is_written_is_not_read(steps, cache, reads):
    record = addRecord(steps, cache)
    update(steps.session, record, comment='one')
    update(steps.session, record, comment='two')
    settle(cache)
    assert reads == []
    assert cache.getItem(record.uuid) is record
    assert (record.comment, record.getZKVersion()) == ('two', 2)


def test_what_others_write_is_read(steps, cache, others, reads):
    record = addRecord(steps, cache)
    theirs = copy.copy(record)
    update(others, theirs, comment='theirs')
    settle(cache)
    update(steps.session, record, comment='ours')
    settle(cache)
    assert record.comment == 'ours'
    assert reads == [record.uuid]


def test_news_of_others_that_was_taken_for_ours(
        steps, cache, others, monkeypatch):
    """They write when we are about to."""
    record = addRecord(steps, cache)
    theirs = copy.copy(record)
    own_writes = steps.session.own_writes
    expect = own_writes.expect

    def beLate(paths):
        expect(paths)
        update(others, theirs, comment='theirs')
        settle(cache)
    monkeypatch.setattr(own_writes, 'expect', beLate)
    with pytest.raises(Conflict):
        update(steps.session, record, comment='ours')
    monkeypatch.undo()
    settle(cache)
    update(steps.session, record, comment='ours')


def test_the_watch_is_quicker_than_the_answer(
        steps, cache, others, monkeypatch):
    """What others have written since is not put back."""
    record = addRecord(steps, cache)
    transaction = steps.session.transaction()
    transaction.update(record, comment='ours')
    send = transaction._send

    def beLate(operations):
        results = send(operations)
        theirs = copy.copy(record)
        theirs._set(_zstat=results[0])
        update(others, theirs, comment='theirs')
        settle(cache)
        return results
    monkeypatch.setattr(transaction, '_send', beLate)
    transaction.commit()
    assert (record.comment, record.getZKVersion()) == ('theirs', 2)


def test_what_we_have_created_is_read_all_the_same(steps, cache):
    """As after a lost connection, while its driver fills it in."""
    record = addRecord(steps, cache)
    record._set(interface_ip='127.0.0.1')
    cache.reread(record.getPath())
    settle(cache)
    assert record.interface_ip == '127.0.0.1'
    update(steps.session, record)
    assert record.getZKVersion() == 1


def test_what_is_written_before_the_watch_is_back(
        steps, cache, others, monkeypatch):
    """There is no news of it, so the next news is of others."""
    record = addRecord(steps, cache)
    settle(cache)
    walked = threading.Event()
    walkTree = cache._walkTree

    def walk(root=None, seen_paths=None):
        walkTree(root, seen_paths)
        if root is None:
            walked.set()
    monkeypatch.setattr(cache, '_walkTree', walk)
    client = cache.client
    addWatch = client.add_watch

    # Otherwise it would wait for the cache.
    monkeypatch.setattr(steps.session, 'written', lambda record: None)

    def writeFirst(path, *args):
        if path == cache.root:
            update(steps.session, record, comment='ours')
        return addWatch(path, *args)
    monkeypatch.setattr(client, 'add_watch', writeFirst)
    client._connection._socket.shutdown(socket.SHUT_RDWR)
    assert walked.wait(TIMEOUT)
    settle(cache)
    assert record.comment == 'ours'
    update(others, copy.copy(record), comment='theirs')
    settle(cache)
    assert record.comment == 'theirs'


def test_a_record_that_is_not_written_yet_while_all_is_read_again(
        steps, cache):
    """It is not taken for one that is gone."""
    record = makeRecord(steps)
    cache.insert(record)
    cache._walkTree()
    settle(cache)
    create(steps.session, record)
    settle(cache)
    assert cache.getItem(record.uuid) is record


def test_what_we_have_created_is_gone_when_all_is_read_again(
        steps, cache, monkeypatch):
    """Of neither, there was news."""
    record = makeRecord(steps)
    transaction = steps.session.transaction()
    transaction.create(record)
    transaction.createPart(record.assignment)
    with monkeypatch.context() as context:
        context.setattr(cache, '_take', lambda event: None)
        steps.commitNew(transaction, [record])
        cache.client.delete(record.getPath(), recursive=True)
        # Its answer comes after the news.
        cache.client.sync(cache.root)
    assert cache.getItem(record.uuid) is record
    cache._walkTree()
    settle(cache)
    assert cache.getItem(record.uuid) is None
    assert not [path for path in cache.known_parts if record.uuid in path]


def test_what_we_have_deleted_is_forgotten_at_once(steps, cache, reads):
    record = addRecord(steps, cache)
    transaction = steps.session.transaction()
    transaction.createPart(record.assignment, request_id='request')
    steps.commitNew(transaction, [])
    assert steps.planner.capacity.getNode(record.uuid) is record
    assert not steps.session.remove(record)
    assert cache.getItem(record.uuid) is None
    assert steps.planner.capacity.getNode(record.uuid) is None
    assert not [path for path in cache.known_parts if record.uuid in path]
    settle(cache)
    assert reads == []


def test_the_answer_to_a_deletion_is_lost(steps, cache, monkeypatch):
    """And the connection, before it is looked at again."""
    record = addRecord(steps, cache)
    transaction = steps.session.transaction()
    transaction.delete(record)
    send = transaction._send

    def lose(operations):
        send(operations)
        raise ConnectionLoss

    def fail(*args):
        raise SessionExpiredError
    monkeypatch.setattr(transaction, '_send', lose)
    with monkeypatch.context() as context:
        context.setattr(cache, '_handlePlayback', fail)
        with pytest.raises(ConnectionLoss):
            transaction.commit()
        settle(cache)
    # As when there is a session again.
    cache._start()
    assert steps.planner.capacity.getNode(record.uuid) is None
    assert cache.getItem(record.uuid) is None


def test_one_that_is_registered_anew_at_once(steps, cache, monkeypatch):
    """A static node has always the same id."""
    record = addRecord(steps, cache)
    anew = copy.deepcopy(record)
    anew._set(_zstat=None)
    written = steps.session.written

    def beLate(each):
        if each is record:
            transaction = steps.session.transaction()
            transaction.create(anew)
            steps.commitNew(transaction, [anew])
        written(each)
    monkeypatch.setattr(steps.session, 'written', beLate)
    assert not steps.session.remove(record)
    settle(cache)
    assert cache.getItem(record.uuid) is anew
    assert steps.planner.capacity.getNode(record.uuid) is anew


def test_the_lock_of_a_record_that_is_gone(steps, cache):
    """It goes with whoever waits for it last."""
    record = makeRecord(steps)
    create(steps.session, record)
    paths = record.getPath(), record.getLockPath()
    contender = f'{record.getLockPath()}/contender'
    steps.session.client.create(contender)
    assert steps.session.remove(record)
    assert not steps.session.removeLock(*paths)
    steps.session.client.delete(contender)
    assert steps.session.removeLock(*paths)
    assert not steps.session.exists(record.getLockPath())
    assert steps.session.removeLock(*paths)


def test_the_lock_of_a_record_that_has_come_back(steps, cache):
    record = makeRecord(steps)
    create(steps.session, record)
    assert steps.session.removeLock(record.getPath(), record.getLockPath())
    assert steps.session.exists(record.getLockPath())


def test_a_session_that_is_lost_while_a_lock_is_given_up(
        steps, monkeypatch):
    """It goes with that."""
    def delete(path):
        steps.session.epoch += 1
        raise ConnectionLoss
    monkeypatch.setattr(steps.session.client, 'delete', delete)
    steps.session.delete('/zuul/nodes/locks/gone', steps.session.epoch)
    steps.session.epoch = 0


def test_a_part_that_goes_while_its_node_is_deleted(
        steps, cache, others, monkeypatch):
    """No news of it is taken for ours later."""
    record = addRecord(steps, cache)
    transaction = others.transaction()
    transaction.createPart(copy.deepcopy(record).lifecycle)
    transaction.commit()
    settle(cache)
    part = record.lifecycle
    getZKVersion = type(part).getZKVersion

    def beLate(each):
        version = getZKVersion(each)
        if each is part and version is not None:
            monkeypatch.undo()
            cache.client.delete(part.getPath())
            settle(cache)
        return version
    monkeypatch.setattr(type(part), 'getZKVersion', beLate)
    assert not steps.session.remove(record)
    settle(cache)
    assert not steps.session.own_writes._expected


@pytest.fixture
def hold(steps, cache, others, monkeypatch):
    """:return: a function that has all news of records wait, once it is
        read, until the event is set that it gives; that of one, or of any
        other, is such news."""
    busy = makeRecord(steps)
    cache.insert(busy)
    create(steps.session, busy)
    settle(cache)
    reading, go_on = threading.Event(), threading.Event()
    handlePlayback = cache._handlePlayback

    def wait(event, future, *args):
        if future:
            future.wait(TIMEOUT)
        reading.set()
        assert go_on.wait(TIMEOUT)
        handlePlayback(event, future, *args)

    def hold(record=busy):
        monkeypatch.setattr(cache, '_handlePlayback', wait)
        update(others, copy.copy(record), comment='theirs')
        assert reading.wait(TIMEOUT)
        return go_on
    yield hold
    go_on.set()


def test_what_is_read_does_not_bring_back_what_we_have_deleted(
        steps, cache, hold):
    record = addRecord(steps, cache)
    go_on = hold(record)
    assert not steps.session.remove(record)
    go_on.set()
    settle(cache)
    assert cache.getItem(record.uuid) is None


def test_a_part_that_others_had_before(steps, cache, hold):
    """Its end does not undo the beginning of ours."""
    record = addRecord(steps, cache)
    go_on = hold()
    path = record.assignment.getPath()
    cache.client.create(path, b'{}')
    cache.client.delete(path)
    transaction = steps.session.transaction()
    transaction.createPart(record.assignment, request_id='ours')
    steps.commitNew(transaction, [])
    go_on.set()
    settle(cache)
    assert record.request_id == 'ours'
    assert path in cache.known_parts


def test_the_answer_to_a_release_comes_after_the_next_assignment(
        steps, cache, monkeypatch):
    record = addRecord(steps, cache)
    transaction = steps.session.transaction()
    transaction.createPart(record.assignment, request_id='first')
    steps.commitNew(transaction, [])
    release, send = steps.session.transaction(), Transaction._send
    release.deletePart(record.assignment)

    def beLate(operations):
        results = send(release, operations)
        settle(cache)
        transaction = steps.session.transaction()
        transaction.createPart(record.assignment, request_id='second')
        steps.commitNew(transaction, [])
        return results
    monkeypatch.setattr(release, '_send', beLate)
    release.commit()
    assert record.request_id == 'second'
    settle(cache)
    assert record.request_id == 'second'


def test_a_record_that_others_had_before(steps, cache, others, hold):
    """A static node has always the same id."""
    record = makeRecord(steps)
    go_on = hold()
    theirs = copy.deepcopy(record)
    create(others, theirs)
    others.remove(theirs)
    cache.insert(record)
    create(steps.session, record)
    go_on.set()
    settle(cache)
    assert cache.getItem(record.uuid) is not None


def test_a_lock_that_is_given_up_while_a_launcher_begins(
        steps, cache, zuul_conf, monkeypatch):
    """All news goes the same way from the beginning."""
    record = makeRecord(steps)
    create(steps.session, record)
    contender = f'{record.getLockPath()}/some__lock__0000000000'
    zk_client = ZooKeeperClient.fromConfig(zuul_conf)
    zk_client.connect()
    # It puts the messages of its client in order.
    Session(zk_client, 'other', threading.Event())
    handler = zk_client.client.handler
    go_on = threading.Event()
    waits = []
    handler.dispatch_callback(Callback(
        'watch', lambda: waits.append(go_on.wait(TIMEOUT)), ()))
    walkTree = Cache._walkTree

    def lockThen(each, root=None, seen_paths=None):
        walkTree(each, root, seen_paths)
        if root is None and each.root == cache.root:
            cache.client.create(contender, b'executor')
            # Then there is news of it.
            zk_client.client.sync(cache.root)
    monkeypatch.setattr(Cache, '_walkTree', lockThen)
    api = Records(zk_client, None, steps.component_info,
                  lambda *args: None, OwnWrites())
    try:
        assert api.nodes_cache.waitForSync(TIMEOUT)
        cache.client.delete(contender)
        zk_client.client.sync(cache.root)
        go_on.set()
        handler.callback_queue.join()
        assert waits == [True]
        assert api.nodes_cache.waitForSync(TIMEOUT)
        assert not api.getProviderNode(record.uuid).is_locked
    finally:
        api.stop()
        zk_client.disconnect()


def test_the_end_of_a_lock_does_not_overtake_its_beginning(
        steps, cache, others, monkeypatch):
    """Some news waits for what is read, other news need not."""
    first, second = makeRecord(steps), makeRecord(steps)
    for record in (first, second):
        cache.insert(record)
        create(steps.session, record)
    settle(cache)
    reading, go_on = threading.Event(), threading.Event()
    updateFromRaw = cache.updateFromRaw

    def wait(record, *args):
        reading.set()
        assert go_on.wait(TIMEOUT)
        updateFromRaw(record, *args)
    monkeypatch.setattr(cache, 'updateFromRaw', wait)
    update(others, copy.copy(first), comment='theirs')
    assert reading.wait(TIMEOUT)
    # It is read whatever is known of it.
    cache.reread(second.getPath())
    assert steps.session.acquire(second)
    transaction = steps.session.transaction()
    transaction.update(second, comment='ours')
    transaction.unlock(second)
    transaction.commit()
    go_on.set()
    settle(cache)
    assert not second.is_locked


def test_a_watch_whose_connection_is_lost_by_now():
    own_writes = OwnWrites()
    connection = own_writes.connection
    own_writes.watch('/some', connection)
    assert own_writes.isWatched('/some')
    own_writes.clear()
    own_writes.watch('/some', connection)
    assert not own_writes.isWatched('/some')


def test_a_node_that_goes_while_it_could_not_be_assigned(
        steps, cache, monkeypatch):
    """Who looked before that does not bring it back."""
    record = addRecord(steps, cache)
    transaction = steps.session.transaction()
    transaction.createPart(record.assignment, request_id='request')

    def refuse(operations):
        raise Conflict
    monkeypatch.setattr(transaction, '_send', refuse)

    def beLate(look):
        def lookFirst(record_id):
            found = look(record_id)
            if record_id == record.uuid:
                monkeypatch.undo()
                cache.client.delete(record.getPath(), recursive=True)
                settle(cache)
            return found
        return lookFirst
    for name in ('getItem', 'peek'):
        monkeypatch.setattr(cache, name, beLate(getattr(cache, name)))
    with pytest.raises(Conflict):
        steps.commitNew(transaction, [])
    assert steps.planner.capacity.getNode(record.uuid) is None
