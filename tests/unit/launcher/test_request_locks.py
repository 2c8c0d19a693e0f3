"""Requests whose lock somebody else has: no cache tells of that."""

import pytest
from zuul.model import NodesetRequest
from zuul.zk import ZooKeeperClient
from zuul.zk.zkobject import ZKContext

from tests.fixtures.racks import cloud, isDone


class Other:
    """Another launcher, which has the lock of a request."""

    def __init__(self, config, launcher):
        self.launcher = launcher
        self.zk_client = ZooKeeperClient.fromConfig(config)
        self.zk_client.connect()
        self.context = ZKContext(self.zk_client, None, None, launcher.log)

    def lock(self, request):
        self.own = NodesetRequest.fromZK(self.context, request.getPath())
        assert self.own.acquireLock(self.context, blocking=True)

    def unlock(self):
        self.own.releaseLock(self.context)

    def end(self):
        self.zk_client.disconnect()


@pytest.fixture
def other(zuul_conf, steps):
    other = Other(zuul_conf, steps)
    yield other
    other.end()


def test_one_that_waits(steps, racks, other):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    other.lock(request)
    steps.run()
    assert request.state == request.State.REQUESTED
    assert steps.nodes() == []
    # Nothing is tried meanwhile.
    assert steps.queue.isIdle()
    assert ('request', request.uuid) not in steps.queue._due
    other.unlock()
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


def test_one_that_is_accepted(steps, racks, other):
    """Whoever has accepted it goes on with it until it is gone."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: request.state == request.State.ACCEPTED)
    steps.store.release(request)
    other.lock(request)
    steps.queue.add(('request', request.uuid))
    node, = steps.nodes()
    steps.runUntil(lambda: node.state == node.State.READY)
    steps.run()
    assert request.state == request.State.ACCEPTED
    other.end()
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
