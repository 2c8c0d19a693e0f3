"""Nodes that a job has left to be looked at, as an executor holds them."""

import threading
import time
import types

import pytest
from zuul.launcher.client import LauncherClient
from zuul.model import HoldRequest, Node, NodeSet, ProviderNode
from zuul.zk.nodepool import ZooKeeperNodepool

from tests.fixtures.racks import cloud, isDone
from tests.fixtures.staticlayouts import oneStaticNode

State = ProviderNode.State


class Executor:
    """Uses nodes, and holds them; all with what Zuul has for that.

    :param ZooKeeperClient zk_client: has another session than the launcher.
    """

    def __init__(self, zk_client, launcher):
        self.launcher = launcher
        self.client = LauncherClient(zk_client, threading.Event())
        self.records = ZooKeeperNodepool(zk_client)

    def addHold(self, expiration=None, count=1):
        """:return: what ``zuul-client autohold`` makes."""
        hold = HoldRequest()
        hold.tenant, hold.project, hold.job = 'tenant', 'project', 'build'
        hold.reason = 'look at it'
        hold.node_expiration = expiration
        hold.max_count = count
        self.records.storeHoldRequest(hold)
        return hold

    def runJob(self, *labels, hold=None):
        """A job that fails.

        :return: its nodes, as the launcher sees them.
        """
        request = self.launcher.addRequest(*labels)
        self.launcher.runUntil(lambda: isDone(request))
        nodes = [self.launcher.api.getProviderNode(node)
                 for node in request.nodes]
        nodeset = NodeSet()
        for number, label in enumerate(labels):
            nodeset.addNode(Node(str(number), label))
        self.client.acceptNodeset(request, nodeset)
        self.client.useNodeset(nodeset)
        self.launcher.runUntil(
            lambda: {node.state for node in nodes} == {State.IN_USE})
        if hold:
            self.client.holdNodeSet(
                self.records, nodeset, hold,
                types.SimpleNamespace(uuid='build'), 60)
        self.client.returnNodeset(nodeset)
        return nodes

    def deleteHold(self, hold):
        """What ``zuul-client autohold-delete`` does."""
        self.records.deleteHoldRequest(
            self.records.getHoldRequest(hold.id), self.client)


@pytest.fixture
def executor(zk_client, steps):
    return Executor(zk_client, steps)


def waitForHold(launcher, nodes):
    launcher.runUntil(lambda: all(
        node.state == State.HOLD and not node.is_locked for node in nodes))
    launcher.run()


def test_held_nodes_stay_until_their_hold_expires(
        steps, racks, executor, jump):
    steps.setLayout(cloud('one'))
    hold = executor.addHold(expiration=3600)
    nodes = executor.runJob('big', 'other', hold=hold)
    waitForHold(steps, nodes)
    assert {node.comment for node in nodes} == {'look at it'}
    assert {node.hold_expiration for node in nodes} == {3600}
    # The next job has other nodes.
    others = executor.runJob('big')
    steps.runUntil(lambda: steps.isGone(*others))
    steps.lookAt(*nodes)
    assert racks.instances.keys() == {node.uuid for node in nodes}
    jump(3601)
    steps.lookAt(*nodes)
    steps.runUntil(lambda: steps.isGone(*nodes))
    assert racks.instances == {}
    # Of the request, Zuul knows what it was.
    assert executor.records.getHoldRequest(hold.id).nodes[0]['nodes'] == [
        node.uuid for node in nodes]


def test_expired_hold_ends_without_anything_happening(steps, racks, executor):
    steps.setLayout(cloud('one'))
    begin = time.time()
    nodes = executor.runJob('big', hold=executor.addHold(expiration=1))
    steps.runUntil(lambda: steps.isGone(*nodes))
    assert time.time() - begin >= 1
    assert racks.instances == {}


@pytest.mark.parametrize('label', ['', 'max-age: 60,', 'reuse: true,'],
                         ids=['node', 'age', 'reuse'])
@pytest.mark.parametrize('expiration', [None, 3600])
def test_held_nodes_go_when_their_hold_is_deleted(
        steps, racks, executor, jump, expiration, label):
    """Also before the hold expires."""
    steps.setLayout(cloud('one').replace('name: big,', f'name: big, {label}'))
    hold = executor.addHold(expiration)
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    jump(1800)
    steps.lookAt(*nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    assert racks.instances
    executor.deleteHold(hold)
    if 'reuse' in label:
        # Nothing is wrong with it.
        node, = nodes
        steps.runUntil(lambda: node.state == State.READY)
    else:
        steps.runUntil(lambda: not steps.nodes())
        assert racks.instances == {}
    assert executor.records.getHoldRequests() == []


def test_hold_keeps_nodes_of_as_many_jobs_as_it_counts(steps, racks, executor):
    steps.setLayout(cloud('one'))
    hold = executor.addHold(count=2)
    nodes = executor.runJob('big', hold=hold) + executor.runJob(
        'big', hold=hold)
    waitForHold(steps, nodes)
    assert len(racks.instances) == 2
    executor.deleteHold(hold)
    steps.runUntil(lambda: steps.isGone(*nodes))


def test_launcher_forgets_job_with_its_last_node(steps, racks, executor):
    """The request of the job is gone before its nodes."""
    steps.setLayout(cloud('one'))
    nodes = executor.runJob('big', 'other')
    steps.runUntil(lambda: steps.isGone(*nodes))
    # The thread that reports changes comes after the cache.
    steps.runUntil(lambda: not (
        steps.node_index.assigned or steps.node_index.facts))


def test_held_node_uses_quota(steps, racks, executor):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    hold = executor.addHold()
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    executor.deleteHold(hold)
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    assert steps.isGone(*nodes)


def test_held_node_stays_when_its_label_is_removed(steps, racks, executor):
    steps.setLayout(cloud('one'))
    hold = executor.addHold()
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    steps.setLayout(cloud('two', labels='[other]'))
    steps.lookAt(*nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    executor.deleteHold(hold)
    steps.runUntil(lambda: steps.isGone(*nodes))
    assert racks.instances == {}


def test_held_static_node_stays_when_its_entry_is_removed(steps, executor):
    steps.setLayout(oneStaticNode())
    hold = executor.addHold()
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    steps.setLayout(oneStaticNode().replace('127.0.0.1', '127.0.0.2'))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1)
    steps.lookAt(*nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    executor.deleteHold(hold)
    steps.runUntil(lambda: steps.isGone(*nodes))


def test_held_slot_becomes_ready_when_its_hold_expires(steps, executor, jump):
    steps.setLayout(oneStaticNode(slots=3))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
    nodes = executor.runJob('big', hold=executor.addHold(expiration=3600))
    waitForHold(steps, nodes)
    before = {node.uuid for node in steps.nodes()}
    jump(3601)
    steps.lookAt(*nodes)
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
    assert {node.uuid for node in steps.nodes()} == before
