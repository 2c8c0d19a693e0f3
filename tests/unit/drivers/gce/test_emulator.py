"""The emulated Compute Engine, as Google's library sees it."""

import concurrent.futures
import uuid

from google.api_core import exceptions
import pytest
import requests

from tests.unit.drivers.gce.clients import (
    PLACE,
    PROJECT,
    ZONE,
    getInstance,
    getOperation,
    getReason,
    insert,
    makeInstance,
)

# Instances

def test_life(gce, clients):
    gce.jobs.polls['instances.insert'] = 2
    operation = insert(clients)
    assert operation.status.name == 'PENDING'
    assert operation.target_link.endswith(f'/zones/{ZONE}/instances/np0001')
    first = getInstance(clients)
    assert first.status == 'PROVISIONING'
    assert not first.network_interfaces[0].access_configs[0].nat_i_p
    assert getInstance(clients).status == 'STAGING'
    assert getOperation(clients, operation).status.name == 'DONE'
    instance = getInstance(clients)
    assert instance.status == 'RUNNING'
    assert instance.labels == {'zuul_system_id': 'system'}
    interface, = instance.network_interfaces
    assert interface.network_i_p.startswith('10.128.')
    assert interface.access_configs[0].nat_i_p.startswith('198.18.')
    disk = clients.disks.get(**PLACE, disk='np0001')
    assert (disk.status, disk.size_gb, list(disk.users)) == (
        'READY', 20, [instance.self_link])
    assert disk.source_image.endswith('/debian-12-bookworm-v2')
    deletion = clients.instances.delete_unary(**PLACE, instance='np0001')
    assert getInstance(clients).status == 'STOPPING'
    with pytest.raises(exceptions.NotFound) as info:
        getInstance(clients)
    assert getReason(info) == 'notFound'
    assert f"projects/zuul/zones/{ZONE}/instances/np0001'" in str(info.value)
    assert getOperation(clients, deletion).status.name == 'DONE'
    assert not gce.disks.names
    assert gce.calls == {
        'instances.insert': 1, 'instances.get': 5, 'instances.delete': 1,
        'zoneOperations.get': 2, 'disks.get': 1}


def test_held(gce, clients):
    gce.jobs.polls['instances.insert'] = None
    gce.instances.boot_polls = 1
    operation = insert(clients)
    for _ in range(3):
        assert getInstance(clients).status == 'PROVISIONING'
    assert clients.zone_operations.wait(
        **PLACE, operation=operation.name).status.name == 'PENDING'
    gce.jobs.finish('np0001')
    assert getOperation(clients, operation).status.name == 'DONE'
    assert getInstance(clients).status == 'STAGING'
    assert getInstance(clients).status == 'RUNNING'


def test_deleteMeanwhile(gce, clients):
    """What is deleted while it is made doesn't come back."""
    gce.jobs.polls['instances.insert'] = None
    first = insert(clients)
    clients.instances.delete_unary(**PLACE, instance='np0001')
    assert getInstance(clients).status == 'STOPPING'
    with pytest.raises(exceptions.NotFound):
        getInstance(clients)
    assert getOperation(clients, first).status.name == 'DONE'
    assert not gce.disks.names
    insert(clients)
    assert getInstance(clients).status == 'PROVISIONING'


def test_extendedOperation(gce, clients):
    """The library can wait by itself."""
    gce.jobs.polls['instances.insert'] = 0
    clients.instances.insert(**PLACE, instance_resource=makeInstance()
                             ).result(timeout=10)
    gce.jobs.polls['instances.delete'] = 0
    gce.fail('instances.delete', 'INTERNAL_ERROR', 'It broke')
    with pytest.raises(exceptions.InternalServerError):
        clients.instances.delete(**PLACE, instance='np0001').result(
            timeout=10)
    assert gce.instances['np0001']['status'] == 'RUNNING'


def test_onRunning(gce, clients):
    """A test can say where an instance is."""
    def move(instance):
        instance['networkInterfaces'][0]['networkIP'] = '127.0.0.1'
    gce.instances.on_running = move
    gce.jobs.polls['instances.insert'] = 0
    insert(clients)
    interface, = getInstance(clients).network_interfaces
    assert interface.network_i_p == '127.0.0.1'


