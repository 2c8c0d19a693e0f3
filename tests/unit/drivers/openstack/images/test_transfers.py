"""With the launcher: from an artifact to an image in the cloud."""

import hashlib

import pytest

from tests.fixtures import images
from tests.fixtures.images import ImageLauncher
from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.openstack.sites import LAYOUT, getConnection
from zuul_nodes.launcher.providers.scope import Scope

DATA = b'QFI\xfb' + bytes(1000)
IMAGE = r'/image/v2/images/[^/]+'


class Launcher(ImageLauncher):
    """With the emulated cloud, in place of those that are made up."""

    def setLayout(self, text):
        providers = makeProviders(
            self.connections, LAYOUT, zk_client=self.zk_client)
        self.tenant_providers = {'tenant': providers}
        self.scope = Scope(self.tenant_providers)
        endpoint = providers[0].getEndpoint()
        endpoint.start()
        self.endpoints = {endpoint.canonical_name: endpoint}

    def getProvider(self, name='cloud', tenant='tenant'):
        return super().getProvider(name, tenant)


@pytest.fixture
def launcher(zuul_conf, tmp_path, clouds_yaml, monkeypatch):
    def makeRegistryWithCloud(config):
        connections = makeRegistry(config)
        connection = getConnection()
        connections.drivers['openstack'] = connection.driver
        connections.connections['cloud'] = connection
        return connections

    monkeypatch.setattr(images, 'makeRegistry', makeRegistryWithCloud)
    launcher = Launcher(zuul_conf, tmp_path, names=())
    launcher.queue.start()
    yield launcher
    launcher.end()


@pytest.fixture
def upload(launcher, file_server):
    """:return: a function that has an artifact uploaded, and gives the
        upload and the image when it is ready."""
    file_server.files['image'] = DATA

    def upload(path='/image', **kwargs):
        artifact = launcher.addArtifact(
            state=None, url=file_server.url + path, **{
                'format': 'qcow2',
                'md5sum': hashlib.md5(DATA).hexdigest(),
                'sha256': hashlib.sha256(DATA).hexdigest()} | kwargs)
        launcher.addUpload(artifact, 'cloud')
        launcher.setState(artifact, 'ready')
        return waitFor(lambda: next(
            (each for each in launcher.getUploads()
             if each.state == each.State.READY and not each.is_locked), None))
    return upload


def isDownloaded(file_server):
    """:return: whether the launcher has downloaded it, and not the
        cloud."""
    # It asks for a part.
    return any(wanted for *_, wanted in file_server.requests)


def test_import(upload, cloud, file_server):
    done = upload()
    image = cloud.glance.images[done.external_id]
    assert (image['name'], image['zuul_upload_uuid']) == (
        f'debian-{done.uuid}', done.uuid)
    assert cloud.glance.data == {done.external_id: DATA}
    assert not isDownloaded(file_server)


@pytest.mark.parametrize('where', ['/import', '/tasks'])
def test_download_if_the_import_fails(
        upload, launcher, cloud, file_server, where):
    """Once, and then another way; the cloud has the image once."""
    method = {'/import': 'POST', '/tasks': 'GET'}[where]
    cloud.inject(method, IMAGE + where, 400)
    done = upload()
    assert done.attempt == 1
    assert cloud.glance.data == {done.external_id: DATA}
    assert isDownloaded(file_server)
    waitFor(lambda: launcher.getUploads() == [done])


def test_download_if_the_cloud_does_not_offer_imports(
        upload, cloud, file_server):
    cloud.glance.methods = []
    done = upload()
    assert not done.attempt
    assert cloud.glance.data == {done.external_id: DATA}
    assert isDownloaded(file_server)


def test_deletes(upload, launcher, cloud):
    done = upload()
    launcher.setState(done, done.State.DELETING)
    waitFor(lambda: not launcher.getUploads())
    assert not cloud.glance.images
