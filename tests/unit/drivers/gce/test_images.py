"""Images: uploaded, imported, copied, made of nodes."""

import concurrent.futures
import io
import os
import shutil
import tarfile
import threading
import time

import pytest

from tests.unit.drivers.gce.sites import LAYOUT, TAGS
from zuul_nodes.drivers import (
    DriverError,
    GoneError,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.drivers.gce import archive
from zuul_nodes.drivers.gce.names import makeName
from zuul_nodes.launcher.providers.failures import Failure, classify

NAME = makeName('zuul-Debian_12-ab12')
PATH = f'projects/zuul/global/images/{NAME}'
UNIT = 1 << 16
CONTENT = os.urandom(1000) + bytes(UNIT) + b'end'
PADDED = CONTENT + bytes(2 * UNIT - len(CONTENT))


@pytest.fixture(autouse=True)
def smallDisks(gce):
    gce.images.unit = UNIT


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / 'disk'
    path.write_bytes(CONTENT)
    return path


def makeArchive(content=PADDED, mode='w:gz'):
    """:return: the bytes of what Google imports."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode,
                      format=tarfile.GNU_FORMAT) as tar:
        info = tarfile.TarInfo('disk.raw')
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def getObjects(site):
    return [each for each in site.adapter.listResources()
            if each.type == 'object']


def test_upload(gce, site, disk):
    spec = site.makeImageSpec()
    image_id = site.adapter.uploadImage(spec, disk)
    assert image_id == PATH
    assert gce.images.contents[PATH] == PADDED
    assert gce.images[NAME]['labels'] == {
        'zuul_system_id': 'system', 'zuul_upload_uuid': 'ab12'}
    # What it was made of is not needed any more.
    assert not gce.objects.data
    # The file is others' too.
    assert disk.read_bytes() == CONTENT
    image, = site.adapter.listImages()
    assert (image.type, image.id, image.tags) == ('image', PATH, spec.tags)
    site.create(label='built', image_id=image_id)
    site.adapter.deleteImage(image_id)
    site.adapter.deleteImage(image_id)
    while list(site.adapter.listImages()):
        assert gce.images[NAME]['status'] == 'DELETING'
    site.adapter.deleteImage(image_id)


def test_upload_of_an_archive(gce, site, tmp_path):
    path = tmp_path / 'archive'
    # As the launcher has it, which decompresses what it has downloaded.
    path.write_bytes(makeArchive(mode='w'))
    site.adapter.uploadImage(site.makeImageSpec(format='tar.gz'), path)
    assert gce.images.contents[PATH] == PADDED


def test_disks_are_padded_to_a_gibibyte(tmp_path):
    path = tmp_path / 'disk'
    path.write_bytes(CONTENT)
    packed = tmp_path / 'packed'
    with path.open('rb') as file, packed.open('wb') as target:
        shutil.copyfileobj(
            archive.Archive(file, 'raw', lambda: None), target)
    with tarfile.open(packed, 'r|gz') as tar:
        info = tar.next()
        assert (info.name, info.size) == ('disk.raw', 1 << 30)
        assert tar.extractfile(info).read(len(CONTENT)) == CONTENT
    assert packed.stat().st_size < 1 << 23


def test_features(gce, makeSite, disk):
    site = makeSite(LAYOUT.replace(
        'import-timeout: 1800',
        'guest-os-features: [GVNIC]\n        architecture: ARM64'))
    site.adapter.uploadImage(site.makeImageSpec(), disk)
    image = gce.images[NAME]
    assert image['guestOsFeatures'] == [{'type': 'GVNIC'}]
    assert image['architecture'] == 'ARM64'


def test_tags_that_a_description_does_not_hold(site, disk):
    spec = site.makeImageSpec(tags={
        **{f'many {i}': 'n' * 63 for i in range(64)}, **TAGS,
        'zuul_upload_uuid': 'ab12'})
    site.adapter.uploadImage(spec, disk)
    image, = site.adapter.listImages()
    assert image.tags.items() <= spec.tags.items()
    assert image.tags['zuul_upload_uuid'] == 'ab12'
    assert image.tags['zuul_system_id'] == 'system'


def test_no_bucket(makeSite, disk):
    site = makeSite(bucket='')
    with pytest.raises(PermanentError, match=r'connection gce.*"bucket"'):
        site.adapter.uploadImage(site.makeImageSpec(), disk)
    assert not getObjects(site)


def test_only_failed_parts_are_sent_again(gce, site, disk):
    site.adapter.images.storage.chunk_size = 1 << 18
    content = os.urandom(1 << 20)
    disk.write_bytes(content)
    gce.inject('PUT', '/upload/.*', 503, times=2)
    site.adapter.uploadImage(site.makeImageSpec(), disk)
    assert gce.images.contents[PATH] == content


def test_bucket_that_there_is_not(makeSite, disk):
    site = makeSite(bucket='nowhere')
    with pytest.raises(PermanentError, match='bucket does not exist'):
        site.adapter.uploadImage(site.makeImageSpec(), disk)


@pytest.mark.parametrize('format, url, is_wanted', [
    ('tar.gz', 'gs://bucket/a/image.tar.gz', True),
    ('tar.gz', 'https://storage.googleapis.com/bucket/a%20b', True),
    ('tar.gz', 'https://storage.googleapis.com/bucket/a?signature', False),
    ('tar.gz', 'https://example.com/bucket/a', False),
    ('tar.gz', 'gs://bucket', False),
    ('raw', 'gs://bucket/image', False),
    ('snapshot', f'gce-image:{PATH}', True),
    ('snapshot', 'gs://bucket/a/image.tar.gz', False),
    ('raw', f'gce-image:{PATH}', False),
    ('tar.gz', f'gce-image:{PATH}', False)])
def test_what_can_be_imported(site, format, url, is_wanted):
    spec = site.makeImageSpec(format=format)
    assert site.adapter.canImport(spec, url) is is_wanted


def test_import(gce, site):
    gce.objects.create('images', 'a/b.tar.gz', makeArchive())
    image_id = site.adapter.importImage(
        site.makeImageSpec(format='tar.gz'), 'gs://images/a/b.tar.gz')
    assert gce.images.contents[image_id] == PADDED
    # It is not ours.
    assert len(gce.objects.data) == 1


@pytest.mark.parametrize('md5', [None, '0' * 32])
@pytest.mark.parametrize('url', [
    'gs://images/nothing', 'gs://nowhere/nothing',
    'https://storage.googleapis.com/images/nothing',
    'gce-image:projects/zuul/global/images/nothing'])
def test_import_of_what_is_gone(site, url, md5):
    with pytest.raises(GoneError, match=f'{url}, the source of the image'):
        site.adapter.importImage(
            site.makeImageSpec(format='tar.gz', md5=md5), url)


def test_what_is_there_is_not_gone(gce, site):
    """Google says the same of an object that it may not read."""
    gce.objects.create('images', 'a', makeArchive())
    gce.inject('POST', '.*/images', 404)
    with pytest.raises(DriverError) as info:
        site.adapter.importImage(
            site.makeImageSpec(format='tar.gz'), 'gs://images/a')
    assert not isinstance(info.value, GoneError)


@pytest.mark.parametrize('status', [403, 503])
def test_what_can_not_be_looked_at_may_be_there(gce, site, status):
    gce.inject('GET', '.*/o/.*', status)
    with pytest.raises(PermanentError, match='cannot be found') as info:
        site.adapter.importImage(
            site.makeImageSpec(format='tar.gz'), 'gs://images/nothing')
    assert not isinstance(info.value, GoneError)


def test_copy(gce, site, makeSite, disk):
    image_id = site.adapter.uploadImage(site.makeImageSpec(), disk)
    other = makeSite(LAYOUT.replace('us-central1', 'europe-west1'))
    copied = other.adapter.copyImage(
        other.makeImageSpec('cd34'), image_id, site.adapter)
    assert copied != image_id
    assert gce.images.contents[copied] == PADDED


def test_snapshot(gce, site):
    gce.jobs.polls['images.insert'] = 3
    site.create()
    spec = site.makeImageSpec(
        '0001', name='snapshot-0001', image=None, format=None, timeout=0)
    url = site.adapter.createSnapshot('us-central1-a/np0001', spec)
    name = 'zuul-snapshot-0001'
    assert url == f'gce-image:projects/zuul/global/images/{name}'
    assert gce.images[name]['sourceDisk'].endswith(
        'us-central1-a/disks/np0001')
    # Once more, of a launcher that does not know that.
    assert site.adapter.createSnapshot('us-central1-a/np0001', spec) == url
    assert gce.images.names.count(name) == 1
    imported = site.adapter.importImage(site.makeImageSpec(), url)
    assert gce.images[NAME]['sourceImage'].endswith(name)
    assert imported == PATH


def test_download(gce, site, tmp_path):
    gce.objects.create('images', 'a/b.zst', CONTENT)
    path = tmp_path / 'file'
    for url in ('gs://images/a/b.zst',
                'https://storage.googleapis.com/images/a/b.zst'):
        assert site.adapter.downloadUrl(url, path)
        assert path.read_bytes() == CONTENT
        path.unlink()
    assert not site.adapter.downloadUrl('s3://images/a/b.zst', path)
    with pytest.raises(PermanentError, match='nothing'):
        site.adapter.downloadUrl('gs://images/nothing', path)


# What goes wrong

@pytest.mark.parametrize('keeps', [True, False])
def test_google_can_not_make_it(gce, site, disk, keeps):
    gce.images.keeps_failed = keeps
    gce.fail('images.insert', 'INVALID_IMAGE_TAR', 'there is no disk.raw')
    with pytest.raises(DriverError, match=r'no disk\.raw') as info:
        site.adapter.uploadImage(site.makeImageSpec(), disk)
    assert classify(info.value) is Failure.ATTEMPT
    assert not gce.objects.data


def test_failed_image_is_in_the_way(gce, site):
    """The next attempt has the same name, if it is a snapshot."""
    gce.jobs.polls['images.delete'] = 0
    gce.images.keeps_failed = True
    gce.fail('images.insert')
    site.create()
    spec = site.makeImageSpec('0001')
    for _ in range(2):
        with pytest.raises(DriverError):
            site.adapter.createSnapshot('us-central1-a/np0001', spec)
    site.adapter.createSnapshot('us-central1-a/np0001', spec)


def test_time_is_over(gce, site, disk):
    gce.jobs.polls['images.insert'] = None
    with pytest.raises(DriverError, match=r'after 0\.05 seconds'):
        site.adapter.uploadImage(site.makeImageSpec(timeout=0.05), disk)


@pytest.mark.parametrize('method, path', [
    ('POST', '.*/images'), ('GET', '.*/operations/.*'),
    ('DELETE', '.*/o/.*')])
@pytest.mark.parametrize('acts', [True, False])
def test_connection_breaks(gce, site, disk, method, path, acts):
    gce.inject(method, path, acts=acts)
    spec = site.makeImageSpec()
    if method == 'DELETE':
        # The object is of no account.
        site.adapter.uploadImage(spec, disk)
        assert len(gce.objects.data) == (not acts)
        return
    with pytest.raises(Exception) as info:
        site.adapter.uploadImage(spec, disk)
    assert classify(info.value) is Failure.TEMPORARY
    assert not gce.objects.data
    # What may be left is known to be ours.
    assert all(image.tags == spec.tags for image in site.adapter.listImages())


def test_quota_of_images(gce, site, disk):
    gce.images.create('zuul', 'other')
    gce.quota.overall['IMAGES'] = 1
    with pytest.raises(DriverError, match='IMAGES') as info:
        site.adapter.uploadImage(site.makeImageSpec(), disk)
    assert classify(info.value) is Failure.QUOTA


def test_object_is_left_over(gce, site):
    spec = site.makeImageSpec()
    gce.objects.create('images', 'zuul-nodes/ab12.tar.gz', b'',
                       metadata=spec.tags)
    gce.objects.create('images', 'others/ab12.tar.gz', b'')
    found, = getObjects(site)
    assert found.tags == spec.tags
    site.adapter.deleteResource(found)
    site.adapter.deleteResource(found)
    assert not getObjects(site)
    assert len(gce.objects.data) == 1


def test_object_has_the_tags_while_it_is_uploaded(gce, site, disk):
    fault = gce.inject('POST', '.*/images', hangs=True)
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        upload = executor.submit(
            site.adapter.uploadImage, site.makeImageSpec(), disk)
        try:
            assert fault.reached.wait(10)
            found, = getObjects(site)
            assert found.tags == {**TAGS, 'zuul_upload_uuid': 'ab12'}
        finally:
            fault.release()
    # Google has hung up.
    with pytest.raises(OSError):
        upload.result()


def test_launcher_stops(gce, makeSite, disk):
    """It does not wait for the cloud."""
    site = makeSite()
    gce.jobs.polls['images.insert'] = None
    failures = []

    def upload():
        try:
            site.adapter.uploadImage(site.makeImageSpec(timeout=1e6), disk)
        except TemporaryError as error:
            failures.append(error)
    thread = threading.Thread(target=upload, daemon=True)
    thread.start()
    end = time.monotonic() + 10
    while not gce.calls['globalOperations.get']:
        assert time.monotonic() < end
    site.adapter.images.stop()
    thread.join(10)
    assert failures


def test_upload_is_broken_off(gce, makeSite, disk):
    """What is there of it is not taken for all."""
    site = makeSite()
    site.adapter.images.stop()
    with pytest.raises(TemporaryError):
        site.adapter.uploadImage(site.makeImageSpec(), disk)
    assert not gce.objects.data
    assert not gce.calls['images.insert']
