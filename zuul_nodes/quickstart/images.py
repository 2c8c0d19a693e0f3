"""What became of images, as Zuul's REST API tells."""

import pathlib
from urllib.parse import urlsplit

from zuul_nodes.quickstart.failure import Failure

# Seconds for each step of an image.
TIMEOUT = 300


class Images:
    """
    :param API api: is asked about images.
    :param Services services: are watched while waiting.
    """

    def __init__(self, api, services):
        self.api = api
        self.services = services
        # The id of each artifact that was returned -> the file.
        self._files = {}

    def waitForArtifact(self):
        """
        :return: the id of the next artifact: one that no former call has
            returned.
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
        """
        :param uuid: of an artifact.
        :raises Failure: its upload has failed.
        """
        self._waitFor(lambda: self._isReady(uuid), 'no upload of the image')

    def waitForService(self, uuid):
        """Wait until nodes are made of an artifact."""
        self._waitFor(
            lambda: self._isReady(uuid) and all(
                upload['validated'] for upload in self._getUploads(uuid)),
            'the image is not validated')

    def waitForEnd(self, uuid):
        """Wait until an artifact has no uploads, and a job has deleted its
        file."""
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
            raise Failure('the image is of no use: its upload has failed, or '
                          'a job has refused it',
                          self.services.logFile('scheduler'))
        return artifact['uploads']

    def _getArtifacts(self):
        """:return: the id of each artifact -> what the API says of it."""
        return {artifact['uuid']: artifact for image in self.api.images()
                for artifact in image.get('build_artifacts', ())}

    def _waitFor(self, predicate, what):
        return self.services.waitFor(predicate, what, TIMEOUT, 'scheduler')
