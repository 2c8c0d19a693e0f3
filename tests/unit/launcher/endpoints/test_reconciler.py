"""Which endpoints are looked after, and when; quotas are asked for anew."""

import threading

import pytest
from zuul.zk.components import COMPONENT_REGISTRY, LauncherComponent

from tests.fixtures.cloud import (
    BOTH,
    INTERVAL,
    QUOTA_INTERVAL,
    CloudEndpoint,
    CloudResource,
    NoThreads,
    getRunning,
    leak,
)
from tests.fixtures.racks import cloud as layout
from tests.fixtures.racks import isDone
from tests.fixtures.shelf.shelf_maker import ShelfProvider
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.settings import Settings

PATIENCE = Settings().endpoint_progress_timeout
RACK = ('endpoint', 'rack/rack')


@pytest.fixture
def reconcile(cleanup, clock):
    def go(pause=0.0, name='rack/rack'):
        clock.now += pause
        cleanup.reconcile(name)
        # What has ended asks to be looked at again.
        while cleanup.turns.queue.added:
            cleanup.reconcile(cleanup.turns.queue.added.pop()[1])
    return go


def count(cloud, name):
    return len([call for call in cloud.calls if call[0] == name])


def test_rounds(keeper, cloud, reconcile):
    leak(keeper, cloud)
    reconcile()
    assert count(cloud, 'listResources') == 1
    assert keeper.queue.delays[RACK] == INTERVAL
    reconcile(INTERVAL / 3)
    assert count(cloud, 'listResources') == 1
    assert keeper.queue.delays[RACK] == pytest.approx(INTERVAL * 2 / 3)
    reconcile(INTERVAL * 2 / 3)
    assert cloud.names == set()


def test_endpoint_that_raises(keeper, clouds, cloud, reconcile):
    for name in ('postConfig', 'refreshQuotaLimits', 'listInstances',
                 'listResources'):
        cloud.errors[name] = RuntimeError('out of order')
    leak(keeper, clouds['other'])
    for _ in range(2):
        reconcile(INTERVAL)
        reconcile(name='other/other')
    assert clouds['other'].names == set()
    leak(keeper, cloud)
    cloud.errors.clear()
    for _ in range(2):
        reconcile(INTERVAL)
    assert cloud.names == set()


class Threads:
    """A thread for each call."""

    def __init__(self):
        self.threads = []

    def submit(self, endpoint, function, done, what):
        thread = threading.Thread(target=function, daemon=True)
        self.threads.append(thread)
        thread.start()


def test_endpoint_that_hangs(keeper, clouds, cloud, clock, caplog):
    threads = Threads()
    cleanup = keeper.makeReconciler(threads, clock)
    added = keeper.queue.added
    for name in ('rack', 'other'):
        leak(keeper, clouds[name])
        # Seen once.
        cleanup.refreshQuota(keeper.getEndpoint(name))
        cleanup.cleanUp(keeper.getEndpoint(name))
    clock.now += INTERVAL
    cloud.pauses['listResources'] = threading.Event()
    cleanup.reconcile('rack/rack')
    cleanup.reconcile('other/other')
    waitFor(lambda: not clouds['other'].names)
    # Nothing is begun on top of it, and quotas do not wait.
    waitFor(lambda: added.count(RACK) == 1)
    for _ in range(3):
        clock.now += INTERVAL
        cleanup.reconcile('rack/rack')
    assert count(cloud, 'listResources') == 2
    assert cloud.attempts == {}
    # In the end it is not waited for any more.
    hanging = cloud.pauses.pop('listResources')
    clock.now += PATIENCE
    cleanup.reconcile('rack/rack')
    waitFor(lambda: not cloud.names)
    assert 'No progress in cleanUp of endpoint rack/rack' in caplog.text
    # And has nothing to say when it wakes up.
    leak(keeper, cloud, 'new')
    hanging.set()
    for thread in threads.threads:
        thread.join(30)
    assert cloud.names == {'new'}


def test_what_takes_long_is_not_given_up(keeper, cloud, clock, cleanup):
    class Slow(CloudResource):
        @property
        def metadata(self):
            clock.now += PATIENCE - 1
            cleanup.reconcile('rack/rack')
            return self.tags

        @metadata.setter
        def metadata(self, tags):
            self.tags = tags

    cleanup.refreshQuota(keeper.getEndpoint('rack'))
    cloud.resources = [Slow('instance', str(number), keeper.tags(
        zuul_node_uuid='42')) for number in range(3)]
    for _ in range(2):
        clock.now += INTERVAL
        cleanup.reconcile('rack/rack')
    assert count(cloud, 'listResources') == 2
    assert cloud.names == set()


