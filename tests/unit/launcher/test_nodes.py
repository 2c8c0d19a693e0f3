"""What becomes of nodes, from what is asked of them to their end."""

import collections
import contextlib
import logging
import socket
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)
import pytest
from zuul.lib import tracing
from zuul.model import NodesetRequest, ProviderNode
from zuul.provider import statemachine
from zuul.zk import ZooKeeperClient
from zuul.zk.zkobject import ZKContext

from tests.fixtures.racks import DeleteMachine, cloud, finish, isDone
from tests.fixtures.shelf.shelf_maker import ShelfProvider
from zuul_nodes.launcher import (
    creation,
    machines,
    nodetraces,
    requests,
    snapshots,
    workqueue,
)
from zuul_nodes.launcher.transactions import Conflict, Transaction

State = ProviderNode.State
DAY = 86400


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG, 'zuul')
    return caplog


class Executor:
    """Somebody with a session of its own, who uses nodes."""

    def __init__(self, config, launcher):
        self.launcher = launcher
        self.zk_client = ZooKeeperClient.fromConfig(config)
        self.zk_client.connect()
        self.context = ZKContext(self.zk_client, None, None, launcher.log)
        self.nodes = []

    def use(self, node):
        """:return: the node, which is in use now."""
        own = type(node).fromZK(self.context, node.getPath())
        assert own.acquireLock(self.context, blocking=True)
        self.nodes.append(own)
        self.setState(own, State.IN_USE)
        self.launcher.runUntil(
            lambda: node.is_locked and node.state == State.IN_USE)
        return own

    def setState(self, own, state, **attributes):
        own.updateAttributes(
            self.context, state=state, state_time=time.time(), **attributes)

    def giveBack(self, own, state=State.USED, **attributes):
        self.setState(own, state, **attributes)
        own.releaseLock(self.context)
        self.nodes.remove(own)

    def end(self):
        for own in self.nodes:
            own.releaseLock(self.context)
        self.zk_client.disconnect()


@pytest.fixture
def looks(steps, monkeypatch):
    """:return: a Counter of the keys that the launcher looks at."""
    looks = collections.Counter()
    handle = steps.queue.handle

    def note(key):
        looks[key] += 1
        handle(key)
    monkeypatch.setattr(steps.queue, 'handle', note)
    return looks


@pytest.fixture
def executor(zuul_conf, steps):
    executor = Executor(zuul_conf, steps)
    yield executor
    executor.end()


def options(**labels):
    """:return: configuration: what its labels say."""
    text = cloud('one')
    for name, said in labels.items():
        start = f'- label: {{name: {name}, '
        assert start in text
        text = text.replace(start, f'{start}{said}, ')
    return text


def serve(launcher, request):
    """:return: the request's nodes."""
    launcher.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    return [launcher.api.getProviderNode(node) for node in request.nodes]


def deleteRequest(launcher, request):
    with launcher.context() as context:
        request.delete(context)


def look(launcher, *nodes):
    """As at the next look at nodes, whenever that is."""
    for node in nodes:
        launcher.queue.add(('node', node.uuid))
    launcher.run()


def isGone(launcher, *nodes):
    return not {node.uuid for node in nodes} & {
        node.uuid for node in launcher.nodes()}


# Use and re-use


def test_a_node_is_used_once(steps, racks, executor, kazoo_client):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    own = executor.use(node)
    deleteRequest(steps, request)
    steps.run()
    # Whoever has the lock has the node, whatever becomes of the request.
    assert node.state == State.IN_USE
    assert node.uuid in racks.instances
    executor.giveBack(own)
    steps.runUntil(lambda: isGone(steps, node))
    assert racks.instances == {}
    for kind in ('nodes', 'locks'):
        assert kazoo_client.get_children(f'/zuul/nodes/{kind}') == []
    another, = serve(steps, steps.addRequest('big'))
    assert another is not node


