"""What has leaked goes, and nothing else."""

import logging
import time

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.model import ProviderNode, QuotaInformation

from tests.fixtures.cloud import (
    BOTH,
    INTERVAL,
    CloudEndpoint,
    CloudInstance,
    CloudResource,
    leak,
)
from tests.fixtures.shelf.shelf_maker import ShelfProviderNode
from tests.fixtures.waiting import waitFor
from zuul_nodes import leakrecords, zkrecords
from zuul_nodes.launcher.endpoints.leaks import MEMORY
from zuul_nodes.launcher.providers.unreadable import Unreadable
from zuul_nodes.launcher.settings import Settings

State = ProviderNode.State
NODES = '/zuul/nodes/nodes'
UPLOADS = '/zuul/image-uploads/uploads'


@pytest.fixture
def goRound(cleanup, keeper, clock):
    """:return: a function that cleans up some times, at intervals."""
    def go(times=1, pause=INTERVAL):
        for _ in range(times):
            clock.now += pause
            cleanup.cleanUp(keeper.getEndpoint('rack'))
    return go


@pytest.fixture
def prepared(cleanup, keeper):
    """The driver knows all providers."""
    cleanup.refreshQuota(keeper.getEndpoint('rack'))


@pytest.mark.parametrize('resource_type, tag', [
    ('instance', 'zuul_node_uuid'),
    ('volume', 'zuul_node_uuid'),
    ('floating-ip', 'zuul_node_uuid'),
    ('image', 'zuul_upload_uuid'),
])
def test_leaked_resource_is_deleted_when_seen_twice(
        keeper, cloud, goRound, resource_type, tag):
    cloud.add(resource_type, 'leaked', keeper.tags(**{tag: '42'}))
    goRound()
    # Somebody else asks for a round.
    goRound(pause=INTERVAL - 1)
    assert cloud.names == {'leaked'}
    goRound(pause=1)
    assert cloud.names == set()


def test_resource_that_was_away_must_be_seen_twice_again(
        keeper, cloud, goRound):
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
def test_resource_without_tags_of_this_zuul_stays(cloud, goRound, tags):
    cloud.add('instance', 'foreign', tags)
    goRound(3)
    assert cloud.attempts == {}


def test_resource_stays_while_the_system_id_is_unknown(keeper, cloud, goRound):
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


@pytest.fixture
def known(monkeypatch):
    """:return: dict, uuid of a node -> the id of its instance, which the
        driver knows."""
    known = {}
    monkeypatch.setattr(
        CloudEndpoint, 'getInstanceId', lambda self, node: known.get(
            node.uuid), raising=False)
    return known


def test_second_instance_of_a_node_is_deleted(keeper, cloud, goRound, known):
    """Of a launcher that did not know that another one has the node."""
    node = keeper.addNode(state=State.IN_USE)
    tags = keeper.tags(zuul_node_uuid=node.uuid)
    for kind, name in (('instance', 'own'), ('instance', 'second'),
                       ('volume', 'own'), ('volume', 'second')):
        cloud.add(kind, name, tags)
    known[node.uuid] = 'instance-own'
    goRound(3)
    assert [(each.type, each.name) for each in cloud.resources] == [
        ('instance', 'own'), ('volume', 'own'), ('volume', 'second')]


def test_instance_is_kept_that_the_record_of_its_node_has(
        keeper, cloud, goRound, monkeypatch):
    """The node in this launcher's memory is not as its record is."""
    monkeypatch.setattr(
        CloudEndpoint, 'getInstanceId',
        lambda self, node: node.create_state.get('id'), raising=False)
    node = keeper.addNode(
        state=State.IN_USE, create_state={'id': 'instance-own'})
    node._set(create_state={'id': 'instance-second'})
    tags = keeper.tags(zuul_node_uuid=node.uuid)
    cloud.add('instance', 'own', tags)
    cloud.add('instance', 'second', tags)
    goRound(3)
    assert cloud.names == {'own', 'second'}


@pytest.mark.parametrize('state, instance_id', [
    # Either may become the node's.
    (State.BUILDING, 'instance-own'),
    (State.IN_USE, None),
    # The driver has other ids in the list.
    (State.IN_USE, 'own')])
