"""What a launcher finds that was killed, or has other things to do."""

from concurrent.futures import Future
import threading

import pytest
from zuul.model import QuotaInformation

from tests.unit.drivers.framework.adapters import (
    ListAdapter,
    ListDriver,
    RegionDriver,
)
from zuul_nodes.drivers import Ability, TemporaryError
from zuul_nodes.drivers.framework import calls


class SnapshotAdapter(ListAdapter):
    abilities = frozenset({Ability.SNAPSHOTS})

    def createSnapshot(self, instance_id, spec):
        self.calls.append(('createSnapshot', spec))
        assert self.go_on.wait(30)
        return 'image'


class SnapshotDriver(ListDriver):
    """A cloud in a list, with images of instances."""

    name = 'snapshot'
    adapter_class = SnapshotAdapter


def test_instance_asked_for_by_a_killed_launcher_is_found(site):
    node = site.makeNode()
    machine = site.create(node)
    # The record says that it was asked for; the answer is lost with the
    # launcher.
    machine.state = machine.ASKED
    site.adapter.createInstance(machine._getSpec(None))
    again = site.record(node, machine)
    second = site.create(again)
    site.boot(again, second)
    assert second.complete
    assert len(site.adapter.instances) == 1


def test_instance_whose_host_keys_were_not_read_is_found(site):
    node = site.makeNode()
    machine = site.create(node)
    site.boot(node, machine)
    again = site.record(node, machine)
    second = site.create(again)
    site.advance(again, second)
    assert second.complete
    assert again.interface_ip == '192.0.2.1'
    assert len(site.adapter.getCalls('createInstance')) == 1


def test_nothing_is_created_while_a_call_for_it_is_under_way(
        site, go_on):
    acted = site.holdCreation(go_on)
    node = site.makeNode()
    first = site.create(node)
    thread = threading.Thread(target=first.advance)
    thread.start()
    assert acted.wait(30)
    second = site.create(node)
    assert site.advance(node, second) is None
    # This list does not have it yet, and there is none after it for now.
    site.endpoint.listing.getNow()
    site.endpoint.listing.interval = 1e12
    go_on.set()
    thread.join(30)
    assert site.advance(node, second) is None
    site.endpoint.listing.interval = 0
    site.boot(node, second)
    assert second.complete
    assert len(site.adapter.instances) == 1


def test_call_that_waits_for_a_thread_does_not_time_out(
        makeSite, monkeypatch, go_on):
    site = makeSite(api_timeout='0.001')
    site.driver.steps_have_threads = False
    monkeypatch.setattr(
        site.adapter, 'createInstance', lambda spec: go_on.wait(30))
    monkeypatch.setattr(site.adapter, 'deleteInstance', lambda name: name)
    perform = site.endpoint.calls.perform
    for number in range(calls.WORKERS):
        perform(str(number), 'createInstance', None, limit=1000)
    threading.Event().wait(0.01)
    assert perform('x', 'deleteInstance', 'x') is None
    threading.Event().wait(0.01)
    assert perform('x', 'deleteInstance', 'x') is None


@pytest.mark.parametrize('error', [None, TemporaryError('down')])
def test_a_call_may_end_later_in_no_thread(makeSite, monkeypatch, error):
    site = makeSite()
    delete, futures = site.adapter.deleteInstance, []

    def deleteLater(instance_id):
        futures.append(Future())
        return futures[-1]
    node = site.makeNode()
    site.boot(node, site.create(node))
    monkeypatch.setattr(site.adapter, 'deleteInstance', deleteLater)
    deletion = site.delete(node)
    for _ in range(3):
        site.advance(node, deletion)
    future, = futures
    assert not deletion.complete
    if error:
        future.set_exception(error)
        with pytest.raises(TemporaryError):
            site.advance(node, deletion)
        return
    delete(site.adapter.instances[0].id)
    future.set_result(None)
    site.advance(node, deletion)
    assert deletion.complete


def test_a_deletion_does_not_wait_for_a_snapshot(makeSite, go_on):
    site = makeSite(SnapshotDriver)
    site.adapter.go_on = go_on
    node = site.makeNode()
    site.boot(node, site.create(node))
    snapshot = site.provider.getSnapshotStateMachine(node, site.log)
    assert snapshot.advance() is None
    deletion = site.delete(node)
    site.advance(node, deletion)
    assert deletion.complete
    assert not site.adapter.instances


def test_node_keeps_the_quota_it_was_planned_with(makeSite):
    site = makeSite(RegionDriver, password='long enough')
    # The flavor has changed since; nobody has asked for the new one yet.
    quota = QuotaInformation(instances=1, cores=8)
    node = site.makeNode(quota=quota)
    instance = site.boot(node, site.create(node))
    assert node.quota == quota
    # It is in a list that others read.
    assert instance.needs is None


def test_connections_have_limits_of_their_own(makeSite):
    sites = [makeSite(RegionDriver, name, password='long enough')
             for name in ('one', 'other')]
    one, other = (site.endpoint for site in sites)
    assert one.name == other.name == 'here'
    one.refreshQuotaLimits(True)
    assert one.quota_cache.endpoint != other.quota_cache.endpoint
    assert other.refreshQuotaLimits(False)
