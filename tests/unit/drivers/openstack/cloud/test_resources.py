"""What may have leaked in the cloud."""

import types

import pytest

from zuul_nodes.drivers.openstack.cloud import marks

TAGS = {'zuul_system_id': 'system', 'zuul_node_uuid': 'node'}
FOREIGN = {'zuul_system_id': 'another', 'zuul_node_uuid': 'node'}
MARK = marks.describe(TAGS)


@pytest.fixture
def make(site, cloud):
    """:return: an object that makes things in the cloud."""
    client = site.endpoint._client
    image_id = client.image.create_image(
        'base', data=b'image', disk_format='raw').id
    flavor_id = next(iter(cloud.nova.flavors))

    def server(tags):
        server_id = client.compute.post('/servers', json={'server': {
            'name': 'server', 'flavorRef': flavor_id, 'imageRef': image_id,
            'metadata': tags}}).json()['server']['id']
        cloud.nova.finish(server_id)
        return server_id

    def volume(tags, **attributes):
        volume = cloud.cinder.addVolume(b'', 1, metadata=tags)
        volume.update({'status': 'available', **attributes})
        return volume['id']

    def snapshot(tags):
        return client.block_storage.create_snapshot(
            volume_id=volume({}), metadata=tags).id

    def floatingIp(description):
        return client.network.create_ip(
            floating_network_id=cloud.neutron.public['id'],
            description=description).id

    def port(description, **attributes):
        return cloud.neutron.createPort(
            cloud.neutron.private['id'], description=description,
            **attributes)['id']
    return types.SimpleNamespace(
        server=server, volume=volume, snapshot=snapshot,
        floatingIp=floatingIp, port=port)


def getIds(site, kind):
    return [resource.id for resource in site.list(kind)]


def hasLeaked(site, cloud, kind, collection, thing_id):
    """It is listed with its tags, and can be deleted."""
    resource, = site.list(kind)
    assert (resource.id, resource.type) == (thing_id, kind)
    assert resource.metadata == TAGS
    assert kind in list(site.endpoint.getResourceTypes())
    site.endpoint.deleteResource(resource)
    assert thing_id not in collection
    assert not site.list(kind)


def test_server(site, cloud, make):
    make.server(FOREIGN)
    make.server({})
    server_id = make.server(TAGS)
    resource, = site.list('instance')
    assert (resource.id, resource.metadata) == (server_id, TAGS)
    site.endpoint.deleteResource(resource)
    cloud.nova.finish(server_id)
    assert not site.list('instance')


def test_volume(site, cloud, make):
    make.volume({})
    make.volume(FOREIGN)
    # Nova may be about to do something with it.
    cloud.cinder.polls = None
    for status in ('in-use', 'detaching', 'deleting', 'creating'):
        make.volume(TAGS, status=status)
    volume_id = make.volume(TAGS, status='error')
    hasLeaked(site, cloud, 'volume', cloud.cinder.volumes, volume_id)


def test_volume_snapshot(site, cloud, make):
    make.snapshot(FOREIGN)
    snapshot_id = make.snapshot(TAGS)
    hasLeaked(site, cloud, 'snapshot', cloud.cinder.snapshots, snapshot_id)


def test_floating_ip(site, cloud, make):
    for description in ('', 'of somebody', '{}', marks.describe(FOREIGN)):
        make.floatingIp(description)
    hasLeaked(site, cloud, 'floatingip', cloud.neutron.floatingips,
              make.floatingIp(MARK))


def test_nobody_else_uses_the_project(makeSite, cloud, make):
    """If somebody says so, a floating IP that nobody uses is Zuul's; but
    nothing that has a mark of somebody else."""
    site = makeSite()
    site.provider._set(floating_ip_cleanup=True)
    make.floatingIp(marks.describe(FOREIGN))
    nobodys, used = make.floatingIp(''), make.floatingIp('')
    cloud.neutron.floatingips[used]['port_id'] = 'port'
    assert getIds(site, 'floatingip') == [nobodys]


def test_port(site, cloud, make):
    make.port('')
    make.port(MARK, status='ACTIVE')
    hasLeaked(site, cloud, 'port', cloud.neutron.ports, make.port(MARK))


def test_port_that_nova_has_made(site, cloud, make):
    """It says nothing, but that its server has been ours."""
    ours, theirs = make.server(TAGS), make.server({})
    assert len(site.list('instance')) == 1
    cloud.nova.servers.clear()
    cloud.neutron.ports.clear()
    for server_id in (ours, theirs, 'unknown'):
        make.port('', device_id=server_id, device_owner='compute:nova')
    port_id, _, _ = cloud.neutron.ports
    # Somebody uses it for something else.
    make.port('', device_id=ours, device_owner='network:dhcp')
    hasLeaked(site, cloud, 'port', cloud.neutron.ports, port_id)


def test_ports_are_left_alone(makeSite, cloud, make):
    site = makeSite()
    site.provider._set(port_cleanup_interval=0)
    make.port(MARK)
    assert not site.list('port')


@pytest.mark.parametrize('path', [
    '/compute/.*/servers.*', '/image/v2/images', '/volume/v3/volumes.*',
    '/volume/v3/snapshots.*', '/network/v2.0/floatingips',
    '/network/v2.0/ports'])
def test_something_can_not_be_listed(site, cloud, make, path):
    """The rest is; and it is known that this is not all."""
    make.server(TAGS)
    make.volume(TAGS)
    make.snapshot(TAGS)
    make.floatingIp(MARK)
    make.port(MARK)
    site.endpoint._client.image.create_image(
        'debian-upload', disk_format='raw', zuul_upload_uuid='upload',
        zuul_system_id='system')
    kinds = {each.type for each in site.endpoint.listResources(
        [site.provider])}
    assert len(kinds) == 6
    cloud.inject('GET', path, 500, times=100)
    with pytest.raises(ExceptionGroup) as info:
        for resource in site.endpoint.listResources([site.provider]):
            kinds.discard(resource.type)
    error, = info.value.exceptions
    assert 'injected' in str(error)
    assert len(kinds) == 1


@pytest.mark.parametrize('service', ['cinder', 'neutron'])
def test_cloud_without_a_service(makeSite, cloud, service):
    cloud.services.remove(getattr(cloud, service))
    site = makeSite()
    assert list(site.endpoint.listResources([site.provider])) == []
