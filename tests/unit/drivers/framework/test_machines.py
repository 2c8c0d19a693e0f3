"""The states of nodes, whatever becomes of calls and launchers."""

import threading

import pytest

from tests.unit.drivers.framework.adapters import ZoneDriver
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    State,
    TemporaryError,
)


def test_life(site):
    node = site.makeNode()
    machine = site.create(node)
    assert site.advance(node, machine) is None
    assert machine.state == machine.BOOTING
    assert not machine.complete
    instance = site.boot(node, machine)
    assert machine.complete
    assert node.interface_ip == '192.0.2.1'
    assert node.create_state['instance_id'] == instance.id
    assert node.quota.getResources() == {'instances': 1}
    deletion = site.delete(node)
    site.advance(node, deletion)
    assert deletion.complete
    assert not site.adapter.instances


def test_the_answer_to_a_creation_is_lost(site):
    site.adapter.lost['createInstance'] = [TemporaryError('lost')]
    node = site.makeNode()
    with pytest.raises(TemporaryError):
        site.advance(node, site.create(node))
    # Whoever comes next makes no other one.
    machine = site.create(node)
    site.boot(node, machine)
    assert machine.complete
    assert len(site.adapter.instances) == 1


def test_a_node_given_up_unfinished_is_found_by_its_tags(site):
    site.adapter.lost['createInstance'] = [TemporaryError('lost')]
    node = site.makeNode()
    with pytest.raises(TemporaryError):
        site.advance(node, site.create(node))
    deletion = site.delete(node)
    while not deletion.complete:
        site.advance(node, deletion)
    assert not site.adapter.instances


def test_all_instances_of_a_node_are_removed(site):
    node = site.makeNode()
    machine = site.create(node)
    site.boot(node, machine)
    other = site.makeNode()
    site.advance(other, site.create(other))
    site.adapter.createInstance(machine._getSpec(None))
    deletion = site.delete(node)
    while not deletion.complete:
        site.advance(node, deletion)
    assert [each.tags for each in site.adapter.instances] == [other.tags]


def test_another_launcher_goes_on(site):
    node = site.makeNode()
    machine = site.create(node)
    site.advance(node, machine)
    again = site.record(node, machine)
    second = site.create(again)
    site.boot(again, second)
    assert second.complete
    assert len(site.adapter.getCalls('createInstance')) == 1


def test_a_failed_instance_says_why(site):
    node = site.makeNode()
    machine = site.create(node)
    site.advance(node, machine)
    instance, = site.adapter.instances
    instance.state = State.FAILED
    instance.message = 'no such disk'
    with pytest.raises(DriverError, match=r'failed: no such disk'):
        site.advance(node, machine)
    instance.error = PermanentError
    with pytest.raises(PermanentError):
        site.advance(node, machine)


def test_an_instance_that_is_not_listed_has_vanished(site):
    node = site.makeNode()
    machine = site.create(node)
    site.advance(node, machine)
    site.adapter.instances.clear()
    # It may not be listed yet.
    assert site.advance(node, machine) is None
    site.endpoint.listing.appearance_timeout = -1
    with pytest.raises(DriverError, match='vanished'):
        site.advance(node, machine)


def test_lists_that_fail_are_asked_for_again(site):
    node = site.makeNode()
    machine = site.create(node)
    site.advance(node, machine)
    site.adapter.errors['listInstances'] = [TemporaryError('down')] * 3
    for _ in range(3):
        assert site.advance(node, machine) is None
    site.boot(node, machine)
    assert machine.complete


def test_a_zone_without_room(makeSite):
    site = makeSite(ZoneDriver)
    node = site.makeNode()
    site.adapter.errors['createInstance'] = [
        CapacityError('full'), CapacityError('full')]
    machine = site.create(node)
    site.advance(node, machine)
    site.advance(site.record(node, machine), machine)
    site.advance(node, machine)
    assert machine.state == machine.BOOTING
    zones = [spec.zone for spec in site.adapter.getCalls('createInstance')]
    assert sorted(zones) == ['a', 'b', 'c']


@pytest.mark.parametrize('zone', ['a', 'b', 'c'])
def test_the_zone_that_is_wanted(makeSite, zone):
    """Others of the nodeset are there; the label has no zones."""
    site = makeSite(ZoneDriver)
    node = site.makeNode(az=zone)
    site.adapter.errors['createInstance'] = [CapacityError('full')]
    machine = site.create(node)
    while machine.state != machine.BOOTING:
        site.advance(node, machine)
    first, second = [
        spec.zone for spec in site.adapter.getCalls('createInstance')]
    assert first == zone != second


def test_no_zone_has_room(makeSite):
    site = makeSite(ZoneDriver)
    node = site.makeNode()
    site.adapter.errors['createInstance'] = [CapacityError('full')] * 3
    machine = site.create(node)
    for _ in range(2):
        site.advance(node, machine)
    with pytest.raises(QuotaError):
        site.advance(node, machine)


def test_a_zone_that_says_later_that_it_has_no_room(makeSite):
    site = makeSite(ZoneDriver)
    node = site.makeNode()
    machine = site.create(node)
    tried = []
    while len(tried) < 3:
        while machine.state != machine.BOOTING:
            site.advance(node, machine)
        instance, = site.adapter.instances
        tried.append(instance.az)
        instance.state = State.FAILED
        instance.message = 'exhausted'
        instance.error = CapacityError
        if len(tried) < 3:
            site.advance(node, machine)
            assert machine.state == machine.MOVING
        if len(tried) == 2:
            # Another launcher goes on.
            node = site.record(node, machine)
            machine = site.create(node)
    with pytest.raises(CapacityError, match='exhausted'):
        site.advance(node, machine)
    assert sorted(tried) == ['a', 'b', 'c']


def test_nodes_of_a_request_are_in_one_zone(makeSite):
    site = makeSite(ZoneDriver)
    nodes = [site.makeNode(request_time=5.0) for _ in range(4)]
    assert len({site.provider.getZones(node)[0] for node in nodes}) == 1
    assert len({site.provider.getZones(site.makeNode(
        request_time=float(number)))[0] for number in range(30)}) == 3


def test_a_deletion_waits_for_a_creation_that_goes_on(site, go_on):
    acted = site.holdCreation(go_on)
    node = site.makeNode()
    machine = site.create(node)
    thread = threading.Thread(target=site.advance, args=(node, machine))
    thread.start()
    assert acted.wait(30)
    # Another step, for the first one was given up, does not call twice.
    assert machine.advance() is None
    deletion = site.delete(node)
    deletion.advance()
    assert deletion.state == deletion.START
    go_on.set()
    thread.join(30)
    while not deletion.complete:
        site.advance(node, deletion)
    assert not site.adapter.instances


def test_an_instance_that_stays_is_asked_for_again(site, monkeypatch):
    node = site.makeNode()
    site.boot(node, site.create(node))
    instances = site.adapter.instances
    monkeypatch.setattr(
        site.adapter, 'deleteInstance',
        lambda name: site.adapter.calls.append(('deleteInstance', name)))
    deletion = site.delete(node)
    for _ in range(3):
        site.advance(node, deletion)
    assert len(site.adapter.getCalls('deleteInstance')) == 1
    deletion.removal.repeat_interval = 0
    site.advance(node, deletion)
    assert len(site.adapter.getCalls('deleteInstance')) > 1
    assert not deletion.complete
    instances.clear()
    site.advance(node, deletion)
    assert deletion.complete
