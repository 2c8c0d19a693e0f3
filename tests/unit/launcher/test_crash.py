"""Launchers die at any point, and nobody who uses nodes notices."""

import threading

import pytest
from zuul.model import ProviderNode

from tests.fixtures.crash import Killed, World, crashEverywhere
from tests.fixtures.inventory import install
from zuul_nodes.launcher import launcher as launcher_module
from zuul_nodes.launcher import machines as machines_module
from zuul_nodes.launcher import workqueue as workqueue_module

State = ProviderNode.State


@pytest.fixture
def makeWorld(zuul_conf, tmp_path, monkeypatch):
    """:return: a function that makes a :class:`World` with a layout."""
    install(monkeypatch.setattr)
    # Nothing is gained by waiting.
    for module in (launcher_module, machines_module, workqueue_module):
        monkeypatch.setattr(module, 'getPause', lambda *args, **kwargs: 0.01)
    monkeypatch.setattr(machines_module, 'SHORTEST_WAIT', 0.001)
    hook = threading.excepthook
    monkeypatch.setattr(threading, 'excepthook', lambda args: (
        None if args.exc_type is Killed else hook(args)))

    def make(text, own=None, **states):
        world = World(zuul_conf, tmp_path)
        world.launcher.setLayout(text, own=own)
        world.rest(**states)
        return world
    return make


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


@pytest.mark.parametrize('live, text, states', [
    (liveWithNewNode, cloud(), {}),
    (liveWithTwoNodes, cloud(), {}),
    (liveWithFailure, cloud(), {}),
    (liveWithReadyNode, cloud('min-ready: 1'), {'ready': 1}),
    (liveWithWhatIsLeft, cloud(), {}),
    (liveWithStaticNode, DESK, {'ready': 1}),
    (liveWithSlots, cloud('slots: 2'), {}),
], ids=lambda value: getattr(value, '__name__', ''))
def test_crash_everywhere(makeWorld, live, text, states):
    points, failures = crashEverywhere(
        lambda: makeWorld(text, **states), live)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    assert len(points) >= 10
