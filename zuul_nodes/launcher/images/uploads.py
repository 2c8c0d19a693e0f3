"""Uploads of images: who is at work on them, and what they come to.

An artifact is locked while somebody takes locks of its uploads; these are
held until the upload has come to something.

A launcher that stops, or dies, leaves its uploads to the next one: those
in the state "uploading" that nobody has locked begin anew.

What may be in a cloud of an upload that has come to nothing is tagged with
the id of its record.  So the next attempt has another record: without the
old one, it is known to have leaked.
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
from zuul_nodes.launcher.workers import Calls, FairPlaces, Stopped, Threads
from zuul_nodes.launcher.zookeeper import (
    Conflict,
    getLock,
    inState,
    makeRecord,
    setAttributes,
    writeData,
)

# How many artifacts are on this machine's disk at a time: all clouds and
# tenants share these places.
ARTIFACTS = 2
# For each endpoint.  Imports and copies mostly wait for the cloud.
UPLOADS = 5
IMPORTS = 10
# How many calls may hang at an endpoint until it gets no more.
HANGING = 10


class Uploads:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param Layouts layouts: with the providers that have them.
    :param temp_dir: the path of a directory for downloads.
    :param Settings settings:
    :param Stats stats: is told how long they take.
    :param announce: called with the transaction that makes an upload
        ready, and the upload, if it is to be validated.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, temp_dir, settings, stats,
                 announce):
        self.records = records
        self.session = records.session
        self.schedule = schedule
        self.layouts = layouts
        self.temp_dir = temp_dir
        self.settings = settings
        self.stats = stats
        self.announce = announce
        # Those that are queued or under way here.
        self.upload_uuids_in_queue = set()
        # Upload -> the time before which it is left alone.
        self._pauses = {}
        self.remarks = records.remarks
        self.stopping = threading.Event()
        self.calls = Calls(
            'image_timeout', settings.image_timeout, HANGING)
        self.short_calls = Calls(
            'call_timeout', settings.call_timeout, HANGING)
        statsd = stats.statsd
        self.artifact_places = FairPlaces(
            statsd, 'upload_workers', ARTIFACTS)
        self.upload_threads = Threads(
            statsd, 'endpoint_upload_workers', UPLOADS)
        self.import_threads = Threads(
            statsd, 'endpoint_import_workers', IMPORTS)

    def stop(self):
        self.stopping.set()
        for threads in self._getThreads():
            threads.stop()

    def join(self, timeout):
        """
        :param float timeout: in seconds.
        """
        end = time.monotonic() + timeout
        for threads in self._getThreads():
            threads.join(end - time.monotonic())

    def _getThreads(self):
        # In the order in which one submits work to the next.
        return (self.artifact_places, self.upload_threads,
                self.import_threads)

    def check(self):
        if self.stopping.is_set():
            raise Stopped

    def isFree(self, upload):
        """:return: whether something may be begun with an upload now."""
        if upload.uuid in self.upload_uuids_in_queue:
            return False
        pause = max(self._pauses.get(upload.uuid, 0) - time.monotonic(),
                    self._getPause(upload) - getAge(upload.state_time or 0))
        if not self.schedule.isOver(pause):
            return False
        self._pauses.pop(upload.uuid, None)
        return True

    def _getPause(self, upload):
        """:return: seconds after which an upload may begin, as former ones
            have failed."""
        attempts = self.settings.upload_attempts
        if upload.state == upload.State.FAILED:
            return self.schedule.getPause(upload.attempt - attempts + 1)
        if 0 < upload.attempt < attempts:
            return self.settings.upload_retry_pause * 2 ** (
                upload.attempt - 1)
        return 0

    def start(self, artifact, pending, known):
        """
        :param ImageBuildArtifact artifact: which is to be uploaded.
        :param list pending: its uploads in that state, not yet started.
        :param list known: those, and others that may be copied from.
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
        """Take an upload over that nobody is at work on any more, or begin
        anew with one that has failed."""
        with self.session.context(None, self.log) as context:
            try:
                with upload.locked(context, blocking=False):
                    upload.refresh(context)
                    if upload.state == upload.State.UPLOADING:
                        self.log.info(
                            'Nobody is at work on %s any more', upload)
                        with self.contextOf(upload) as locked_context:
                            self._recover(locked_context, upload)
                    elif upload.state == upload.State.FAILED:
                        self._replace(upload, upload.attempt + 1)
            except LockException:
                self.pause({upload.uuid})

    def _recover(self, context, upload):
        if upload.external_id:
            self._recordReady(context, upload, upload.external_id)
        else:
            self._replace(upload, upload.attempt)

    def finish(self, upload, external_id, begun=False, error=None):
        """Record what has become of a locked upload, and unlock it.

        :param external_id: of the image, or None if there is none.
        :param bool begun: whether the cloud was called.
        :param Exception error: why there is none, or None if that is not
            known.
        """
        log = get_annotated_logger(self.log, upload=upload.uuid)
        try:
            with self.contextOf(upload) as context:
                try:
                    self._record(
                        context, upload, external_id, begun, error)
                finally:
                    upload.releaseLock(context)
        except Exception:
            log.exception('Unable to update %s, of which there is the '
                          'image %s:', upload, external_id)
        finally:
            self.release({upload.uuid})

    def tell(self, upload, progress):
        """Have the record of a locked upload say how far it is, until it is
        written again.

        :param str progress: a line for people.
        """
        try:
            with self.contextOf(upload) as context:
                writeData(upload, context, json.dumps(
                    upload.toDict() | {'progress': progress},
                    sort_keys=True).encode())
        except Exception:
            self.log.exception('Unable to tell how far %s is:', upload)

    def release(self, uuids):
        """Nobody is at work on these uploads here any more."""
        self.upload_uuids_in_queue -= uuids
        self.schedule.tell()

    def pause(self, uuids):
        """Leave uploads alone for a while that could not be locked.

        Each attempt at a lock looks like a change, so without this, the
        next attempt would follow at once.
        """
        now = time.monotonic()
        # Of those that have gone meanwhile, nobody asks any more.  Other
        # threads may add theirs now.
        for upload_id, end in self._pauses.copy().items():
            if end <= now:
                self._pauses.pop(upload_id, None)
        self._pauses.update(dict.fromkeys(
            uuids, now + self.settings.image_lock_pause))
        self.release(uuids)

    def contextOf(self, upload):
        return self.session.context(getLock(upload), self.log)

    def _record(self, context, upload, external_id, begun, error):
        if external_id:
            self._recordReady(context, upload, external_id)
        elif self.stopping.is_set() and not begun:
            self._setState(context, upload, upload.State.PENDING)
        elif (upload.attempt < self.settings.upload_attempts - 1
                and not isForGood(error)):
            self._replace(upload, upload.attempt + 1, error)
        else:
            # It is begun again long after, as somebody may have done
            # something about it.
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
        """Have an upload begin anew, with another record; at no time are
        there two that are wanted.

        :param Exception error: why, if it has failed.
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
        """Write that an upload is ready, and that it is to be validated;
        both or neither."""
        announce = not upload.validated
        self.remarks.deleteRemark(upload.uuid)
        while (upload.state, upload.external_id) != (
                upload.State.READY, external_id):
            try:
                self._writeReady(upload, external_id, announce)
            except (ConnectionLoss, OperationTimeoutError):
                # Has it been written?  What is in the cloud must not be
                # forgotten.
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
            # The lock is free again before there is a result.
            try:
                self.announce(transaction, upload)
            except Exception:
                self.log.exception(
                    'Unable to have %s validated:', upload)
        transaction.commit()
