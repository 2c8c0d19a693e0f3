"""Static machines of which several launchers dispose."""

import collections

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import isDone
from tests.fixtures.staticlayouts import severalStaticNodes
from zuul_nodes.launcher.planner import Grant

State = ProviderNode.State

pytestmark = pytest.mark.crash


def test_launchers_register_each_static_node_once(pair):
    pair.setLayout(severalStaticNodes(8))
    node_ids = pair.waitForReady(8)
    # Also for a launcher that comes.
    pair.add('third')
    assert pair.waitForReady(8) == node_ids
    assert {len(launcher.nodes()) for launcher in pair.launchers} == {8}


def test_launchers_give_static_node_to_one_request_at_a_time(pair):
    pair.setLayout(severalStaticNodes(3))
    node_ids = pair.waitForReady(3)
    requests = [pair.addRequest(launcher, 'big') for _ in range(6)
                for launcher in pair.launchers]
    jobs = collections.Counter()
    while requests:
        pair.runUntil(lambda waiting=requests: any(map(isDone, waiting)))
        pair.run()
        running = [request for request in requests if isDone(request)]
        used = [node for request in running for node in request.nodes]
        assert len(used) == len(set(used))
        jobs.update(used)
        pair.finish(*running)
        requests = [each for each in requests if each not in running]
    assert jobs.keys() == node_ids
    assert sum(jobs.values()) == 12
    assert pair.waitForReady(3) == node_ids


def test_deposed_planner_does_not_grant_the_last_static_node(
        pair, monkeypatch):
    """The other request waits for the node, and gets it next."""
    pair.setLayout(severalStaticNodes(1))
    node_id, = pair.waitForReady(1)
    requests = [pair.addRequest(pair.launchers[0], 'big')]

    def act(_):
        requests.append(pair.depose('big'))
    decisions = pair.interrupt(monkeypatch, act)
    pair.runUntil(lambda: len(requests) > 1)
    pair.run()
    assert decisions == [Grant]
    assert requests[1].nodes == [node_id]
    assert not requests[0].nodes
    pair.finish(requests[1])
    pair.runUntil(lambda: isDone(requests[0]))
    assert requests[0].nodes == [node_id]


def test_used_static_node_comes_back_when_its_launcher_has_gone(pair):
    pair.setLayout(severalStaticNodes(1))
    node_id, = pair.waitForReady(1)
    owner = next(
        launcher for launcher in pair.launchers
        if launcher.ownership.isMyNode(launcher.api.getProviderNode(node_id)))
    request = pair.addRequest(owner, 'big')
    pair.serve(request)
    pair.remove(owner)
    pair.finish(request)
    assert pair.waitForReady(1) == {node_id}


def test_launcher_serves_waiting_request_of_one_that_has_gone(pair):
    pair.setLayout(severalStaticNodes(1))
    node_id, = pair.waitForReady(1)
    first, second = pair.launchers
    used = pair.addRequest(second, 'big')
    pair.serve(used)
    request = pair.addRequest(first, 'big')
    pair.runUntil(lambda: first.planner.getReason(request.uuid))
    pair.remove(first)
    pair.finish(used)
    seen = second.api.getNodesetRequest(request.uuid)
    pair.runUntil(lambda: isDone(seen))
    assert seen.nodes == [node_id]


def test_launchers_share_slots_of_static_node(pair):
    pair.setLayout(severalStaticNodes(1, slots=2))
    slots = pair.waitForReady(2)
    requests = [pair.addRequest(launcher, 'big')
                for launcher in pair.launchers]
    nodes = pair.serve(*requests)
    assert {node.uuid for node in nodes} == slots
    host_id, = {node.main_node_id for node in nodes}
    third = pair.addRequest(pair.launchers[0], 'big')
    pair.runUntil(
        lambda: pair.launchers[0].planner.getReason(third.uuid))
    # The machine begins anew when both are done with it.
    pair.finish(*requests)
    node, = pair.serve(third)
    assert node.main_node_id == host_id
    pair.finish(third)
    pair.waitForReady(2)


@pytest.mark.parametrize('after', ['goes', 'changes'])
def test_used_static_nodes_follow_changed_configuration_afterwards(
        pair, after):
    pair.setLayout(severalStaticNodes(2))
    node_ids = pair.waitForReady(2)
    requests = [pair.addRequest(launcher, 'big')
                for launcher in pair.launchers]
    nodes = pair.serve(*requests)
    pair.setLayout('[]' if after == 'goes'
                   else severalStaticNodes(2, label='other'))
    pair.run()
    assert {node.uuid for node in nodes} == node_ids
    pair.finish(*requests)
    if after == 'goes':
        pair.runUntil(lambda: not any(
            launcher.nodes() for launcher in pair.launchers))
    else:
        assert pair.waitForReady(2, label='other') == node_ids