def test_instances_of_a_node_stay_while_its_own_is_not_known(
        keeper, cloud, goRound, known, state, instance_id):
    node = keeper.addNode(state=state)
    tags = keeper.tags(zuul_node_uuid=node.uuid)
    cloud.add('instance', 'own', tags)
    cloud.add('instance', 'second', tags)
    known[node.uuid] = instance_id
    goRound(3)
    assert cloud.names == {'own', 'second'}


def test_upload_with_a_record(keeper, cloud, goRound):
    upload = keeper.addUpload()
    cloud.add('image', 'image', keeper.tags(zuul_upload_uuid=upload.uuid))
    goRound(3)
    assert cloud.attempts == {}


def test_resource_with_one_of_two_owners_stays(keeper, cloud, goRound):
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
        waitFor(lambda cache=cache: not cache._event_worker.is_alive())
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


def test_expires_between_sightings(keeper, cloud, goRound, jump):
    """None before that counts, nor while a clock was wrong."""
    soon = int(time.time()) + 3600
    cloud.add('image', 'image', keeper.tags(zuul_expiration=str(soon)))
    for seconds in (0, 0, 7200, 0, 7200):
        jump(seconds)
        goRound()
    assert cloud.names == {'image'}
    goRound()
    assert cloud.names == set()


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
                if 'Kept at' in record.message]) == 4


class Demanding(ShelfProviderNode, subclass_id='demanding'):
    """A node that needs something that it shares with others."""

    def getRequiredResources(self):
        return ['template-used']


def test_required_infrastructure_resource_stays(
        keeper, cloud, goRound, prepared):
    Demanding.new(keeper.context(), endpoint_name='rack')
    waitFor(keeper.api.getProviderNodes)
    for name in ('configured', 'used', 'leaked'):
        cloud.add('template', name, keeper.tags())
    cloud.required = [cloud.resources[0]]
    goRound()
    assert cloud.names == {'configured', 'used', 'leaked'}
    goRound()
    assert cloud.names == {'configured', 'used'}


def test_no_resource_goes_while_required_ones_are_unknown(
        keeper, cloud, goRound, prepared):
    cloud.add('template', 'template', keeper.tags())
    leak(keeper, cloud)
    cloud.errors['listRequiredInfrastructureResources'] = RuntimeError('?')
    goRound(3)
    assert cloud.names == {'template'}
    cloud.errors.clear()
    goRound(2)
    assert cloud.names == set()


def test_no_resource_goes_while_a_provider_is_not_prepared(
        keeper, cloud, goRound, cleanup):
    """Drivers tell of prepared providers only which resources these have in
    common."""
    cloud.add('template', 'template', keeper.tags())
    leak(keeper, cloud)
    keeper.setLayout(BOTH)
    cloud.errors['postConfig'] = RuntimeError('busy')
    cleanup.refreshQuota(keeper.getEndpoint('rack'))
    goRound(3)
    assert cloud.names == {'template'}
    cloud.errors.clear()
    cleanup.refreshQuota(keeper.getEndpoint('rack'))
    goRound(2)
    assert cloud.names == set()


def test_no_resource_goes_while_a_provider_is_unreadable(
        keeper, cloud, goRound, prepared):
    cloud.add('template', 'template', keeper.tags())
    keeper.unreadable['tenant'] = {
        'example.com%2Fnodes/rack-other': Unreadable(
            'no driver', None, 'rack')}
    goRound(3)
    assert cloud.names == {'template'}
    keeper.unreadable.clear()
    goRound(2)
    assert cloud.names == set()


@pytest.mark.parametrize('connection', ['other', None])
def test_resources_go_though_a_provider_elsewhere_is_unreadable(
        keeper, cloud, goRound, prepared, connection):
    """Or one that no launcher can read."""
    cloud.add('template', 'template', keeper.tags())
    keeper.unreadable['tenant'] = {
        'example.com%2Fnodes/there': Unreadable('?', None, connection)}
    goRound(3)
    assert cloud.names == set()


def test_no_resource_goes_while_a_layout_is_unread(
        keeper, cloud, goRound, prepared, monkeypatch):
    cloud.add('template', 'template', keeper.tags())
    with monkeypatch.context() as context:
        context.setattr(keeper, 'isKnown', lambda: False)
        goRound(3)
    assert cloud.names == {'template'}
    goRound(2)
    assert cloud.names == set()


