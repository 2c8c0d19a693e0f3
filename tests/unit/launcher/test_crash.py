"""Launchers die at any point, and nobody who uses nodes notices."""

import contextlib
import dataclasses
import itertools
import time
import types
import typing

import pytest
from zuul.model import HoldRequest, ProviderNode, SnapshotStatus
from zuul.zk.nodepool import ZooKeeperNodepool

from tests.fixtures import launcher, snapshots
from tests.fixtures.cloud import getRunning
from tests.fixtures.crash import crashEverywhere
from tests.fixtures.crash_process import makeProcess
from tests.fixtures.fuse import Killed
from tests.fixtures.sshservers import SSHServer
from tests.fixtures.staticlayouts import oneStaticNode
from zuul_nodes.launcher.changes import LAYOUT

State = ProviderNode.State
# For how long a node is held (seconds).
HOLD = 0.2

pytestmark = pytest.mark.crash


@pytest.fixture(scope='module')
def machine(tmp_path_factory):
    """All instances of the cloud are the same real machine; of which the
    connection has the host key."""
    server = SSHServer(tmp_path_factory.mktemp('machine'))
    server.start()
    with pytest.MonkeyPatch.context() as monkeypatch:
        rack = launcher.CONNECTIONS['connection rack']
        monkeypatch.setitem(rack, 'port', str(server.port))
        monkeypatch.setitem(rack, 'key', server.key.recorded)
        yield
    server.stop()


CLOUD = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label: {{name: big, image: debian, flavor: small}}
- section:
    name: rack
    connection: rack
    images: [debian]
    flavors: [small]
    label-defaults: {{host-key-checking: {checking}}}
- provider:
    name: rack
    section: rack
    launch-attempts: 2
    labels:
      - {{name: big, {label}}}
'''
# One more provider, and what only this one has.
SHELF = '''
- label: {name: new, image: debian, flavor: small}
- provider:
    name: shelf
    section: rack
    labels: [new]
