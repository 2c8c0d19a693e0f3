"""Instances that can't be made, and calls that fail."""

import time
import types

import pytest

from tests.unit.drivers.gce.clients import insert
from tests.unit.drivers.gce.sites import change
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    PermanentError,
    QuotaError,
    State,
    TemporaryError,
)
from zuul_nodes.drivers.gce import insertions
from zuul_nodes.launcher.providers.failures import Failure, classify


@pytest.mark.parametrize('old, new, message', [
    ('debian-12', 'debian-1', 'debian-1'),
    ('debian-cloud', 'no-cloud', 'no-cloud'),
    ('volume-type: pd-balanced', 'volume-type: pd-gold', 'pd-gold'),
    ('network-tags:', 'network: nowhere\n      network-tags:', 'nowhere'),
    ('volume-size: 40', 'volume-size: 4', '10 GB')])
def test_what_there_is_not(makeSite, old, new, message):
    site = makeSite(change(old, new))
    with pytest.raises(PermanentError, match=message) as info:
        site.adapter.createInstance(site.makeSpec())
    assert classify(info.value) is Failure.PERMANENT


def test_machine_type_that_there_is_not(makeSite):
    site = makeSite(change('e2-standard-2', 'e2-standart-2'))
    with pytest.raises(PermanentError, match='"e2-standart-2" in us-central'):
        site.adapter.getNeeds(site.makeSpec())


@pytest.mark.parametrize('status, reason', [
    (429, None), (403, 'rateLimitExceeded'), (503, None), (500, None)])
def test_temporary(gce, site, status, reason):
    gce.inject('POST', '.*/instances', status, reason=reason)
    with pytest.raises(TemporaryError):
        site.adapter.createInstance(site.makeSpec())
    # Nobody else has tried it again.
    assert gce.calls['instances.insert'] == 1
    gce.inject('GET', '.*/aggregated/instances', status, reason=reason)
    with pytest.raises(TemporaryError):
        site.list()


def test_not_allowed(gce, site):
    gce.inject('POST', '.*/instances', 403, 'Required permission')
    with pytest.raises(DriverError, match='Required permission') as info:
        site.adapter.createInstance(site.makeSpec())
    assert classify(info.value) is Failure.ATTEMPT


@pytest.mark.parametrize('status, reason', [
    (412, 'conditionNotMet'), (413, 'fieldSizeTooLarge')])
def test_what_never_will_be(gce, site, status, reason):
    """A policy forbids it, or it is too large."""
    gce.inject('POST', '.*/instances', status, reason=reason)
    with pytest.raises(PermanentError):
        site.adapter.createInstance(site.makeSpec())


def test_calls_do_not_hang(gce, makeSite):
    site = makeSite(api_timeout='0.2')
    fault = gce.inject('GET', '.*/aggregated/instances', hangs=True)
    with pytest.raises(Exception) as info:
        site.list()
    assert classify(info.value) is Failure.TEMPORARY
    fault.release()


@pytest.mark.parametrize('code', [
    'ZONE_RESOURCE_POOL_EXHAUSTED', 'RESOURCE_POOL_EXHAUSTED'])
def test_zone_has_no_room(gce, site, code):
    gce.fail('instances.insert', code, 'no room')
    created = site.adapter.createInstance(site.makeSpec())
    failed = site.runUntil(lambda instances: instances and instances[
        created.id].state is State.FAILED)[created.id]
    assert failed.error is CapacityError
    assert code in failed.message
    assert failed.getQuotaInformation().getResources() == {'instances': 0}
    # It is told until it is removed, or wanted once more.
    assert created.id in site.list()
    calls = gce.calls['zoneOperations.get']
    site.adapter.deleteInstance(created.id)
    assert not site.list()
    assert gce.calls['zoneOperations.get'] == calls


def test_zone_that_had_no_room_is_not_asked_at_once(gce, site, monkeypatch):
    site.create('0001')
    gce.fail('instances.insert')
    created = site.adapter.createInstance(site.makeSpec('0002'))
    site.runUntil(lambda instances: instances[
        created.id].state is State.FAILED)
    with pytest.raises(CapacityError, match='us-central1-a'):
        site.adapter.createInstance(site.makeSpec('0002'))
    assert gce.calls['instances.insert'] == 2
    # But what there is already may not be made in another zone.
    assert site.adapter.createInstance(site.makeSpec()).ready
    # Elsewhere there is room, and later on.
    site.create('0003', zone='us-central1-b')
    later = time.monotonic() + insertions.FULL
    monkeypatch.setattr(insertions, 'time', types.SimpleNamespace(
        monotonic=lambda: later))
    site.create('0002')


