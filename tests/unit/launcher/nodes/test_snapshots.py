"""An executor has a snapshot made of the node that it uses."""

import threading
import time

import pytest
from zuul.model import ProviderNode
from zuul.provider import statemachine

from tests.fixtures.racks import cloud
from tests.fixtures.settings import change
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint, ShelfProvider
from zuul_nodes import snapshotrecords
from zuul_nodes.drivers import LoginError

State = ProviderNode.State
DAY = 86400


class SnapshotMachine(statemachine.StateMachine):
    """
    :param steps: how many there are before it is complete.
    """

    def __init__(self, node, steps):
        super().__init__(node.snapshot.snapshot_state)
        self.steps = steps

    def advance(self):
        self.state = 'going on'
        self.steps -= 1
        if self.steps:
            return None
        self.complete = True
        return 'image-1'


@pytest.fixture
def snapshot(steps, racks, executor):
    """:return: a function that has a node's snapshot taken, as an executor
        does; gives the snapshot."""
    change(steps.snapshots, snapshot_interval=0.05)

    def snapshot(**attributes):
        steps.setLayout(cloud('one'))
        node, = steps.serve(steps.addRequest('big'))
        own = executor.use(node)
        own.updateAttributes(
            executor.context, tags={'zuul_node_uuid': 'x', 'who': 'us'},
            **attributes)
        with own.activeContext(executor.context):
            own.createSnapshot(executor.context)
            own.setState(State.SNAPSHOT)
        return own.snapshot

    def refresh(taken):
        taken.refresh(executor.context)
        return taken.complete
    snapshot.isComplete = refresh
    return snapshot


def test_executor_gets_snapshot_of_its_node(
        steps, snapshot, monkeypatch, executor, kazoo_client, audited):
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: SnapshotMachine(node, 2))
    taken = snapshot(snapshot_expiration=3600)
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id == 'image-1'
    assert audited.getEvents(snapshot='image-1', tenant='tenant') == [
        ('created', 'done')]
    # It outlives the node.
    assert 'zuul_node_uuid' not in taken.tags
    assert taken.tags['who'] == 'us'
    assert abs(int(taken.tags['zuul_expiration']) - time.time() - 3600) < 60
    steps.run()
    assert kazoo_client.get_children(taken.getLockPath()) == []
    # The executor has its node back.
    own, = executor.nodes
    assert snapshotrecords.find(
        kazoo_client, 'image-1', 'tenant') == {own.uuid}
    executor.giveBack(own)
    steps.runUntil(lambda: steps.nodes()[0].state == State.USED)


class UnwritableMachine(SnapshotMachine):
    def toDict(self):
        return {'key': b'no text'}


@pytest.mark.parametrize('machine, text', [
    (lambda node: None, 'driver shelf does not support snapshots'),
    (lambda node: {}['flavor'], "KeyError: 'flavor'"),
    (lambda node: SnapshotMachine(node, 1000), 'not created in 0.1 seconds'),
    (lambda node: UnwritableMachine(node, 2), 'not JSON serializable'),
], ids=['none', 'error', 'timeout', 'unwritable'])
def test_failed_snapshot_does_not_block_the_executor(
        steps, snapshot, monkeypatch, log, audited, machine, text):
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: machine(node))
    taken = snapshot(snapshot_timeout=0.1, snapshot_expiration=60)
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id is None
    assert text in log.text
    assert ('created', 'failed') in audited.getEvents()


def test_snapshot_is_left_to_a_launcher_that_the_cloud_does_not_refuse(
        steps, snapshot, monkeypatch, executor, kazoo_client):
    leaves, tried = [], []

    def makeMachine(provider, node, log):
        tried.append(node)
        if leaves:
            raise LoginError('expired')
        return SnapshotMachine(node, 1)
    monkeypatch.setattr(steps.endpoints, 'leaves', lambda endpoint: leaves)
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine', makeMachine)
    taken = snapshot(snapshot_expiration=60)
    leaves.append(True)
    steps.runUntil(lambda: tried)
    steps.run()
    assert not snapshot.isComplete(taken)
    # Another one can begin.
    assert kazoo_client.get_children(taken.getLockPath()) == []
    leaves.clear()
    steps.lookAt(*executor.nodes)
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id == 'image-1'
    assert len(tried) == 2


@pytest.fixture
def slowStart(steps, monkeypatch):
    """:return: a function that has the endpoint start again, which hangs;
        gives an Event that ends it."""
    release = threading.Event()

    def begin():
        endpoint = steps.getProvider('one').getEndpoint()
        monkeypatch.setattr(ShelfEndpoint, 'startEndpoint',
                            lambda endpoint: release.wait(90))
        endpoint.started = False
        return release
    yield begin
    release.set()


@pytest.mark.settings(call_timeout=0.3)
def test_snapshot_begins_when_its_endpoint_has_started_at_last(
        steps, snapshot, slowStart, monkeypatch, log):
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: SnapshotMachine(node, 1))
    taken = snapshot(snapshot_timeout=3600, snapshot_expiration=60)
    release = slowStart()
    steps.runUntil(
        lambda: log.text.count('Unable to begin the snapshot') > 1)
    assert not snapshot.isComplete(taken)
    release.set()
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id == 'image-1'


@pytest.mark.settings(call_timeout=0.3)
def test_snapshot_fails_when_its_endpoint_has_not_started_in_its_timeout(
        steps, snapshot, slowStart, log):
    taken = snapshot(snapshot_timeout=0.05, snapshot_expiration=60)
    slowStart()
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id is None
    assert 'in 0.3 seconds' in log.text


@pytest.mark.parametrize('seconds', [DAY, -DAY])
def test_clock_jump_does_not_change_the_timeout_of_a_snapshot(
        steps, snapshot, monkeypatch, jump, seconds):
    machine = []
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: machine.append(
            SnapshotMachine(node, 1000)) or machine[0])
    begin = time.monotonic()
    taken = snapshot(snapshot_timeout=1, snapshot_expiration=60)
    steps.runUntil(lambda: machine and machine[0].state == 'going on')
    jump(seconds)
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert time.monotonic() - begin > 1