'''


def cloud(label='slots: 1', checking='false'):
    return CLOUD.format(label=label, checking=checking)


def serve(world, *labels):
    """One request, from its beginning to its end."""
    world.use(world.waitFulfilled(world.addRequest(*labels)))


def liveWithNewNode(world):
    serve(world, 'big')
    world.rest()
    world.expectCreated(1)


def liveWithTwoNodes(world):
    serve(world, 'big', 'big')
    world.rest()
    world.expectCreated(2)


def liveWithFailure(world):
    """The first instance does not start."""
    world.inventory.set('bad')
    serve(world, 'big')
    world.rest()
    world.expectCreated(2)


def liveWithoutRoom(world):
    """At first the cloud has none, and did not say so."""
    world.inventory.set('full')
    serve(world, 'big')
    world.rest()
    assert not world.inventory.isSet('full')
    world.expectCreated(1)


def liveWithReadyNode(world):
    """There is one, and will be again."""
    serve(world, 'big')
    world.rest(ready=1)
    world.expectCreated(1)


def liveWithWhatIsLeft(world):
    """Somebody else's node is being made, who does not need it any more."""
    first = world.addRequest('big')
    world.runUntil(world.inventory.all, lambda: 'nothing is made')
    world.cancel(first)
    world.rest(ready=1)
    serve(world, 'big')
    world.rest()
    world.expectCreated(1)


def liveWithStaticNode(world):
    """It is used again."""
    serve(world, 'big')
    world.rest(ready=1)
    world.expectCreated(0)


def liveWithStaticFailure(world):
    """A job finds that it is of no use, and it begins anew."""
    def fail(nodeset):
        node, = nodeset.getNodes()
        with world.context() as context:
            node._provider_node.updateAttributes(context, state=State.FAILED)
    world.use(world.waitFulfilled(world.addRequest('big')), fail)
    world.rest(ready=1)
    world.expectCreated(0)


def liveWithStaticSlots(world):
    """They are used again, until a user objects."""
    serve(world, 'big', 'big')
    world.rest(slot_host=1, ready=2)
    outdate(world)
    world.rest(slot_host=1, ready=2)
    world.expectCreated(0)


def liveWithOutdatedNode(world):
    """A user wants another."""
    outdate(world)
    world.rest(ready=1)
    world.expectCreated(1)


def outdate(world):
    """What a user says of the machine that there is."""
    nodes = world.readNodes()
    machine, = (node for node in nodes if not node.main_node_id)
    world.client.setNextNodeState(machine, State.OUTDATED)
    world.runUntil(lambda: not any(
        world.readNode(node.uuid) for node in nodes if not node.subnodes),
        world.describeNodes)


def liveWithSlots(world):
    """One host is there for two."""
    serve(world, 'big')
    world.rest(slot_host=1, ready=1)
    serve(world, 'big')
    world.rest()
    world.expectCreated(1)


def liveWithScan(world):
    """The host key of the instance is read, and known to who uses it."""
    request = world.waitFulfilled(world.addRequest('big'))
    expectKey(world, getNode(world, request))
    world.use(request)
    world.rest()
    world.expectCreated(1)


def liveWithReuse(world, request):
    """What a job has used is used by another, until somebody objects."""
    world.use(request)
    world.rest(ready=1)
    second = world.waitFulfilled(world.addRequest('big'))
    assert second.nodes == request.nodes
    node = getNode(world, second)
    expectKey(world, node)
    world.use(second, lambda nodeset: world.client.setNextNodeState(
        node, State.OUTDATED))
    world.rest()
    world.expectCreated(1)


def liveWithHold(world, request):
    """Somebody looks at what a job has left, for some time."""
    hold = HoldRequest()
    hold.tenant, hold.project, hold.job = 'tenant', 'project', 'build'
    hold.reason = 'look at it'
    hold.node_expiration = HOLD
    records = ZooKeeperNodepool(world.zk_client)
    records.storeHoldRequest(hold)
    world.use(request, lambda nodeset: world.client.holdNodeSet(
        records, nodeset, hold, types.SimpleNamespace(uuid='build'), 60))
    node = getNode(world, request)
    assert node.state == State.HOLD
    # Nothing is done, and still a launcher may die.
    with contextlib.suppress(Killed):
        world.launcher.fuse.reach('nothing', lambda: None)
    world.rest()
    assert time.time() >= node.state_time + HOLD
    world.expectCreated(1)
    records.deleteHoldRequest(hold, world.client)


def liveWithSnapshot(world, request):
    """The executor gets an image of the node, and there is no other."""
    taken = []

    def take(nodeset):
        statuses = world.client.snapshotNodeset(nodeset, request.nodes)
        started = SnapshotStatus.Type.STARTED
        while next(statuses).type != started:
            pass
        node, = nodeset.getNodes()
        taken.append(node._provider_node.snapshot)
        world.runUntil(lambda: isComplete(world, *taken),
                       lambda: 'there is no snapshot')
        # It waits no more.
        assert [*statuses][-1].type == SnapshotStatus.Type.COMPLETED
    world.use(request, take)
    world.rest()
    world.expectCreated(1)
    snapshot, = taken
    album = snapshots.Album(world.inventory)
    assert album.all() == {snapshot.external_id: {
        'node': snapshot.node.uuid, 'tags': snapshot.tags}}
    assert snapshot.tags.keys() >= {'zuul_system_id', 'zuul_expiration'}
    assert 'zuul_node_uuid' not in snapshot.tags
    album.clear()


def liveWithRefusal(world, request):
    """At first, the cloud does not take the instance back."""
    world.inventory.set('refusing')
    world.use(request)
    world.rest()
    assert not world.inventory.isSet('refusing')
    world.expectCreated(1)


def getNode(world, request):
    """:return: the only node of a request."""
    node_id, = request.nodes
    return world.readNode(node_id)


def expectKey(world, node):
    assert node.host_keys == [world.config['connection rack']['key']]


def isComplete(world, snapshot):
    with world.context() as context:
        snapshot.refresh(context)
    return snapshot.complete


@dataclasses.dataclass
class Life:
    """
    :ivar live: see :func:`.crashEverywhere`.
    :ivar str text: the configuration.
    :ivar int points: how many there are at least.
    :ivar dict states: of nodes that are there.
    :ivar prepare: see :func:`.crashEverywhere`.
    """
    live: typing.Callable
    text: str
    points: int
    states: dict = dataclasses.field(default_factory=dict)
    prepare: typing.Callable = lambda world: ()


def getNewNode(world):
    """How a node comes to life is part of other lives."""
    return (world.waitFulfilled(world.addRequest('big')),)


LIVES = {
    'new': Life(liveWithNewNode, cloud(), 12),
    'two': Life(liveWithTwoNodes, cloud(), 20),
    'failure': Life(liveWithFailure, cloud(), 16),
    'full': Life(liveWithoutRoom, cloud(), 16),
    'ready': Life(liveWithReadyNode, cloud('min-ready: 1'), 12,
                  {'ready': 1}),
    'left': Life(liveWithWhatIsLeft, cloud(), 12),
    'static': Life(liveWithStaticNode, oneStaticNode(), 3, {'ready': 1}),
    'static failure': Life(liveWithStaticFailure, oneStaticNode(), 7,
                           {'ready': 1}),
    'static slots': Life(liveWithStaticSlots, oneStaticNode(slots=2), 14,
                         {'slot_host': 1, 'ready': 2}),
    'outdated': Life(liveWithOutdatedNode, cloud('min-ready: 1'), 12,
                     {'ready': 1}),
    'slots': Life(liveWithSlots, cloud('slots: 2'), 16),
    'scan': Life(liveWithScan, cloud(checking='true'), 12),
    'reuse': Life(liveWithReuse, cloud('reuse: true', checking='true'), 8,
                  prepare=getNewNode),
    'hold': Life(liveWithHold, cloud(), 5, prepare=getNewNode),
    'snapshot': Life(liveWithSnapshot, cloud(), 9, prepare=getNewNode),
    'refusal': Life(liveWithRefusal, cloud(), 6, prepare=getNewNode),
}


@pytest.fixture(params=LIVES.values(), ids=LIVES)
def life(request, machine):
    return request.param


def crash(makeWorld, life, **options):
    """:return: how many points there were."""
    points, failures = crashEverywhere(
        lambda: makeWorld(life.text, **life.states), life.live,
        prepare=life.prepare, **options)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    return len(points)


def test_launcher_killed_at_any_point_is_replaced(makeWorld, undivided, life):
    # Otherwise most of what it does was not seen.
    assert crash(makeWorld, life) >= life.points


def test_launcher_goes_on_when_connection_is_lost_at_any_write(
        makeWorld, undivided, life):
    """The launcher does not know whether the write was done; its session goes
    on."""
    assert crash(makeWorld, life, cut=True) >= 3


def test_launchers_killed_again_and_again_make_progress(
        makeWorld, undivided, life):
    """Each launcher gets one step further than the one before it."""
    world = makeWorld(life.text, **life.states)
    world.lifetimes = (
        (number, number % 2) for number in itertools.count(2))
    prepared = life.prepare(world)
    world.launcher.fuse.arm(1)
    life.live(world, *prepared)
    assert not world.problems
    assert world.deaths >= 3


def test_launcher_leaves_node_alone_when_connection_is_lost(
        makeWorld, undivided, machine):
    """It does not know whether it has still the lock of the node."""
    world = makeWorld(cloud(checking='true'))
    fuse = world.launcher.fuse
    serve(world, 'big')
    world.rest()
    # A job is quicker than the launcher's next look.
    backoff = world.launcher.queue.backoff
    backoff.first = backoff.longest = 1
    fuse.arm(after=True, cut=True, name='Create events')
    request = world.waitFulfilled(world.addRequest('big'))
    assert fuse.blown

    def expectInUse(nodeset):
        world.runUntil(world.launcher.api.nodes_cache.catchUp,
                       lambda: 'there is no connection')
        world.run()
        assert getNode(world, request).state == State.IN_USE
        instance, = world.inventory.all().values()
        assert not instance['deleting']
    world.use(request, expectInUse)
    world.rest()
    assert not world.problems


def test_requests_are_served_when_one_of_two_launchers_is_killed(makeWorld):
    """Both launchers have a share of the requests."""
    world = makeWorld(cloud())
    for number in range(1, 40, 5):
        if not world.standby:
            # Otherwise the last one was not killed: its share was small.
            world.setStandby()
        world.launcher.fuse.arm(number, after=number % 2)
        requests = [world.addRequest('big', 'big') for _ in range(4)]
        for request in requests:
            world.use(world.waitFulfilled(request))
        world.rest()
        world.expectCreated(8)
        assert not world.problems, (
            f'killed at point {number}: {world.problems}')
    assert world.deaths >= 5


def test_standby_that_has_not_read_a_layout_keeps_its_nodes(
        makeWorld, undivided):
    """A provider that a launcher does not know yet is not one that is gone."""
    world = makeWorld(cloud())
    world.setStandby()
    handlers = world.standby.handlers
    read = handlers['layout']
    world.standby.run()
    handlers['layout'] = lambda _: None
    world.launcher.setLayout(cloud() + SHELF)
    # It dies when the record of the node is there.
    world.launcher.fuse.arm(2, after=True)
    request = world.addRequest('new')
    world.runUntil(lambda: world.deaths, lambda: 'nobody dies')
    node, = world.readNodes()
    world.run()
    assert world.readNode(node.uuid).state == State.BUILDING
    handlers['layout'] = read
    world.launcher.queue.add(LAYOUT)
    assert world.waitFulfilled(request).nodes == [node.uuid]
    assert not world.problems


def test_launcher_processes_killed_by_signal_9_are_replaced(
        makeWorld, zuul_conf, tmp_path):
    """One process is killed while nodes are made, another while they are
    deleted."""
    # The shortest that the server allows.
    zuul_conf.read_dict({'zookeeper': {'session_timeout': '4'}})
    world = makeWorld(cloud())
    world.stopLaunchers()
    with contextlib.ExitStack() as stack:
        processes = [makeProcess(name, world.config, tmp_path)
                     for name in ('first', 'second')]
        for process in processes:
            process.start()
            stack.callback(process.kill)
        first, second = processes
        world.runUntil(lambda: len(getRunning()) == 2,
                       lambda: second.log_file.read_text()[-9999:])
        world.inventory.set('slow')
        requests = [world.addRequest('big') for _ in range(10)]
        world.runUntil(lambda: len(world.inventory.all()) == len(requests),
                       world.describeNodes)
        first.kill()
        world.inventory.set('slow', False)
        requests = [world.waitFulfilled(request) for request in requests]
        world.inventory.set('slow')
        for request in requests:
            world.use(request)
        world.runUntil(lambda: all(
            each['deleting'] for each in world.inventory.all().values()),
            world.describeNodes)
        second.kill()
        world.inventory.set('slow', False)
        world.startLauncher()
        world.rest()
        world.expectCreated(len(requests))
        assert not world.problems


# State -> what becomes of a node that nobody has; None: it is deleted.
ENDS = {
    State.REQUESTED: State.READY,
    State.BUILDING: State.READY,
    State.REBUILDING: State.READY,
    State.REGISTERING: State.READY,
    State.READY: State.READY,
    State.FAILED: None,
    State.TEMPFAILED: None,
    State.IN_USE: None,
    State.USED: None,
    State.OUTDATED: None,
    State.DEREGISTER: None,
    State.HOLD: State.HOLD,
    State.SNAPSHOT: None,
    State.SLOT_HOST: None,
}


@pytest.mark.parametrize('assigned', [False, True])
def test_node_in_any_state_without_owner_becomes_ready_or_goes(
        makeWorld, assigned):
    """Also if the node is assigned to a request that is gone."""
    assert ENDS.keys() == set(State)
    world = makeWorld(cloud())
    provider = world.launcher.getProvider('rack')
    nodes = {state: world.addNode(provider, state, assigned)
             for state in ENDS}
    world.rest(ready=5, hold=1)
    ends = {state: world.readNode(node.uuid)
            for state, node in nodes.items()}
    assert {state: node and node.state
            for state, node in ends.items()} == ENDS
    assert not world.problems
