"""Nodes that are ready, and whose instances are not there any more."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud, isDone
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint

State = ProviderNode.State
READY = '[{name: big, min-ready: 2}]'


@pytest.fixture
def ready(steps, racks):
    """:return: two nodes that are ready."""
    steps.setLayout(cloud('one', labels=READY))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    return steps.nodes(State.READY)


def look(steps, age=0):
    """Have the launcher look at the lists of instances.

    :param age: minimum seconds that a node has been ready.
    """
    reconciler = steps.endpoint_reconciler
    interval = reconciler.turns.interval
    # Of this clean-up alone: others would find the same, and write it first.
    reconciler.turns.interval = age
    for endpoint in list(steps.getEndpoints().values()):
        reconciler.cleanUp(endpoint)
    reconciler.turns.interval = interval


def waitForOthers(steps, racks, node):
    """The node goes, and another one comes in its place."""
    steps.runUntil(lambda: steps.isGone(node)
                   and len(steps.nodes(State.READY)) == 2)
    assert node.uuid not in racks.instances


def test_node_whose_instance_is_gone_is_replaced(steps, racks, ready, log):
    node, other = ready
    del racks.instances[node.uuid]
    look(steps)
    assert (node.state, other.state) == (State.FAILED, State.READY)
    assert node.comment == 'the cloud has no instance of it'
    assert ('is ready, but the cloud has no instance of it at endpoint'
            in log.text)
    waitForOthers(steps, racks, node)


def test_node_whose_instance_does_not_run_is_replaced(steps, racks, ready):
    node, other = ready
    racks.problems[node.uuid] = 'its instance is stopped'
    look(steps)
    assert (node.state, other.state) == (State.FAILED, State.READY)
    assert node.comment == 'its instance is stopped'
    waitForOthers(steps, racks, node)


def test_request_does_not_get_a_node_whose_instance_is_gone(
        steps, racks, ready):
    node, other = ready
    racks.instances.clear()
    look(steps)
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    uuid, = request.nodes
    assert uuid not in (node.uuid, other.uuid)


def test_a_node_missing_in_one_list_only_stays(steps, racks, ready):
    racks.lists = iter([[]])
    look(steps)
    assert {node.state for node in ready} == {State.READY}


def test_list_that_fails_says_nothing(steps, racks, ready):
    def fail():
        yield from ()
        raise ConnectionError('later')
    racks.lists = iter([fail()])
    look(steps)
    racks.lists = iter([[], fail()])
    look(steps)
    assert {node.state for node in ready} == {State.READY}


def test_instance_whose_tags_can_not_be_read_may_be_that_of_any_node(
        steps, racks, ready):
    racks.lists = iter([[42], []])
    look(steps)
    assert {node.state for node in ready} == {State.READY}


def test_node_that_a_list_would_not_have_is_left_alone(
        steps, racks, ready, monkeypatch):
    node, other = ready
    monkeypatch.setattr(
        ShelfEndpoint, 'isListed',
        lambda endpoint, asked: asked.uuid != node.uuid, raising=False)
    racks.instances.clear()
    look(steps)
    assert (node.state, other.state) == (State.READY, State.FAILED)


def test_node_that_has_just_become_ready_is_left_alone(steps, racks, ready):
    racks.instances.clear()
    look(steps, age=60)
    assert {node.state for node in ready} == {State.READY}


def test_node_of_a_request_is_left_alone(steps, racks, ready):
    _, (node,) = steps.serveNew('big')
    racks.instances.clear()
    look(steps)
    assert node.state != State.FAILED


def test_slots_of_a_host_that_is_gone_go_with_it(steps, racks):
    steps.setLayout(cloud('one', labels='[{name: big, slots: 2, '
                          'min-ready: 2}]'))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    slots = steps.nodes(State.READY)
    host, = steps.nodes(State.SLOT_HOST)
    look(steps)
    assert {slot.state for slot in slots} == {State.READY}
    del racks.instances[host.uuid]
    look(steps)
    steps.runUntil(lambda: steps.isGone(host, *slots))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
