"""Nodes of a launcher, at OpenStack's own services."""

import contextlib

import pytest

from tests.emulators.openstackservices.configuration import ZONES
from tests.fixtures.kit.openstackservices import (
    OpenstackServicesCloud,
    PatientDriver,
    bePatient,
)
from zuul_nodes.drivers import turnZones
from zuul_nodes.testing.configuration import change
from zuul_nodes.testing.conformance import openSites

pytestmark = pytest.mark.openstack_services


@pytest.fixture
def cloud(real, tmp_path):
    return OpenstackServicesCloud(real, tmp_path / 'clouds.yaml')


@pytest.fixture
def site(request, tmp_path_factory, cloud, monkeypatch):
    bePatient(monkeypatch)
    with openSites(request.config, tmp_path_factory, PatientDriver,
                   cloud) as makeSite:
        yield makeSite()


def start(site, kind='labels', **attributes):
    """Start the launcher; attributes are of the label, or the flavor."""
    site.start(change(site.cloud.configuration, kind, {
        name.replace('_', '-'): value
        for name, value in attributes.items()}))


def getServer(site):
    server, = site.cloud.project.client.compute.servers()
    return server


def use(site, request):
    """After use, nothing is left."""
    site.use(request)
    site.rest()


def isDone(site, request):
    request = site.client.getRequest(request)
    return request.state in request.FINAL_STATES


def getFailures(site, text):
    """:return: what has failed, of which errors say so."""
    return [entry['failed'] for entry in site.journal.read()
            if 'failed' in entry and text in entry['error']]


def getFailed(site):
    """Expect a request to fail, and to leave nothing."""
    request = site.getServed(site.request('label'))
    assert request.state == request.State.FAILED
    site.cancel(request.uuid)
    site.rest()


def test_tags(site):
    start(site)
    request, (node,) = site.getFulfilled(site.request('label'))
    server = getServer(site)
    assert server.metadata.items() >= node.tags.items()
    assert server.metadata['zuul_node_uuid'] == node.uuid
    use(site, request)


@pytest.mark.parametrize('zone', ZONES)
def test_zone(site, zone):
    start(site, az=zone)
    request, (node,) = site.getFulfilled(site.request('label'))
    assert (node.az, getServer(site).availability_zone) == (zone, zone)
    use(site, request)


def test_floating_ip(site):
    start(site, auto_floating_ip=True)
    request, (node,) = site.getFulfilled(site.request('label'))
    address, = site.cloud.project.client.network.ips()
    assert node.interface_ip == address.floating_ip_address
    use(site, request)


def test_volume(site):
    project = site.cloud.project
    types = project.cloud.admin.block_storage
    fast = types.create_type(name='fast')
    try:
        start(site, boot_from_volume=True, volume_size=1, volume_type='fast')
        request, _ = site.getFulfilled(site.request('label'))
        volume, = project.client.block_storage.volumes()
        assert (volume.size, volume.is_bootable, volume.volume_type) == (
            1, True, 'fast')
        use(site, request)
    finally:
        types.delete_type(fast)


def test_server_group(site):
    compute = site.cloud.project.client.compute
    group = compute.create_server_group(
        name='apart', policy='anti-affinity')
    try:
        start(site, server_group='apart')
        request, _ = site.getFulfilled(site.request('label'))
        assert (compute.get_server_group(group).member_ids
                == [getServer(site).id])
        use(site, request)
    finally:
        compute.delete_server_group(group)


def test_instances_beyond_quota_wait(site):
    site.cloud.setLimit(1)
    start(site)
    first, _ = site.getFulfilled(site.request('label'))
    second = site.request('label')
    site.use(first)
    request, _ = site.getFulfilled(second)
    use(site, request)


def test_ports_beyond_quota_wait(site):
    """Nova does not tell this limit among its own."""
    project = site.cloud.project
    used = len(list(project.client.network.ports()))
    project.setQuota('network', port=used)
    start(site)
    request = site.request('label')
    site.waitFor(lambda: site.journal.getCalls()['listInstances'] > 2,
                 'the cloud is not looked at')
    assert not isDone(site, request)
    project.setQuota('network', port=used + 1)
    use(site, site.getFulfilled(request)[0])


@contextlib.contextmanager
def filled(cloud, zone):
    """Meanwhile no host of a zone has room for a large server."""
    client = cloud.project.client
    server = client.create_server(
        'large', image='base', flavor='m1.large', auto_ip=False,
        network=cloud.project.network.id, availability_zone=zone, wait=True)
    yield
    client.compute.delete_server(server)
    client.compute.wait_for_delete(server, interval=0.2)


def test_next_zone(site, cloud):
    """The zone that a request would have has no room."""
    text = change(site.cloud.configuration, 'flavors', {
        'flavor-name': 'm1.large'})
    text = change(text, 'labels', {'availability-zones': list(ZONES)})
    request = site.request('label')
    key = site.client.getRequest(request).request_time
    first = turnZones(list(ZONES), key)[0]
    with filled(cloud, first):
        site.start(text)
        request, (node,) = site.getFulfilled(request)
    other, = set(ZONES) - {first}
    assert (node.az, getServer(site).availability_zone) == (other, other)
    use(site, request)


def test_no_host_has_room(site, cloud):
    start(site, 'flavors', flavor_name='m1.large')
    with filled(cloud, 'east'), filled(cloud, 'west'):
        request = site.request('label')
        site.waitFor(lambda: getFailures(site, 'No valid host'),
                     'a host has room')
        assert not isDone(site, request)
    use(site, site.getFulfilled(request)[0])


@pytest.mark.parametrize(('kind', 'attributes'), [
    ('flavors', {'flavor_name': 'nope'}), ('labels', {'az': 'nope'}),
    ('labels', {'networks': ['nope']}), ('images', {'image_name': 'nope'})])
def test_unknown_things(site, kind, attributes):
    start(site, kind, **attributes)
    getFailed(site)
