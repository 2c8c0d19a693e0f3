"""What services answer: OpenStack's own, and the emulator just as these."""

import hashlib
import time

from openstack import exceptions
import pytest

from tests.fixtures.kit.openstackservices import makeImage

NOBODY = '3f4aa4b9-26a2-4a4a-9d4e-1f0b0e3c1c11'
IMAGE = makeImage()
# Seconds between two looks at a server.
INTERVAL = 0.2


def create(client, **changes):
    """:return: a new server, which is not there yet."""
    values = {
        'name': 'node',
        'image_id': client.image.find_image('base').id,
        'flavor_id': client.compute.find_flavor('m1.small').id,
        'networks': [{'uuid': client.network.find_network('private').id}],
        **changes}
    return client.compute.create_server(**values)


def getActive(client, **changes):
    return client.compute.wait_for_server(
        create(client, **changes), interval=INTERVAL)


def delete(client, server):
    client.compute.delete_server(server)
    client.compute.wait_for_delete(server, interval=INTERVAL)


def isRefused(status, match, call, *args, **kwargs):
    with pytest.raises(exceptions.HttpException, match=match) as info:
        call(*args, **kwargs)
    assert info.value.status_code == status


# Servers

def test_life(client):
    server = getActive(client, metadata={'zuul_node_uuid': 'x' * 255})
    assert server.metadata == {'zuul_node_uuid': 'x' * 255}
    assert server.availability_zone
    address, = server.addresses['private']
    assert address['OS-EXT-IPS:type'] == 'fixed'
    port, = client.network.ports(device_id=server.id)
    assert port.fixed_ips[0]['ip_address'] == address['addr']
    assert port.status == 'ACTIVE'
    delete(client, server)
    assert not list(client.network.ports(device_id=server.id))
    isRefused(404, 'could not be found', client.compute.get_server, server.id)


@pytest.mark.parametrize(('limits', 'match'), [
    ({'instances': 0}, 'Quota exceeded for instances: Requested 1, but '
                       'already used 0 of 0 instances'),
    ({'cores': 1}, 'Quota exceeded for cores: Requested 2, but already used '
                   '0 of 1 cores'),
    ({'ram': 100}, 'Quota exceeded for ram: Requested 4096, but already '
                   'used 0 of 100 ram')])
def test_quota(project, client, limits, match):
    flavor = client.compute.find_flavor('m1.medium')
    project.setQuota(**limits)
    isRefused(403, match, create, client, flavor_id=flavor.id)


def test_limits(project, client):
    project.setQuota(instances=5, cores=6, ram=7000)
    server = getActive(client)
    limits = client.get_compute_limits()
    assert (limits.max_total_instances, limits.max_total_cores,
            limits.max_total_ram_size) == (5, 6, 7000)
    assert (limits.total_instances_used, limits.total_cores_used,
            limits.total_ram_used) == (1, 1, 2048)
    delete(client, server)


def test_quota_of_ports(project, client):
    used = len(list(client.network.ports()))
    project.setQuota('network', port=used)
    isRefused(403, 'Maximum number of ports exceeded', create, client)
    isRefused(409, r"Quota exceeded for resources: \['port'\]",
              client.network.create_port,
              network_id=client.network.find_network('private').id)


@pytest.mark.parametrize(('changes', 'match'), [
    ({'flavor_id': 'nope'}, 'Flavor nope could not be found'),
    ({'image_id': NOBODY}, 'Can not find requested image'),
    ({'availability_zone': 'nope'},
     'The requested availability zone is not available'),
    ({'networks': [{'uuid': NOBODY}]},
     f'Network {NOBODY} could not be found'),
    ({'key_name': 'nope'}, 'Invalid key_name provided'),
    ({'metadata': {'key': 'x' * 256}},
     r"Invalid input for field/attribute key. Value: x+. 'x+' is too long"),
    ({'security_groups': [{'name': 'nope'}]},
     'Unable to find security_group with name or id .nope.'),
    ({'user_data': 'a'}, "Invalid input for field/attribute user_data. "
                         "Value: a. 'a' is not a 'base64'"),
    ({'name': ''}, "Invalid input for field/attribute name. Value: . '' "
                   "should be non-empty")])
