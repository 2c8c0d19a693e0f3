"""What a project may have, and what nodes and others take of it."""

import math

import pytest

from tests.unit.drivers.openstack.sites import LAYOUT, Site
from zuul_nodes.drivers.openstack.cloud import marks


@pytest.fixture
def label(site):
    return site.provider.labels['debian']


def getLimits(site):
    site.endpoint.refreshQuotaLimits(True)
    return site.provider.getEndpointLimits().getResources()


def getNeeds(site, **attributes):
    """:return: what a node of the label takes."""
    label = site.provider.labels['debian']
    vars(label).update(attributes)
    site.provider.refreshQuotaForLabel(label, False)
    return site.provider.getQuotaForLabel(label).getResources()


def addVolume(cloud, size, **attributes):
    volume = cloud.cinder.addVolume(b'', size)
    volume.update({'status': 'available', **attributes})
    return volume


# Limits

def test_limits(site, cloud):
    cloud.nova.limits.update(instances=10, cores=20, ram=30000)
    cloud.cinder.limits.update(volumes=5, gigabytes=100)
    cloud.neutron.quota.update(port=50, floatingip=7)
    assert getLimits(site) == {
        'instances': 10, 'cores': 20, 'ram': 30000, 'volumes': 5,
        'volume-gb': 100, 'ports': 50, 'floating-ips': 7}


def test_unlimited(site):
    assert getLimits(site) == {}
    limits = site.provider.getEndpointLimits()
    assert limits.quota.get('instances', limits.default) == math.inf


def test_limits_of_the_cloud_are_ignored(zk_client, cloud, clouds_yaml):
    cloud.nova.limits['cores'] = 20
    text = LAYOUT.replace(
        '    section: cloud\n    labels', '    section: cloud\n'
        '    ignore-provider-quota: true\n'
        '    resource-limits: {cores: 30}\n    labels')
    assert text != LAYOUT
    site = Site(zk_client, text=text)
    try:
        assert getLimits(site) == {}
        # All others of the endpoint keep to them.
        assert site.endpoint.quota_cache.getLimits().getResources() == {
            'cores': 20}
        assert site.provider.resource_limits == {'cores': 30}
    finally:
        site.end()


def test_zuuls_own_launchers_do_not_see_the_default(site):
    assert 'ignore-provider-quota' not in site.provider.config


def test_zero_is_a_limit(site, cloud):
    cloud.neutron.quota['floatingip'] = 0
    assert getLimits(site) == {'floating-ips': 0}


@pytest.mark.parametrize('service', ['cinder', 'neutron'])
def test_cloud_without_a_service(site, cloud, service):
    cloud.services.remove(getattr(cloud, service))
    cloud.nova.limits['cores'] = 20
    assert getLimits(site) == {'cores': 20}


@pytest.mark.parametrize('status', [403, 404])
def test_cloud_that_does_not_tell(site, cloud, status):
    cloud.nova.limits['cores'] = 20
    cloud.cinder.limits['volumes'] = 3
    cloud.inject('GET', '/network/v2.0/quotas/.*', status)
    assert getLimits(site) == {'cores': 20, 'volumes': 3}


def test_cloud_is_out_of_order(site, cloud):
    """What was known stays so."""
    cloud.nova.limits['cores'] = 20
    cloud.neutron.quota['port'] = 4
    expected = getLimits(site)
    cloud.inject('GET', '/network/v2.0/quotas/.*', 500, times=10)
    with pytest.raises(Exception, match='injected'):
        site.endpoint.refreshQuotaLimits(True)
    assert site.provider.getEndpointLimits().getResources() == expected


def test_refresh(site, cloud):
    cloud.nova.limits['cores'] = 20
    getLimits(site)
    cloud.nova.limits['cores'] = 10
    assert site.endpoint.refreshQuotaLimits(False) is False
    assert getLimits(site) == {'cores': 10}


# What a node takes

def test_node(site):
    assert getNeeds(site) == {
        'instances': 1, 'cores': 1, 'ram': 2048, 'ports': 1,
        'floating-ips': 1}


def test_boot_from_volume(site):
    """Labels with the same flavor may differ."""
    getNeeds(site)
    needs = getNeeds(site, boot_from_volume=True, volume_size=30)
    assert (needs['volumes'], needs['volume-gb']) == (1, 30)
    needs = getNeeds(site, volume_size=None)
    # As large as the flavor says.
    assert needs['volume-gb'] == 20
    assert 'volumes' not in getNeeds(site, boot_from_volume=False)


def test_flavor_by_ram(zk_client, makeSite):
    site = makeSite(text=LAYOUT.replace(
        'flavor-name: m1.small', 'min-ram: 3000'))
    assert getNeeds(site)['ram'] == 4096


@pytest.mark.parametrize(('attributes', 'ports', 'floating_ips'), [
    ({'networks': ['private']}, 1, 1),
    ({'networks': ['public']}, 1, None),
    ({'networks': ['private', 'public']}, 2, None),
    ({'auto_floating_ip': False}, 1, None)])
