"""The launcher obeys ``zuul-nodes nodes``."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud
from zuul_nodes.cmd import nodes

State = ProviderNode.State


@pytest.fixture
def change(steps):
    """:return: a function that changes a node as the command does."""
    def run(node, action, reason=None):
        client = steps.zk_client.client
        found, = (each for each in nodes.readNodes(client)
                  if each['uuid'] == node.uuid)
        return nodes.change(client, found, action, reason)
    return run


@pytest.fixture
def ready(steps, racks):
    steps.setLayout(cloud('one', labels='[{name: big, min-ready: 1}]'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    node, = steps.nodes(State.READY)
    return node


def test_held_node_stays_until_it_is_released(steps, racks, ready, change):
    change(ready, 'hold', 'look at it')
    steps.runUntil(lambda: ready.state == State.HOLD)
    assert ready.comment == 'look at it'
    steps.serveNew('big')
    steps.run()
    assert ready.state == State.HOLD
    change(ready, 'release')
    steps.runUntil(lambda: steps.isGone(ready))
    assert ready.uuid not in racks.instances


def test_deleted_node_is_replaced(steps, racks, ready, change):
    change(ready, 'delete')
    steps.runUntil(lambda: steps.isGone(ready))
    steps.runUntil(lambda: steps.nodes(State.READY))
    assert ready.uuid not in racks.instances


def test_used_node_is_held_when_its_request_has_ended(
        steps, racks, ready, change):
    request, (node,) = steps.serveNew('big')
    change(node, 'hold')
    steps.run()
    assert node.state != State.HOLD
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: node.state == State.HOLD)
