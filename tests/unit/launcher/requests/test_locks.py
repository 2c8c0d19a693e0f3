"""Requests that another launcher is at, too.

Of their locks, no cache tells.
"""

import pytest
from zuul.model import NodesetRequest
from zuul.zk.zkobject import ZKContext

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.racks import cloud, isDone


class Other:
    """Another launcher, which has the lock of a request.

    :param ZooKeeperClient zk_client: has another session than the launcher.
    """

    def __init__(self, zk_client, launcher):
        self.launcher = launcher
        self.zk_client = zk_client
        self.context = ZKContext(self.zk_client, None, None, launcher.log)

    def lock(self, request):
        self.own = NodesetRequest.fromZK(self.context, request.getPath())
        assert self.own.acquireLock(self.context, blocking=True)

    def end(self, request):
        """Serve a request, and tell the scheduler."""
        own = NodesetRequest.fromZK(self.context, request.getPath())
        own.updateAttributes(
            self.context, state=own.State.FULFILLED,
            event_state=own.EventState.COMPLETE)
        self.launcher.api.requests_cache.waitForSync(TIMEOUT)
        assert isDone(request)

    def unlock(self):
        self.own.releaseLock(self.context)

    def disconnect(self):
        self.zk_client.disconnect()


@pytest.fixture
def other(zk_client, steps):
    return Other(zk_client, steps)


def test_a_locked_request_waits_for_its_lock(steps, racks, other):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    other.lock(request)
    steps.run()
    assert request.state == request.State.REQUESTED
    assert steps.nodes() == []
    # Nothing is tried meanwhile.
    assert steps.queue.isIdle()
    assert ('request', request.uuid) not in steps.queue.due
    other.unlock()
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


def test_an_accepted_request_stays_with_the_holder_of_its_lock(
        steps, racks, other):
    """Whoever has accepted it goes on with it until it is gone."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: request.state == request.State.ACCEPTED)
    steps.session.release(request)
    other.lock(request)
    steps.queue.add(('request', request.uuid))
    node, = steps.nodes()
    steps.runUntil(lambda: node.state == node.State.READY)
    steps.run()
    assert request.state == request.State.ACCEPTED
    other.disconnect()
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


def test_a_request_that_ends_while_it_is_planned(
        steps, racks, other, monkeypatch):
    steps.setLayout(cloud('one'))
    endAfter(monkeypatch, other, steps.planner, 'plan')
    request = steps.addRequest('big')
    steps.run()
    assert steps.nodes() == []
    assert countWrites(steps, request) == 1


def test_a_request_that_ends_while_its_nodes_are_read(
        steps, racks, other, monkeypatch):
    """Whoever was to do so may have died when it was done."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: request.state == request.State.ACCEPTED)
    steps.session.release(request)
    other.lock(request)
    node, = steps.nodes()
    steps.runUntil(lambda: node.state == node.State.READY)
    steps.run()
    endAfter(monkeypatch, other, steps.request_records, 'getNodes')
    other.unlock()
    steps.runUntil(lambda: isDone(request))
    steps.run()
    assert countWrites(steps, request) == 2


def endAfter(monkeypatch, other, owner, name):
    """Have the other launcher end a request when ours has looked at it.

    :param owner: of the method with that name, which looks.
    """
    look = getattr(owner, name)

    def beLate(request):
        found = look(request)
        other.end(request)
        return found
    monkeypatch.setattr(owner, name, beLate)


def countWrites(steps, request):
    _, stat = steps.zk_client.client.get(request.getPath())
    return stat.version