def test_networks(site, attributes, ports, floating_ips):
    needs = getNeeds(site, **attributes)
    assert (needs['ports'], needs.get('floating-ips')) == (
        ports, floating_ips)


def test_cloud_without_external_networks(site, cloud):
    del cloud.neutron.networks[cloud.neutron.public['id']]
    assert 'floating-ips' not in getNeeds(site)


def test_not_known_yet(site, label):
    """It is not asked of the cloud while nodes wait."""
    with pytest.raises(KeyError):
        site.provider.getQuotaForLabel(label)


def test_unknown_flavor(site, cloud):
    """A node is tried, and fails; until there is such a flavor."""
    flavor = next(each for each in cloud.nova.flavors.values()
                  if each['name'] == 'm1.small')
    flavor['name'] = 'other'
    assert getNeeds(site) == {'instances': 1}
    flavor['name'] = 'm1.small'
    site.endpoint.lookups.forgetAnswers()
    assert getNeeds(site)['ram'] == 2048


def test_limits_of_the_provider(makeSite):
    site = makeSite(text=LAYOUT.replace(
        '    labels: [debian]',
        '    labels: [debian]\n'
        '    resource-limits: {cores: 4, volume-gb: 5, ports: 3}'))
    assert site.provider.resource_limits == {
        'cores': 4, 'volume-gb': 5, 'ports': 3}


# What others take

# Before 2.47, a server has only the id of its flavor.
@pytest.mark.parametrize('newest', ['2.46', '2.96'])
def test_servers_of_others(site, cloud, newest):
    cloud.nova.newest = newest
    flavor_id = next(each['id'] for each in cloud.nova.flavors.values()
                     if each['name'] == 'm1.medium')
    client = site.endpoint._client
    image_id = client.image.create_image(
        'theirs', data=b'image', disk_format='raw').id
    server = client.compute.post('/servers', json={'server': {
        'name': 'theirs', 'flavorRef': flavor_id, 'imageRef': '',
        'block_device_mapping_v2': [{
            'uuid': image_id, 'source_type': 'image', 'boot_index': 0,
            'destination_type': 'volume', 'volume_size': 30}]}}).json()
    server_id = server['server']['id']
    cloud.nova.finish(server_id)
    port = next(port for port in cloud.neutron.ports.values()
                if port['device_id'] == server_id)
    client.network.create_ip(
        floating_network_id=cloud.neutron.public['id'], port_id=port['id'])
    instance, = site.endpoint.listInstances()
    assert instance.getQuotaInformation().getResources() == {
        'instances': 1, 'cores': 2, 'ram': 4096, 'volumes': 1,
        'volume-gb': 30, 'floating-ips': 1, 'ports': 1}


def test_what_no_server_accounts_for(site, cloud):
    """Nodes can't have that as long as somebody keeps it."""
    cloud.cinder.limits.update(volumes=5, gigabytes=200)
    cloud.neutron.quota.update(port=50, floatingip=7)
    addVolume(cloud, 30)
    addVolume(cloud, 40, status='in-use')
    addVolume(cloud, 50, metadata={'zuul_system_id': 'system'})
    ours = marks.describe(
        {'zuul_system_id': 'system', 'zuul_node_uuid': 'node'})
    for description in ('', 'of somebody', ours):
        site.endpoint._client.network.create_ip(
            floating_network_id=cloud.neutron.public['id'],
            description=description)
    for owner in ('', 'network:dhcp', 'compute:nova'):
        cloud.neutron.createPort(
            cloud.neutron.private['id'], device_owner=owner)
    assert getLimits(site)['volumes'] == 5
    others, = site.endpoint.listInstances()
    assert not others.metadata
    assert others.getQuotaInformation().getResources() == {
        'volumes': 1, 'volume-gb': 30, 'floating-ips': 2, 'ports': 2}


def test_nothing_is_limited(site, cloud):
    addVolume(cloud, 30)
    assert site.endpoint.listInstances() == []


def test_one_list_of_volumes(site, cloud):
    """It tells what servers take, and what somebody keeps."""
    cloud.cinder.limits.update(volumes=5)
    getLimits(site)
    before = len(cloud.calls)
    site.endpoint.listInstances()
    lists = [path for _, path in cloud.calls[before:]
             if path.endswith('/volumes/detail')]
    assert len(lists) == 1


@pytest.mark.parametrize('status, problem', [
    ('ACTIVE', None), ('REBOOT', None),
    ('SHUTOFF', 'its instance is stopped'),
    ('SHELVED_OFFLOADED', 'its instance is stopped')])
def test_a_server_that_does_not_run_any_more_is_told(
        site, cloud, status, problem):
    flavor_id = next(iter(cloud.nova.flavors))
    client = site.endpoint._client
    server = client.compute.post('/servers', json={'server': {
        'name': 'ours', 'flavorRef': flavor_id,
        'imageRef': client.image.create_image(
            'any', disk_format='raw', data=b'image').id}}).json()['server']
    cloud.nova.finish(server['id'])
    cloud.nova.servers[server['id']]['status'] = status
    instance, = site.endpoint.listInstances()
    assert instance.problem == problem
