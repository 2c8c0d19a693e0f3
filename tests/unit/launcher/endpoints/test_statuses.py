"""Records of what only the planner knows about providers."""

import time

import pytest
from zuul.exceptions import QuotaException

from tests.fixtures.racks import addProvider, cloud, finish, isDone
from zuul_nodes import providerstatus, tenantlimits, zkrecords

pytestmark = pytest.mark.settings(status_delay=0, status_interval=0.02)
NAME = 'example.com%2Fnodes/one'
LIMITED = cloud('one', resource_limits='{instances: 3}')


def read(launcher, name=NAME):
    return providerstatus.read(launcher.zk_client.client, name)


def getNames(launcher):
    return zkrecords.getNames(launcher.zk_client.client, providerstatus.ROOT)


def test_record_has_the_limits(steps, racks):
    steps.setLayout(LIMITED)
    steps.runUntil(lambda: read(steps) and not read(steps)['problem'])
    assert read(steps) == {
        'endpoint': steps.getProvider('one').getEndpoint().name,
        'section': None, 'pauses': [], 'problem': None, 'limits': [{
            'kind': 'provider', 'name': NAME, 'resource': 'instances',
            'limit': 3, 'foreign': 0, 'reserved': 0}]}


def test_record_has_what_is_kept_for_requests(steps, racks):
    def getReserved():
        return [limit['reserved'] for limit in read(steps)['limits']]
    steps.setLayout(LIMITED)
    running = steps.addRequest('big', 'big')
    steps.runUntil(lambda: isDone(running))
    waiting = steps.addRequest('big', 'big')
    steps.runUntil(lambda: getReserved() == [2])
    finish(steps, running)
    steps.runUntil(lambda: isDone(waiting) and getReserved() == [0])


def test_pause_is_recorded_with_its_end_and_without_secrets(steps, racks):
    racks.errors['one'] = QuotaException(
        'no room at https://10.0.0.1/?key=1 token=abcdef')
    steps.setLayout(LIMITED)
    steps.addRequest('big')
    steps.runUntil(lambda: read(steps) and read(steps)['pauses'])
    pause, = read(steps)['pauses']
    assert pause['label'] is None
    assert time.time() < pause['until'] < time.time() + 400
    assert 'no room' in pause['reason']
    assert 'abcdef' not in pause['reason']
    racks.errors.clear()
    steps.runUntil(lambda: not read(steps)['pauses'])


@pytest.mark.settings(
    status_delay=0, status_interval=0.02,
    tenant_limits='instances:9, tenant=cores:7.5')
def test_limits_of_tenants_are_recorded(steps, racks):
    steps.setLayout(LIMITED)
    steps.runUntil(lambda: tenantlimits.readAll(steps.zk_client.client) == {
        'tenant': {'instances': 9, 'cores': 7.5}})


def test_tenant_without_limits_has_no_record_of_them(steps, racks):
    zkrecords.write(
        steps.zk_client.client,
        zkrecords.getPath(tenantlimits.ROOT, 'tenant'),
        tenantlimits.makeRecord({'instances': 1}))
    steps.setLayout(LIMITED)
    steps.runUntil(lambda: read(steps) and not tenantlimits.readAll(
        steps.zk_client.client))


def test_record_goes_with_its_provider(steps, racks):
    steps.setLayout(LIMITED + addProvider('two'))
    steps.runUntil(lambda: len(getNames(steps)) == 2)
    steps.setLayout(LIMITED)
    steps.runUntil(lambda: getNames(steps) == {NAME})


@pytest.mark.settings(status_delay=0, status_interval=3600)
def test_changes_are_not_recorded_more_often_than_at_intervals(steps, racks):
    steps.setLayout(LIMITED)
    steps.runUntil(lambda: read(steps))
    steps.setLayout(LIMITED + addProvider('two'))
    steps.run()
    assert getNames(steps) == {NAME}


def test_unchanged_records_are_not_written_again(steps, racks):
    steps.setLayout(LIMITED)
    steps.runUntil(lambda: read(steps) and not read(steps)['problem'])
    path = zkrecords.getPath(providerstatus.ROOT, NAME)
    _, before = steps.zk_client.client.get(path)
    steps.planner.limitsChanged()
    steps.provider_statuses._next = 0
    steps.provider_statuses.reconcile()
    _, after = steps.zk_client.client.get(path)
    assert after.version == before.version


def test_only_the_launcher_that_plans_records(pair, racks):
    pair.setLayout(LIMITED)
    pair.runUntil(lambda: read(pair.launchers[0]))
    _, other = sorted(pair.launchers, key=lambda each: (
        each.election._term is None))
    other.zk_client.client.delete(
        zkrecords.getPath(providerstatus.ROOT, NAME))
    other.provider_statuses._next = 0
    other.provider_statuses.reconcile()
    assert read(other) is None
