"""Images and Cloud Storage as emulated, as Google's libraries see them."""

import io
import tarfile

from google.api_core import exceptions
from google.cloud import compute_v1
import pytest

from tests.emulators.gce.images import makeArchive
from tests.unit.drivers.gce.clients import PROJECT, ZONE, insert

RAW = bytes(range(256)) * 4


def waitForImage(clients, operation):
    return clients.global_operations.wait(
        project=PROJECT, operation=operation.name)


def insertImage(clients, name='debian', force_create=None, **fields):
    return clients.images.insert_unary(compute_v1.InsertImageRequest(
        project=PROJECT, force_create=force_create,
        image_resource={'name': name, **fields}))


# Images

def test_import(gce, clients, bucket, tmp_path):
    archive = tmp_path / 'image.tar.gz'
    archive.write_bytes(makeArchive(RAW))
    bucket.blob('image.tar.gz').upload_from_filename(str(archive))
    operation = insertImage(
        clients, labels={'a': 'b'}, family='ours',
        raw_disk={'source': 'https://storage.googleapis.com/images/'
                            'image.tar.gz'})
    image = clients.images.get(project=PROJECT, image='debian')
    assert image.status == 'PENDING'
    assert not waitForImage(clients, operation).error.errors
    image = clients.images.get(project=PROJECT, image='debian')
    assert (image.status, image.labels, image.disk_size_gb) == (
        'READY', {'a': 'b'}, 1)
    path, = gce.images.contents
    assert gce.images.contents[path] == RAW
    assert [each.name for each in clients.images.list(
        request={'project': PROJECT, 'filter': 'labels.a=b'})] == ['debian']
    insert(clients, image='global/images/family/ours')
    insert(clients, 'np0002', image='debian')
    clients.images.delete_unary(project=PROJECT, image='debian')
    gce.finish('debian')
    assert not gce.images.contents
    assert 'debian' not in gce.images.names


@pytest.mark.parametrize(['data', 'match'], [
    (RAW, 'not a valid image'),
    (makeArchive(RAW)[:-20], 'not a valid image'),
    (makeArchive(RAW, 'debian.raw'), 'should be named'),
    (makeArchive(RAW, format=tarfile.PAX_FORMAT), 'GNU and OLDGNU'),
])
@pytest.mark.parametrize('keeps', [False, True])
def test_badArchive(gce, clients, bucket, data, match, keeps):
    gce.images.keeps_failed = keeps
    bucket.blob('a/image').upload_from_string(data)
    operation = insertImage(clients,
                            raw_disk={'source': 'gs://images/a/image'})
    error, = waitForImage(clients, operation).error.errors
    assert error.code == 'INVALID_IMAGE_TAR'
    assert match in error.message
    if keeps:
        assert gce.images['debian']['status'] == 'FAILED'
    else:
        assert 'debian' not in gce.images.names


def test_sourceIsGone(gce, clients, bucket):
    with pytest.raises(exceptions.BadRequest, match='cannot be found'):
        insertImage(clients, raw_disk={'source': 'gs://images/image'})
    blob = bucket.blob('image')
    blob.upload_from_string(makeArchive(RAW))
    operation = insertImage(clients, raw_disk={'source': blob.self_link})
    blob.delete()
    assert waitForImage(clients, operation).error.errors


def test_otherSources(gce, clients):
    gce.jobs.polls['instances.insert'] = 0
    insert(clients)
    disk = f'projects/zuul/zones/{ZONE}/disks/np0001'
    with pytest.raises(exceptions.BadRequest, match='being used'):
        insertImage(clients, source_disk=disk)
    operation = insertImage(clients, source_disk=disk, force_create=True)
    with pytest.raises(exceptions.BadRequest, match='is not ready'):
        insert(clients, 'np0002', image='debian')
    waitForImage(clients, operation)
    insertImage(clients, 'copy', source_image='global/images/debian')
    gce.finish('copy')
    copy = clients.images.get(project=PROJECT, image='copy')
    assert (copy.status, copy.disk_size_gb) == ('READY', 20)
    with pytest.raises(exceptions.Forbidden):
        clients.images.delete(project='debian-cloud',
                              image='debian-12-bookworm-v1')


def test_family(gce, clients):
    gce.images.create(PROJECT, 'one', family='ours')
    gce.images.create(PROJECT, 'two', family='ours')

    def get():
        return clients.images.get_from_family(
            project=PROJECT, family='ours').name
    assert get() == 'two'
    clients.images.deprecate_unary(
        project=PROJECT, image='two',
        deprecation_status_resource={'state': 'DEPRECATED'})
    assert get() == 'one'
    assert clients.images.get_from_family(
        project='debian-cloud', family='debian-12').name.endswith('v2')


# Storage

def test_objects(gce, bucket):
    for name in ('a/one', 'a/two', 'b'):
        blob = bucket.blob(name)
        blob.metadata = {'upload': 'x'}
        blob.upload_from_string(name.encode() + b'\r\n--',
                                content_type='text/plain')
    assert gce.objects.data['images', 'a/one'] == b'a/one\r\n--'
    assert [blob.name for blob in bucket.list_blobs(prefix='a/')] == [
        'a/one', 'a/two']
    gce.page_size = 1
    assert len(list(bucket.list_blobs())) == 3
    blob = bucket.get_blob('a/one')
    assert (blob.metadata, blob.content_type, blob.size) == (
        {'upload': 'x'}, 'text/plain', 9)
    assert blob.download_as_bytes() == b'a/one\r\n--'
    assert blob.download_as_bytes(start=2, end=4) == b'one'
    assert blob.exists()
    blob.metadata = {'upload': 'y'}
    blob.patch()
    assert gce.objects.resources['images', 'a/one']['metadata'] == {
        'upload': 'y'}
    with pytest.raises(exceptions.Conflict):
        bucket.delete()
    blob.delete()
    assert not blob.exists()
    with pytest.raises(exceptions.NotFound):
        blob.delete()
    assert gce.calls['objects.insert'] == 3
    bucket.delete(force=True)
    assert not bucket.exists()
    assert not gce.objects.data


@pytest.mark.parametrize('acts', [False, True])
def test_resumable(gce, bucket, tmp_path, acts):
    """In three parts, of which one is sent again."""
    path = tmp_path / 'image'
    path.write_bytes(RAW * 9 * 1024)
    blob = bucket.blob('image', chunk_size=4 * 1024 * 1024)
    gce.inject('PUT', '/upload/.*', 503, acts=acts)
    blob.upload_from_filename(str(path))
    assert gce.objects.data['images', 'image'] == path.read_bytes()
    assert blob.size == len(RAW) * 9 * 1024
    assert gce.calls['objects.upload'] == 4


def test_unknownSize(gce, bucket):
    blob = bucket.blob('image', chunk_size=256 * 1024)
    blob.upload_from_file(io.BytesIO(RAW * 1024))
    assert gce.objects.data['images', 'image'] == RAW * 1024


def test_checksum(gce, bucket):
    blob = bucket.blob('image')
    blob.md5_hash = 'AAAA'
    with pytest.raises(exceptions.BadRequest, match='md5Hash'):
        blob.upload_from_string(RAW)
    with pytest.raises(exceptions.PreconditionFailed):
        bucket.blob('image').upload_from_string(RAW, if_generation_match=7)
    assert not gce.objects.data
