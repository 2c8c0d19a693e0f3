"""Images of the driver, at OpenStack's own Glance."""

import hashlib

from openstack.config import loader
import pytest

from tests.fixtures.kit.openstackservices import makeImage
from tests.unit.drivers.openstack.sites import NAME, UPLOAD, Site, getTags
from zuul_nodes.drivers.openstack.endpoint import OpenstackEndpoint

pytestmark = pytest.mark.openstack_services

DATA = makeImage()
MD5 = hashlib.md5(DATA).hexdigest()
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def makeSite(makeProject, zk_client, tmp_path, monkeypatch):
    """:return: a function that makes a project and a :class:`Site`."""
    monkeypatch.setattr(OpenstackEndpoint, 'import_interval', 0.1)
    path = tmp_path / 'clouds.yaml'
    monkeypatch.setattr(loader, 'CONFIG_FILES', [str(path)])
    sites = []

    def make(**attributes):
        project = makeProject()
        project.cloud.writeConfig(path)
        site = Site(zk_client, project.name, **attributes)
        site.project = project
        sites.append(site)
        return site
    yield make
    for site in sites:
        site.end()


@pytest.fixture
def url(file_server):
    file_server.files['image'] = DATA
    return f'{file_server.url}/image'


def upload(site, tmp_path):
    path = tmp_path / 'image'
    path.write_bytes(DATA)
    return site.provider.getImageUploadJob(
        site.image, NAME, 'qcow2', getTags(site), MD5, SHA256).run(str(path))


def getImport(site, url, md5=MD5):
    return site.provider.getImageImportJob(
        url, site.image, NAME, 'qcow2', getTags(site), md5, None)


def check(site, image_id):
    """The image is there as it should be, and can be deleted."""
    image = site.project.client.image.get_image(image_id)
    assert (image.name, image.status, image.disk_format, image.checksum) == (
        NAME, 'active', 'qcow2', MD5)
    assert image.properties['zuul_upload_uuid'] == UPLOAD
    site.provider.deleteImage(image_id)
    assert site.project.list() == []


def checkFailure(site, match, run):
    """It fails, and leaves nothing that is not found as leaked: while
    Glance comes to the end of an import it may answer a deletion with
    500."""
    with pytest.raises(Exception, match=match):
        run()
    for resource in site.list('image'):
        site.endpoint.deleteResource(resource)
    assert site.project.list() == []


@pytest.mark.parametrize('method', ['none', 'glance-direct'])
def test_upload(makeSite, tmp_path, method):
    site = makeSite(import_method=method)
    check(site, upload(site, tmp_path))


def test_import(makeSite, url):
    site = makeSite()
    check(site, getImport(site, url).run())


def test_import_of_another_file(makeSite, url):
    site = makeSite()
    checkFailure(site, 'md5', getImport(site, url, md5='1' * 32).run)


def test_import_of_what_is_not_there(makeSite, url, file_server):
    del file_server.files['image']
    site = makeSite()
    # Glance keeps the cause to itself.
    checkFailure(site, 'Task failed', getImport(site, url).run)


def test_what_is_not_an_image(makeSite, url, file_server):
    """Glance looks at what it gets."""
    file_server.files['image'] = b'not an image' * 1000
    site = makeSite()
    checkFailure(site, NAME, getImport(site, url, md5=None).run)


def test_share(makeSite, tmp_path):
    """One project has the image, another one uses it."""
    owner, user = (makeSite(tags={'visibility': 'shared'})
                   for _ in range(2))
    image_id = upload(owner, tmp_path)
    job = user.provider.getImageCopyJob(
        owner.provider, user.image, NAME, 'qcow2', getTags(user), MD5,
        SHA256)
    assert job.run(image_id) == image_id
    client = user.project.client
    assert client.image.get_image(image_id).owner == owner.project.id
    assert image_id in [each.id for each in client.image.images()]
    user.provider.deleteImage(image_id)
    assert image_id not in [each.id for each in client.image.images()]
    check(owner, image_id)