def test_fields(gce, clients):
    gce.jobs.polls['instances.insert'] = 0
    gce.subnetworks.create(PROJECT, 'us-central1', 'dual',
                           'projects/zuul/global/networks/default',
                           ipv6='EXTERNAL')
    insert(
        clients, machine='n2-custom-4-8192',
        network_interfaces=[{
            'subnetwork': 'regions/us-central1/subnetworks/dual',
            'stack_type': 'IPV4_IPV6',
            'ipv6_access_configs': [{'type_': 'DIRECT_IPV6'}]}],
        tags={'items': ['ssh']},
        metadata={'items': [{'key': 'user-data', 'value': '#!/bin/sh'}]},
        service_accounts=[{'email': 'default', 'scopes': ['all']}],
        scheduling={'provisioning_model': 'SPOT'},
        shielded_instance_config={'enable_secure_boot': True},
        advanced_machine_features={'enable_nested_virtualization': True},
        min_cpu_platform='Intel Ice Lake')
    instance = getInstance(clients)
    interface, = instance.network_interfaces
    assert interface.ipv6_access_configs[0].external_ipv6.startswith('2001:')
    assert not interface.access_configs
    assert (instance.scheduling.preemptible,
            instance.scheduling.on_host_maintenance,
            instance.scheduling.automatic_restart) == (
                True, 'TERMINATE', False)
    assert list(instance.tags.items) == ['ssh']
    assert instance.metadata.items[0].value == '#!/bin/sh'
    assert instance.service_accounts[0].email == 'default'
    assert instance.shielded_instance_config.enable_secure_boot
    assert instance.shielded_instance_config.enable_vtpm
    assert instance.min_cpu_platform == 'Intel Ice Lake'


@pytest.mark.parametrize(['fields', 'match'], [
    ({'machine': 'e2-huge-2'}, "name 'e2-huge-2' does not exist in zone"),
    ({'machine': 'custom-3-8192'}, "name 'custom-3-8192' does not exist"),
    ({'name': 'Node_1'}, 'Must be a match of regex'),
    ({'labels': {'a': 'Debian'}}, "Label value 'Debian' violates"),
    ({'disks': []}, 'A boot disk'),
    ({'network_interfaces': []}, 'At least one network interface'),
    ({'network_interfaces': [{'network': 'global/networks/none'}]},
     'The referenced network resource cannot be found'),
    ({'scheduling': {'provisioning_model': 'SPOT',
                     'on_host_maintenance': 'MIGRATE'}},
     'scheduling.onHostMaintenance'),
    ({'advanced_machine_features': {'enable_nested_virtualization': True}},
     'neither'),
])
def test_invalid(gce, clients, fields, match):
    with pytest.raises(exceptions.BadRequest, match=match) as info:
        insert(clients, **fields)
    assert getReason(info) == 'invalid'
    assert not gce.instances.names


def test_unknown(gce, clients):
    with pytest.raises(exceptions.NotFound, match='images/none') as info:
        insert(clients, image='global/images/none')
    assert getReason(info) == 'notFound'
    with pytest.raises(exceptions.BadRequest, match='Unknown zone'):
        clients.instances.list(project=PROJECT, zone='mars-a')
    for client, arguments in (
            (clients.zones, {'zone': 'mars-a'}),
            (clients.machine_types, {'zone': ZONE, 'machine_type': 'e2'}),
            (clients.projects, {}), (clients.images, {'image': 'none'})):
        with pytest.raises(exceptions.NotFound):
            client.get(**{'project': PROJECT if arguments else 'none',
                          **arguments})
    assert requests.get(f'{gce.url}/compute/v1/nothing', timeout=10
                        ).status_code == 404
    assert gce.calls['GET /compute/v1/nothing'] == 1


def test_alreadyExists(clients):
    insert(clients)
    with pytest.raises(exceptions.Conflict) as info:
        insert(clients)
    assert getReason(info) == 'alreadyExists'


def test_requestID(gce, clients):
    request_id = str(uuid.uuid4())
    first = insert(clients, request_id=request_id)
    again = insert(clients, request_id=request_id)
    assert first.name == again.name
    assert gce.instances.names == ['np0001']
    with pytest.raises(exceptions.BadRequest, match='requestId'):
        insert(clients, 'np0002', request_id='np0002')


def test_preempt(gce, clients):
    gce.jobs.polls['instances.insert'] = 0
    gce.quota.regional['PREEMPTIBLE_CPUS'] = 8
    insert(clients, scheduling={'preemptible': True})
    assert getUsed(clients)['PREEMPTIBLE_CPUS'] == 2
    gce.preempt('np0001')
    assert getInstance(clients).status == 'STOPPING'
    assert getInstance(clients).status == 'TERMINATED'
    assert getUsed(clients)['PREEMPTIBLE_CPUS'] == 0
    operation, = clients.zone_operations.list(
        request={**PLACE,
                 'filter': 'operationType="compute.instances.preempted"'})
    assert operation.user == 'system'
    insert(clients, 'np0002', scheduling={
        'provisioning_model': 'SPOT',
        'instance_termination_action': 'DELETE'})
    gce.preempt('np0002')
    gce.finish('np0002')
    assert gce.instances.names == gce.disks.names == ['np0001']


