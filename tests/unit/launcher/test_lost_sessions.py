"""What two launchers do for one node, when the first loses its session while
it calls the cloud."""

import dataclasses
import itertools
import threading

import pytest

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.racks import isDone
from tests.unit.drivers.fake.layout import LAYOUT
from zuul_nodes.drivers import Ability
from zuul_nodes.drivers.fake import FakeAdapter


class Held:
    """The first call for an instance, in a cloud that makes as many of one
    name as it is asked for.

    :ivar Event begun: is set when it has begun.
    :ivar Event go_on: has it go on.
    :ivar Event ended: is set when the cloud has an instance more.
    """

    def __init__(self, monkeypatch):
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.ended = threading.Event()
        numbers = itertools.count()
        create = FakeAdapter.createInstance

        def createNumbered(adapter, spec):
            number = next(numbers)
            if not number:
                self.begun.set()
                assert self.go_on.wait(TIMEOUT)
            instance = create(adapter, dataclasses.replace(
                spec, name=f'{spec.name}-{number}'))
            if not number:
                self.ended.set()
            return instance
        monkeypatch.setattr(FakeAdapter, 'createInstance', createNumbered)
        monkeypatch.setattr(
            FakeAdapter, 'abilities',
            FakeAdapter.abilities - {Ability.UNIQUE_NAMES})


@pytest.fixture
def held(monkeypatch):
    held = Held(monkeypatch)
    yield held
    held.go_on.set()


@pytest.fixture
def clouds(zuul_conf, tmp_path):
    """Two launchers have the same cloud."""
    zuul_conf.read_dict({'connection fake': {
        'driver': 'fake', 'path': str(tmp_path / 'cloud')}})


def getInstances(launcher):
    """:return: dict, name of an instance -> the node that it is tagged with.
    """
    cloud = launcher.getProvider('provider').getEndpoint().adapter.cloud
    return {name: tags['zuul_node_uuid']
            for name, tags, *_ in cloud.listInstances()}


@pytest.mark.settings(cleanup_interval=0.3)
def test_instance_that_a_deposed_launcher_creates_late_is_deleted(
        clouds, pair, held, expire):
    pair.setLayout(LAYOUT)
    request = pair.addRequest(pair.launchers[0], 'label')
    pair.runUntil(lambda: held.begun.is_set() and all(
        launcher.nodes() for launcher in pair.launchers))
    node_id, = request.nodes
    first, second = sorted(
        pair.launchers,
        key=lambda launcher: not launcher.api.getProviderNode(
            node_id).hasLock())
    expire(first)
    # Until it is back, it has no part in anything.
    first.component_info.state = first.component_info.PAUSED
    second.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    own, = getInstances(second)
    first.component_info.state = first.component_info.RUNNING
    held.go_on.set()
    assert held.ended.wait(TIMEOUT)
    assert list(getInstances(second).values()) == [node_id] * 2
    pair.runUntil(lambda: len(getInstances(second)) == 1)
    assert getInstances(second) == {own: node_id}
    node = second.api.getProviderNode(node_id)
    assert node.create_state['instance_id'] == own
    assert node.state == node.State.READY
    pair.finish(request)
    pair.runUntil(lambda: not getInstances(second))
