"""Tests of the lifecycle of images."""

from collections.abc import Iterable, Iterator
import contextlib
import functools
import hashlib
import http.server
import pathlib
import threading
import time
import uuid

from kazoo.exceptions import NoNodeError
import pytest
from zuul.model import ImageBuildArtifact, ImageUpload

from zuul_nodes.drivers import Ability
from zuul_nodes.futures import begin
from zuul_nodes.launcher.zookeeper.zuulrecords import getProviderNode, inState
from zuul_nodes.testing.cloud import Cloud, ImageStorage
from zuul_nodes.testing.configuration import change
from zuul_nodes.testing.faults import KINDS, Fault
from zuul_nodes.testing.scenarios import MakeSite, Points, Scenarios
from zuul_nodes.testing.site import TENANT, Site

IMAGE = 'built'
CONTENT = b'an image' * 512
# How an image gets into the cloud -> required ability.
WAYS = {'upload': Ability.IMAGES, 'import': Ability.IMPORT}
# Calls for nodes and for the clean-up.
OTHER = {'getLimits', 'getNeeds', 'listZones', 'listImages', 'listInstances',
         'listPowerStates', 'listResources'}


class Storage:
    """Serves artifacts: a web server on loopback.

    :param directory: created; its files are served.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass
        directory.mkdir()
        self.directory = directory
        self._server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0),
            functools.partial(Handler, directory=str(directory)))
        self._thread = threading.Thread(
            target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def add(self, name: str, data: bytes) -> str:
        """:return: the URL of a new file."""
        (self.directory / name).write_bytes(data)
        return f'http://127.0.0.1:{self._server.server_port}/{name}'

    def end(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class ImageScenarios(Scenarios):

    @pytest.fixture
    def way(self, request: pytest.FixtureRequest) -> str | None:
        """:return: how images get into the cloud in this test, or None."""
        callspec = getattr(request.node, 'callspec', None)
        return None if callspec is None else callspec.params.get('way')

    @pytest.fixture
    def storage(self, cloud: Cloud, tmp_path: pathlib.Path,
                way: str | None) -> Iterator[ImageStorage]:
        """:return: the server of the artifacts."""
        make = getattr(cloud, 'makeStorage', None)
        storage = (make() if make and way == 'import'
                   else Storage(tmp_path / 'storage'))
        yield storage
        storage.end()

    @pytest.mark.parametrize('way', WAYS)
    def test_image(self, makeSite: MakeSite, storage: ImageStorage,
                   way: str) -> None:
        """An image gets into the cloud, a node is launched from it, and the
        image is deleted."""
        site = self._makeSite(makeSite, way)
        artifact = addArtifact(site, storage)
        getReady(site, artifact)
        assert site.getNew(), 'there is an upload, but nothing in the cloud'
        _checkWay(site, way)
        request, _ = site.getFulfilled(site.request(IMAGE))
        site.use(request)
        site.waitFor(lambda: not site.getRecords('node'),
                     'the node of the image is not deleted')
        deleteArtifact(site, artifact)
        site.rest()

    @pytest.mark.parametrize('kind', KINDS)
    @pytest.mark.parametrize('way', WAYS)
    def test_image_faults(self, makeSite: MakeSite, storage: ImageStorage,
                          way: str, kind: str) -> None:
        """Each call for an image fails once; nevertheless the image becomes
        ready and is deleted."""
        site = self._makeSite(makeSite, way)
        uploading, deleting, number = self._getImagePoints(
            site, storage, way)
        for call in uploading:
            site.journal.begin(Fault(call, kind))
            artifact = self._upload(site, storage, number)
            site.journal.begin()
            self._delete(site, artifact)
        for call in deleting:
            site.journal.begin()
            artifact = self._upload(site, storage, number)
            site.journal.begin(Fault(call, kind))
            self._delete(site, artifact)

    @pytest.mark.parametrize('kind', [None, 'error', 'lost', 'kill-after'])
    def test_snapshot(self, makeSite: MakeSite, cloud: Cloud,
                      kind: str | None) -> None:
        """An image is created from a node, and is deleted when it has
        expired."""
        self.need(Ability.SNAPSHOTS)
        site = makeSite()
        site.start(change(cloud.configuration, 'labels',
                          {'snapshot-expiration': self.snapshot_expiration},
                          'label'))
        request, _ = site.getFulfilled(site.request('label'))
        nodeset = site.begin(request)
        site.journal.begin(
            Fault('createSnapshot', kind) if kind else None)
        node = getProviderNode(nodeset.getNodes()[0])
        # In a thread, because it waits for the launcher without a time-out.
        call = begin('snapshot', lambda: list(
            site.client.snapshotNodeset(nodeset, [node.uuid])))
        site.waitFor(call.done, 'the snapshot is not completed')
        if kind in (None, 'kill-after'):
            assert isinstance(node.snapshot.external_id, str), (
                f'the snapshot is {node.snapshot.external_id!r}')
        site.client.returnNodeset(nodeset)
        site.waitFault()
        site.rest()

    def _makeSite(self, makeSite: MakeSite, way: str) -> Site:
        self.need(WAYS[way])
        site = makeSite(uploading=way == 'upload')
        site.start()
        return site

    def _getImagePoints(self, site: Site, storage: ImageStorage,
                        way: str) -> Points:
        """
        :return: the calls of an upload and those of its deletion, two lists;
            and the number of resources in the cloud in between.
        """
        site.journal.begin()
        artifact = addArtifact(site, storage)
        getReady(site, artifact)
        number = len(site.getNew())
        _checkWay(site, way)
        uploading = site.journal.getCalls()
        site.journal.begin()
        self._delete(site, artifact)
        deleting = site.journal.getCalls()
        return (_findPoints(uploading), _findPoints(deleting), number)

    def _upload(self, site: Site, storage: ImageStorage,
                number: int) -> ImageBuildArtifact:
        """:return: a new artifact, uploaded."""
        artifact = addArtifact(site, storage)
        getReady(site, artifact)
        site.waitFault()
        # The remains of failed attempts have been deleted.
        site.waitForNumber(number)
        return artifact

    def _delete(self, site: Site, artifact: ImageBuildArtifact) -> None:
        deleteArtifact(site, artifact)
        site.rest()
        site.waitFault()
        site.rest()


def _findPoints(calls: Iterable[str]) -> list[str]:
    return [call for call in calls if call not in OTHER]


def _checkWay(site: Site, way: str) -> None:
    calls = site.journal.getCalls()
    assert any(call.startswith(way) for call in calls), (
        f'there was no {way} of the image: {dict(calls)}')


def addArtifact(site: Site, storage: ImageStorage) -> ImageBuildArtifact:
    """Write records of an artifact and its upload, as a scheduler does.

    :return: the artifact.
    """
    provider = site.provider
    image = provider.images[IMAGE]
    content = getattr(site.cloud, 'image', CONTENT)
    name = uuid.uuid4().hex
    with site.context() as context:
        artifact = ImageBuildArtifact.new(
            context, uuid=name, name=image.name, format=image.format,
            canonical_name=image.canonical_name,
            project_canonical_name='example.com/nodes',
            project_branch='main', build_tenant_name=TENANT,
            url=storage.add(f'{name}.{image.format}', content),
            md5sum=hashlib.md5(content).hexdigest(),
            sha256=hashlib.sha256(content).hexdigest(),
            timestamp=time.time())
        ImageUpload.new(
            context, uuid=uuid.uuid4().hex, artifact_uuid=name,
            canonical_name=image.canonical_name,
            endpoint_name=provider.getEndpoint().canonical_name,
            providers=[provider.canonical_name],
            config_hash=image.zuul_config_hash, timestamp=time.time(),
            # The test has no validation job.
            validated=True, **inState(ImageUpload.State.PENDING))
        # The last step: from now on, launchers process the artifact.
        artifact.updateAttributes(context, **inState(artifact.State.READY))
    return artifact


def getReady(site: Site, artifact: ImageBuildArtifact) -> ImageUpload:
    """:return: the upload of an artifact, once it is ready."""
    def find() -> ImageUpload | None:
        for upload in getUploads(site):
            if (upload.artifact_uuid == artifact.uuid
                    and upload.state == upload.State.READY):
                return upload
        return None
    return site.waitFor(
        find, lambda: 'the image does not become ready; the uploads are '
        f'{[str(upload) for upload in getUploads(site)]}')


def getUploads(site: Site) -> list[ImageUpload]:
    """:return: a list of all uploads."""
    found = []
    with site.context() as context:
        for name in site.getRecords('image upload'):
            with contextlib.suppress(NoNodeError):
                found.append(ImageUpload.fromZK(context, None, uuid=name))
    return found


def deleteArtifact(site: Site, artifact: ImageBuildArtifact) -> None:
    """Request the deletion of an image, as a user can do."""
    with site.context() as context:
        artifact.refresh(context)
        artifact.updateAttributes(
            context, **inState(artifact.State.DELETING))
