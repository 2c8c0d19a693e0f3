"""Images that the cloud downloads itself."""

import contextlib
import hashlib
import logging
import threading

import pytest

from tests.unit.drivers.openstack.sites import NAME, UPLOAD, getTags
from zuul_nodes.drivers.openstack.images.newimage import ImageFailed

DATA = b'QFI\xfb' + bytes(1000)
MD5 = hashlib.md5(DATA).hexdigest()
SHA256 = hashlib.sha256(DATA).hexdigest()
IMAGE = r'/image/v2/images/[^/]+'
# What is of one image only, and of the time.
OWN = ('id', 'created_at', 'updated_at', 'self', 'file')


@pytest.fixture
def url(file_server):
    file_server.files['image'] = DATA
    return f'{file_server.url}/image'


def getImport(site, url, md5=MD5, sha256=SHA256):
    return site.provider.getImageImportJob(
        url, site.image, NAME, 'qcow2', getTags(site), md5, sha256)


def runAndFail(site, cloud, url, match, **checksums):
    """The import fails, and leaves nothing."""
    with pytest.raises(ImageFailed, match=match) as info:
        getImport(site, url, **checksums).run()
    assert not cloud.glance.images
    return info.value


def keepLogs(caplog):
    """Of all but the emulator, which uses urllib3 too."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, 'urllib3')


# What is imported

def test_import(site, cloud, url):
    image_id = getImport(site, url).run()
    image = cloud.glance.images[image_id]
    assert (image['status'], image['name'], image['disk_format'],
            image['container_format'], image['visibility']) == (
                'active', NAME, 'qcow2', 'bare', 'private')
    assert (image['zuul_system_id'], image['zuul_upload_uuid']) == (
        'system', UPLOAD)
    assert cloud.glance.data[image_id] == DATA
    site.provider.deleteImage(image_id)
    assert not cloud.glance.images


@pytest.mark.parametrize('tags', [
    {}, {'visibility': 'shared', 'hw_disk_bus': 'scsi', 'min_disk': '3'}])
def test_imported_image_is_like_an_uploaded_one(
        makeSite, cloud, url, tmp_path, tags):
    site = makeSite(tags=tags)
    path = tmp_path / 'image'
    path.write_bytes(DATA)
    uploaded = site.provider.getImageUploadJob(
        site.image, NAME, 'qcow2', getTags(site), MD5, SHA256).run(str(path))
    imported = getImport(site, url).run()
    images = [{key: value for key, value in cloud.glance.images[each].items()
               if key not in OWN} for each in (uploaded, imported)]
    assert uploaded != imported
    assert images[0] == images[1]


@pytest.mark.parametrize(('md5', 'sha256'), [
    (MD5.upper(), None), (MD5, '1234'), (None, None)],
    ids=['upper case', 'both', 'none'])
def test_checksums(site, cloud, url, md5, sha256):
    image_id = getImport(site, url, md5, sha256).run()
    assert cloud.glance.data[image_id] == DATA


def test_import_takes_time(site, cloud, url):
    cloud.glance.import_polls = 5
    image_id = getImport(site, url).run()
    assert cloud.calls.count(('GET', f'/image/v2/images/{image_id}')) > 2


def test_cloud_is_out_of_order_for_a_while(site, cloud, url):
    cloud.glance.import_polls = 5
    for status in (503, 429, 500):
        cloud.inject('GET', IMAGE, status)
    cloud.inject('GET', IMAGE + '/tasks', 502)
    assert getImport(site, url).run() in cloud.glance.images


# What is not

@pytest.mark.parametrize('wrong', [
    {'import_method': 'none'}, {'md5': None}, '.zst', '.gz?name=1', '.xz',
    '.GZ', '.bz2'])
def test_image_that_can_not_be_imported_is_uploaded(
        makeSite, cloud, url, wrong):
    suffix, checksums, attributes = '', {}, {}
    if isinstance(wrong, str):
        suffix = wrong
    elif 'md5' in wrong:
        checksums = wrong
    else:
        attributes = wrong
    site = makeSite(**attributes)
    assert getImport(site, url + suffix, **checksums) is None
    assert cloud.calls == []


@pytest.mark.parametrize('url', ['file:///image', 's3://bucket/image',
                                 'swift://container/image'])
def test_url_of_another_kind_is_not_imported(site, url):
    assert getImport(site, url) is None


def test_cloud_that_does_not_offer_it(site, cloud, url):
    cloud.glance.methods = ['glance-direct']
    assert getImport(site, url) is None


@pytest.mark.parametrize('status', [404, 500])
def test_cloud_that_does_not_tell(site, cloud, url, status):
    cloud.inject('GET', '/image/v2/info/import', status, times=10)
    assert getImport(site, url) is None


# What fails

def test_another_file(site, cloud, url, file_server):
    file_server.files['image'] = b'another one'
    runAndFail(site, cloud, url, f'md5 of image {NAME}')


def test_algorithm_of_the_cloud(site, cloud, url, monkeypatch):
    """Clouds can be told to use another one than SHA-512."""
    store = cloud.glance._store

    def storeWithSha256(image, data):
        store(image, data)
        image.update(checksum=None, os_hash_algo='sha256',
                     os_hash_value=hashlib.sha256(data).hexdigest())
    monkeypatch.setattr(cloud.glance, '_store', storeWithSha256)
    assert getImport(site, url).run() in cloud.glance.images
    cloud.glance.images.clear()
    runAndFail(site, cloud, url, 'sha256 of image', sha256='1234')
    runAndFail(site, cloud, f'{url}?1', 'no checksum', sha256=None)


@pytest.mark.parametrize('status', ['queued', 'importing'])
def test_failing_task(site, cloud, url, file_server, status, caplog):
    """It says what was wrong, but for what may be a secret."""
    keepLogs(caplog)
    cloud.glance.failed_status = status
    del file_server.files['image']
    error = runAndFail(site, cloud, f'{url}?secret=xyz', '404')
    assert NAME in caplog.text
    assert 'xyz' not in str(error) + caplog.text
    assert error.__suppress_context__ or error.__context__ is None


def test_failing_task_of_a_cloud_without_tasks(
        site, cloud, url, file_server):
    cloud.inject('GET', IMAGE + '/tasks', 404, times=100)
    cloud.glance.import_polls = 3
    del file_server.files['image']
    runAndFail(site, cloud, url, 'status is queued')


def test_import_is_refused(site, cloud, url, caplog):
    keepLogs(caplog)
    cloud.inject('POST', IMAGE + '/import', 400,
                 'bad uri: http://me:xyz@storage/image?secret=xyz')
    error = runAndFail(site, cloud, f'{url}?secret=xyz', 'bad uri')
    assert NAME in caplog.text
    assert 'xyz' not in str(error) + caplog.text


def test_image_is_refused(site, cloud, url):
    cloud.inject('POST', '/image/v2/images', 413, 'over quota')
    runAndFail(site, cloud, url, 'over quota')


def test_image_is_gone(site, cloud, url):
    cloud.inject('GET', IMAGE, 404, 'No image found')
    runAndFail(site, cloud, url, 'No image found')


def test_time_out(makeSite, cloud, url):
    cloud.glance.import_polls = None
    site = makeSite(import_timeout=0)
    runAndFail(site, cloud, url, 'not active after 0 s')


def test_call_without_an_answer(cloud, url, clouds_yaml, makeSite):
    """Each call has a time-out, also that which makes the image."""
    cloud.writeConfig(clouds_yaml, api_timeout=0.1)
    site = makeSite()
    job = getImport(site, url)
    fault = cloud.inject('POST', '/image/v2/images', 500, hangs=True)
    with pytest.raises(ImageFailed, match='timed out'):
        job.run()
    fault.release()


def test_time_out_of_calls_that_nobody_has_chosen(site):
    assert site.endpoint._client.session.timeout == 60


def test_launcher_stops(site, cloud, url, monkeypatch):
    cloud.glance.import_polls = None
    monkeypatch.setattr(site.endpoint, 'import_interval', 60)
    errors = []
    fault = cloud.inject('GET', IMAGE + '/tasks', 404)
    thread = threading.Thread(target=lambda: errors.append(
        runAndFail(site, cloud, url, 'because the endpoint stops')))
    thread.start()
    assert fault.reached.wait(10)
    site.end()
    thread.join(10)
    assert errors


def test_not_imported_again(site, cloud, url):
    """The next attempt downloads and uploads it."""
    runAndFail(site, cloud, url, 'md5', md5='1234')
    assert getImport(site, url, md5='1234') is None
    assert getImport(site, url)


def test_imported_again_if_there_is_no_other_way(makeSite, cloud, url):
    site = makeSite(upload_methods=['import'])
    runAndFail(site, cloud, url, 'md5', md5='1234')
    assert getImport(site, url, md5='1234')


# What is left of them

def test_image_that_can_not_be_deleted(site, cloud, url):
    cloud.inject('DELETE', IMAGE, 409, times=10)
    with pytest.raises(ImageFailed, match='md5'):
        getImport(site, url, md5='1234').run()
    resource, = site.list('image')
    assert (resource.type, resource.metadata['zuul_upload_uuid']) == (
        'image', UPLOAD)
    assert resource.type in site.endpoint.getResourceTypes()


def test_image_that_can_not_be_deleted_at_once(site, cloud, url):
    """An import of Glance may not have come to its end yet."""
    cloud.inject('DELETE', IMAGE, 500, times=2)
    runAndFail(site, cloud, url, 'md5', md5='1234')


def test_leak(site, cloud, url):
    """A launcher may die at any time."""
    job = getImport(site, url)
    image_id = job.new_image._create()
    resource, = site.list('image')
    assert resource.id == image_id
    assert resource.metadata.items() >= getTags(site).items()
    site.endpoint.deleteResource(resource)
    assert not cloud.glance.images
    site.endpoint.deleteResource(resource)


@pytest.mark.parametrize('status', [None, 503])
def test_answer_that_is_lost(site, cloud, url, status):
    """The cloud has made an image that nobody knows of; with 503, it is
    asked again."""
    cloud.inject('POST', '/image/v2/images', status, acts=True)
    with contextlib.suppress(ImageFailed):
        getImport(site, url).run()
    assert cloud.glance.images
    assert {each.id for each in site.list('image')} == set(
        cloud.glance.images)


def test_images_of_others(site, cloud, url):
    """Neither what others share with us, nor a snapshot of a node, which
    has the properties of the node's image."""
    image_id = getImport(site, url).run()
    image = cloud.glance.images[image_id]
    for change in ({'owner': 'other', 'visibility': 'public'},
                   {'name': 'before the upgrade'}, {'name': None},
                   {'zuul_upload_uuid': ''}):
        other = {**image, **change, 'id': f'{len(cloud.glance.images)}'}
        cloud.glance.images[other['id']] = other
    assert [each.id for each in site.list('image')] == [
        image_id]


def test_many_images(site, cloud):
    job = getImport(site, 'http://127.0.0.1/image')
    cloud.glance.limit = 2
    expected = {job.new_image._create() for _ in range(5)}
    assert {each.id for each in site.list('image')} == expected