def test_nobody_looks_in_vain(steps, racks, executor, looks, monkeypatch):
    in_vain = []
    handle = steps.queue.handle

    def note(key):
        find = {'request': steps.api.getNodesetRequest,
                'node': steps.api.getProviderNode}.get(key[0])
        if find and find(key[1]) is None:
            in_vain.append(key)
        handle(key)

    def catchUp():
        assert steps.api.requests_cache.catchUp()
        assert steps.api.nodes_cache.catchUp()
    steps.setLayout(cloud('one'))
    monkeypatch.setattr(steps.queue, 'handle', note)
    looks.clear()
    request = steps.addRequest('big')
    catchUp()
    node, = serve(steps, request)
    catchUp()
    steps.run()
    assert looks[('request', request.uuid)] == 1
    assert looks[('node', node.uuid)] == 1
    own = executor.use(node)
    deleteRequest(steps, request)
    executor.giveBack(own)
    catchUp()
    steps.runUntil(lambda: isGone(steps, node))
    catchUp()
    steps.run()
    assert in_vain == []


def test_a_request_that_is_not_known_yet(
        steps, racks, kazoo_client, monkeypatch, log):
    """What it was given by another launcher is not taken from it."""
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    held = []
    cache = steps.api.requests_cache
    with monkeypatch.context() as behind:
        behind.setattr(cache, '_take', held.append)
        with steps.context() as context:
            request = NodesetRequest.new(
                context, tenant_name='tenant', pipeline_name='check',
                labels=['big'], state=NodesetRequest.State.FULFILLED,
                event_state=NodesetRequest.EventState.COMPLETE,
                provider_node_data=[{'uuid': node.uuid}])
        transaction = steps.store.transaction()
        transaction.createPart(
            node.assignment, request_id=request.uuid, tenant_name='tenant',
            min_request_version=0)
        steps.commitNew(transaction, [])
        steps.runUntil(
            lambda: f'request {request.uuid} is not known yet' in log.text)
        assert steps.api.getNodesetRequest(request.uuid) is None
        assert kazoo_client.exists(node.assignment.getPath())
    # It is nothing that somebody has to see to.
    assert 'ERROR' not in {record.levelname for record in log.records}
    for event in held:
        cache._take(event)
    steps.runUntil(lambda: steps.api.getNodesetRequest(request.uuid))
    steps.node_reconciler.reconcile(node.uuid)
    assert kazoo_client.exists(node.assignment.getPath())
    assert node.request_id == request.uuid
    assert node.state == State.READY


