"""Slots without their host, and hosts without their slots."""

import time

import pytest
from zuul.launcher.subnodes import SubnodeProviderNode
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.settings import change

State = ProviderNode.State
SLOTS = cloud('one').replace('name: big,', 'name: big, slots: 2,')


@pytest.mark.parametrize(('number', 'late'), [
    (2, False), (2, True), (1, True)])
def test_a_host_without_its_slots(
        steps, racks, number, late, monkeypatch, caplog):
    """It is not waited for them for ever."""
    steps.setLayout(SLOTS)
    racks.slow.add('one')
    request = steps.addRequest('big', 'big')
    steps.runUntil(lambda: racks.instances)
    host, = (node for node in steps.nodes() if node.subnodes)
    slots = [node for node in steps.nodes() if node is not host]
    missing, left = slots[:number], slots[number:]
    with steps.context() as context:
        for slot in missing:
            slot.delete(context)
    steps.runUntil(lambda: host in steps.nodes() and not any(
        slot in steps.nodes() for slot in missing))
    if late:
        change(steps.node_launch.start, slot_sync_timeout=0)
    racks.slow.clear()
    # The request goes on to another.
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    node = steps.api.getProviderNode(request.nodes[0])
    assert node.main_node_id != host.uuid
    if not late:
        assert host.uuid in racks.instances
        change(steps.node_launch.start, slot_sync_timeout=0)
    steps.runUntil(lambda: list(racks.instances) == [node.main_node_id])
    assert all(node.comment == 'the slots are missing'
               for node in (host, *left))
    assert 'Unable to process' not in caplog.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_a_slot_without_its_host(steps, racks, jump):
    """Others may yet write the record; then nobody will."""
    steps.setLayout(SLOTS)
    slot = addSlot(steps)
    held = []
    steps.runUntil(lambda: held.append(slot.is_locked) or (
        True in held and not slot.is_locked))
    assert slot.state == State.BUILDING
    jump(steps.settings.slot_sync_timeout)
    steps.queue.add(('node', slot.uuid))
    steps.runUntil(lambda: not steps.nodes())
    assert slot.comment == 'the host of the slot is missing'
    assert racks.created == racks.deleted == []


@pytest.mark.settings(slot_sync_timeout=0)
def test_a_host_that_goes_while_its_slots_are_to_be_made(
        steps, monkeypatch, kazoo_client):
    """Nobody else would look at them."""
    steps.setLayout(SLOTS)
    host = steps.addNode(steps.getProvider('one'), 'big', state=State.FAILED)
    slot = addSlot(steps, host.uuid)
    with steps.context() as context:
        host.updateAttributes(context, subnodes=[slot.uuid])
    steps.runUntil(lambda: not steps.nodes())


def addSlot(launcher, host_id='gone'):
    """:return: the record of a slot of which there is no host."""
    provider = launcher.getProvider('one')
    label = provider.labels['big']
    with launcher.context() as context:
        slot = SubnodeProviderNode.new(
            context, state=State.BUILDING, state_time=time.time(),
            request_time=time.time(), main_node_id=host_id, slot=0,
            label='big', label_config_hash=label.config_hash,
            provider=provider.canonical_name,
            connection_name=provider.connection_name,
            endpoint_name=provider.getEndpoint().name)
    launcher.runUntilSeen(slot.uuid)
    return launcher.api.getProviderNode(slot.uuid)
