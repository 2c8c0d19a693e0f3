"""Images made of nodes."""

import logging
import types

import pytest

from tests.unit.drivers.openstack.sites import NAME, getTags
from zuul_nodes.drivers import DriverError, TemporaryError
from zuul_nodes.drivers.openstack.images.snapshots import MOST_FAILURES

log = logging.getLogger('zuul')
DATA = b'QFI\xfb' + bytes(1000)
TAGS = {'zuul_system_id': 'system', 'zuul_expiration': '123',
        'of the site': 'x', 'no/key': 'y'}


@pytest.fixture
def makeNode(site, cloud):
    """:return: a function that makes a node with a server."""
    client = site.endpoint._client
    image_id = client.image.create_image(
        'base', data=DATA, disk_format='qcow2', zuul_system_id='system',
        zuul_upload_uuid='upload').id
    flavor_id = next(iter(cloud.nova.flavors))

    def make(boot_from_volume=False):
        request = {'name': 'server', 'flavorRef': flavor_id}
        request |= {'imageRef': '', 'block_device_mapping_v2': [{
            'uuid': image_id, 'source_type': 'image', 'boot_index': 0,
            'destination_type': 'volume', 'volume_size': 3,
            'delete_on_termination': True}],
        } if boot_from_volume else {'imageRef': image_id}
        server = client.compute.post(
            '/servers', json={'server': request}).json()['server']
        cloud.nova.finish(server['id'])
        return types.SimpleNamespace(
            uuid='0123', openstack_server_id=server['id'],
            snapshot=types.SimpleNamespace(snapshot_state={}, tags=TAGS))
    return make


def step(site, node):
    """Take a step, as a launcher does that has just been started.

    :return: the URL, when there is one.
    """
    machine = site.provider.getSnapshotStateMachine(node, log)
    try:
        result = machine.advance()
    finally:
        node.snapshot.snapshot_state = machine.toDict()
    assert machine.complete == (result is not None)
    return result


def finish(site, node):
    for _ in range(50):
        if url := step(site, node):
            return url
    raise AssertionError(f'still {node.snapshot.snapshot_state}')


def findImage(cloud):
    image, = (image for image in cloud.glance.images.values()
              if image['name'] != 'base')
    return image


@pytest.mark.parametrize('boot_from_volume', [False, True])
def test_snapshot(site, cloud, makeNode, boot_from_volume):
    cloud.cinder.polls = 2
    node = makeNode(boot_from_volume)
    url = finish(site, node)
    image = findImage(cloud)
    assert url == f'{cloud.glance.url}/v2/images/{image["id"]}/file'
    assert cloud.glance.data[image['id']] == DATA
    assert (image['status'], image['name'], image['zuul_system_id'],
            image['zuul_expiration'], image['of the site']) == (
                'active', 'zuul-snapshot-0123', 'system', '123', 'x')
    # Nothing but that is left.
    assert not cloud.cinder.snapshots
    assert len(cloud.cinder.volumes) == boot_from_volume
    resource, = (each for each in site.list('image')
                 if each.id == image['id'])
    # It would not be nobody's if it had those of the node's image.
    assert resource.metadata == {
        'zuul_system_id': 'system', 'zuul_expiration': '123'}


@pytest.mark.parametrize('boot_from_volume', [False, True])
def test_killed_at_any_time(site, cloud, makeNode, boot_from_volume):
    """Nothing is made twice, if nothing of it could be written down."""
    node = makeNode(boot_from_volume)
    for _ in range(50):
        before = dict(node.snapshot.snapshot_state)
        step(site, node)
        node.snapshot.snapshot_state = before
        if step(site, node):
            break
    image = findImage(cloud)
    assert image['status'] == 'active'
    calls = [(method, path) for method, path in cloud.calls
             if method == 'POST' and path.endswith('/snapshots')]
    assert len(calls) == boot_from_volume


def test_unfinished_snapshot_has_an_expiration(site, cloud, makeNode):
    """What there is of a snapshot is found as leaked when it has expired."""
    cloud.cinder.polls = 0
    node = makeNode(True)
    while not cloud.glance.images or len(cloud.glance.images) < 2:
        step(site, node)
    for kind in ('volume', 'snapshot'):
        resource, = site.list(kind)
        assert resource.metadata['zuul_expiration'] == '123'