def test_no_resource_goes_while_a_node_is_unreadable(
        keeper, cloud, goRound, prepared, kazoo_client):
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
    goRound(3, pause=2 * Settings.cleanup_longest_backoff)
    assert cloud.attempts == {'first': 8, 'last': 8}
    cloud.errors.clear()
    goRound(pause=Settings.cleanup_longest_backoff)
    assert cloud.names == {'last'}


def test_leaked_resource_behind_an_error_in_the_list_is_remembered(
        keeper, cloud, goRound):
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


def test_resources_missing_in_incomplete_lists_are_forgotten(
        keeper, cloud, goRound):
    leak(keeper, cloud, 'first')
    goRound()
    resources = cloud.resources[:]
    cloud.resources[:] = [None]
    goRound(pause=MEMORY)
    # One of the same name.
    cloud.resources[:] = resources
    goRound()
    assert cloud.names == {'first'}
    goRound()
    assert cloud.names == set()


class Unknown(CloudInstance):
    def getQuotaInformation(self):
        raise LookupError('no such flavor')


def test_usage_of_unmanaged_instances_is_counted(
        keeper, cloud, goRound, makeKeeper):
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
    waitFor(lambda: other.getUnmanagedUsage() == expected)


def test_resources_do_not_wait_for_instances(keeper, cloud, goRound):
    cloud.errors['listInstances'] = ConnectionError('later')
    leak(keeper, cloud)
    goRound(2)
    assert cloud.names == set()


def test_no_deletion_after_the_stop(keeper, cloud, goRound):
    leak(keeper, cloud)
    goRound()
    keeper.stop_event.set()
    goRound()
    assert cloud.attempts == {}


def test_metrics(stats_server, keeper, cloud, goRound):
    leak(keeper, cloud)
    cloud.add('volume', 'foreign', {})
    cloud.add('image', 'old', keeper.tags(zuul_expiration='1'))
    cloud.stubborn |= {'leaked', 'old'}
    key = 'zuul.provider_endpoint.rack_rack'
    gauges = {f'{key}.{name}|g' for name in (
        'unmanaged.instance:0', 'unmanaged.volume:1', 'leaked.volume:0')}
    goRound()
    assert set(stats_server.receiveAll(keeper.statsd)) == {
        *gauges, f'{key}.leaked.instance:0|g'}
    gauges |= {f'{key}.leaked.{kind}:1|g' for kind in ('instance', 'image')}
    goRound()
    # It is nobody's fault that the image was to go.
    assert set(stats_server.receiveAll(keeper.statsd)) == {
        *gauges, f'{key}.leaked.instance:1|c'}
    goRound()
    stats_server.receiveAll(keeper.statsd)
    goRound()
    # There still, but not tried again so soon.
    assert set(stats_server.receiveAll(keeper.statsd)) == gauges


def test_suspects_are_recorded_until_they_are_deleted(
        keeper, cloud, zk_client, goRound):
    cloud.add('instance', 'leaked', keeper.tags(zuul_node_uuid='42'))
    goRound()
    suspect, = leakrecords.readAll(zk_client.client)
    assert time.time() - 60 < suspect.pop('since') <= time.time()
    assert suspect == {
        'endpoint': keeper.getEndpoint('rack').canonical_name,
        'type': 'instance', 'id': 'instance-leaked', 'node': '42',
        'upload': None, 'attempts': 0, 'error': None}
    goRound(2)
    assert leakrecords.readAll(zk_client.client) == []


def test_record_says_why_a_deletion_fails_without_secrets(
        keeper, cloud, zk_client, goRound, monkeypatch):
    leak(keeper, cloud)

    def refuse(*args):
        raise RuntimeError('it is locked, token=abcdef')
    monkeypatch.setattr(
        type(keeper.getEndpoint('rack')), 'deleteResource', refuse)
    goRound(2)
    suspect, = leakrecords.readAll(zk_client.client)
    assert suspect['attempts'] == 1
    assert 'it is locked' in suspect['error']
    assert 'abcdef' not in suspect['error']


def test_record_of_another_launcher_goes(zk_client, keeper, goRound):
    endpoint_name = keeper.getEndpoint('rack').canonical_name
    zkrecords.write(
        zk_client.client, leakrecords.getPath(endpoint_name),
        leakrecords.makeRecord([]))
    goRound()
    assert not zkrecords.getNames(zk_client.client, leakrecords.ROOT)
