"""Caches that are interrupted while they read."""

import threading

from kazoo.protocol.states import Callback, EventType, KazooState
import pytest
from zuul.zk import ZooKeeperClient
from zuul.zk.vendor.states import WatchedEvent

from zuul_nodes.launcher.zookeeper.cache import (
    InOneThread,
    Interruptible,
    Notice,
    Reader,
)

ROOT = '/zuul/things'
TIMEOUT = 30


class Slow:
    """Reads when it may."""

    def __init__(self, *arguments):
        self.reached = threading.Event()
        self.go_on = threading.Event()
        self.seen = []
        # What makes it, waits for it.
        self.new_records = threading.Thread(
            target=super().__init__, args=(*arguments, ROOT),
            daemon=True)
        self.new_records.start()

    def parsePath(self, path):
        return (path,), True, None

    def objectFromRaw(self, key, data, stat):
        self.reached.set()
        assert self.go_on.wait(TIMEOUT)
        self.seen.append(data)
        return [data]

    def updateFromRaw(self, obj, key, data, stat):
        pass

    def manageShard(self, key, data, shard_index):
        return data


class SlowInTwo(Slow, Interruptible):
    pass


class SlowInOne(Slow, InOneThread):

    def __init__(self, *arguments):
        self.reader = Reader()
        super().__init__(self.reader, *arguments)

    def stop(self):
        super().stop()
        self.reader.put(None)


@pytest.fixture(params=[SlowInTwo, SlowInOne])
def cache(request, zuul_conf, kazoo_client):
    kazoo_client.create(f'{ROOT}/thing', b'data', makepath=True)
    zk_client = ZooKeeperClient.fromConfig(zuul_conf)
    zk_client.connect()
    cache = request.param(zk_client)
    assert cache.reached.wait(TIMEOUT)
    yield cache
    cache.go_on.set()
    cache.stop()
    zk_client.disconnect()


def test_stopped_while_it_reads(cache):
    cache.stop()
    cache.new_records.join(TIMEOUT)
    assert not cache.new_records.is_alive()


def test_session_lost_while_it_reads(cache):
    cache._sessionListener(KazooState.LOST)
    cache.go_on.set()
    cache.new_records.join(TIMEOUT)
    assert not cache.new_records.is_alive()
    assert cache._ready.wait(TIMEOUT)
    assert list(cache._cached_objects.values()) == [[b'data']]


@pytest.mark.parametrize('cache', [SlowInTwo], indirect=True)
def test_what_the_client_has_still_to_tell_is_waited_for(cache):
    """An answer may be known before the news that came ahead of it."""
    cache.go_on.set()
    cache.ensureReady()
    may_tell = threading.Event()
    cache.client.handler.dispatch_callback(
        Callback('busy', may_tell.wait, (TIMEOUT,)))
    cache.client.create(f'{ROOT}/other', b'other')
    assert not cache.waitForSync(0)
    may_tell.set()
    assert cache.waitForSync(TIMEOUT)
    assert cache.seen == [b'data', b'other']


@pytest.mark.parametrize('cache', [SlowInOne], indirect=True)
def test_asks_for_all_that_there_is_news_of(
        cache, kazoo_client, monkeypatch):
    """It does not wait for one answer after the other."""
    cache.go_on.set()
    cache.ensureReady()
    cache.go_on.clear()
    cache.reached.clear()
    begun = []
    get = cache.client.get_async

    def note(path):
        begun.append((path, len(cache.seen)))
        return get(path)
    kazoo_client.create(f'{ROOT}/1', b'1')
    assert cache.reached.wait(TIMEOUT)
    monkeypatch.setattr(cache.client, 'get_async', note)
    for name in '234':
        kazoo_client.create(f'{ROOT}/{name}', name.encode())
    # All news has come when the answer to this has.
    cache.client.sync(ROOT)
    cache.client.handler.callback_queue.join()
    assert cache.seen == [b'data']
    cache.go_on.set()
    assert cache.waitForSync(TIMEOUT)
    assert cache.seen == [b'data', b'1', b'2', b'3', b'4']
    assert begun == [(f'{ROOT}/{name}', 2) for name in '234']
    assert cache._answers == {}


@pytest.mark.parametrize('cache', [SlowInOne], indirect=True)
def test_what_is_told_before_an_answer_is_in_it(cache, monkeypatch):
    """It need not be asked for again."""
    cache.go_on.set()
    cache.ensureReady()
    monkeypatch.setattr(cache.client, 'get_async',
                        lambda path: cache.client.handler.async_result())

    def ask(event_type, name='thing'):
        event = WatchedEvent(event_type, cache.client.state,
                             f'{ROOT}/{name}', WatchedEvent.NO_ZXID)
        return cache.startRead(Notice(cache, event, cache._walk, False))
    first = ask(EventType.CREATED)
    assert ask(EventType.CHANGED) is first
    assert ask(EventType.CHANGED, 'other') is not first
    assert ask(EventType.DELETED) is None
    # Of that, nobody has told: it is looked again.
    second = ask(EventType.NONE)
    assert second is not first
    assert ask(EventType.CHANGED) is second
    second.set((b'data', None))
    assert ask(EventType.CHANGED) not in (first, second)


@pytest.mark.parametrize('cache', [SlowInOne], indirect=True)
def test_one_that_can_not_be_read_keeps_nobody_waiting(
        cache, kazoo_client, monkeypatch):
    cache.go_on.set()
    cache.ensureReady()
    make = cache.objectFromRaw

    def fail(key, data, stat):
        if data == b'bad':
            raise ValueError
        return make(key, data, stat)
    monkeypatch.setattr(cache, 'objectFromRaw', fail)
    for name in ('bad', 'good'):
        kazoo_client.create(f'{ROOT}/{name}', name.encode())
    cache.client.sync(ROOT)
    cache.client.handler.callback_queue.join()
    assert cache.waitForSync(TIMEOUT)
    assert cache.seen == [b'data', b'good']


@pytest.mark.parametrize('cache', [SlowInOne], indirect=True)
def test_an_answer_that_never_comes(cache, kazoo_client, monkeypatch):
    """With the next session, all is read again."""
    cache.go_on.set()
    cache.ensureReady()
    asked = threading.Event()

    def ask(path):
        asked.set()
        return cache.client.handler.async_result()
    with monkeypatch.context() as context:
        context.setattr(cache.client, 'get_async', ask)
        kazoo_client.create(f'{ROOT}/lost', b'lost')
        assert asked.wait(TIMEOUT)
    cache._sessionListener(KazooState.LOST)
    assert not cache._ready.is_set()
    cache._sessionListener(KazooState.CONNECTED)
    assert cache._ready.wait(TIMEOUT)
    assert cache.seen == [b'data', b'lost']
