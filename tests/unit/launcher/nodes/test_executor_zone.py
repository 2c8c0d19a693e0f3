"""Jobs run in the zone of the executors that can reach their nodes."""

import threading

import pytest
from zuul.launcher.client import LauncherClient
from zuul.model import ProviderNode

from tests.fixtures.racks import addProvider, cloud, isDone
from tests.fixtures.staticlayouts import oneStaticNode
from zuul_nodes.requestnotes import getReason

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


def test_all_nodes_of_a_nodeset_are_in_one_executor_zone(steps, racks):
    """Though the first provider alone would be preferred for one of them."""
    steps.setLayout(cloud(
        'one', labels='[{name: big, executor-zone: east}]') + addProvider(
            'two', labels='[{name: big, executor-zone: west}, '
            '{name: other, executor-zone: west}]', priority=2))
    for labels in (['big', 'other'], ['other', 'big'], ['other'] * 2):
        assert serve(steps, *labels) == (['west'] * len(labels), 'west')
    assert serve(steps, 'big') == (['east'], 'east')
    assert serve(steps, 'big', 'big') == (['east'] * 2, 'east')


def test_nodes_of_several_providers_are_in_one_executor_zone(steps, racks):
    steps.setLayout(cloud(
        'one', labels='[{name: big, executor-zone: east}]') + addProvider(
            'two', labels='[{name: big, executor-zone: west}]',
            priority=2) + addProvider(
                'three', labels='[{name: other, executor-zone: west}]'))
    assert serve(steps, 'big', 'other') == (['west'] * 2, 'west')


@pytest.mark.parametrize('zone', ['west', None])
def test_nodeset_without_a_common_executor_zone_fails_with_that_reason(
        steps, racks, zone):
    steps.setLayout(cloud(
        'one', labels='[{name: big, executor-zone: east}]') + addProvider(
            'two', labels=f'[{{name: other, executor-zone: {zone}}}]'
            if zone else '[other]'))
    request = steps.addRequest('big', 'other')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    zones = 'east, west' if zone else 'east, none'
    assert ('all nodes of a nodeset must be in one executor zone, and those '
            f'of its labels are: {zones}') in getReason(request)
    assert racks.created == []


def test_ready_node_of_another_executor_zone_is_not_for_the_nodeset(
        steps, racks):
    """It has the label as an alias, and is itself of another one."""
    steps.setLayout(cloud('one').replace(
        'name: big,', 'name: big, executor-zone: east, aliases: [other], '
        'min-ready: 1,'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    text, of_all = serve(steps, 'other', 'other')
    assert text == [None, None]
    assert of_all is None
    assert serve(steps, 'other') == (['east'], 'east')
