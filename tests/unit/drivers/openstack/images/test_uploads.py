"""Images that the launcher sends."""

import hashlib
import threading

import pytest

from tests.unit.drivers.openstack.sites import NAME, UPLOAD, getTags
from zuul_nodes.drivers.openstack.images.newimage import Body, ImageFailed

DATA = b'QFI\xfb' + bytes(3 << 20)
MD5 = hashlib.md5(DATA).hexdigest()
FILE = r'/image/v2/images/[^/]+/file'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'image'
    path.write_bytes(DATA)
    return path


@pytest.fixture
def upload(path):
    """:return: a function that uploads, and gives the id of the image."""
    def upload(site, image_format='qcow2'):
        return site.provider.getImageUploadJob(
            site.image, NAME, image_format, getTags(site), MD5, None,
        ).run(str(path))
    return upload


def runAndFail(site, cloud, upload, match):
    """It fails, and leaves nothing."""
    with pytest.raises(ImageFailed, match=match):
        upload(site)
    assert not cloud.glance.images


def test_upload(site, cloud, upload):
    image_id = upload(site)
    image = cloud.glance.images[image_id]
    assert (image['status'], image['name'], image['visibility'],
            image['zuul_upload_uuid']) == ('active', NAME, 'private', UPLOAD)
    assert cloud.glance.data == {image_id: DATA}


def test_another_file_arrives(site, cloud, upload, monkeypatch):
    store = cloud.glance._store
    monkeypatch.setattr(cloud.glance, '_store', lambda image, data: (
        store(image, data[:-1])))
    runAndFail(site, cloud, upload, 'md5 of image')


def test_cloud_without_md5(site, cloud, upload, monkeypatch):
    store = cloud.glance._store

    def storeWithoutMd5(image, data):
        store(image, data[:-1])
        image.update(checksum=None)
    monkeypatch.setattr(cloud.glance, '_store', storeWithoutMd5)
    runAndFail(site, cloud, upload, 'sha512 of image')


@pytest.mark.parametrize(('status', 'match'), [
    (413, 'over quota'), (503, 'over quota'), (None, 'onnect')])
def test_refused(site, cloud, upload, status, match):
    cloud.inject('PUT', FILE, status, 'over quota')
    runAndFail(site, cloud, upload, match)


def test_takes_longer_than_a_call_may(
        cloud, clouds_yaml, makeSite, upload):
    """The answer comes when the cloud has stored all of it."""
    cloud.writeConfig(clouds_yaml, api_timeout=1)
    site = makeSite(import_timeout=60)
    fault = cloud.inject('PUT', FILE, 500, 'in the end', hangs=True)
    threading.Timer(1.5, fault.release).start()
    runAndFail(site, cloud, upload, 'in the end')


def test_upload_without_answer_times_out(cloud, clouds_yaml, makeSite, upload):
    cloud.writeConfig(clouds_yaml, api_timeout=0.3)
    fault = cloud.inject('PUT', FILE, 500, hangs=True)
    runAndFail(makeSite(import_timeout=0), cloud, upload, 'timed out')
    fault.release()


def test_launcher_stops(site, cloud, upload):
    site.endpoint.stopping.set()
    runAndFail(site, cloud, upload, 'because the endpoint stops')


def test_image_of_an_unfinished_upload_is_listed(site, cloud, upload):
    """Whatever state the image is in."""
    image_id = upload(site)
    for status in ('queued', 'saving', 'uploading', 'importing'):
        cloud.glance.images[image_id]['status'] = status
        resource, = site.list('image')
        assert resource.metadata['zuul_upload_uuid'] == UPLOAD
    site.endpoint.deleteResource(resource)
    assert not cloud.glance.images


def test_progress(caplog, monkeypatch):
    caplog.set_level('INFO')
    monkeypatch.setattr(
        'zuul_nodes.drivers.openstack.images.newimage.PROGRESS_INTERVAL', 0)
    body = Body('debian', lambda: iter([bytes(1 << 20)] * 4), 4 << 20,
                threading.Event())
    assert len(b''.join(body)) == len(body)
    assert 'Sent image debian: 2 of 4 MiB, 50 %' in caplog.text


def test_upload_fails_when_the_file_is_too_short():
    body = Body('debian', lambda: iter([b'1234']), 5, threading.Event())
    with pytest.raises(ImageFailed, match='5 bytes, but its source has 4'):
        list(body)
    assert not body.checksums


# By way of an import

def test_staged(makeSite, cloud, upload):
    """The cloud may convert it, and has its own checksum then."""
    site = makeSite(import_method='glance-direct')
    image_id = upload(site)
    assert cloud.glance.data == {image_id: DATA}
    task, = cloud.glance.tasks
    assert task['input']['import_req']['method'] == {
        'name': 'glance-direct'}


def test_upload_fails_when_the_staged_import_fails(makeSite, cloud, upload):
    cloud.glance.methods = ['copy-image']
    site = makeSite(import_method='glance-direct')
    runAndFail(site, cloud, upload, 'Unknown import method')


# What it is like

@pytest.mark.parametrize(('tag', 'value', 'expected'), [
    ('os_hidden', 'true', True), ('protected', 'False', False),
    ('min_disk', '3', 3), ('visibility', 'shared', 'shared'),
    ('hw_disk_bus', 'scsi', 'scsi')])
def test_tags(makeSite, cloud, upload, tag, value, expected):
    image_id = upload(makeSite(tags={tag: value}))
    assert cloud.glance.images[image_id][tag] == expected


def test_wrong_tag(makeSite, cloud, upload):
    site = makeSite(tags={'os_hidden': 'perhaps'})
    runAndFail(site, cloud, upload, '"os_hidden" .* "true" or "false"')


def test_hidden_image_leaks(makeSite, cloud, upload):
    site = makeSite(tags={'os_hidden': 'true'})
    image_id = upload(site)
    assert [each.id for each in site.list('image')] == [image_id]


@pytest.mark.parametrize(('data', 'expected'), [
    (DATA, 'qcow2'), (b'KDMV', 'vmdk'), (b'', 'raw')])
def test_format_of_a_snapshot(site, cloud, path, upload, data, expected):
    """Nova chooses it."""
    path.write_bytes(data)
    image_id = upload(site, 'snapshot')
    assert cloud.glance.images[image_id]['disk_format'] == expected


# How it goes

def test_delete(makeSite, cloud, upload):
    """Also one that is protected, and one that is not there."""
    site = makeSite(tags={'protected': 'true'})
    image_id = upload(site)
    for each in (image_id, image_id, None):
        site.provider.deleteImage(each)
    assert not cloud.glance.images