def test_stop(gce, clients):
    insert(clients)
    gce.finish('np0001')
    clients.instances.stop_unary(**PLACE, instance='np0001')
    gce.finish('np0001')
    assert getInstance(clients).status == 'TERMINATED'
    clients.instances.start_unary(**PLACE, instance='np0001')
    gce.finish('np0001')
    assert getInstance(clients).status == 'RUNNING'


def test_console(gce, clients):
    insert(clients)
    gce.instances.consoles['np0001'] = 'ssh-ed25519 AAAA\n'
    with pytest.raises(exceptions.BadRequest, match='is not ready') as info:
        clients.instances.get_serial_port_output(**PLACE, instance='np0001')
    assert getReason(info) == 'resourceNotReady'
    gce.finish('np0001')
    output = clients.instances.get_serial_port_output(
        **PLACE, instance='np0001')
    assert (output.contents, output.next_) == ('ssh-ed25519 AAAA\n', 17)


def test_setLabels(gce, clients):
    insert(clients)
    before = getInstance(clients)

    def set_labels():
        clients.instances.set_labels_unary(
            **PLACE, instance='np0001',
            instances_set_labels_request_resource={
                'labels': {'b': 'c'},
                'label_fingerprint': before.label_fingerprint})
    set_labels()
    assert getInstance(clients).labels == {'b': 'c'}
    with pytest.raises(exceptions.PreconditionFailed):
        set_labels()


# Lists

def test_paging(gce, clients):
    names = [f'np000{i}' for i in range(5)]
    for name in names:
        insert(clients, name)
    pages = list(clients.instances.list(
        request={**PLACE, 'max_results': 2}).pages)
    assert [[each.name for each in page.items] for page in pages] == [
        names[:2], names[2:4], names[4:]]
    gce.page_size = 2
    pages = list(clients.instances.aggregated_list(project=PROJECT).pages)
    assert [[each.name for each in page.items[f'zones/{ZONE}'].instances]
            for page in pages] == [names[:2], names[2:4], names[4:]]
    assert pages[0].items['zones/europe-west1-b'].warning.code == (
        'NO_RESULTS_ON_PAGE')
    assert gce.calls['instances.list'] == 3
    assert gce.calls['instances.aggregatedList'] == 3
    with pytest.raises(exceptions.BadRequest, match='pageToken'):
        clients.instances.list(request={**PLACE, 'page_token': '-'})


@pytest.mark.parametrize(['text', 'names'], [
    ('labels.kind=one', ['a']),
    ('labels.kind:*', ['a', 'b']),
    ('NOT labels.kind:*', ['c']),
    ('labels.kind != one', ['b', 'c']),
    ('(labels.kind=one) OR (labels.kind=two)', ['a', 'b']),
    ('(labels.kind="two") (labels.system=x)', ['b']),
    ('labels.system=x AND name=a', ['a']),
    ('name eq "(a|c)"', ['a', 'c']),
    ('name ne .*a', ['b', 'c']),
    ('scheduling.automaticRestart = false', []),
    ('status=RUNNING', []),
])
def test_filter(clients, text, names):
    for name, labels in (('a', {'kind': 'one', 'system': 'x'}),
                         ('b', {'kind': 'two', 'system': 'x'}), ('c', {})):
        insert(clients, name, labels=labels)
    assert [each.name for each in clients.instances.list(
        request={**PLACE, 'filter': text})] == names


def test_invalidFilter(clients):
    for text in ('labels.a', 'labels.a=', '(a=b', 'a=b)', '=', 'a b c'):
        with pytest.raises(exceptions.BadRequest, match='filter'):
            clients.instances.list(request={**PLACE, 'filter': text})


def test_places(clients):
    regions = {each.name: each for each in clients.regions.list(
        project=PROJECT)}
    assert set(regions) == {'us-central1', 'europe-west1'}
    zone = clients.zones.get(**PLACE)
    assert zone.region == regions['us-central1'].self_link
    assert zone.self_link in regions['us-central1'].zones
    types = {each.name: (each.guest_cpus, each.memory_mb)
             for each in clients.machine_types.list(**PLACE)}
    assert types['e2-standard-4'] == (4, 16384)
    assert types['n1-standard-1'] == (1, 3840)
    custom = clients.machine_types.get(
        **PLACE, machine_type='n2-custom-4-8192')
    assert (custom.guest_cpus, custom.memory_mb) == (4, 8192)
    zones = {scope for scope, _ in clients.machine_types.aggregated_list(
        project=PROJECT)}
    assert f'zones/{ZONE}' in zones


# What goes wrong

def getUsed(clients, region='us-central1'):
    return {quota.metric: quota.usage for quota in clients.regions.get(
        project=PROJECT, region=region).quotas}


