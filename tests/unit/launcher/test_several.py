"""Several launchers beside one another, and launchers that lose their
session: each piece of work is done once."""

import collections
import time

import pytest
from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from tests.fixtures.racks import (
    Racks,
    addProvider,
    addSection,
    cloud,
    finish,
    isDone,
)
from zuul_nodes import requestnotes
from zuul_nodes.launcher.providers import getSubject

State = ProviderNode.State

pytestmark = pytest.mark.crash


class Watched(Racks):
    """
    :ivar dict makers: uuid of a node -> a list of the launchers that have
        asked for it.
    """

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self.makers = collections.defaultdict(list)

    def create(self, provider, node):
        self.makers[node.uuid].append(provider.zk_client)
        super().create(provider, node)


@pytest.fixture
def racks(monkeypatch):
    racks = Watched(monkeypatch)
    yield racks
    racks.end()


# Two launchers


def test_launchers_divide_the_nodes_of_one_provider(pair, racks):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    requests = [first.addRequest('big') for _ in range(16)]
    nodes = pair.serve(*requests)
    assert len({node.uuid for node in nodes}) == 16
    # Each has made some, and each node was made once.
    makers = [maker for [maker] in racks.makers.values()]
    assert len(makers) == 16
    assert set(makers) == {first.zk_client, second.zk_client}
    for node in nodes:
        assert first.ownership.isMyNode(node) != (
            second.ownership.isMyNode(node))
    pair.endAll(racks)


def test_one_launcher_plans_and_each_launches_its_own_nodes(pair, racks):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    requests = [pair.addRequest(launcher, 'big')
                for launcher in pair.launchers * 4]
    for request in requests:
        second.queue.add(('request', request.uuid))
    second.run()
    assert not second.nodes()
    first.runUntil(lambda: all(any(each.nodes) for each in requests))
    own = [node for node in first.nodes() if first.ownership.isMyNode(node)]
    first.runUntil(lambda: all(
        node.state == State.READY for node in own))
    # The first alone does nothing for the second's.
    first.run()
    assert len(racks.instances) == len(own) < 8


def test_other_launcher_finishes_building_nodes_of_stopped_one(pair, racks):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    racks.slow.add('one')
    requests = [pair.addRequest(launcher, 'big')
                for launcher in (first, second) * 3]
    pair.runUntil(lambda: len(racks.instances) == 6)
    pair.run()
    pair.remove(first)
    racks.slow.clear()
    pair.serve(*(second.api.getNodesetRequest(request.uuid)
                 for request in requests))
    # They went on with what was begun.
    assert [len(makers) for makers in racks.makers.values()] == [1] * 6
    assert len(second.nodes()) == 6
    pair.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=0.05, provider_longest_backoff=0.3,
    unreachable_timeout=2)
def test_next_planner_knows_that_a_cloud_is_down(pair, racks):
    """Each launcher counts the failures that all record."""
    first, second = pair.launchers
    pair.setLayout(cloud('one', launch_attempts=5))
    racks.errors['one'] = ConnectionError('the cloud is down')
    # The pauses are far shorter than the timeout, as they are by default: a
    # launcher that hears late of a failure does not begin to count anew.
    while not any(refusal.is_lasting for refusal
                  in second.planner.blockers.refusals.values()):
        request = pair.addRequest(first, 'big')
        pair.runUntil(lambda request=request: isDone(request))
    pair.remove(first)
    launches = len(racks.created)
    assert launches >= 5
    request = pair.addRequest(second, 'big')
    pair.runUntil(lambda: isDone(request))
    assert '(unreachable_timeout), have failed: the cloud is down' in (
        requestnotes.getReason(request))
    # If the pause has ended, one launch has told it.
    assert len(racks.created) <= launches + 1


def test_other_launcher_serves_waiting_requests_of_stopped_one(pair, racks):
    first, second = pair.launchers
    pair.setLayout(cloud('one', resource_limits='{instances: 1}'))
    used = pair.addRequest(second, 'big')
    pair.serve(used)
    waiting = pair.addRequest(first, 'big')
    pair.runUntil(lambda: first.planner.getReason(waiting.uuid))
    pair.remove(first)
    pair.finish(used)
    pair.serve(second.api.getNodesetRequest(waiting.uuid))
    pair.endAll(racks)


def test_new_launcher_takes_its_share(several, racks):
    first = several.add('first')
    several.setLayout(cloud('one'))
    racks.slow.add('one')
    request = several.addRequest(first, 'big')
    several.runUntil(lambda: racks.instances)
    second = several.add('second')
    several.runUntil(lambda: 'tenant' in second.tenant_providers)
    another = several.addRequest(second, 'big')
    racks.slow.clear()
    nodes = several.serve(request, another)
    assert nodes[0] is not nodes[1]
    assert [len(makers) for makers in racks.makers.values()] == [1, 1]
    several.endAll(racks)