def test_gpus_that_there_are_none_of(gce, makeSite):
    """The same machines without them may have room."""
    site = makeSite(change('- name: large', """- name: gpus
        machine-type: n1-standard-2
        accelerators: [{type: nvidia-tesla-t4}]
      - name: large""").replace(
        '- label: {name: debian, image: debian, flavor: small}',
        """- flavor: {name: gpus}
- label: {name: gpus, image: debian, flavor: gpus}
- label: {name: debian, image: debian, flavor: small}""").replace(
        'labels: [debian, built]', 'labels: [debian, built, gpus]'))
    gce.fail('instances.insert')
    created = site.adapter.createInstance(site.makeSpec(label='gpus'))
    site.runUntil(lambda instances: instances and instances[
        created.id].state is State.FAILED)
    with pytest.raises(CapacityError, match='us-central1-a'):
        site.adapter.createInstance(site.makeSpec('0002', label='gpus'))
    site.create('0003')
    assert gce.instances['np0003']['machineType'].endswith('e2-standard-2')


@pytest.mark.parametrize('code, error', [
    ('IP_SPACE_EXHAUSTED', QuotaError),
    ('IP_SPACE_EXHAUSTED_WITH_DETAILS', QuotaError),
    ('CONDITION_NOT_MET', PermanentError)])
def test_instance_fails_later(gce, site, code, error):
    gce.fail('instances.insert', code, 'It can not be')
    created = site.adapter.createInstance(site.makeSpec())
    failed = site.runUntil(lambda instances: instances and instances[
        created.id].state is State.FAILED)[created.id]
    assert failed.error is error


def test_quota_is_exceeded_later(gce, site):
    gce.quota.late = True
    gce.quota.regional['CPUS'] = 1
    created = site.adapter.createInstance(site.makeSpec())
    failed = site.runUntil(lambda instances: instances and instances[
        created.id].state is State.FAILED)[created.id]
    assert failed.error is QuotaError


def test_other_launcher_tells_why(gce, site, makeSite):
    """One that has begun with the instance is dead."""
    gce.fail('instances.insert')
    created = site.adapter.createInstance(site.makeSpec())
    site.create('0002')
    other = makeSite()
    failed = other.runUntil(lambda instances: instances.get(
        created.id) and instances[created.id].state is State.FAILED)
    assert failed[created.id].error is CapacityError
    assert failed['us-central1-a/np0002'].ready
    other.adapter.deleteInstance(created.id)
    assert list(other.list()) == ['us-central1-a/np0002']


def test_instances_that_are_made_well_cost_no_calls(gce, site, makeSite):
    site.list()
    before = gce.calls.copy()
    site.create()
    calls = gce.calls - before
    assert calls.keys() == {
        'instances.insert', 'instances.aggregatedList', 'machineTypes.get'}
    # Nor does what others have made, and removed.
    site.adapter.deleteInstance('us-central1-a/np0001')
    site.runUntil(lambda instances: not instances)
    other = makeSite()
    assert not other.list()
    assert not gce.calls['zoneOperations.get']


def test_instances_of_a_zone_that_is_not_reachable_are_not_gone(gce, site):
    created = site.create(zone='us-central1-f')
    gce.unreachable.add('us-central1-f')
    for ask in (site.list, lambda: list(site.adapter.listResources())):
        with pytest.raises(TemporaryError, match='us-central1-f'):
            ask()
    gce.unreachable.clear()
    assert created.id in site.list()


def test_zones_of_other_regions_do_not_matter(gce, site):
    created = site.create()
    gce.unreachable.add('europe-west1-b')
    assert list(site.list()) == [created.id]
    assert list(site.adapter.listResources()) == []


def test_all_that_others_have_begun_is_found(
        gce, site, makeSite, clients):
    """However many instances others make meanwhile."""
    gce.fail('instances.insert')
    created = site.adapter.createInstance(site.makeSpec())
    gce.finish('np0001')
    gce.page_size = 2
    for i in range(6):
        insert(clients, f'other{i}')
    failed = makeSite().list()[created.id]
    assert (failed.state, failed.error) == (State.FAILED, CapacityError)


def test_operations_of_long_ago_are_not_looked_for(gce, site):
    gce.jobs.polls['instances.insert'] = 0
    for i in range(6):
        site.adapter.createInstance(site.makeSpec(f'000{i}'))
    for operation in gce.zone_operations.resources.values():
        operation['insertTime'] = '2020-01-01T00:00:00.000-07:00'
    gce.page_size = 2
    site.list()
    # One page for each zone.
    assert gce.calls['zoneOperations.list'] == 3
