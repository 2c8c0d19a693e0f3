"""Instances, as the adapter makes them."""

import pytest

from tests.unit.drivers.gce.sites import TAGS, change
from zuul_nodes.drivers import (
    CapacityError,
    PermanentError,
    State,
    TemporaryError,
)
from zuul_nodes.launcher.providers.failures import Failure, classify

ZONES = ['us-central1-a', 'us-central1-b', 'us-central1-f']


def getMetadata(instance):
    return {item['key']: item['value']
            for item in instance['metadata']['items']}


def test_life(gce, site):
    gce.jobs.polls['instances.insert'] = 3
    spec = site.makeSpec()
    created = site.adapter.createInstance(spec)
    assert (created.id, created.state) == (
        'us-central1-a/np0001', State.BUILDING)
    assert not site.list()[created.id].ready
    instance = site.runUntil(
        lambda instances: instances[created.id].ready)[created.id]
    assert instance.tags == spec.tags == {
        **TAGS, 'zuul_node_uuid': '0001'}
    assert instance.az == 'us-central1-a'
    assert instance.interface_ip == instance.public_ipv4
    assert instance.public_ipv4.startswith('198.18.')
    assert instance.private_ipv4.startswith('10.128.')
    assert instance.needs == {
        'instances': 1, 'cores': 2, 'ram': 8192, 'CPUS': 2,
        'IN_USE_ADDRESSES': 1, 'SSD_TOTAL_GB': 40}
    assert instance.needs == site.adapter.getNeeds(site.makeSpec(zone=None))
    site.adapter.deleteInstance(created.id)
    assert not site.list()[created.id].ready
    # While it is being removed, and when it is gone.
    site.adapter.deleteInstance(created.id)
    site.runUntil(lambda instances: not instances)
    site.adapter.deleteInstance(created.id)
    assert not gce.disks.names


def test_what_is_asked_for(gce, site):
    site.adapter.createInstance(site.makeSpec())
    instance = gce.instances['np0001']
    assert instance['labels'] == {
        'zuul_system_id': 'system', 'zuul_node_uuid': '0001'}
    assert instance['tags']['items'] == ['ci-node']
    assert instance['machineType'].endswith('/e2-standard-2')
    assert instance['scheduling']['provisioningModel'] == 'STANDARD'
    assert not instance.get('serviceAccounts')
    assert 'advancedMachineFeatures' not in instance
    metadata = getMetadata(instance)
    assert metadata.keys() == {'ssh-keys', 'zuul-nodes'}
    assert metadata['ssh-keys'].startswith('zuul:ssh-ed25519 ')
    disk = gce.disks['np0001']
    assert disk['sizeGb'] == '40'
    assert disk['type'].endswith('/pd-balanced')
    assert disk['sourceImage'].endswith(
        'debian-cloud/global/images/debian-12-bookworm-v2')


def test_spot_and_nested_virtualization(gce, makeSite):
    site = makeSite(change(
        'market-type: spot', 'market-type: spot\n        vtpm: false'))
    site.adapter.createInstance(site.makeSpec(
        label='built', image_id='projects/debian-cloud/global/images/'
        'debian-12-bookworm-v1'))
    instance = gce.instances['np0001']
    assert instance['scheduling'] == {
        'preemptible': True, 'automaticRestart': False,
        'onHostMaintenance': 'TERMINATE', 'provisioningModel': 'SPOT',
        'instanceTerminationAction': 'DELETE'}
    assert instance['advancedMachineFeatures'] == {
        'enableNestedVirtualization': True}
    assert instance['shieldedInstanceConfig'] == {
        'enableSecureBoot': False, 'enableVtpm': False,
        'enableIntegrityMonitoring': True}


def test_more_of_what_can_be_asked_for(gce, makeSite):
    gce.subnetworks.create('zuul', 'us-central1', 'six',
                           'projects/zuul/global/networks/default',
                           ipv6='EXTERNAL')
    site = makeSite(change(
        'network-tags: [ci-node]', '''subnetwork: six
      metadata: {enable-oslogin: 'FALSE', user-data: none}
      service-account: {email: ci@example.com}''').replace(
        'machine-type: e2-standard-2', '''machine-type: n2-custom-4-8192
        min-cpu-platform: Intel Ice Lake
        public-ipv4: false
        public-ipv6: true''').replace(
        'username: zuul', "username: zuul\n      userdata: '#!/bin/sh'"))
    ready = site.create()
    instance = gce.instances['np0001']
    metadata = getMetadata(instance)
    assert metadata['enable-oslogin'] == 'FALSE'
    assert metadata['user-data'] == '#!/bin/sh'
    assert instance['serviceAccounts'] == [{
        'email': 'ci@example.com', 'scopes': [
            'https://www.googleapis.com/auth/cloud-platform']}]
    assert instance['minCpuPlatform'] == 'Intel Ice Lake'
    interface, = instance['networkInterfaces']
    assert interface['subnetwork'].endswith('/six')
    assert ready.public_ipv4 is None
    assert ready.public_ipv6.startswith('2001:db8:')
    assert ready.interface_ip == ready.public_ipv6
    assert ready.needs['N2_CPUS'] == ready.needs['cores'] == 4


