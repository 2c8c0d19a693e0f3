"""Execution and recovery of uploads of images.

A launcher locks an artifact while it locks the artifact's uploads.  It holds
the locks of the uploads until they have succeeded or failed.

A launcher that stops or is killed leaves its uploads to the others, which
restart those in the state "uploading" without a lock.

Whatever a failed upload leaves in a cloud is tagged with the id of its record.
So the next attempt gets another record, and the clean-up of leaks finds the
resources of the old one.
"""

import json
import logging
import threading
import time
import uuid

from kazoo.exceptions import ConnectionLoss, OperationTimeoutError
from zuul.lib.logutil import get_annotated_logger
from zuul.model import ImageUpload
from zuul.zk.exceptions import LockException

from zuul_nodes import audit
from zuul_nodes.launcher.images.schedule import getAge
from zuul_nodes.launcher.images.transfers import ArtifactJob
from zuul_nodes.launcher.providers import describe, isForGood
from zuul_nodes.launcher.workers import (
    Backoff,
    Calls,
    FairPlaces,
    Stopped,
    Threads,
    getBackoff,
)
from zuul_nodes.launcher.zookeeper import (
    Conflict,
    getLock,
    inState,
    makeRecord,
    setAttributes,
    writeData,
)

# Maximum number of artifacts on this machine's disk at a time, shared by all
# clouds and tenants.
ARTIFACTS = 2
# Per endpoint.  Imports and copies mostly wait for the cloud.
UPLOADS = 5
IMPORTS = 10
# Number of hanging calls at an endpoint at which it gets no more calls.
HANGING = 10