def test_quota(gce, clients):
    gce.quota.regional['CPUS'] = 4
    insert(clients, 'a')
    insert(clients, 'b')
    used = getUsed(clients)
    assert (used['CPUS'], used['INSTANCES'], used['SSD_TOTAL_GB'],
            used['IN_USE_ADDRESSES'], used['DISKS_TOTAL_GB']) == (
                4, 2, 40, 2, 0)
    assert getUsed(clients, 'europe-west1')['CPUS'] == 0
    quotas = {quota.metric: quota for quota in clients.projects.get(
        project=PROJECT).quotas}
    assert quotas['CPUS_ALL_REGIONS'].usage == 4
    with pytest.raises(exceptions.Forbidden, match=r"Quota 'CPUS' exceeded"
                       r'.  Limit: 4.0 in region us-central1.') as info:
        insert(clients, 'c')
    assert getReason(info) == 'quotaExceeded'
    insert(clients, 'c', machine='n2-standard-2')
    gce.quota.overall['CPUS_ALL_REGIONS'] = 6
    with pytest.raises(exceptions.Forbidden, match='globally'):
        insert(clients, 'd', machine='n2-standard-2')


def test_lateQuota(gce, clients):
    gce.quota.late = True
    gce.quota.regions['us-central1']['INSTANCES'] = 0
    operation = insert(clients)
    assert getOperation(clients, operation).status.name == 'RUNNING'
    operation = getOperation(clients, operation)
    assert (operation.status.name, operation.http_error_status_code) == (
        'DONE', 403)
    error, = operation.error.errors
    assert error.code == 'QUOTA_EXCEEDED'
    assert "Quota 'INSTANCES' exceeded" in error.message
    assert not gce.instances.names
    assert not gce.disks.names


def test_failure(gce, clients):
    """An instance can be seen until it turns out that it can't be."""
    gce.fail('instances.insert')
    operation = insert(clients)
    assert getInstance(clients).status == 'STAGING'
    operation = clients.zone_operations.wait(
        **PLACE, operation=operation.name)
    assert operation.error.errors[0].code == 'ZONE_RESOURCE_POOL_EXHAUSTED'
    assert operation.http_error_message == 'SERVICE UNAVAILABLE'
    with pytest.raises(exceptions.NotFound):
        getInstance(clients)
    assert not gce.disks.names
    insert(clients)


@pytest.mark.parametrize(['status', 'reason', 'error'], [
    (429, 'rateLimitExceeded', exceptions.TooManyRequests),
    (503, 'backendError', exceptions.ServiceUnavailable),
    (403, 'forbidden', exceptions.Forbidden),
])
def test_fault(gce, clients, status, reason, error):
    gce.inject('POST', r'.*/instances', status, times=2)
    for _ in range(2):
        with pytest.raises(error) as info:
            insert(clients)
        assert getReason(info) == reason
    assert not gce.instances.names
    insert(clients)
    assert gce.calls['instances.insert'] == 3


@pytest.mark.parametrize('acts', [False, True])
def test_hangUp(gce, clients, acts):
    gce.inject('POST', r'.*/instances', acts=acts)
    with pytest.raises(requests.ConnectionError):
        insert(clients)
    assert gce.instances.names == (['np0001'] if acts else [])


def test_hang(gce, clients):
    fault = gce.inject('GET', r'.*/instances/.*', 503, hangs=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        call = pool.submit(getInstance, clients)
        assert fault.reached.wait(10)
        # Others are answered.
        insert(clients)
        assert not call.done()
        fault.release()
        assert call.result(10).name == 'np0001'
    assert gce.calls['instances.get'] == 2


# Disks

def test_disk(gce, clients):
    gce.jobs.polls['instances.insert'] = 0
    clients.disks.insert_unary(**PLACE, disk_resource={
        'name': 'data', 'size_gb': 30, 'labels': {'a': 'b'}})
    instance = makeInstance()
    instance['disks'][0]['auto_delete'] = False
    instance['disks'].append({'source': f'zones/{ZONE}/disks/data'})
    clients.instances.insert_unary(**PLACE, instance_resource=instance)
    assert [disk.name for disk in clients.disks.list(**PLACE)] == [
        'data', 'np0001']
    with pytest.raises(exceptions.BadRequest, match='being used') as info:
        clients.disks.delete(**PLACE, disk='data')
    assert getReason(info) == 'resourceInUseByAnotherResource'
    clients.instances.delete_unary(**PLACE, instance='np0001')
    gce.finish('np0001')
    assert gce.disks.names == ['data', 'np0001']
    clients.disks.delete_unary(**PLACE, disk='data')
    gce.finish('data')
    assert gce.disks.names == ['np0001']


def test_countsEach(gce, clients):
    """The library itself calls nothing twice."""
    list(clients.zones.list(project=PROJECT))
    assert gce.calls == {'zones.list': 1}