def test_internal_address(makeSite):
    site = makeSite(change(
        'region: us-central1', 'region: us-central1\n    '
        'use-internal-ip: true'))
    instance = site.create()
    assert instance.public_ipv4
    assert instance.interface_ip == instance.private_ipv4


def test_labels_are_the_tags_that_can_be(gce, site):
    tags = {'goog-a': 'b', 'Big': 'b', 'small': 'B', 'x': 'y' * 64,
            'long': 'y' * 63, **{f'many_{i}': 'n' for i in range(64)}}
    site.create(tags=tags)
    labels = gce.instances['np0001']['labels']
    assert len(labels) == 64
    assert labels.keys() >= {'zuul_system_id', 'zuul_node_uuid', 'long'}
    assert not labels.keys() & {'goog-a', 'Big'}
    assert labels['small'].startswith('b-')
    assert labels['x'].startswith('yyyy')
    instance, = site.list().values()
    assert instance.tags.items() >= tags.items()


def test_tags_that_a_description_does_not_hold(gce, site):
    """The node's are found all the same."""
    tags = {f'many {i}': 'ß' * 63 for i in range(64)}
    site.create(tags=tags)
    instance, = site.list().values()
    assert instance.tags.items() >= tags.items()
    instance = gce.instances['np0001']
    instance['disks'][0]['autoDelete'] = False
    gce.instances.remove(gce.unlink(instance['selfLink']))
    disk, = (each for each in site.adapter.listResources()
             if each.type == 'disk')
    assert disk.tags.items() >= {
        'zuul_system_id': 'system', 'zuul_node_uuid': '0001'}.items()
    assert disk.tags.items() & tags.items()


def test_asked_twice(gce, site):
    created = site.create()
    assert site.adapter.createInstance(site.makeSpec()).id == created.id
    assert gce.instances.names == ['np0001']


@pytest.mark.parametrize('acts', [True, False])
def test_answer_is_lost(gce, site, acts):
    gce.inject('POST', '.*/instances', acts=acts)
    with pytest.raises(Exception) as info:
        site.adapter.createInstance(site.makeSpec())
    assert classify(info.value) is Failure.TEMPORARY
    assert len(gce.instances.names) == acts
    site.create()
    assert gce.instances.names == ['np0001']


def test_disk_is_in_the_way(gce, site):
    """It has the name of the instance."""
    gce.jobs.polls['disks.delete'] = 0
    site.create()
    instance = gce.instances['np0001']
    instance['disks'][0]['autoDelete'] = False
    gce.instances.remove(gce.unlink(instance['selfLink']))
    assert gce.disks.names == ['np0001']
    with pytest.raises(TemporaryError, match='disk us-central1-a/np0001'):
        site.adapter.createInstance(site.makeSpec())
    site.create()


def test_list_has_pages_and_others(gce, site, makeSite):
    gce.page_size = 2
    for i in range(5):
        site.create(f'000{i}', zone=ZONES[i % 3])
    other = makeSite(change('us-central1', 'europe-west1'))
    other.create('0009', zone='europe-west1-b')
    assert len(site.list()) == 5
    assert list(other.list()) == ['europe-west1-b/np0009']
    # The machine type is asked for once in a zone.
    assert gce.calls['machineTypes.get'] == 4


@pytest.mark.parametrize('attributes, kind', [
    ('public-ipv4: true', 'accessConfigs'),
    ('public-ipv4: false\n        public-ipv6: true', 'ipv6AccessConfigs')])
def test_instance_is_ready_with_the_address_that_it_is_to_have(
        gce, makeSite, attributes, kind):
    gce.subnetworks.create('zuul', 'us-central1', 'six',
                           'projects/zuul/global/networks/default',
                           ipv6='EXTERNAL')
    site = makeSite(change(
        'network-tags: [ci-node]', 'subnetwork: six').replace(
        'machine-type: e2-standard-2',
        f'machine-type: e2-standard-2\n        {attributes}'))
    created = site.create()
    interface, = gce.instances['np0001']['networkInterfaces']
    config, = interface[kind]
    address = config.pop('natIP', None) or config.pop('externalIpv6')
    assert site.list()[created.id].state is State.BUILDING
    config['natIP' if kind == 'accessConfigs' else 'externalIpv6'] = address
    assert site.list()[created.id].interface_ip == address


