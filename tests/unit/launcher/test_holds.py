"""Nodes that a job has left to be looked at, as an executor holds them."""

import collections
import threading
import time
import types

import pytest
from zuul.launcher.client import LauncherClient
from zuul.model import HoldRequest, Node, NodeSet, ProviderNode
from zuul.zk import ZooKeeperClient
from zuul.zk.nodepool import ZooKeeperNodepool

from tests.fixtures.racks import cloud, isDone
from tests.unit.launcher.test_registration import desk
from zuul_nodes.launcher.news import Relations

State = ProviderNode.State


class Executor:
    """Uses nodes, and holds them; all with what Zuul has for that."""

    def __init__(self, config, launcher):
        self.launcher = launcher
        self.zk_client = ZooKeeperClient.fromConfig(config)
        self.zk_client.connect()
        self.client = LauncherClient(self.zk_client, threading.Event())
        self.records = ZooKeeperNodepool(self.zk_client)

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

    def end(self):
        self.zk_client.disconnect()


@pytest.fixture
def executor(zuul_conf, steps):
    executor = Executor(zuul_conf, steps)
    yield executor
    executor.end()


def waitForHold(launcher, nodes):
    launcher.runUntil(lambda: all(
        node.state == State.HOLD and not node.is_locked for node in nodes))
    launcher.run()


def isGone(launcher, nodes):
    return not {node.uuid for node in nodes} & {
        node.uuid for node in launcher.nodes()}


def look(launcher, nodes):
    """As at the next look at nodes, whenever that is."""
    for node in nodes:
        launcher.queue.add(('node', node.uuid))
    launcher.run()


def test_until_it_expires(steps, racks, executor, jump):
    steps.setLayout(cloud('one'))
    hold = executor.addHold(expiration=3600)
    nodes = executor.runJob('big', 'other', hold=hold)
    waitForHold(steps, nodes)
    assert {node.comment for node in nodes} == {'look at it'}
    assert {node.hold_expiration for node in nodes} == {3600}
    # The next job has other nodes.
    others = executor.runJob('big')
    steps.runUntil(lambda: isGone(steps, others))
    look(steps, nodes)
    assert racks.instances.keys() == {node.uuid for node in nodes}
    jump(3601)
    look(steps, nodes)
    steps.runUntil(lambda: isGone(steps, nodes))
    assert racks.instances == {}
    # Of the request, Zuul knows what it was.
    assert executor.records.getHoldRequest(hold.id).nodes[0]['nodes'] == [
        node.uuid for node in nodes]


def test_it_expires_without_being_looked_at(steps, racks, executor):
    steps.setLayout(cloud('one'))
    begin = time.time()
    nodes = executor.runJob('big', hold=executor.addHold(expiration=1))
    steps.runUntil(lambda: isGone(steps, nodes))
    assert time.time() - begin >= 1
    assert racks.instances == {}


@pytest.mark.parametrize('label', ['', 'max-age: 60,', 'reuse: true,'],
                         ids=['node', 'age', 'reuse'])
@pytest.mark.parametrize('expiration', [None, 3600])
def test_until_nobody_needs_it(steps, racks, executor, jump, expiration,
                               label):
    """Whoever has held it lets it go, before that if there is a time."""
    steps.setLayout(cloud('one').replace('name: big,', f'name: big, {label}'))
    hold = executor.addHold(expiration)
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    jump(1800)
    look(steps, nodes)
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


def test_as_often_as_it_was_asked_for(steps, racks, executor):
    steps.setLayout(cloud('one'))
    hold = executor.addHold(count=2)
    nodes = executor.runJob('big', hold=hold) + executor.runJob(
        'big', hold=hold)
    waitForHold(steps, nodes)
    assert len(racks.instances) == 2
    executor.deleteHold(hold)
    steps.runUntil(lambda: isGone(steps, nodes))


def test_nothing_is_kept_in_mind_of_a_job(steps, racks, executor):
    """Its request is gone before its nodes."""
    steps.setLayout(cloud('one'))
    nodes = executor.runJob('big', 'other')
    steps.runUntil(lambda: isGone(steps, nodes))
    assert not steps.news._assigned
    assert not steps.news._relations


def test_a_node_comes_while_the_last_one_goes(steps, monkeypatch):
    """Threads tell of different nodes at the same time."""
    news = steps.news

    def relate(node_id, request_id='job'):
        news._relate(node_id, Relations(request_id, None, 'one', None))

    class Assigned(collections.defaultdict):
        def __delitem__(self, key):
            other.start()
            # Either it is done by then, or it waits for us.
            other.join(0.2)
            super().__delitem__(key)
    other = threading.Thread(target=relate, args=['new'])
    monkeypatch.setattr(news, '_assigned', Assigned(set))
    relate('old')
    relate('old', None)
    other.join()
    assert news._assigned == {'job': {'new'}}


def test_a_held_node_takes_room(steps, racks, executor):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    hold = executor.addHold()
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    executor.deleteHold(hold)
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    assert isGone(steps, nodes)


def test_a_held_node_stays_when_its_label_has_gone(steps, racks, executor):
    steps.setLayout(cloud('one'))
    hold = executor.addHold()
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    steps.setLayout(cloud('two', labels='[other]'))
    look(steps, nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    executor.deleteHold(hold)
    steps.runUntil(lambda: isGone(steps, nodes))
    assert racks.instances == {}


def test_a_held_machine_stays_when_its_entry_has_gone(steps, executor):
    steps.setLayout(desk())
    hold = executor.addHold()
    nodes = executor.runJob('big', hold=hold)
    waitForHold(steps, nodes)
    steps.setLayout(desk().replace('127.0.0.1', '127.0.0.2'))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1)
    look(steps, nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    executor.deleteHold(hold)
    steps.runUntil(lambda: isGone(steps, nodes))


def test_a_slot_of_a_machine_beside_others(steps, executor, jump):
    """When its time is over, it is as any other slot that was used."""
    steps.setLayout(desk(slots=3))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
    nodes = executor.runJob('big', hold=executor.addHold(expiration=3600))
    waitForHold(steps, nodes)
    before = {node.uuid for node in steps.nodes()}
    jump(3601)
    look(steps, nodes)
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
    assert {node.uuid for node in steps.nodes()} == before