def test_cloud_is_out_of_order_for_a_while(site, cloud, makeNode):
    node = makeNode()
    cloud.inject('POST', '/compute/.*/action', 503, times=2)
    machine = site.provider.getSnapshotStateMachine(node, log)
    for _ in range(10):
        if url := machine.advance():
            break
    assert url


def test_cloud_is_out_of_order(site, cloud, makeNode):
    node = makeNode()
    cloud.inject('POST', '/compute/.*/action', 503, times=100)
    machine = site.provider.getSnapshotStateMachine(node, log)
    for _ in range(MOST_FAILURES):
        machine.advance()
    with pytest.raises(TemporaryError, match='injected'):
        machine.advance()


@pytest.mark.parametrize(('boot_from_volume', 'thing', 'status', 'match'), [
    (False, 'images', 'killed', 'image .* is killed'),
    (True, 'snapshots', 'error', 'volume snapshot .* is error'),
    (True, 'volumes', 'error', 'volume .* is error')])
def test_snapshot_fails_when_image_or_volume_fails(
        site, cloud, makeNode, boot_from_volume, thing, status, match):
    node = makeNode(boot_from_volume)
    cloud.glance.import_polls = None
    known = (cloud.glance.images if thing == 'images'
             else getattr(cloud.cinder, thing))
    old = set(known)
    while set(known) == old:
        step(site, node)
    new, = set(known) - old
    known[new]['status'] = status
    with pytest.raises(DriverError, match=match):
        step(site, node)


def test_snapshot_fails_when_nova_deletes_the_image(site, cloud, makeNode):
    """Nova removes the image when it gives up."""
    cloud.glance.import_polls = None
    node = makeNode()
    step(site, node)
    del cloud.glance.images[findImage(cloud)['id']]
    with pytest.raises(DriverError, match=r'image of node 0123 .* vanished'):
        step(site, node)


def test_server_is_gone(site, cloud, makeNode):
    node = makeNode()
    cloud.nova.servers.clear()
    with pytest.raises(DriverError, match='could not be found'):
        step(site, node)


# What becomes of it

def getImport(site, url, format='snapshot'):
    return site.provider.getImageImportJob(
        url, site.image, NAME, format, getTags(site), None, None)


def test_download(site, cloud, makeNode, tmp_path):
    """The launcher has no other way."""
    url = finish(site, makeNode())
    path = str(tmp_path / 'image')
    assert getImport(site, url) is None
    assert site.provider.downloadSnapshot(url, path) == path
    assert (tmp_path / 'image').read_bytes() == DATA


def test_import(site, cloud, makeNode):
    cloud.glance.methods.append('glance-download')
    url = finish(site, makeNode())
    image = cloud.glance.images[getImport(site, url).run()]
    assert (image['name'], image['disk_format'],
            image['zuul_upload_uuid']) == (
                NAME, 'qcow2', getTags(site)['zuul_upload_uuid'])
    assert 'zuul_expiration' not in image
    assert cloud.glance.data[image['id']] == DATA


def test_failed_import_of_snapshot_is_not_repeated(site, cloud, makeNode):
    cloud.glance.methods.append('glance-download')
    url = finish(site, makeNode())
    cloud.glance.regions.clear()
    with pytest.raises(Exception, match='has not imported'):
        getImport(site, url).run()
    assert getImport(site, url) is None


def test_only_images_of_glance_are_downloaded(site, cloud, makeNode, tmp_path):
    """A job may name any URL, and launchers get none but images of Glance."""
    makeNode()
    image_id, = cloud.glance.images
    url = site.endpoint.images.getImageUrl(image_id)
    path = tmp_path / 'image'
    assert site.provider.downloadSnapshot(url, str(path)) is None
    cloud.glance.methods.append('glance-download')
    vars(site.image).update(import_method='none')
    assert getImport(site, url) is None
    for other in ('https://example.com/v2/images/1/file', 'file:///image',
                  url + '?signed'):
        assert site.provider.downloadSnapshot(other, str(path)) is None
    assert not path.exists()


@pytest.mark.parametrize('format', ['raw', 'qcow2'])
def test_an_image_of_another_format_is_no_snapshot(
        site, cloud, makeNode, tmp_path, format):
    """Nobody has seen to it that the snapshot is one of the tenant's."""
    cloud.glance.methods.append('glance-download')
    vars(site.image).update(import_method='none')
    url = finish(site, makeNode())
    assert getImport(site, url, format) is None
    assert site.provider.downloadUrl(url, str(tmp_path / 'image')) is None
