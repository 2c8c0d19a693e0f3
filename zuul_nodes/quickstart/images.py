"""Wait for builds of images, through Zuul's REST API."""

import pathlib
from urllib.parse import urlsplit

from zuul_nodes.quickstart.failure import Failure

# Seconds for each step of an image.
TIMEOUT = 300


class Images:
    """Waits for the builds and uploads of an image.

    :param API api: for queries about images.
    :param Services services: watched while waiting.
    """

    def __init__(self, api, services):
        self.api = api
        self.services = services
        # The id of each returned artifact -> its file.
        self._files = {}

    def waitForArtifact(self):
        """Wait for the next artifact.

        :return: its id, which no earlier call has returned.
        """
        def find():
            return [artifact for uuid, artifact
                    in self._getArtifacts().items()
                    if artifact['state'] == 'ready'
                    and uuid not in self._files]
        artifact, *_ = self._waitFor(find, 'no job builds the image')
        self._files[artifact['uuid']] = pathlib.Path(
            urlsplit(artifact['url']).path)
        return artifact['uuid']

    def waitForUpload(self, uuid):
        """Wait until an artifact is uploaded.

        :param uuid: of the artifact.
        :raises Failure: the upload failed.
        """
        self._waitFor(lambda: self._isReady(uuid), 'no upload of the image')

    def waitForService(self, uuid):
        """Wait until all uploads of an artifact are validated."""
        self._waitFor(
            lambda: self._isReady(uuid) and all(
                upload['validated'] for upload in self._getUploads(uuid)),
            'the image is not validated')

    def waitForEnd(self, uuid):
        """Wait until the uploads of an artifact are deleted, and a job has
        deleted its file."""
        self._waitFor(lambda: uuid not in self._getArtifacts()
                      and not self._files[uuid].exists(),
                      'the image is not deleted')

    def _isReady(self, uuid):
        uploads = self._getUploads(uuid)
        return uploads and all(
            upload['state'] == 'ready' for upload in uploads)

    def _getUploads(self, uuid):
        artifact = self._getArtifacts().get(uuid)
        if (artifact is None or artifact['state'] != 'ready' or any(
                upload['state'] == 'failed'
                for upload in artifact['uploads'])):
            raise Failure('the image cannot be used: its upload or its '
                          'validation has failed',
                          self.services.logFile('scheduler'))
        return artifact['uploads']

    def _getArtifacts(self):
        """:return: the id of each artifact -> its data from the API."""
        return {artifact['uuid']: artifact for image in self.api.images()
                for artifact in image.get('build_artifacts', ())}

    def _waitFor(self, predicate, what):
        return self.services.waitFor(predicate, what, TIMEOUT, 'scheduler')