def test_wrong_servers(client, changes, match):
    isRefused(400, match, create, client, **changes)
    assert not list(client.compute.servers())


def test_zones(client):
    for zone in client.list_availability_zone_names():
        server = getActive(client, availability_zone=zone)
        assert server.availability_zone == zone
        delete(client, server)


def test_unknown_things(client):
    for find in (client.compute.find_flavor, client.image.find_image,
                 client.network.find_network):
        assert find('nope') is None
    isRefused(404, f'Instance {NOBODY} could not be found.',
              client.compute.delete_server, NOBODY, ignore_missing=False)


# Addresses

def test_floating_ip(client):
    public = client.network.find_network('public')
    server = getActive(client)
    port, = client.network.ports(device_id=server.id)
    address = client.network.create_ip(
        floating_network_id=public.id, port_id=port.id)
    assert client.network.get_ip(address.id).status == 'ACTIVE'
    isRefused(409, f'Cannot associate floating IP .*with port {port.id}',
              client.network.create_ip, floating_network_id=public.id,
              port_id=port.id)
    delete(client, server)
    address = client.network.get_ip(address.id)
    assert address.port_id is None
    client.network.delete_ip(address)
    assert not list(client.network.ips())


def test_quota_of_floating_ips(project, client):
    project.setQuota('network', floatingip=0)
    isRefused(409, r"Quota exceeded for resources: \['floatingip'\]",
              client.network.create_ip, floating_network_id=client
              .network.find_network('public').id)


# Images

def makeNew(client, **changes):
    return client.image.create_image('new', **{
        'disk_format': 'qcow2', 'container_format': 'bare',
        'allow_duplicates': True, 'zuul_upload_uuid': 'me', **changes})


def test_upload(client):
    image = client.image.get_image(makeNew(client, data=IMAGE).id)
    assert (image.status, image.visibility, image.size, image.checksum) == (
        'active', 'shared', len(IMAGE), hashlib.md5(IMAGE).hexdigest())
    assert (image.hash_algo, image.hash_value) == (
        'sha512', hashlib.sha512(IMAGE).hexdigest())
    assert image.properties['zuul_upload_uuid'] == 'me'
    client.image.delete_image(image)
    isRefused(404, 'No image found with ID', client.image.get_image,
              image.id)


def test_import(client, file_server):
    file_server.files['image'] = IMAGE
    assert 'web-download' in (
        client.image.get_import_info().import_methods['value'])
    image = makeNew(client)
    client.image.import_image(
        image, method='web-download', uri=f'{file_server.url}/image')
    image = client.image.wait_for_status(
        image, 'active', interval=0.1)
    assert (image.checksum, image.size) == (
        hashlib.md5(IMAGE).hexdigest(), len(IMAGE))


def test_import_of_what_is_not_there(client, file_server):
    image = makeNew(client)
    client.image.import_image(
        image, method='web-download', uri=f'{file_server.url}/image')

    def getTask():
        tasks = client.image.get(f'/images/{image.id}/tasks').json()['tasks']
        client.image.get_image(image.id)
        return next((task for task in tasks
                     if task['status'] == 'failure'), None)
    while not getTask():
        time.sleep(0.1)
    # It can be tried again, with another file.
    assert client.image.get_image(image.id).status == 'queued'


def test_wrong_images(client):
    isRefused(400, "schema.*image.*nope.*is not one of", makeNew, client,
              disk_format='nope')
    image = makeNew(client)
    # openstacksdk does not raise what it is answered.
    response = client.image.import_image(image, method='nope')
    assert response.status_code == 400
    assert 'Unknown import method name' in response.text
    isRefused(400, 'Image .*is not active', create, client,
              image_id=image.id)
