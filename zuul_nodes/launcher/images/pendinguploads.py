"""Selection of the uploads that the launcher starts, resumes or retries."""

import collections
import logging

from zuul_nodes.launcher.images.policy import (
    findBad,
    isRejected,
    isSuperseded,
)
from zuul_nodes.launcher.images.transfers import findProvider


class PendingUploads:
    """Starts pending uploads.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param Layouts layouts: has the providers of the uploads.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param Uploads uploads: executes the uploads.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, endpoints, uploads):
        self.records = records
        self.schedule = schedule
        self.layouts = layouts
        self.endpoints = endpoints
        self.uploads = uploads

    def reconcile(self):
        """Start the uploads of built images that are due."""
        pending = collections.defaultdict(list)
        known = collections.defaultdict(list)
        gone = self.records.gone_files.get()
        bad = findBad(self.records.uploads.getItems())
        for upload in self.getHandled():
            with self.schedule.isolate(upload):
                if (upload.artifact_uuid in bad
                        or not self._isWanted(upload)):
                    continue
                known[upload.artifact_uuid].append(upload)
                if not self.uploads.isFree(upload):
                    continue
                if _isForgotten(upload) or (
                        self._isToBeTried(upload)
                        and upload.artifact_uuid not in gone
                        and not self._isPaused(upload)):
                    self.uploads.recover(upload)
                if (upload.state == upload.State.PENDING
                        and not self._isPaused(upload)):
                    pending[upload.artifact_uuid].append(upload)
        for artifact_uuid, uploads in pending.items():
            if artifact := self.records.builds.getItem(artifact_uuid):
                with self.schedule.isolate(artifact):
                    self.uploads.start(
                        artifact, uploads, known[artifact_uuid])

    def _isWanted(self, upload):
        artifact = self._getArtifact(upload)
        if artifact is None or artifact.state != artifact.State.READY:
            return False
        if upload.state == upload.State.DELETING:
            return False
        if findProvider(self.layouts.scope, upload) is None:
            self.log.warning(
                'Skipping %s, because none of the providers %s is known to '
                'have the image', upload, upload.providers)
            return False
        return True

    def _isToBeTried(self, upload):
        """:return: whether a failed upload is repeated."""
        return (upload.state == upload.State.FAILED
                and not isRejected(upload)
                and not isSuperseded(upload, self.records.getUploads(
                    upload.canonical_name)))

    def _isPaused(self, upload):
        return self.records.steering.isPaused(upload.canonical_name)

    def getHandled(self):
        """:return: yields the uploads at endpoints of this launcher that
            have started; the start of another endpoint causes a check."""
        endpoints = self.endpoints.getServed()
        for upload in self.records.uploads.getItems():
            endpoint = endpoints.get(upload.endpoint_name)
            if endpoint and endpoint.started:
                yield upload

    def _getArtifact(self, upload):
        artifact = self.records.builds.getItem(upload.artifact_uuid)
        if artifact is None:
            self.log.warning('Unable to find the artifact of %s', upload)
        return artifact


def _isForgotten(upload):
    return upload.state == upload.State.UPLOADING and not upload.is_locked