def test_what_is_learned_in_a_turn_that_was_given_up(keeper, cloud, clock,
                                                     cleanup):
    """It is not heard of any more, when others have asked meanwhile."""
    endpoint = keeper.getEndpoint('rack')
    provider, = (each for each in keeper.tenant_providers['tenant']
                 if each.getEndpoint() is endpoint)
    cleanup.refreshQuota(endpoint)
    assert cleanup.answers.isAsked(provider, 'big')
    turn = cleanup.turns.make([provider])
    turn.given_up = True
    cleanup.refreshQuota(endpoint, turn)
    assert cleanup.answers.isAsked(provider, 'big')


def test_nothing_is_deleted_in_a_turn_that_was_given_up(keeper, cloud,
                                                        clock, cleanup):
    leak(keeper, cloud)
    endpoint = keeper.getEndpoint('rack')
    cleanup.cleanUp(endpoint)
    clock.now += INTERVAL
    turn = cleanup.turns.make([])
    turn.given_up = True
    cleanup.cleanUp(endpoint, turn)
    assert cloud.attempts == {}


def test_it_is_prepared_first(keeper, cloud, clock):
    threads = Threads()
    cleanup = keeper.makeReconciler(threads, clock)
    cloud.pauses['postConfig'] = threading.Event()
    for _ in range(2):
        cleanup.reconcile('rack/rack')
        clock.now += INTERVAL
    assert len(threads.threads) == 1
    cloud.pauses['postConfig'].set()
    waitFor(lambda: RACK in keeper.queue.added)
    assert count(cloud, 'listResources') == 0
    cleanup.reconcile('rack/rack')
    waitFor(lambda: count(cloud, 'listResources') == 1)


def test_one_name_at_two_endpoints(steps, racks, clouds):
    """Each tenant has a section of its own for a provider that is shared."""
    driver = steps.connections.drivers['shelf']
    driver._endpoint_class = CloudEndpoint
    driver.clouds = clouds
    steps.endpoint_reconciler.turns.interval = 0.01
    requests = []
    for tenant, connection in (('first', 'rack'), ('second', 'other')):
        clouds[connection].add('instance', 'leaked', {
            'zuul_system_id': steps.system.system_id,
            'zuul_node_uuid': 'leaked'})
        steps.setLayout(layout('one', connection=connection), tenant)
        requests.append(steps.addRequest('big', tenant=tenant))
    steps.runUntil(lambda: all(map(isDone, requests)))
    assert {request.state for request in requests} == {'fulfilled'}
    assert ({node.connection_name for node in steps.nodes()}
            == {'rack', 'other'})
    steps.runUntil(lambda: not any(cloud.names for cloud in clouds.values()))


def test_endpoint_that_is_gone(keeper, cloud, reconcile):
    leak(keeper, cloud)
    reconcile()
    keeper.tenant_providers.clear()
    keeper.queue.delays.clear()
    reconcile(INTERVAL)
    assert keeper.queue.delays == {}
    keeper.setLayout(BOTH)
    reconcile(INTERVAL)
    assert cloud.names == {'leaked'}
    reconcile(INTERVAL)
    assert cloud.names == set()


def test_one_launcher_does_it(makeKeeper, cloud, clock):
    keepers = [makeKeeper(name) for name in ('one', 'two')]
    waitFor(lambda: sorted(getRunning()) == ['one', 'two'])
    cleanups = [keeper.makeReconciler(NoThreads(), clock)
                for keeper in keepers]
    leak(keepers[0], cloud)

    def reconcile():
        for cleanup in cleanups:
            cleanup.reconcile('rack/rack')
            cleanup.reconcile('rack/rack')
        clock.now += INTERVAL
        return count(cloud, 'listResources')

    assert reconcile() == 1
    # Both have to know what to make nodes with; the first one asks.
    assert count(cloud, 'postConfig') == 2
    assert sorted(call[1] for call in cloud.calls
                  if call[0] == 'refreshQuotaLimits') == [False, True]
    index = 0 if cleanups[0].endpoints.isMine(
        keepers[0].getEndpoint('rack')) else 1
    first, second = keepers[index], keepers[1 - index]
    changed = len(second.planner.changed)
    clock.now += QUOTA_INTERVAL
    reconcile()
    assert len(second.planner.changed) > changed
    assert sorted(call[1] for call in cloud.calls
                  if call[0] == 'refreshQuotaLimits') == [False, True, True]
    leak(keepers[0], cloud)
    first.component_info.state = LauncherComponent.STOPPED
    waitFor(lambda: getRunning() == [second.component_info.hostname])
    # The other one has to see for itself.
    reconcile()
    assert cloud.names == {'leaked'}
    reconcile()
    assert cloud.names == set()


