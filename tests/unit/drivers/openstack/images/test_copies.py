"""Images that another project, region or cloud has already."""

import hashlib

import pytest
import yaml

from tests.emulators.openstack import OpenStack
from tests.unit.drivers.openstack.sites import NAME, UPLOAD, Site, getTags
from zuul_nodes.drivers.openstack.images.newimage import ImageFailed

DATA = b'QFI\xfb' + bytes(1000)
PASSWORD = 'password of the other'


@pytest.fixture
def addCloud(clouds_yaml):
    """:return: a function that adds one to clouds.yaml."""
    def add(name, auth_url, auth, region):
        config = yaml.safe_load(clouds_yaml.read_text())
        config['clouds'][name] = {
            'auth': {'auth_url': auth_url, **auth}, 'region_name': region}
        clouds_yaml.write_text(yaml.safe_dump(config))
    return add


@pytest.fixture
def openSite(zk_client, clouds_yaml):
    sites = []

    def make(*args, **kwargs):
        sites.append(Site(zk_client, *args, **kwargs))
        return sites[-1]
    yield make
    for site in sites:
        site.end()


@pytest.fixture
def other_project(cloud, addCloud, openSite):
    """:return: a function that makes a site in another project."""
    cloud.keystone.add('other', 'other', PASSWORD)
    addCloud('other', cloud.keystone.url,
             cloud.keystone.getCredentials('other'), 'RegionOne')
    return lambda **image: openSite('other', **image)


@pytest.fixture
def other_cloud():
    emulator = OpenStack()
    yield emulator
    emulator.end()


@pytest.fixture
def far(other_cloud, addCloud, openSite):
    """:return: a function that makes a site in another cloud."""
    addCloud('far', other_cloud.keystone.url,
             other_cloud.keystone.getCredentials(), 'RegionOne')
    return lambda **image: openSite('far', **image)


@pytest.fixture
def federated(cloud, other_cloud, addCloud, openSite):
    """:return: a function that makes a site in another region."""
    cloud.keystone.addRegion('RegionTwo', other_cloud)
    other_cloud.keystone.tokens = cloud.keystone.tokens
    addCloud('two', cloud.keystone.url, cloud.keystone.getCredentials(),
             'RegionTwo')
    other_cloud.glance.regions['RegionOne'] = cloud.glance
    other_cloud.glance.methods.append('glance-download')
    return lambda **image: openSite('two', **image)


def upload(site, tmp_path):
    """:return: the id of the image."""
    path = tmp_path / 'image'
    path.write_bytes(DATA)
    return site.provider.getImageUploadJob(
        site.image, 'original', 'qcow2', getTags(site), None, None,
    ).run(str(path))


def getCopy(site, source):
    return site.provider.getImageCopyJob(
        source.provider, site.image, NAME, 'qcow2', getTags(site),
        hashlib.md5(DATA).hexdigest(), None)


# In the same cloud

def test_shared_image_is_used_by_another_project(
        makeSite, other_project, cloud, tmp_path):
    tags = {'visibility': 'shared'}
    site, other = makeSite(tags=tags), other_project(tags=tags)
    image_id = upload(site, tmp_path)
    # Somebody has died after he had done it.
    for _ in range(2):
        assert getCopy(other, site).run(image_id) == image_id
    member, = cloud.glance.members[image_id].values()
    assert member['status'] == 'accepted'
    # It is not ours, so it stays.
    other.provider.deleteImage(image_id)
    assert member['status'] == 'rejected'
    assert image_id in cloud.glance.images


def test_public_image_is_used_by_another_project(
        makeSite, other_project, cloud, tmp_path):
    tags = {'visibility': 'public'}
    site, other = makeSite(tags=tags), other_project(tags=tags)
    image_id = upload(site, tmp_path)
    assert getCopy(other, site).run(image_id) == image_id
    other.provider.deleteImage(image_id)
    assert image_id in cloud.glance.images


def test_private_image_is_not_copied_between_projects(site, other_project):
    assert getCopy(other_project(), site) is None


def test_image_is_not_copied_within_a_project(site, openSite):
    assert getCopy(site, site) is None
    assert getCopy(openSite(tags={'visibility': 'shared'}), site) is None


# In another region

def test_region_copies_image_of_another_region(
        site, federated, other_cloud, tmp_path):
    image_id = upload(site, tmp_path)
    copied = getCopy(federated(), site).run(image_id)
    image = other_cloud.glance.images[copied]
    assert (image['name'], image['status'], image['disk_format'],
            image['zuul_upload_uuid']) == (NAME, 'active', 'qcow2', UPLOAD)
    assert other_cloud.glance.data == {copied: DATA}
    task, = other_cloud.glance.tasks
    assert task['input']['import_req']['method'] == {
        'name': 'glance-download', 'glance_region': 'RegionOne',
        'glance_image_id': image_id}


def test_cloud_does_not_offer_it(site, federated, other_cloud):
    other_cloud.glance.methods.remove('glance-download')
    assert getCopy(federated(), site) is None


def test_next_attempt_uploads_image_after_failed_copy(
        site, federated, other_cloud, tmp_path):
    image_id = upload(site, tmp_path)
    two = federated()
    other_cloud.glance.regions.clear()
    with pytest.raises(ImageFailed, match='has not imported'):
        getCopy(two, site).run(image_id)
    assert not other_cloud.glance.images
    assert getCopy(two, site) is None


def test_another_image_arrives(site, federated, cloud, other_cloud,
                               tmp_path):
    image_id = upload(site, tmp_path)
    cloud.glance.data[image_id] = b'another one'
    with pytest.raises(ImageFailed, match='md5 of image'):
        getCopy(federated(), site).run(image_id)
    assert not other_cloud.glance.images


# In another cloud

def test_image_is_uploaded_rather_than_streamed(site, far):
    assert getCopy(far(), site) is None


def test_image_of_another_cloud_is_streamed(site, far, other_cloud, tmp_path):
    image_id = upload(site, tmp_path)
    copied = getCopy(far(upload_methods=['copy']), site).run(image_id)
    image = other_cloud.glance.images[copied]
    assert (image['name'], image['disk_format'],
            image['zuul_upload_uuid']) == (NAME, 'qcow2', UPLOAD)
    assert other_cloud.glance.data == {copied: DATA}


@pytest.mark.parametrize('data', [DATA[:-1] + b'1', DATA[:-1], b''])
def test_streamed_image_with_wrong_data_is_deleted(
        site, far, cloud, other_cloud, tmp_path, data):
    image_id = upload(site, tmp_path)
    cloud.glance.data[image_id] = data
    with pytest.raises(ImageFailed):
        getCopy(far(upload_methods=['copy']), site).run(image_id)
    assert not other_cloud.glance.images


def test_streamed_image_is_gone(site, far, other_cloud):
    with pytest.raises(ImageFailed, match='Unable to get image gone'):
        getCopy(far(upload_methods=['copy']), site).run('gone')
    assert not other_cloud.glance.images