def test_a_node_that_its_user_has_lost(steps, racks, executor):
    """An executor that was killed says nothing."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    own = executor.use(node)
    deleteRequest(steps, request)
    steps.run()
    own.releaseLock(executor.context)
    executor.nodes.clear()
    steps.runUntil(lambda: isGone(steps, node))
    assert racks.instances == {}


def test_reuse(steps, racks, executor):
    steps.setLayout(options(big='reuse: true'))
    first = steps.addRequest('big')
    node, = serve(steps, first)
    own = executor.use(node)
    second = steps.addRequest('other', 'big')
    other, another = serve(steps, second)
    assert node not in (other, another)
    executor.giveBack(own)
    deleteRequest(steps, first)
    steps.runUntil(lambda: node.state == State.READY and not node.request_id)
    assert serve(steps, steps.addRequest('big')) == [node]
    assert len(racks.created) == 3
    assert node.uuid in racks.instances
    # Others are not made for it.
    finish(steps, second)
    steps.runUntil(lambda: isGone(steps, other))


def test_a_driver_may_be_against_reuse(steps, racks, monkeypatch):
    monkeypatch.setattr(
        ShelfProvider, 'canReuseNode', lambda provider, node: False)
    steps.setLayout(options(big='reuse: true'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))


@pytest.mark.parametrize('change', [
    {'state': State.READY, 'request_time': time.time() - DAY},
    {'label_config_hash': 'old'}], ids=['old', 'changed'])
def test_what_is_not_reused(steps, racks, change):
    """What is too old, or not as its label says any more."""
    steps.setLayout(options(big='reuse: true, max-age: 3600'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    with steps.context() as context:
        node.updateAttributes(context, **change)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert racks.instances == {}


# What users ask for


def test_hold(steps, racks, executor, jump):
    """What a job has left stays as it is for as long as it was asked
    for."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', 'big', 'big')
    nodes = serve(steps, request)
    for node, expiration in zip(nodes, (None, 3600, 2 * DAY), strict=True):
        own = executor.use(node)
        executor.giveBack(own, State.HOLD, comment='look at it',
                          hold_expiration=expiration)
    deleteRequest(steps, request)
    steps.runUntil(lambda: not steps.api.getNodesetRequests())
    look(steps, *nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    # It is nobody else's.
    assert serve(steps, steps.addRequest('big'))[0] not in nodes
    jump(DAY)
    look(steps, *nodes)
    steps.runUntil(lambda: isGone(steps, nodes[1]))
    assert not isGone(steps, nodes[0])
    assert not isGone(steps, nodes[2])
    assert nodes[1].uuid not in racks.instances


def test_a_hold_ends_by_itself(steps, racks):
    steps.setLayout(cloud('one'))
    begin = time.time()
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.HOLD,
                         hold_expiration=1, state_time=begin)
    steps.runUntil(lambda: isGone(steps, node))
    assert 1 <= time.time() - begin < 5


def test_what_is_held_until_it_is_not_any_more(steps, racks):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.HOLD)
    steps.run()
    with steps.context() as context:
        node.updateAttributes(context, state=State.USED)
    steps.runUntil(lambda: isGone(steps, node))


@pytest.mark.parametrize('next_state', [State.USED, State.OUTDATED])
def test_a_user_wants_a_node_to_go(steps, racks, next_state):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    with steps.context() as context:
        node.setNextState(context, next_state, 'it is odd')
    steps.runUntil(lambda: isGone(steps, node))


def test_a_user_wants_a_node_to_be_held(steps, racks, kazoo_client):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    with steps.context() as context:
        node.setNextState(context, State.HOLD, 'it is odd')
    steps.runUntil(lambda: node.state == State.HOLD)
    assert node.comment == 'it is odd'
    assert node.next_state is None
    assert not kazoo_client.exists(node.lifecycle.getPath())
    assert not node.hasLock()
    assert serve(steps, steps.addRequest('big')) != [node]