def test_zone_whose_name_is_longer(gce, site):
    """Such as those for accelerators."""
    gce.zones.create('zuul', 'us-central1', 'us-central1-ai1a')
    assert 'us-central1-ai1a' in site.adapter.listZones()
    site.create(zone='us-central1-ai1a')


@pytest.mark.parametrize('flavor, wanted', [
    ('e2-standard-2', 'MIGRATE'), ('n2-standard-2', 'MIGRATE'),
    ('g2-standard-4', 'TERMINATE'), ('h4d-standard-192', 'TERMINATE'),
    ('n1-standard-2\n        accelerators: {type: nvidia-tesla-t4}',
     'TERMINATE'),
    ('n2d-standard-2\n        confidential-type: SEV', 'TERMINATE'),
    ('c3-standard-4\n        confidential-type: TDX', 'TERMINATE'),
    ('e2-standard-2\n        market-type: preemptible', 'TERMINATE')])
def test_what_can_not_move_to_another_host_ends(
        gce, makeSite, flavor, wanted):
    site = makeSite(change('e2-standard-2', flavor).replace(
        'pd-balanced', 'hyperdisk-balanced' if 'h4d' in flavor
        else 'pd-balanced'))
    site.create()
    scheduling = gce.instances['np0001']['scheduling']
    assert scheduling['onHostMaintenance'] == wanted
    assert scheduling['provisioningModel'] == 'STANDARD'


def test_foreign_instance(gce, site):
    site.create()
    instance = gce.instances['np0001']
    instance['metadata']['items'] = [{'key': 'zuul-nodes', 'value': '{'}]
    instance['labels'] = {'team': 'a'}
    found, = site.list().values()
    assert found.tags == {}
    instance['metadata'] = {}
    found, = site.list().values()
    assert found.tags == {'team': 'a'}
    assert found.needs['cores'] == 2


def test_preempted(gce, site):
    created = site.create(
        label='built', image_id='projects/debian-cloud/global/images/'
        'debian-12-bookworm-v1')
    gce.instances['np0001']['scheduling'].pop('instanceTerminationAction')
    gce.preempt('np0001')
    found = site.list()[created.id]
    assert found.state is State.FAILED
    assert 'STOPPING' in found.message
    assert 'Google may have reclaimed it' in found.message
    found = site.runUntil(lambda instances: 'TERMINATED' in instances[
        created.id].message)[created.id]
    assert found.state is State.FAILED
    assert 'cores' not in found.needs
    site.adapter.deleteInstance(created.id)
    site.runUntil(lambda instances: not instances)


def test_console(gce, site):
    created = site.create()
    gce.instances.consoles['np0001'] = 'login: '
    assert site.adapter.getConsoleLog(created.id) == 'login: '
    assert site.adapter.getConsoleLog('us-central1-a/np2') is None


# Zones

def test_zones(gce, site):
    assert site.adapter.listZones() == ZONES
    gce.zones['us-central1-b']['status'] = 'DOWN'
    assert site.adapter.listZones() == [ZONES[0], ZONES[2]]
    for zone in ZONES:
        gce.zones[zone]['status'] = 'DOWN'
    with pytest.raises(TemporaryError, match='us-central1'):
        site.adapter.listZones()


def test_region_that_there_is_not(makeSite):
    site = makeSite(change('us-central1', 'us-center1'))
    with pytest.raises(PermanentError, match='no region "us-center1"'):
        site.adapter.listZones()


def test_machine_type_that_one_zone_has(gce, site):
    for zone in ZONES[:2]:
        del gce.machine_types.resources[
            f'projects/zuul/zones/{zone}/machineTypes/e2-standard-2']
    assert site.adapter.getNeeds(site.makeSpec())['cores'] == 2
    with pytest.raises(CapacityError, match=r'us-central1-a.*"e2-standard-2"'):
        site.adapter.createInstance(site.makeSpec())
    site.create(zone=ZONES[2])


# What is left over

def test_disks(gce, site):
    site.create()
    assert not [each for each in site.adapter.listResources()
                if each.type == 'disk']
    instance = gce.instances['np0001']
    instance['disks'][0]['autoDelete'] = False
    gce.instances.remove(gce.unlink(instance['selfLink']))
    disk, = (each for each in site.adapter.listResources()
             if each.type == 'disk')
    assert disk.id == 'us-central1-a/np0001'
    assert disk.tags == {**TAGS, 'zuul_node_uuid': '0001'}
    site.adapter.deleteResource(disk)
    site.adapter.deleteResource(disk)
    while gce.disks.names:
        list(site.adapter.listResources())