def test_what_was_seen_before_another_launcher_took_over(makeKeeper, cloud,
                                                         clock):
    keepers = [makeKeeper(name) for name in ('one', 'two')]
    waitFor(lambda: sorted(getRunning()) == ['one', 'two'])
    cleanup, = (
        each for each in (
            keeper.makeReconciler(NoThreads(), clock)
            for keeper in keepers)
        if each.endpoints.isMine(keepers[0].getEndpoint('rack')))

    def reconcile(state):
        component = cleanup.layouts.component_info
        component.state = state
        waitFor(lambda: (component.hostname in getRunning())
                 == (state == component.RUNNING))
        clock.now += INTERVAL
        cleanup.reconcile('rack/rack')
        cleanup.reconcile('rack/rack')
        return cloud.names

    leak(keepers[0], cloud)
    assert reconcile(LauncherComponent.RUNNING)
    assert reconcile(LauncherComponent.PAUSED)
    assert reconcile(LauncherComponent.RUNNING)
    assert not reconcile(LauncherComponent.RUNNING)


def test_only_who_handles_the_connection(makeKeeper, cloud, clock):
    makeKeeper('one').component_info.connection_filter = ['other']
    waitFor(lambda: [component.connection_filter for component in
                      COMPONENT_REGISTRY.registry.all('launcher')]
             == [['other']])
    second = makeKeeper('two')
    cleanup = second.makeReconciler(NoThreads(), clock)
    # Whatever their scores are.
    assert cleanup.endpoints.isMine(second.getEndpoint('rack'))


# Quotas

def getLimits(keeper):
    return keeper.getEndpoint('rack').quota_cache.getLimits().quota


def test_limits_are_asked_for_anew(keeper, cloud, reconcile, makeKeeper):
    cloud.limits = {'instances': 5}
    reconcile()
    assert getLimits(keeper) == {'instances': 5}
    cloud.limits = {'instances': 8}
    reconcile(QUOTA_INTERVAL - 1)
    assert getLimits(keeper) == {'instances': 5}
    keeper.planner.changed.clear()
    reconcile(1)
    assert getLimits(keeper) == {'instances': 8}
    provider = keeper.tenant_providers['tenant'][0]
    assert {provider.canonical_name} in keeper.planner.changed
    other = makeKeeper('two')
    waitFor(lambda: getLimits(other) == {'instances': 8})


def test_limits_are_asked_for_sooner_after_an_error(keeper, cloud,
                                                    reconcile):
    cloud.limits = {'instances': 5}
    cloud.errors['refreshQuotaLimits'] = ConnectionError('later')
    reconcile()
    cloud.errors.clear()
    reconcile(INTERVAL)
    assert getLimits(keeper) == {'instances': 5}


@pytest.fixture
def asked(monkeypatch):
    """:return: a list of what drivers are asked about labels."""
    asked = []

    def refresh(self, label, update):
        asked.append((self.tenant_name, label.name,
                      getattr(self.flavors[label.flavor], 'size', None),
                      update))
    monkeypatch.setattr(ShelfProvider, 'refreshQuotaForLabel', refresh)
    return asked


def test_labels(keeper, asked, reconcile):
    keeper.setLayout(BOTH, 'second')
    reconcile()
    # Of new providers all, then what is not known.
    assert sorted(set(asked)) == [
        (tenant, 'big', None, update)
        for tenant in ('second', 'tenant') for update in (False, True)]
    asked.clear()
    reconcile(QUOTA_INTERVAL)
    assert sorted(asked) == [('second', 'big', None, False),
                             ('tenant', 'big', None, False)]


def test_label_that_can_not_be_asked_about(keeper, cloud, reconcile,
                                           monkeypatch):
    def refresh(self, label, update):
        raise LookupError('no such flavor')
    monkeypatch.setattr(ShelfProvider, 'refreshQuotaForLabel', refresh)
    cloud.limits = {'instances': 5}
    reconcile()
    assert getLimits(keeper) == {'instances': 5}
    # And so the rest does not wait for it.
    assert count(cloud, 'listResources') == 1


def test_new_providers_are_prepared(keeper, cloud, reconcile):
    def getPrepared():
        return [call[1].tenant_name for call in cloud.calls
                if call[0] == 'postConfig']

    reconcile()
    reconcile(QUOTA_INTERVAL)
    assert getPrepared() == ['tenant']
    keeper.setLayout(BOTH, 'second')
    cloud.limits = {'instances': 5}
    reconcile(1)
    assert getPrepared() == ['tenant', 'second']
    assert getLimits(keeper) == {'instances': 5}
    # One that can't be prepared is tried again, and stops nothing.
    cloud.errors['postConfig'] = RuntimeError('no such network')
    keeper.setLayout(BOTH, 'second')
    for _ in range(2):
        reconcile(1)
    assert getPrepared() == ['tenant', 'second', 'second']
    cloud.errors.clear()
    reconcile(INTERVAL)
    reconcile(INTERVAL)
    assert getPrepared() == ['tenant', 'second', 'second', 'second']