@pytest.mark.parametrize('reuse', ['false', 'true'])
def test_what_a_user_wants_can_wait(steps, racks, executor, reuse):
    """Of a node in use, it is done afterwards."""
    steps.setLayout(options(big=f'reuse: {reuse}'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    own = executor.use(node)
    with steps.context() as context:
        node.setNextState(context, State.HOLD, 'it is odd')
    steps.runUntil(lambda: node.next_state)
    look(steps, node)
    assert node.state == State.IN_USE
    executor.giveBack(own)
    deleteRequest(steps, request)
    steps.runUntil(lambda: node.state == State.HOLD)
    steps.run()
    assert node.comment == 'it is odd'
    assert node.uuid in racks.instances


# Age


def test_max_ready_age(steps, racks):
    steps.setLayout(options(big='max-ready-age: 1'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    look(steps, node)
    begin = time.time()
    ready = steps.addNode(steps.getProvider('one'), 'big', state=State.READY,
                          max_ready_age=1, state_time=begin)
    steps.runUntil(lambda: isGone(steps, ready))
    assert 1 <= time.time() - begin < 5
    # Waiting for its job, it is not ready for anybody.
    look(steps, node)
    assert node.state == State.READY


def test_a_node_that_was_given_back_gets_old(steps, racks):
    steps.setLayout(options(big='max-ready-age: 1'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    deleteRequest(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert racks.instances == {}


@pytest.mark.parametrize('retention, kept', [(None, False), (3600, True)])
def test_max_age(steps, racks, jump, retention, kept):
    """But not before what was paid for anyway."""
    steps.setLayout(cloud('one'))
    node = steps.addNode(
        steps.getProvider('one'), 'big', state=State.READY, max_age=60,
        min_retention_time=retention)
    steps.run()
    jump(600)
    look(steps, node)
    assert (node.state == State.READY) is kept
    jump(2 * 3600)
    look(steps, node)
    steps.runUntil(lambda: isGone(steps, node))


def test_the_time_until_a_node_may_go(steps, racks):
    """Somebody comes back by then, without being asked."""
    steps.setLayout(cloud('one'))
    begin = time.time()
    node = steps.addNode(
        steps.getProvider('one'), 'big', state=State.READY, max_age=5,
        request_time=begin - 10, min_retention_time=11)
    steps.runUntil(lambda: isGone(steps, node))
    assert 1 <= time.time() - begin < 5


AGES = 'max-age: 60, max-ready-age: 30'


@pytest.mark.parametrize('state', ['held', 'in use', 'spare', 'assigned'])
def test_what_stays_longer_is_not_looked_at_all_the_time(
        steps, racks, executor, looks, jump, state):
    """Nothing but time passes: there is nothing new to be seen."""
    steps.setLayout(options(big=(
        'slots: 2, max-ready-age: 30' if state == 'spare'
        else f'slots: 2, {AGES}' if state == 'in use' else AGES)))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    if state != 'assigned':
        own = executor.use(node)
    if state == 'held':
        executor.giveBack(own, State.HOLD)
        deleteRequest(steps, request)
        steps.runUntil(lambda: not node.is_locked)
    jump(3600)
    look(steps, *steps.nodes())
    if state == 'in use':
        # What nobody has used has gone.
        steps.runUntil(lambda: len(steps.nodes()) == 2)
    steps.run()
    looks.clear()
    end = time.monotonic() + 0.3
    steps.runUntil(lambda: time.monotonic() > end)
    assert max(looks['node', each.uuid] for each in steps.nodes()) <= 2
    assert node.uuid in racks.instances or node.main_node_id
    assert node.state == {'held': State.HOLD, 'assigned': State.READY}.get(
        state, State.IN_USE)


def test_a_spare_slot_gets_old_when_the_other_has_gone(
        steps, racks, executor, jump):
    steps.setLayout(options(big='slots: 2, max-ready-age: 30'))
    request = steps.addRequest('big')
    used, = serve(steps, request)
    own = executor.use(used)
    spare, = steps.nodes(State.READY)
    jump(3600)
    look(steps, spare)
    assert spare.state == State.READY
    executor.giveBack(own)
    deleteRequest(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


# Labels


def test_aliases(steps, racks):
    steps.setLayout(options(big='aliases: [other]'))
    provider = steps.getProvider('one')
    nodes = [steps.addNode(provider, 'big', state=state)
             for state in (State.READY, State.BUILDING)]
    for node in nodes:
        assert serve(steps, steps.addRequest('other')) == [node]
    # What is to be made is of the label itself.
    assert serve(steps, steps.addRequest('other'))[0].label == 'other'


def test_tags(steps, racks):
    steps.setLayout(options(
        big='tags: {job: "{job_name} of {tenant_name}", who: us}, '
            'min-ready: 1'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    ready, = steps.nodes()
    fixed = {'zuul_system_id': steps.system.system_id}
    # It is not for any job.
    assert ready.tags == {
        'who': 'us', 'zuul_node_uuid': ready.uuid, **fixed}
    first, second = serve(steps, steps.addRequest(
        'big', 'big', job_name='build'))
    node = second if first is ready else first
    assert node.tags == {
        'job': 'build of tenant', 'who': 'us', 'zuul_node_uuid': node.uuid,
        **fixed}


# Slots


SLOTS = options(big='slots: 2')


def hostOf(launcher):
    host, = launcher.nodes(State.SLOT_HOST)
    return host


def test_slots(steps, racks):
    """Two requests share a machine, and it goes after both."""
    steps.setLayout(SLOTS)
    first, second = steps.addRequest('big'), steps.addRequest('big')
    nodes = serve(steps, first) + serve(steps, second)
    host = hostOf(steps)
    assert {node.main_node_id for node in nodes} == {host.uuid}
    assert sorted(node.slot for node in nodes) == [0, 1]
    assert {node.interface_ip for node in nodes} == {'127.0.0.1'}
    assert list(racks.instances) == [host.uuid]
    assert {node.quota.getResources().get('instances', 0)
            for node in nodes} == {0}
    third, = serve(steps, steps.addRequest('big'))
    assert third.main_node_id != host.uuid
    finish(steps, first)
    steps.runUntil(lambda: isGone(steps, nodes[0]))
    look(steps, host)
    assert host.uuid in racks.instances
    finish(steps, second)
    steps.runUntil(lambda: isGone(steps, host, *nodes))
    assert list(racks.instances) == [third.main_node_id]


def test_a_nodeset_on_one_machine(steps, racks):
    steps.setLayout(SLOTS)
    request = steps.addRequest('big', 'big')
    nodes = serve(steps, request)
    assert nodes[0] is not nodes[1]
    assert list(racks.instances) == [hostOf(steps).uuid]
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_slots_that_nobody_has_used(steps, racks, jump):
    """When the machine is too old they go, but not while a job is there.
    """
    steps.setLayout(options(big='slots: 2, max-age: 60'))
    request = steps.addRequest('big')
    used, = serve(steps, request)
    with steps.context() as context:
        used.updateAttributes(context, state=State.IN_USE)
    spare, = steps.nodes(State.READY)
    jump(3600)
    look(steps, used, spare, hostOf(steps))
    assert used.state == State.IN_USE
    assert racks.deleted == []
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_a_slot_that_is_ready_for_long(steps, racks, jump):
    """It stays as long as another one of the machine is used, and so is
    good for somebody."""
    steps.setLayout(options(big='slots: 2, max-ready-age: 60'))
    used, = serve(steps, steps.addRequest('big'))
    with steps.context() as context:
        used.updateAttributes(context, state=State.IN_USE)
    spare, = steps.nodes(State.READY)
    jump(3600)
    look(steps, used, spare, hostOf(steps))
    assert serve(steps, steps.addRequest('big')) == [spare]
    assert len(racks.instances) == 1


def test_a_machine_with_slots_that_fails(steps, racks):
    """Its slots do, and the request goes on to another."""
    text = cloud('one', 'two', launch_attempts=1)
    steps.setLayout(text.replace('name: big,', 'name: big, slots: 2,'))
    racks.errors['one'] = [RuntimeError('it does not boot')]
    request = steps.addRequest('big', 'big')
    nodes = serve(steps, request)
    assert {node.provider.rsplit('/', 1)[-1] for node in nodes} == {'two'}
    steps.runUntil(lambda: len(steps.nodes()) == 3)
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_slots_are_reused(steps, racks):
    steps.setLayout(options(big='slots: 2, reuse: true'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: node.state == State.READY and not node.request_id)
    requests = [steps.addRequest('big') for _ in range(2)]
    assert node in [each for request in requests
                    for each in serve(steps, request)]
    assert racks.created == ['one']


# Snapshots


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
def snapshot(steps, racks, executor, monkeypatch):
    """:return: a function that has a node's snapshot taken, as an executor
        does; gives the snapshot."""
    monkeypatch.setattr(snapshots, 'SNAPSHOT_INTERVAL', 0.05)

    def snapshot(**attributes):
        steps.setLayout(cloud('one'))
        node, = serve(steps, steps.addRequest('big'))
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


def test_snapshot(steps, snapshot, monkeypatch, executor, kazoo_client):
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: SnapshotMachine(node, 2))
    taken = snapshot(snapshot_expiration=3600)
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id == 'image-1'
    # It outlives the node.
    assert 'zuul_node_uuid' not in taken.tags
    assert taken.tags['who'] == 'us'
    assert abs(int(taken.tags['zuul_expiration']) - time.time() - 3600) < 60
    steps.run()
    assert kazoo_client.get_children(taken.getLockPath()) == []
    # The executor has its node back.
    own, = executor.nodes
    executor.giveBack(own)
    steps.runUntil(lambda: steps.nodes()[0].state == State.USED)


class UnwritableMachine(SnapshotMachine):
    def toDict(self):
        return {'key': b'no text'}


@pytest.mark.parametrize('machine, text', [
    (lambda node: None, 'driver shelf makes no snapshots'),
    (lambda node: {}['flavor'], "KeyError: 'flavor'"),
    (lambda node: SnapshotMachine(node, 1000), 'Timeout snapshotting node'),
    (lambda node: UnwritableMachine(node, 2), 'not JSON serializable'),
], ids=['none', 'error', 'timeout', 'unwritable'])
def test_no_snapshot(steps, snapshot, monkeypatch, log, machine, text):
    """The executor does not wait for ever."""
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: machine(node))
    taken = snapshot(snapshot_timeout=0.1, snapshot_expiration=60)
    steps.runUntil(lambda: snapshot.isComplete(taken))
    assert taken.external_id is None
    assert text in log.text


@pytest.mark.parametrize('seconds', [DAY, -DAY])
def test_the_clock_jumps_while_a_snapshot_is_made(
        steps, snapshot, monkeypatch, jump, seconds):
    """It is neither late because of that nor has it more time."""
    machine = []
    monkeypatch.setattr(
        ShelfProvider, 'getSnapshotStateMachine',
        lambda provider, node, log: machine.append(
            SnapshotMachine(node, 1000)) or machine[0])
    begin = time.monotonic()
    taken = snapshot(snapshot_timeout=1, snapshot_expiration=60)
    steps.runUntil(lambda: machine and machine[0].state == 'going on')
    jump(seconds)
    steps.runUntil(lambda: snapshot.isComplete(taken), timeout=5)
    assert time.monotonic() - begin > 1


# The end


@pytest.fixture
def attempts(monkeypatch):
    """:return: a list of the attempts that deletions have had, before
        each pause."""
    attempts = []

    def getPause(attempt):
        attempts.append(attempt)
        return 0.02
    monkeypatch.setattr(machines, 'getPause', getPause)
    return attempts


def test_a_deletion_that_fails(steps, racks, attempts, log):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    racks.delete_errors['one'] = [ConnectionError('down')] * 3
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert attempts == [0, 1, 2]
    assert racks.deleted == [node.uuid] * 4
    assert racks.instances == {}
    assert f'Unable to delete node {node}, trying again in' in log.text


def test_a_deletion_that_can_not_begin(steps, racks, attempts, monkeypatch):
    good = ShelfProvider.getDeleteStateMachine
    errors = [KeyError('network')] * 2

    def getDeleteStateMachine(*args):
        if errors:
            raise errors.pop()
        return good(*args)
    monkeypatch.setattr(
        ShelfProvider, 'getDeleteStateMachine', getDeleteStateMachine)
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert attempts == [0, 1]
    assert racks.instances == {}


def test_a_deletion_that_never_succeeds(
        steps, racks, attempts, monkeypatch, log):
    """What is left is the clean-up's."""
    monkeypatch.setattr(machines, 'DELETE_TIMEOUT', 0.2)
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    racks.delete_errors['one'] = ConnectionError('down')
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert f'Unable to delete node {node}: down' in log.text
    assert list(racks.instances) == [node.uuid]


def test_a_deletion_that_can_never_begin(
        steps, racks, attempts, monkeypatch, log):
    """As one that never succeeds."""
    monkeypatch.setattr(machines, 'DELETE_TIMEOUT', 0.2)
    monkeypatch.setattr(
        ShelfProvider, 'getDeleteStateMachine',
        lambda provider, node, log: {}['network'])
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert f"Unable to delete node {node}: 'network'" in log.text
    assert list(racks.instances) == [node.uuid]


def test_a_deletion_that_goes_on_from_what_was_written(
        steps, racks, attempts, monkeypatch):
    """Not from what could not be."""
    states = []
    good = DeleteMachine.__init__, DeleteMachine.advance

    def init(machine, racks, provider, node):
        good[0](machine, racks, provider, node)
        states.append((node.delete_state, node.attributes))

    def advance(machine):
        if len(states) > 2:
            return good[1](machine)
        machine.state = 'deleting'
        machine.node.attributes = {'key': b'no text'}
    monkeypatch.setattr(DeleteMachine, '__init__', init)
    monkeypatch.setattr(DeleteMachine, 'advance', advance)
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert states == [({}, {})] * 3
    assert attempts == [0, 1]


def test_a_deletion_that_can_never_be_written(
        steps, racks, attempts, monkeypatch, log):
    """As one that never succeeds."""
    monkeypatch.setattr(machines, 'DELETE_TIMEOUT', 0.2)
    monkeypatch.setattr(DeleteMachine, 'advance',
                        lambda machine: setattr(machine, 'state', 'deleting'))
    monkeypatch.setattr(DeleteMachine, 'toDict',
                        lambda machine: {'state': b'no text'})
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert attempts[:3] == [0, 1, 2]
    assert 'not JSON serializable' in log.text
    assert list(racks.instances) == [node.uuid]


def test_steps_that_fail_whatever_they_come_to(steps, racks, monkeypatch):
    """Each pause is longer, and nobody comes before it is over."""
    attempts, looks = [], []
    created = steps.node_reconciler.building._created

    def getPause(attempt):
        attempts.append(attempt)
        return 0.02

    def fail(*args):
        looks.append(len(attempts))
        if len(looks) <= 5:
            raise ValueError('unexpected')
        created(*args)
    monkeypatch.setattr(workqueue, 'getPause', getPause)
    monkeypatch.setattr(steps.node_reconciler.building, '_created', fail)
    steps.setLayout(cloud('one'))
    serve(steps, steps.addRequest('big'))
    assert attempts == list(range(5))
    assert looks[:6] == list(range(6))
    assert not steps.node_reconciler._failures


def test_neither_creation_nor_deletion_succeeds(
        steps, racks, attempts, monkeypatch, log):
    monkeypatch.setattr(machines, 'DELETE_TIMEOUT', 0.2)
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = RuntimeError('it does not boot')
    racks.delete_errors['one'] = ConnectionError('down')
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    node, = steps.nodes()
    assert request.nodes == [node.uuid]
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    assert f'Unable to delete node {node}: down' in log.text


def test_deletions_that_fail_hold_up_nobody(steps, racks):
    steps.setLayout(cloud('one'))
    requests = [steps.addRequest('big') for _ in range(5)]
    for request in requests:
        serve(steps, request)
    racks.delete_errors['one'] = [ConnectionError('down')] * 5
    for request in requests:
        finish(steps, request)
    steps.runUntil(lambda: len(racks.deleted) >= 5)
    serve(steps, steps.addRequest('big'))


# Host keys


@pytest.fixture
def closed_port(zuul_conf):
    """A machine that can't be connected to; to be asked for before the
    launcher is made."""
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(('127.0.0.1', 0))
        port = listener.getsockname()[1]
    return port


def test_boot_timeout(steps, racks, closed_port, log):
    text = cloud('one', launch_attempts=2).replace(
        'host-key-checking: false', 'boot-timeout: 1')
    steps.setLayout(text)
    for connection in steps.connections.connections.values():
        if connection.connection_name == 'rack':
            connection.connection_config['port'] = closed_port
    begin = time.monotonic()
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert time.monotonic() - begin >= 2
    assert racks.created == ['one', 'one']
    assert 'Timeout' in log.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


# Traces


@pytest.fixture
def spans(monkeypatch):
    """:return: what gives the spans that have ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, '_TRACER_PROVIDER', provider)
    for module in (creation, nodetraces, requests):
        monkeypatch.setattr(module, 'TRACER', provider.get_tracer('zuul'))
    return exporter.get_finished_spans


def test_spans(steps, racks, spans):
    steps.setLayout(cloud('one'))
    root = trace.get_tracer('zuul').start_span('NodesetRequest')
    request = steps.addRequest(
        'big', span_info=tracing.getSpanInfo(root), job_name='build')
    node, = serve(steps, request)
    finish(steps, request)
    steps.runUntil(lambda: isGone(steps, node))
    steps.run()
    by_name = {span.name: span for span in spans()}
    assert by_name.keys() == {
        'NodesetRequestProcessing', 'ProviderNode', 'ProviderNodeCreate',
        'ProviderNodeDelete'}
    assert len(spans()) == 4
    processing, whole, create, delete = (by_name[name] for name in (
        'NodesetRequestProcessing', 'ProviderNode', 'ProviderNodeCreate',
        'ProviderNodeDelete'))
    root_id = root.get_span_context().span_id
    assert processing.parent.span_id == root_id
    assert whole.parent.span_id == processing.context.span_id
    assert create.parent.span_id == whole.context.span_id
    assert delete.parent.span_id == whole.context.span_id
    assert {span.context.trace_id for span in spans()} == {
        root.get_span_context().trace_id}
    assert processing.attributes['state'] == 'fulfilled'
    assert processing.attributes['job'] == 'build'
    assert whole.attributes['uuid'] == node.uuid
    assert create.attributes['label'] == 'big'
    assert (whole.start_time <= create.start_time <= create.end_time
            <= delete.start_time <= whole.end_time)


def getRequestSpan(request, spans):
    """:return: the one of what a launcher did with the request."""
    span, = [span for span in spans()
             if span.name == 'NodesetRequestProcessing'
             and span.attributes['uuid'] == request.uuid]
    return span


def test_the_span_of_a_request_that_waits(steps, racks, spans):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first = steps.addRequest('big')
    serve(steps, first)
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    seen = time.time_ns()
    finish(steps, first)
    serve(steps, request)
    span = getRequestSpan(request, spans)
    assert span.start_time < seen < span.end_time


@pytest.mark.parametrize('is_ready', [True, False])
def test_the_span_of_a_request_that_is_not_written_at_once(
        steps, racks, spans, monkeypatch, is_ready):
    steps.setLayout(cloud('one'))
    if is_ready:
        steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    send = Transaction._send
    conflicts = []

    def conflictOnce(transaction, operations):
        if transaction._event and not conflicts:
            conflicts.append(Conflict('somebody was quicker'))
            raise conflicts[0]
        return send(transaction, operations)

    monkeypatch.setattr(Transaction, '_send', conflictOnce)
    request = steps.addRequest('big')
    serve(steps, request)
    assert conflicts
    assert getRequestSpan(request, spans).attributes['state'] == 'fulfilled'


def test_spans_of_what_fails(steps, racks, spans):
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = RuntimeError('it does not boot')
    root = trace.get_tracer('zuul').start_span('NodesetRequest')
    request = steps.addRequest('big', span_info=tracing.getSpanInfo(root))
    steps.runUntil(lambda: isDone(request))
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    steps.run()
    by_name = {span.name: span for span in spans()}
    assert by_name['ProviderNodeCreate'].attributes['state'] == 'failed'
    assert by_name['NodesetRequestProcessing'].attributes[
        'state'] == 'failed'
    assert 'ProviderNode' in by_name
