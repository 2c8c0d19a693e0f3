"""The launcher obeys ``zuul-nodes requests cancel``."""

import pytest

from tests.fixtures.racks import cloud, isDone
from zuul_nodes import orders, requestnotes, zkrecords
from zuul_nodes.cmd import requests
from zuul_nodes.orders import Order

ONE = cloud('one', resource_limits='{instances: 1}')
REASON = 'cancelled by the operator: wrong'


def cancel(client, request, reason='wrong'):
    """Cancel a request as the command does."""
    found, = (each for each in requests.readRequests(client)
              if each['uuid'] == request.uuid)
    return requests.cancel(client, found, reason)


def hasOrders(launcher):
    client = launcher.zk_client.client
    return bool(zkrecords.getNames(client, f'{orders.ROOT}/{Order.CANCEL}'))


def sends(launcher):
    """:return: uuids of the requests whose end the pipeline has been told."""
    queue = launcher.result_events['tenant']['check']
    return [event.request_id for event in queue]


def test_waiting_request_fails_with_the_reason(steps, racks, audited):
    steps.setLayout(ONE)
    running, _ = steps.serveNew('big')
    waiting, next_one = (steps.addRequest('big') for _ in range(2))
    steps.runUntilWaiting(waiting, next_one)
    cancel(steps.zk_client.client, waiting)
    steps.runUntil(lambda: isDone(waiting))
    assert waiting.state == waiting.State.FAILED
    assert requestnotes.getReason(waiting) == REASON
    assert sends(steps) == [running.uuid, waiting.uuid]
    line, = audited.read(event='overrode')
    assert (line['request'], line['state'], line['reason']) == (
        waiting.uuid, 'failed', REASON)
    steps.runUntil(lambda: not hasOrders(steps))
    # The next one is not forgotten.
    assert steps.planner.getReason(next_one.uuid)


def test_accepted_request_fails_and_its_nodes_go_on(steps, racks):
    steps.setLayout(ONE)
    racks.slow.add('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: request.state == request.State.ACCEPTED
                   and steps.nodes() and racks.instances)
    assert request.hasLock()
    cancel(steps.zk_client.client, request, None)
    steps.runUntil(lambda: isDone(request))
    assert requestnotes.getReason(request) == 'cancelled by the operator'
    assert not request.hasLock()
    with steps.context() as context:
        request.delete(context)
    racks.slow.clear()
    # What was being built is for the next one.
    _, (node,) = steps.serveNew('big')
    assert racks.created == ['one']
    assert node.uuid in racks.instances


def test_request_that_has_its_nodes_already_keeps_them(steps, racks):
    steps.setLayout(ONE)
    request, _ = steps.serveNew('big')
    orders.add(steps.zk_client.client, Order.CANCEL, request.uuid)
    steps.runUntil(lambda: not hasOrders(steps))
    assert request.state == request.State.FULFILLED


def test_order_for_a_request_that_is_gone_goes(steps, racks):
    steps.setLayout(ONE)
    orders.add(steps.zk_client.client, Order.CANCEL, 32 * 'f')
    steps.runUntil(lambda: steps.orders.find(Order.CANCEL, 32 * 'f') == '')
    steps.runUntil(lambda: not hasOrders(steps))


def test_order_that_is_not_readable_is_obeyed(steps, racks):
    steps.setLayout(ONE)
    racks.slow.add('one')
    request = steps.addRequest('big')
    zkrecords.write(steps.zk_client.client, orders.getPath(
        Order.CANCEL, request.uuid), b'[]')
    steps.fail(request)
    assert requestnotes.getReason(request) == 'cancelled by the operator'


@pytest.mark.crash
def test_the_launcher_that_has_the_lock_obeys(pair, racks):
    pair.setLayout(ONE)
    racks.slow.add('one')
    first, second = pair.launchers
    request = pair.addRequest(first, 'big')
    pair.runUntil(request.hasLock)
    # The other launcher plans now.
    first.zk_client.client.delete(first.election.getTerm())
    pair.runUntil(lambda: second.election._term)
    cancel(second.zk_client.client, request)
    pair.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    pair.runUntil(lambda: not hasOrders(second))


@pytest.mark.crash
def test_the_next_launcher_obeys(pair, racks):
    pair.setLayout(ONE)
    first, second = pair.launchers
    pair.serve(pair.addRequest(first, 'big'))
    waiting = pair.addRequest(first, 'big')
    pair.runUntil(lambda: first.planner.getReason(waiting.uuid))
    first.zk_client.client.delete(first.election.getTerm())
    cancel(first.zk_client.client, waiting)
    pair.runUntil(lambda: isDone(waiting))
    pair.runUntil(lambda: not hasOrders(second))
