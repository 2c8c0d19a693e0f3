"""Static machines of which several launchers dispose."""

import collections

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import isDone
from zuul_nodes.launcher.planner import Grant

State = ProviderNode.State

pytestmark = pytest.mark.crash

DESK = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: local}}
- label: {{name: big, image: debian, flavor: local}}
- label: {{name: other, image: debian, flavor: local}}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [local]
    nodes: {machines}
- provider:
    name: desk
    section: desk
    label-defaults: {{host-key-checking: false, slots: {slots}}}
    labels: [big, other]
'''


def desk(number, slots=1, label='big'):
    """:return: configuration: so many machines."""
    return DESK.format(slots=slots, machines=[
        {'name': f'127.0.0.{each + 1}', 'connection-port': 22,
         'username': 'zuul', 'label': label} for each in range(number)])


def getReady(launcher, label='big'):
    """:return: uuids of the nodes that are ready for anybody."""
    return {node.uuid for node in launcher.nodes(State.READY)
            if node.label == label
            and not (node.request_id or node.is_locked)}


def waitForReady(several, number, **kwargs):
    """:return: their uuids."""
    several.runUntil(lambda: all(
        len(getReady(launcher, **kwargs)) == number
        for launcher in several.launchers))
    several.run()
    ready = [getReady(launcher, **kwargs) for launcher in several.launchers]
    assert all(each == ready[0] for each in ready)
    assert len(ready[0]) == number
    return ready[0]


def test_they_are_registered_once(pair):
    pair.setLayout(desk(8))
    node_ids = waitForReady(pair, 8)
    # Also for a launcher that comes.
    pair.add('third')
    assert waitForReady(pair, 8) == node_ids
    assert {len(launcher.nodes()) for launcher in pair.launchers} == {8}


def test_one_job_at_a_time(pair):
    pair.setLayout(desk(3))
    node_ids = waitForReady(pair, 3)
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
    assert waitForReady(pair, 3) == node_ids


def test_both_take_the_last_one(pair, monkeypatch):
    """One does; the other waits for it, and gets it."""
    pair.setLayout(desk(1))
    node_id, = waitForReady(pair, 1)
    requests = [pair.addRequest(launcher, 'big')
                for launcher in pair.launchers]
    decisions = pair.decideTogether(requests, monkeypatch)
    pair.runUntil(lambda: isDone(requests[1]))
    pair.run()
    assert decisions == [Grant]
    assert requests[1].nodes == [node_id]
    assert not requests[0].nodes
    pair.finish(requests[1])
    pair.runUntil(lambda: isDone(requests[0]))
    assert requests[0].nodes == [node_id]


def test_a_launcher_goes_while_its_machine_is_used(pair):
    """It comes back all the same, once."""
    pair.setLayout(desk(1))
    node_id, = waitForReady(pair, 1)
    owner = next(
        launcher for launcher in pair.launchers
        if launcher.division.isMyNode(launcher.api.getProviderNode(node_id)))
    request = pair.addRequest(owner, 'big')
    pair.serve(request)
    pair.remove(owner)
    pair.finish(request)
    assert waitForReady(pair, 1) == {node_id}


def test_a_launcher_goes_with_a_request_that_waits(pair):
    pair.setLayout(desk(1))
    node_id, = waitForReady(pair, 1)
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


def test_slots(pair):
    pair.setLayout(desk(1, slots=2))
    slots = waitForReady(pair, 2)
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
    waitForReady(pair, 2)


@pytest.mark.parametrize('after', ['goes', 'changes'])
def test_the_configuration_changes_while_they_are_used(pair, after):
    pair.setLayout(desk(2))
    node_ids = waitForReady(pair, 2)
    requests = [pair.addRequest(launcher, 'big')
                for launcher in pair.launchers]
    nodes = pair.serve(*requests)
    pair.setLayout('[]' if after == 'goes' else desk(2, label='other'))
    pair.run()
    assert {node.uuid for node in nodes} == node_ids
    pair.finish(*requests)
    if after == 'goes':
        pair.runUntil(lambda: not any(
            launcher.nodes() for launcher in pair.launchers))
    else:
        assert waitForReady(pair, 2, label='other') == node_ids
