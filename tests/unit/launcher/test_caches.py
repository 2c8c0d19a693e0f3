"""Caches that are interrupted while they read."""

import threading

from kazoo.protocol.states import KazooState
import pytest
from zuul.zk import ZooKeeperClient

from zuul_nodes.launcher.caches import Interruptible

ROOT = '/zuul/things'
TIMEOUT = 30


class Slow(Interruptible):
    """Reads when it may."""

    def __init__(self, zk_client):
        self.reached = threading.Event()
        self.go_on = threading.Event()
        # What makes it, waits for it.
        self.maker = threading.Thread(
            target=super().__init__, args=(zk_client, ROOT), daemon=True)
        self.maker.start()

    def parsePath(self, path):
        return (path,), True, None

    def objectFromRaw(self, key, data, stat):
        self.reached.set()
        assert self.go_on.wait(TIMEOUT)
        return [data]

    def updateFromRaw(self, obj, key, data, stat):
        pass

    def manageShard(self, key, data, shard_index):
        return data


@pytest.fixture
def cache(zuul_conf, kazoo_client):
    kazoo_client.create(f'{ROOT}/thing', b'data', makepath=True)
    zk_client = ZooKeeperClient.fromConfig(zuul_conf)
    zk_client.connect()
    cache = Slow(zk_client)
    assert cache.reached.wait(TIMEOUT)
    yield cache
    cache.go_on.set()
    cache.stop()
    zk_client.disconnect()


def test_stopped_while_it_reads(cache):
    cache.stop()
    cache.maker.join(TIMEOUT)
    assert not cache.maker.is_alive()


def test_session_lost_while_it_reads(cache):
    cache._sessionListener(KazooState.LOST)
    cache.go_on.set()
    cache.maker.join(TIMEOUT)
    assert not cache.maker.is_alive()
    assert cache._ready.wait(TIMEOUT)
    assert list(cache._cached_objects.values()) == [[b'data']]