def test_request_does_not_overtake_one_that_another_launcher_would_serve(
        pair, racks):
    """With Zuul's launchers, each serves its share."""
    first, second = pair.launchers
    pair.setLayout(cloud('one', resource_limits='{instances: 2}'))
    begun = pair.addRequest(first, 'big'), pair.addRequest(second, 'big')
    pair.serve(*begun)
    large = pair.addRequest(first, 'big', 'big')
    small = pair.addRequest(second, 'big')
    pair.runUntil(lambda: first.planner.getReason(small.uuid))
    pair.finish(begun[0])
    pair.runUntil(lambda: all(len(launcher.nodes()) == 1
                              for launcher in pair.launchers))
    pair.run()
    assert f'kept for request {large.uuid}' in (
        first.planner.getReason(small.uuid))
    assert not isDone(small)
    pair.finish(begun[1])
    pair.serve(large)
    assert not isDone(small)
    pair.finish(large)
    pair.serve(small)
    pair.endAll(racks)
    assert racks.most == 2


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_launchers_serve_many_requests_within_small_limits(pair, racks):
    pair.setLayout(cloud('one', resource_limits='{instances: 2}'))
    left = [pair.addRequest(launcher, 'big')
            for launcher in pair.launchers * 4]
    while left:
        pair.runUntil(lambda: any(map(isDone, left)))
        for request in filter(isDone, left[:]):
            assert request.state == request.State.FULFILLED
            left.remove(request)
            pair.finish(request)
    pair.endAll(racks)
    assert racks.most <= 2


def test_launcher_grants_ready_node_of_another_launcher(pair, racks):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    node = first.addNode(first.getProvider('one'), 'big', state=State.READY)
    second.runUntilSeen(node.uuid)
    for launcher in pair.launchers:
        launcher.run()
    request = pair.addRequest(second, 'big')
    assert [each.uuid for each in pair.serve(request)] == [node.uuid]
    assert racks.created == []


def test_node_is_made_by_launcher_that_handles_its_connection(several, racks):
    """Whichever launcher plans the request."""
    first = several.add('first', connection_filter='rack')
    second = several.add('second', connection_filter='other')
    several.setLayout(cloud('one', labels='[big]') + addSection('other')
                      + addProvider('two', '[other]', 'other'))
    requests = [several.addRequest(launcher, label)
                for launcher in several.launchers
                for label in ('big', 'other')]
    nodes = several.serve(*requests)
    assert [node.connection_name for node in nodes] == ['rack', 'other'] * 2
    for node in nodes:
        assert racks.makers[node.uuid] == [
            first.zk_client if node.connection_name == 'rack'
            else second.zk_client]
    several.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_provider_paused_by_one_launcher_is_used_by_another(pair, racks):
    """The nodes that the other is making there go on."""
    first, _ = pair.launchers
    pair.setLayout(cloud('one'))
    racks.errors['one'] = [QuotaException('full')]
    request = pair.addRequest(first, 'big')
    pair.runUntil(lambda: any(
        'is paused' in (launcher.planner.getReason(request.uuid) or '')
        for launcher in pair.launchers) or isDone(request))
    assert len(racks.created) <= 2
    for launcher in pair.launchers:
        launcher.planner.resume(getSubject(launcher.getProvider('one')))
    pair.serve(request)
    pair.endAll(racks)


# A session that is lost


def test_launch_goes_on_after_session_loss(steps, racks, expire):
    """It does not begin anew."""
    steps.setLayout(cloud('one'))
    racks.slow.add('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    steps.run()
    node, = steps.nodes()
    held = node._lock
    assert held.is_still_valid()
    expire(steps)
    assert not held.is_still_valid()
    racks.slow.clear()
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    assert racks.created == ['one']
    assert len(steps.nodes()) == 1
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_driver_result_after_session_loss_is_not_written(steps, racks, expire):
    """The lock of the node is lost with the session."""
    steps.setLayout(cloud('one'))
    racks.hang('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.reached)
    node, = steps.nodes()
    expire(steps)
    assert not node.hasLock()
    version = steps.zk_client.client.get(node.getPath())[1].version
    racks.end()
    racks.hanging.clear()
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    assert steps.zk_client.client.get(node.getPath())[1].version > version
    assert [each.uuid for each in steps.nodes()] == [node.uuid]
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_waiting_requests_are_served_after_session_loss(
        steps, racks, expire):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    used = steps.addRequest('big')
    steps.runUntil(lambda: isDone(used))
    waiting = steps.addRequest('big')
    steps.runUntilWaiting(waiting)
    expire(steps)
    finish(steps, used)
    steps.runUntil(lambda: isDone(waiting))
    assert waiting.state == waiting.State.FULFILLED
    assert racks.most == 1


def test_launcher_sees_changes_made_during_session_loss(
        steps, racks, expire, kazoo_client):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    node, = steps.nodes()
    ready = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    expire(steps)
    kazoo_client.delete(ready.getPath(), recursive=True)
    finish(steps, request)
    another = steps.addRequest('big')
    steps.runUntil(lambda: isDone(another))
    assert another.nodes not in ([node.uuid], [ready.uuid])
    steps.runUntil(lambda: len(steps.nodes()) == 1)
    # It is a launcher to others, too.
    steps.runUntil(steps.ownership.getLaunchers)


def test_launcher_leaves_work_taken_over_during_session_loss(
        pair, racks, expire):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    racks.slow.add('one')
    requests = [pair.addRequest(launcher, 'big')
                for launcher in pair.launchers * 2]
    pair.runUntil(lambda: len(racks.instances) == 4)
    pair.run()
    expire(first)
    # Only the second works for some time.
    deadline = time.monotonic() + 0.3
    second.runUntil(lambda: time.monotonic() > deadline)
    racks.slow.clear()
    pair.serve(*requests)
    assert [len(makers) for makers in racks.makers.values()] == [1] * 4
    pair.endAll(racks)
