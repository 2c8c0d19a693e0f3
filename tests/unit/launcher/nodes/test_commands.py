"""The launcher obeys ``zuul-nodes nodes``."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud
from zuul_nodes import orders, zkrecords
from zuul_nodes.cmd.common import nodechanges as nodes
from zuul_nodes.orders import Order

State = ProviderNode.State


@pytest.fixture
def change(steps):
    """:return: a function that changes a node as the command does."""
    def run(node, action, reason=None, force=False):
        client = steps.zk_client.client
        found, = (each for each in nodes.readNodes(client)
                  if each['uuid'] == node.uuid)
        return nodes.change(client, found, action, reason, force)
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


def hasOrders(launcher):
    return bool(zkrecords.getNames(
        launcher.zk_client.client, f'{orders.ROOT}/{Order.REMOVE}'))


def test_record_of_what_the_cloud_does_not_delete_is_removed(
        steps, racks, ready, change, audited):
    racks.delete_errors['one'] = RuntimeError('it is locked')
    change(ready, 'delete')
    steps.runUntil(lambda: racks.deleted)
    steps.run()
    assert not steps.isGone(ready)
    change(ready, 'delete', force=True)
    # Its back-off does not matter.
    steps.runUntil(lambda: steps.isGone(ready))
    steps.runUntil(lambda: not hasOrders(steps))
    assert ready.uuid in racks.instances
    line, = audited.read(event='deleted', node=ready.uuid)
    assert (line['result'], line['reason']) == (
        'failed', 'the cloud may still have it, by order of the operator')


def test_forced_deletion_of_a_used_node_waits_for_its_request(
        steps, racks, ready, change):
    request, (node,) = steps.serveNew('big')
    change(node, 'delete', force=True)
    # Or it is deleted from its cloud, if the launcher sees its request go
    # before it hears of the order.
    steps.runUntil(lambda: steps.orders.find(
        Order.REMOVE, node.uuid) is not None)
    steps.run()
    assert not steps.isGone(node)
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: steps.isGone(node))
    assert node.uuid not in racks.deleted


def test_order_to_remove_a_node_that_is_gone_goes(steps, ready):
    orders.add(steps.zk_client.client, Order.REMOVE, 32 * 'f')
    steps.runUntil(lambda: steps.orders.find(Order.REMOVE, 32 * 'f') == '')
    steps.runUntil(lambda: not hasOrders(steps))
