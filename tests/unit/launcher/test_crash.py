"""Launchers die at any point, and nobody who uses nodes notices."""

import threading

import pytest
from zuul.model import ProviderNode

from tests.fixtures.crash import Killed, World, crashEverywhere
from tests.fixtures.inventory import install
from tests.fixtures.racks import cloud
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


def test_new_node(makeWorld):
    def live(world):
        world.use(world.waitFulfilled(world.addRequest('big')))
        world.rest()
    points, failures = crashEverywhere(
        lambda: makeWorld(cloud('one')), live)
    print('\n'.join(points), len(points))
    assert failures == []