class Uploads:
    """Executes uploads and records their results.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks and back-offs.
    :param Layouts layouts: has the providers of the uploads.
    :param temp_dir: the path of a directory for downloads.
    :param Stats stats: reports the durations.
    :param announce: called with the transaction that makes an upload ready,
        and the upload, if it needs validation.
    :param leaves: called with the canonical name of an endpoint and the error
        of a call there; returns whether this launcher leaves it to others.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, temp_dir, stats, announce,
                 leaves):
        self.records = records
        self.session = records.session
        self.schedule = schedule
        self.layouts = layouts
        self.temp_dir = temp_dir
        settings = self.settings = schedule.settings
        self.stats = stats
        self.announce = announce
        self.leaves = leaves
        # Uploads that are queued or running in this launcher.
        self.upload_uuids_in_queue = set()
        # Of the ids of uploads that could not be locked.
        self._lock_backoff = Backoff(
            settings.image_lock_backoff, settings.image_lock_backoff, jitter=0)
        self.remarks = records.remarks
        self.stopping = threading.Event()
        self.calls = Calls(
            'image_timeout', settings.image_timeout, HANGING)
        self.short_calls = Calls(
            'call_timeout', settings.call_timeout, HANGING)
        statsd = stats.statsd
        self.artifact_places = FairPlaces(
            statsd, 'upload_workers', ARTIFACTS, settings)
        self.upload_threads = Threads(
            statsd, 'endpoint_upload_workers', UPLOADS)
        self.import_threads = Threads(
            statsd, 'endpoint_import_workers', IMPORTS)

    def stop(self):
        self.stopping.set()
        for threads in self._getThreads():
            threads.stop()

    def join(self, timeout):
        """Wait for running uploads.

        :param float timeout: in seconds.
        """
        end = time.monotonic() + timeout
        for threads in self._getThreads():
            threads.join(end - time.monotonic())

    def _getThreads(self):
        # In the order in which work passes from one to the next.
        return (self.artifact_places, self.upload_threads,
                self.import_threads)

    def check(self, artifact):
        """Check whether to go on with uploads of an artifact.

        :raises Stopped: the launcher stops, or the artifact is being deleted.
        """
        if self.stopping.is_set() or not self.records.isDistributed(
                artifact.uuid):
            raise Stopped

    def isFree(self, upload):
        """:return: whether an upload may be started now."""
        if upload.uuid in self.upload_uuids_in_queue:
            return False
        return self.schedule.isOver(max(
            self._lock_backoff.getLeft(upload.uuid),
            self._getBackoff(upload) - getAge(upload.state_time or 0)))

    def _getBackoff(self, upload):
        """:return: seconds from the upload's last failure to the next
            attempt."""
        attempts = self.settings.upload_attempts
        if upload.state == upload.State.FAILED:
            return self.schedule.getBackoff(upload.attempt - attempts + 1)
        if 0 < upload.attempt < attempts:
            return getBackoff(
                upload.attempt - 1, self.settings.upload_first_backoff,
                self.settings.image_longest_backoff)
        return 0

    def start(self, artifact, pending, known):
        """Start uploads of an artifact.

        :param ImageBuildArtifact artifact: the artifact.
        :param list pending: its uploads in that state, not started yet.
        :param list known: all of its uploads, as sources of copies.
        """
        uuids = {upload.uuid for upload in pending}
        self.upload_uuids_in_queue |= uuids
        try:
            self.artifact_places.submit(
                artifact.build_tenant_name, artifact,
                ArtifactJob(self, artifact, pending, known).run)
        except Stopped:
            self.upload_uuids_in_queue -= uuids

    def recover(self, upload):
        """Restart an upload that its launcher has left or that has failed.
        """
        with self.session.context(None, self.log) as context:
            try:
                with upload.locked(context, blocking=False):
                    upload.refresh(context)
                    if upload.state == upload.State.UPLOADING:
                        self.log.info(
                            'Taking over %s, whose launcher is gone', upload)
                        with self.contextOf(upload) as locked_context:
                            self._recover(locked_context, upload)
                    elif upload.state == upload.State.FAILED:
                        self._replace(upload, upload.attempt + 1)
            except LockException:
                self.backOff({upload.uuid})

    def _recover(self, context, upload):
        if upload.external_id:
            self._recordReady(context, upload, upload.external_id)
        else:
            self._replace(upload, upload.attempt)

    def finish(self, upload, external_id, begun=False, error=None):
        """Record the result of a locked upload, and unlock it.

        :param external_id: of the image, or None if there is none.
        :param bool begun: whether the cloud was called.
        :param Exception error: why there is no image, or None if not known.
        """
        log = get_annotated_logger(self.log, upload=upload.uuid)
        try:
            with self.contextOf(upload) as context:
                try:
                    is_left = error is not None and self.leaves(
                        upload.endpoint_name, error)
                    self._record(context, upload, external_id, begun, error,
                                 is_left)
                finally:
                    upload.releaseLock(context)
        except Exception:
            log.exception('Unable to update %s, which has the image %s:',
                          upload, external_id)
        finally:
            self.releaseUploads({upload.uuid})

    def writeProgress(self, upload, progress):
        """Write the progress of a locked upload to its record.

        :param str progress: a line for people.
        """
        try:
            with self.contextOf(upload) as context:
                writeData(upload, context, json.dumps(
                    upload.toDict() | {'progress': progress},
                    sort_keys=True).encode())
        except Exception:
            self.log.exception('Unable to record the progress of %s:', upload)

    def releaseUploads(self, uuids):
        """Forget uploads on which this launcher no longer works."""
        self.upload_uuids_in_queue -= uuids
        self.schedule.checkSoon()

    def backOff(self, uuids):
        """Back off from uploads that could not be locked.

        Each attempt to lock changes a record, so without this back-off the
        next attempt would follow at once.
        """
        # The uploads may be gone.
        self._lock_backoff.clearOld()
        for upload_id in uuids:
            self._lock_backoff.noteFailure(upload_id)
        self.releaseUploads(uuids)

    def contextOf(self, upload):
        return self.session.context(getLock(upload), self.log)

    def _record(self, context, upload, external_id, begun, error, is_left):
        if external_id:
            self._recordReady(context, upload, external_id)
        elif not self.records.isDistributed(upload.artifact_uuid):
            self._setState(context, upload, upload.State.DELETING)
        elif self.stopping.is_set() and not begun:
            self._setState(context, upload, upload.State.PENDING)
        elif is_left:
            # Another launcher makes this attempt.
            self._replace(upload, upload.attempt, error)
        elif (upload.attempt < self.settings.upload_attempts - 1
                and not isForGood(error)):
            self._replace(upload, upload.attempt + 1, error)
        else:
            # It is retried after a longer back-off, in which an operator may
            # remove the cause.
            if error is not None:
                self.remarks.setRemark(upload.uuid, describe(error))
            self._setState(context, upload, upload.State.FAILED,
                           attempt=max(
                               upload.attempt,
                               self.settings.upload_attempts - 1))

    def _setState(self, context, upload, state, **attributes):
        with upload.activeContext(context):
            setAttributes(upload, **attributes)
            upload.state = state
        self.log.info('The image upload is %s: %s', upload.state, upload)

    def _replace(self, upload, attempt, error=None):
        """Replace the record of an upload to start it again.

        One transaction creates the new record and gives up the old one.

        :param Exception error: of the failed attempt, or None.
        """
        new_upload = makeRecord(ImageUpload, **upload.toDict() | {
            'uuid': uuid.uuid4().hex, 'attempt': attempt,
            **inState(upload.State.PENDING)})
        transaction = self.session.transaction()
        transaction.create(new_upload)
        if error is not None:
            self.remarks.addRemark(
                transaction, new_upload.uuid, describe(error))
        transaction.update(upload, **inState(upload.State.DELETING))
        transaction.commit()
        self.log.info('Replaced %s with %s', upload, new_upload)

    def _recordReady(self, context, upload, external_id):
        """Record that an upload is ready, together with the event that
        requests its validation."""
        announce = not upload.validated
        self.remarks.deleteRemark(upload.uuid)
        while (upload.state, upload.external_id) != (
                upload.State.READY, external_id):
            try:
                self._writeReady(upload, external_id, announce)
            except (ConnectionLoss, OperationTimeoutError):
                # The write may have succeeded.  The record must get the id of
                # the image in any case.
                upload.refresh(context)
            except Conflict:
                if not announce:
                    raise
                self.log.exception('Unable to have %s validated:', upload)
                upload.refresh(context)
                announce = False
        self.log.info('The image upload is %s: %s', upload.state, upload)

    def _writeReady(self, upload, external_id, announce):
        transaction = self.session.transaction()
        transaction.update(
            upload, external_id=external_id, **inState(upload.State.READY))
        transaction.audit(
            audit.Event.UPLOADED,
            self.records.builds.getItem(upload.artifact_uuid),
            upload, external_id=external_id)
        if announce:
            # The upload is unlocked before the validation has a result.
            try:
                self.announce(transaction, upload)
            except Exception:
                self.log.exception(
                    'Unable to have %s validated:', upload)
        transaction.commit()
