"""Jobs run in the zone of the executors that can reach their nodes."""

import threading

import pytest
from zuul.launcher.client import LauncherClient
from zuul.model import ProviderNode

from tests.fixtures.racks import addProvider, cloud, isDone
from tests.fixtures.staticlayouts import oneStaticNode

State = ProviderNode.State


def zones(text, **zones):
    """:return: configuration with the zones of some labels."""
    for label, zone in zones.items():
        text = text.replace(
            f'name: {label},', f'name: {label}, executor-zone: {zone},')
    return text


def serve(launcher, *labels, **kwargs):
    """:return: the zone of each node, as their records have it, and that
        of the whole, as the scheduler has it."""
    request = launcher.addRequest(*labels, **kwargs)
    launcher.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    nodes = [launcher.api.getProviderNode(node) for node in request.nodes]
    of_nodes = [node.executor_zone for node in nodes]
    client = LauncherClient(launcher.zk_client, threading.Event())
    seen = client.getRequest(request.uuid)
    assert [seen.getProviderNodeData(index)['executor_zone']
            for index, _ in enumerate(labels)] == of_nodes
    return of_nodes, client.getNodesetInfo(seen).zone


def test_new_nodes_have_executor_zone_of_their_label(steps, racks):
    steps.setLayout(zones(cloud('one'), big='east'))
    assert serve(steps, 'big', 'big') == (['east', 'east'], 'east')
    assert serve(steps, 'other') == ([None], None)


def test_ready_nodes_have_executor_zone_of_their_record(steps, racks):
    """Whatever the label says now."""
    steps.setLayout(
        zones(cloud('one'), big='east').replace(
            'name: big,', 'name: big, min-ready: 2,'))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    ready = [node.uuid for node in steps.nodes()]
    assert serve(steps, 'big') == (['east'], 'east')
    assert any(node.request_id for node in steps.nodes()
               if node.uuid in ready)


def test_nodeset_of_ready_and_new_node_has_one_executor_zone(steps, racks):
    steps.setLayout(zones(cloud('one'), big='east'))
    steps.addNode(steps.getProvider('one'), 'big', state=State.READY,
                  executor_zone='east')
    assert serve(steps, 'big', 'big') == (['east', 'east'], 'east')
    assert len(racks.created) == 1


def test_slots_have_executor_zone_of_their_label(steps, racks):
    steps.setLayout(zones(cloud('one'), big='east').replace(
        'name: big,', 'name: big, slots: 2,'))
    assert serve(steps, 'big') == (['east'], 'east')
    # The other slot.
    assert serve(steps, 'big') == (['east'], 'east')
    assert len(racks.created) == 1


@pytest.mark.parametrize('slots', [1, 2])
def test_static_nodes_have_executor_zone_of_their_label(steps, slots):
    steps.setLayout(zones(oneStaticNode(slots=slots), big='east'))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == slots)
    assert serve(steps, 'big') == (['east'], 'east')


def test_node_of_next_provider_has_executor_zone_of_that(steps, racks):
    steps.setLayout(
        zones(cloud('one', launch_attempts=1), big='east') + addProvider(
            'two', labels='[{name: big, executor-zone: west}]'))
    racks.errors['one'] = RuntimeError('it does not boot')
    assert serve(steps, 'big') == (['west'], 'west')
