"""What has leaked goes, and nothing else; quotas are asked for anew."""

import collections
import logging
import threading
import time

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.model import QuotaInformation
from zuul.zk.components import COMPONENT_REGISTRY, LauncherComponent

from tests.fixtures.cloud import (
    Clock,
    Cloud,
    CloudInstance,
    CloudResource,
    Keeper,
    StatsServer,
    getRunning,
    runUntil,
)
from tests.fixtures.shelf.shelf_maker import ShelfProvider, ShelfProviderNode
from zuul_nodes.launcher.cleanup import PATIENCE, Cleanup, Turn
from zuul_nodes.launcher.leaks import LONGEST_PAUSE

NODES = '/zuul/nodes/nodes'
UPLOADS = '/zuul/image-uploads/uploads'
INTERVAL = 60.0
QUOTA_INTERVAL = 300.0
LAYOUT = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: big, image: debian, flavor: small}
'''
SECTION = '''
- section:
    name: {name}
    connection: {name}
    images: [debian]
    flavors: [small]
- provider:
    name: {name}-main
    section: {name}
    labels: [{{name: big, host-key-checking: false}}]
'''
BOTH = LAYOUT + SECTION.format(name='rack') + SECTION.format(name='other')
RACK = ('endpoint', 'rack/rack')


@pytest.fixture
def clouds():
    return collections.defaultdict(Cloud)


@pytest.fixture
def cloud(clouds):
    return clouds['rack']


@pytest.fixture
def server(zuul_conf):
    server = StatsServer(zuul_conf)
    yield server
    server.end()


@pytest.fixture
def makeKeeper(zuul_conf, clouds):
    keepers = []

    def make(hostname='one'):
        keeper = Keeper(zuul_conf, clouds, hostname)
        keepers.append(keeper)
        keeper.setLayout(BOTH)
        return keeper
    yield make
    # The registry is that of the first.
    for keeper in reversed(keepers):
        keeper.end()
    COMPONENT_REGISTRY.clearRegistry()


@pytest.fixture
def keeper(makeKeeper):
    return makeKeeper()


@pytest.fixture
def clock():
    return Clock()


def callNow(endpoint, function, giveUp):
    function()


@pytest.fixture
def cleanup(keeper, clock):
    return Cleanup(keeper, callNow, INTERVAL, QUOTA_INTERVAL, clock)


@pytest.fixture
def goRound(cleanup, keeper, clock):
    """:return: a function that cleans up some times, at intervals."""
    def go(times=1, pause=INTERVAL):
        for _ in range(times):
            clock.now += pause
            cleanup.cleanUp(keeper.getEndpoint('rack'))
    return go


def leak(keeper, cloud, name='leaked', resource_type='instance'):
    cloud.add(resource_type, name, keeper.tags(zuul_node_uuid=name))


@pytest.mark.parametrize('resource_type, tag', [
    ('instance', 'zuul_node_uuid'),
    ('volume', 'zuul_node_uuid'),
    ('floating-ip', 'zuul_node_uuid'),
    ('image', 'zuul_upload_uuid'),
])
def test_goes_when_it_is_seen_twice(keeper, cloud, goRound, resource_type,
                                    tag):
    cloud.add(resource_type, 'leaked', keeper.tags(**{tag: '42'}))
    goRound()
    # Somebody else asks for a round.
    goRound(pause=INTERVAL - 1)
    assert cloud.names == {'leaked'}
    goRound(pause=1)
    assert cloud.names == set()


def test_what_was_away_is_seen_anew(keeper, cloud, goRound):
    leak(keeper, cloud)
    goRound()
    resource = cloud.resources.pop()
    goRound()
    cloud.resources.append(resource)
    goRound()
    assert cloud.names == {'leaked'}
    goRound()
    assert cloud.names == set()


@pytest.mark.parametrize('tags', [
    None,
    {},
    {'zuul_system_id': 'other', 'zuul_node_uuid': '42'},
    {'zuul_system_id': '', 'zuul_expiration': '1'},
    {'zuul_node_uuid': '42'},
])
def test_not_ours(cloud, goRound, tags):
    cloud.add('instance', 'foreign', tags)
    goRound(3)
    assert cloud.attempts == {}


def test_without_an_identity_nothing_is_ours(keeper, cloud, goRound):
    keeper.system.system_id = None
    cloud.add('instance', 'foreign', {'zuul_node_uuid': '42'})
    goRound(3)
    assert cloud.attempts == {}


def test_node_with_a_record(keeper, cloud, goRound):
    node = keeper.addNode()
    leak(keeper, cloud, node.uuid)
    goRound(3)
    assert cloud.attempts == {}
    keeper.removeNode(node)
    goRound()
    assert cloud.names == {node.uuid}
    goRound()
    assert cloud.names == set()


def test_upload_with_a_record(keeper, cloud, goRound):
    upload = keeper.addUpload()
    cloud.add('image', 'image', keeper.tags(zuul_upload_uuid=upload.uuid))
    goRound(3)
    assert cloud.attempts == {}


def test_one_of_two_owners_is_enough(keeper, cloud, goRound):
    node = keeper.addNode()
    cloud.add('image', 'image', keeper.tags(
        zuul_upload_uuid='gone', zuul_node_uuid=node.uuid,
        zuul_expiration='1'))
    goRound(3)
    assert cloud.attempts == {}


@pytest.mark.parametrize('tag, path', [
    ('zuul_node_uuid', NODES), ('zuul_upload_uuid', UPLOADS)])
@pytest.mark.parametrize('data', [
    b'', b'no record', b'{"uuid": "42"}', b'{"_subclass_id": "unknown"}'])
def test_record_that_can_not_be_read(keeper, cloud, goRound, kazoo_client,
                                     tag, path, data):
    kazoo_client.create(f'{path}/42', data, makepath=True)
    cloud.add('instance', 'kept', keeper.tags(**{tag: '42'}))
    leak(keeper, cloud)
    goRound(4)
    assert cloud.names == {'kept'}
    assert cloud.attempts == {'leaked': 1}


@pytest.mark.parametrize('tag', ['zuul_node_uuid', 'zuul_upload_uuid'])
def test_record_that_the_caches_do_not_see(makeKeeper, keeper, cloud,
                                           goRound, tag):
    for cache in (keeper.api.nodes_cache, keeper.image_upload_registry):
        cache.stop()
        cache.client.remove_listener(cache._sessionListener)
        runUntil(lambda cache=cache: not cache._event_worker.is_alive())
    writer = makeKeeper('two')
    record = (writer.addNode() if tag == 'zuul_node_uuid'
              else writer.addUpload())
    assert keeper.api.getProviderNode(record.uuid) is None
    assert keeper.image_upload_registry.getItem(record.uuid) is None
    cloud.add('instance', 'kept', keeper.tags(**{tag: record.uuid}))
    goRound(3)
    assert cloud.attempts == {}
    record.delete(writer.context())
    goRound(2)
    assert cloud.names == set()


@pytest.mark.parametrize('name', ['sync', 'exists'])
def test_zookeeper_that_does_not_answer(keeper, cloud, goRound, monkeypatch,
                                        name):
    def lose(path):
        raise ConnectionLoss

    leak(keeper, cloud)
    goRound()
    with monkeypatch.context() as context:
        context.setattr(keeper.zk_client.client, name, lose)
        goRound(2)
        assert cloud.attempts == {}
    goRound()
    assert cloud.names == set()


def test_expiration(keeper, cloud, goRound, caplog):
    soon = int(time.time()) + 3600
    for name, expiration in (
            ('expired', '1'), ('future', str(soon)), ('bad', 'tomorrow'),
            ('empty', '')):
        cloud.add('image', name, keeper.tags(zuul_expiration=expiration))
    goRound()
    assert 'expired' in cloud.names
    goRound()
    assert cloud.names == {'future', 'bad', 'empty'}
    goRound(3)
    assert cloud.names == {'future', 'bad', 'empty'}
    # Once, and not in each round.
    complaint, = [message for message in caplog.messages
                  if 'tomorrow' in message]
    assert 'rack/rack' in complaint


class Broken(CloudResource):
    unique_id = property()


def test_resource_that_can_not_be_read(keeper, cloud, goRound, caplog):
    cloud.resources.append(Broken('instance', 'no id', keeper.tags()))
    cloud.add('instance', 'no tags', ['zuul_system_id'])
    cloud.add('instance', 'bad tag', keeper.tags(zuul_node_uuid=['4', '2']))
    cloud.add('instance', 'bad path', keeper.tags(zuul_node_uuid='../4'))
    leak(keeper, cloud)
    goRound(3)
    assert cloud.names == {'no id', 'no tags', 'bad tag', 'bad path'}
    assert cloud.attempts == {'leaked': 1}
    assert len([record for record in caplog.records
                if 'Left alone' in record.message]) == 4


class Demanding(ShelfProviderNode, subclass_id='demanding'):
    """A node that needs something that it shares with others."""

    def getRequiredResources(self):
        return ['template-used']


def test_what_nodes_have_in_common(keeper, cloud, goRound):
    Demanding.new(keeper.context(), endpoint_name='rack')
    runUntil(keeper.api.getProviderNodes)
    for name in ('configured', 'used', 'leaked'):
        cloud.add('template', name, keeper.tags())
    cloud.required = [cloud.resources[0]]
    goRound()
    assert cloud.names == {'configured', 'used', 'leaked'}
    goRound()
    assert cloud.names == {'configured', 'used'}


def test_nobody_knows_what_nodes_have_in_common(keeper, cloud, goRound):
    cloud.add('template', 'template', keeper.tags())
    leak(keeper, cloud)
    cloud.errors['listRequiredInfrastructureResources'] = RuntimeError('?')
    goRound(3)
    assert cloud.names == {'template'}
    cloud.errors.clear()
    goRound(2)
    assert cloud.names == set()


def test_a_node_that_can_not_be_read_may_need_it(keeper, cloud, goRound,
                                                 kazoo_client):
    cloud.add('template', 'template', keeper.tags())
    kazoo_client.create(f'{NODES}/42', b'no record', makepath=True)
    goRound(3)
    assert cloud.names == {'template'}
    kazoo_client.delete(f'{NODES}/42')
    goRound()
    assert cloud.names == set()


def test_failing_deletion_backs_off(keeper, cloud, goRound, caplog):
    caplog.set_level(logging.INFO)
    leak(keeper, cloud, 'first')
    leak(keeper, cloud, 'last')
    cloud.errors['first'] = PermissionError('no')
    cloud.stubborn.add('last')
    goRound()
    attempts = []
    for _ in range(16):
        goRound()
        attempts.append(dict(cloud.attempts))
    for name in ('first', 'last'):
        # After 60, 120, 240 and 480 seconds.
        assert [each[name] for each in attempts] == [
            1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]
    for text in ('Unable to delete leaked instance instance-first at '
                 'endpoint rack/rack',
                 'Deleted leaked instance instance-last at endpoint '
                 'rack/rack'):
        assert len([message for message in caplog.messages
                    if text in message]) == 5
    goRound(3, pause=2 * LONGEST_PAUSE)
    assert cloud.attempts == {'first': 8, 'last': 8}
    cloud.errors.clear()
    goRound(pause=LONGEST_PAUSE)
    assert cloud.names == {'last'}


def test_list_that_breaks_off(keeper, cloud, goRound):
    leak(keeper, cloud, 'first')
    leak(keeper, cloud, 'last')
    goRound()
    cloud.resources.insert(1, None)
    goRound()
    assert cloud.names == {'last'}
    # It had been seen before.
    cloud.resources.remove(None)
    goRound()
    assert cloud.names == set()


class Unknown(CloudInstance):
    def getQuotaInformation(self):
        raise LookupError('no such flavor')


def test_usage_of_others(keeper, cloud, goRound, makeKeeper):
    node = keeper.addNode()
    cloud.instances = [
        CloudInstance(tags, {'instances': 1, 'cores': cores})
        for tags, cores in (
            (keeper.tags(zuul_node_uuid=node.uuid), 1),
            (keeper.tags(zuul_node_uuid='gone'), 2),
            ({'zuul_system_id': 'x', 'zuul_node_uuid': node.uuid}, 4),
            (None, 8))]
    cloud.instances.append(Unknown({}, {}))
    cloud.errors['listResources'] = ConnectionError('later')
    goRound()
    quota_cache = keeper.getEndpoint('rack').quota_cache
    expected = QuotaInformation(instances=3, cores=14)
    assert quota_cache.getUnmanagedUsage() == expected
    provider = keeper.tenant_providers['tenant'][0]
    assert keeper.planner.changed == [{provider.canonical_name}]
    # What can't be counted is not zero.
    cloud.errors['listInstances'] = ConnectionError('later')
    goRound()
    assert quota_cache.getUnmanagedUsage() == expected
    other = makeKeeper('two').getEndpoint('rack').quota_cache
    runUntil(lambda: other.getUnmanagedUsage() == expected)


def test_resources_do_not_wait_for_instances(keeper, cloud, goRound):
    cloud.errors['listInstances'] = ConnectionError('later')
    leak(keeper, cloud)
    goRound(2)
    assert cloud.names == set()


def test_metrics(server, keeper, cloud, goRound):
    leak(keeper, cloud)
    cloud.add('volume', 'foreign', {})
    cloud.add('image', 'old', keeper.tags(zuul_expiration='1'))
    cloud.stubborn |= {'leaked', 'old'}
    key = 'zuul.provider_endpoint.rack_rack'
    gauges = {f'{key}.{name}|g' for name in (
        'unmanaged.instance:0', 'unmanaged.volume:1', 'leaked.volume:0')}
    goRound()
    assert set(server.receiveAll(keeper.statsd)) == {
        *gauges, f'{key}.leaked.instance:0|g'}
    gauges |= {f'{key}.leaked.{kind}:1|g' for kind in ('instance', 'image')}
    goRound()
    # It is nobody's fault that the image was to go.
    assert set(server.receiveAll(keeper.statsd)) == {
        *gauges, f'{key}.leaked.instance:1|c'}
    goRound()
    server.receiveAll(keeper.statsd)
    goRound()
    # There still, but not tried again so soon.
    assert set(server.receiveAll(keeper.statsd)) == gauges


# Which endpoints are looked after, and when

@pytest.fixture
def reconcile(cleanup, clock):
    def go(pause=0.0, name='rack/rack'):
        clock.now += pause
        cleanup.reconcile(name)
        # What has ended asks to be looked at again.
        while cleanup.launcher.queue.added:
            cleanup.reconcile(cleanup.launcher.queue.added.pop()[1])
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

    def submit(self, endpoint, function, giveUp):
        thread = threading.Thread(target=function, daemon=True)
        self.threads.append(thread)
        thread.start()


def test_endpoint_that_hangs(keeper, clouds, cloud, clock, caplog):
    threads = Threads()
    cleanup = Cleanup(keeper, threads.submit, INTERVAL, QUOTA_INTERVAL, clock)
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
    runUntil(lambda: not clouds['other'].names)
    # Nothing is begun on top of it, and quotas do not wait.
    runUntil(lambda: added.count(RACK) == 1)
    for _ in range(3):
        clock.now += INTERVAL
        cleanup.reconcile('rack/rack')
    assert count(cloud, 'listResources') == 2
    assert cloud.attempts == {}
    # In the end it is not waited for any more.
    hanging = cloud.pauses.pop('listResources')
    clock.now += PATIENCE
    cleanup.reconcile('rack/rack')
    runUntil(lambda: not cloud.names)
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


def test_nothing_is_deleted_in_a_turn_that_was_given_up(keeper, cloud,
                                                        clock, cleanup):
    leak(keeper, cloud)
    endpoint = keeper.getEndpoint('rack')
    cleanup.cleanUp(endpoint)
    clock.now += INTERVAL
    cleanup.cleanUp(endpoint, Turn(clock.now, [], given_up=True))
    assert cloud.attempts == {}


def test_it_is_prepared_first(keeper, cloud, clock):
    threads = Threads()
    cleanup = Cleanup(keeper, threads.submit, INTERVAL, QUOTA_INTERVAL, clock)
    cloud.pauses['postConfig'] = threading.Event()
    for _ in range(2):
        cleanup.reconcile('rack/rack')
        clock.now += INTERVAL
    assert len(threads.threads) == 1
    cloud.pauses['postConfig'].set()
    runUntil(lambda: RACK in keeper.queue.added)
    assert count(cloud, 'listResources') == 0
    cleanup.reconcile('rack/rack')
    runUntil(lambda: count(cloud, 'listResources') == 1)


def test_no_deletion_after_the_stop(keeper, cloud, goRound):
    leak(keeper, cloud)
    goRound()
    keeper.stop_event.set()
    goRound()
    assert cloud.attempts == {}


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
    runUntil(lambda: sorted(getRunning()) == ['one', 'two'])
    cleanups = [Cleanup(keeper, callNow, INTERVAL, QUOTA_INTERVAL, clock)
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
    index = 0 if cleanups[0].division.isMyEndpoint(
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
    runUntil(lambda: getRunning() == [second.component_info.hostname])
    # The other one has to see for itself.
    reconcile()
    assert cloud.names == {'leaked'}
    reconcile()
    assert cloud.names == set()


def test_what_was_seen_before_another_launcher_took_over(makeKeeper, cloud,
                                                         clock):
    keepers = [makeKeeper(name) for name in ('one', 'two')]
    runUntil(lambda: sorted(getRunning()) == ['one', 'two'])
    cleanup, = (
        each for each in (
            Cleanup(keeper, callNow, INTERVAL, QUOTA_INTERVAL, clock)
            for keeper in keepers)
        if each.division.isMyEndpoint(keepers[0].getEndpoint('rack')))

    def reconcile(state):
        component = cleanup.launcher.component_info
        component.state = state
        runUntil(lambda: (component.hostname in getRunning())
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
    runUntil(lambda: [component.connection_filter for component in
                      COMPONENT_REGISTRY.registry.all('launcher')]
             == [['other']])
    second = makeKeeper('two')
    cleanup = Cleanup(second, callNow, INTERVAL, QUOTA_INTERVAL, clock)
    # Whatever their scores are.
    assert cleanup.division.isMyEndpoint(second.getEndpoint('rack'))


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
    runUntil(lambda: getLimits(other) == {'instances': 8})


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

