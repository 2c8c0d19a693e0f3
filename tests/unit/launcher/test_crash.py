"""Launchers die at any point, and nobody who uses nodes notices."""

import contextlib
import itertools

import pytest
from zuul.model import ProviderNode

from tests.fixtures.cloud import getRunning
from tests.fixtures.crash import World, crashEverywhere, hurry
from tests.fixtures.crash_process import makeProcess
from tests.fixtures.inventory import install
from zuul_nodes.launcher import division as division_module
from zuul_nodes.launcher import machines as machines_module
from zuul_nodes.launcher.launcher import LAYOUT

State = ProviderNode.State

pytestmark = pytest.mark.crash


@pytest.fixture
def makeWorld(zuul_conf, tmp_path, monkeypatch):
    """:return: a function that makes a :class:`World` with a layout."""
    install(monkeypatch.setattr)
    # Each step is written, as with a cloud that takes its time.
    monkeypatch.setattr(machines_module, 'UNRECORDED', 0)

    def make(text, own=None, **states):
        world = World(zuul_conf, tmp_path)
        stack.callback(world.end)
        world.launcher.setLayout(text, own=own)
        world.rest(**states)
        world.inventory.created = 0
        return world
    with hurry(monkeypatch), contextlib.ExitStack() as stack:
        yield make


@pytest.fixture
def undivided(monkeypatch):
    """All is done by the launcher that has been there longest."""
    monkeypatch.setattr(
        'zuul.zk.launcher.launcher_score', lambda name, item: name)
    monkeypatch.setattr(
        division_module, 'endpoint_score', lambda name, endpoint: name)
    monkeypatch.setattr(
        division_module, 'scores_for_label',
        lambda label, names: {name: name for name in names})


CLOUD = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label: {{name: big, image: debian, flavor: small}}
- section:
    name: rack
    connection: rack
    images: [debian]
    flavors: [small]
    label-defaults: {{host-key-checking: false}}
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
DESK = '''
- image: {name: debian, type: cloud}
- flavor: {name: local}
- label: {name: big, image: debian, flavor: local}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [local]
    nodes:
      - {name: 127.0.0.1, connection-port: 22, username: zuul, label: big}
- provider:
    name: desk
    section: desk
    label-defaults: {host-key-checking: false}
    labels: [big]
'''


def cloud(label='slots: 1'):
    return CLOUD.format(label=label)


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


def liveWithSlots(world):
    """One host is there for two."""
    serve(world, 'big')
    world.rest(slot_host=1, ready=1)
    serve(world, 'big')
    world.rest()
    world.expectCreated(1)


# Name -> life, configuration, nodes that are there, and how many points
# there are at least.
LIVES = {
    'new': (liveWithNewNode, cloud(), {}, 12),
    'two': (liveWithTwoNodes, cloud(), {}, 20),
    'failure': (liveWithFailure, cloud(), {}, 16),
    'ready': (liveWithReadyNode, cloud('min-ready: 1'), {'ready': 1}, 12),
    'left': (liveWithWhatIsLeft, cloud(), {}, 12),
    'static': (liveWithStaticNode, DESK, {'ready': 1}, 3),
    'slots': (liveWithSlots, cloud('slots: 2'), {}, 16),
}


@pytest.fixture(params=LIVES.values(), ids=LIVES)
def life(request):
    return request.param


def test_killed_at_any_point(makeWorld, undivided, life):
    live, text, states, number = life
    points, failures = crashEverywhere(
        lambda: makeWorld(text, **states), live)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    # Otherwise most of what it does was not seen.
    assert len(points) >= number


def test_connection_lost_at_any_write(makeWorld, undivided, life):
    """Whether something was written is not known then; the session goes
    on, and with it the launcher."""
    live, text, states, _ = life
    points, failures = crashEverywhere(
        lambda: makeWorld(text, **states), live, cut=True)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    assert len(points) >= 3


def test_killed_again_and_again(makeWorld, undivided, life):
    """Nobody gets further than a step more than the one before."""
    live, text, states, _ = life
    world = makeWorld(text, **states)
    world.lifetimes = (
        (number, number % 2) for number in itertools.count(2))
    world.launcher.fuse.arm(1)
    live(world)
    assert not world.problems
    assert world.deaths >= 3


def test_killed_while_another_works(makeWorld):
    """Of many requests, both have their share."""
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


def test_taken_over_before_the_layout_is_read(makeWorld, undivided):
    """A provider that is new to a launcher is not one that is gone."""
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


def test_signal_9(makeWorld, zuul_conf, tmp_path):
    """Real processes, of which one dies with nodes being made, another
    with nodes being deleted."""
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
def test_every_state_without_an_owner(makeWorld, assigned):
    """Also if the request to which the node is assigned is gone."""
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
