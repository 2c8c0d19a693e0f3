"""Uploads of images: who is at work on them, and what they come to.

An artifact is locked while somebody takes locks of its uploads; these are
held until the upload has come to something.

A launcher that stops, or dies, leaves its uploads to the next one: those
in the state "uploading" that nobody has locked begin anew.
"""

import logging
import threading
import time

from kazoo.exceptions import ConnectionLoss, OperationTimeoutError
from zuul.lib.logutil import get_annotated_logger
from zuul.zk.exceptions import LockException

from zuul_nodes.launcher.transactions import Conflict
from zuul_nodes.launcher.transfers import ArtifactJob, Stopped, Threads

# What the work queue calls all that is to be decided about images.
KEY = ('images', '')
# How many artifacts are on this machine's disk at a time.
ARTIFACTS = 2
# For each endpoint.  Imports and copies mostly wait for the cloud.
UPLOADS = 5
IMPORTS = 10
# How many times an upload is begun.
ATTEMPTS = 3
# Seconds until what could not be locked should be free again.
LOCK_PAUSE = 2


class Uploads:
    """
    :param launcher: see :class:`zuul_nodes.launcher.images.Images`.
    :param announce: called with the transaction that makes an upload
        ready, and the upload, if it is to be validated.
    """

    log = logging.getLogger('zuul.Launcher')

    def __init__(self, launcher, announce):
        self.launcher = launcher
        self.announce = announce
        # Those that are queued or under way here.
        self.upload_uuids_in_queue = set()
        # Upload -> the time before which it is left alone.
        self._pauses = {}
        self.stopping = threading.Event()
        statsd = launcher.statsd
        self.artifact_threads = Threads(statsd, 'upload_workers', ARTIFACTS)
        self.upload_threads = Threads(
            statsd, 'endpoint_upload_workers', UPLOADS)
        self.import_threads = Threads(
            statsd, 'endpoint_import_workers', IMPORTS)

    def stop(self):
        self.stopping.set()
        for threads in self._getThreads():
            threads.stop()

    def join(self):
        for threads in self._getThreads():
            threads.join()

    def _getThreads(self):
        # In the order in which one submits work to the next.
        return (self.artifact_threads, self.upload_threads,
                self.import_threads)

    def check(self):
        if self.stopping.is_set():
            raise Stopped

    def isFree(self, upload):
        """:return: whether something may be begun with an upload now."""
        if upload.uuid in self.upload_uuids_in_queue:
            return False
        pause = self._pauses.get(upload.uuid, 0) - time.monotonic()
        if pause > 0:
            self.launcher.queue.addAfter(KEY, pause)
            return False
        self._pauses.pop(upload.uuid, None)
        return True

    def start(self, artifact, pending, known):
        """
        :param ImageBuildArtifact artifact: which is to be uploaded.
        :param list pending: its uploads in that state, not yet started.
        :param list known: those, and others that may be copied from.
        """
        uuids = {upload.uuid for upload in pending}
        self.upload_uuids_in_queue |= uuids
        try:
            self.artifact_threads.submit(
                '', ArtifactJob(self, artifact, pending, known).run)
        except Stopped:
            self.upload_uuids_in_queue -= uuids

    def recover(self, upload):
        """Take an upload over that nobody is at work on any more."""
        with self.launcher.createZKContext(None, self.log) as context:
            try:
                with upload.locked(context, blocking=False):
                    upload.refresh(context)
                    if upload.state == upload.State.UPLOADING:
                        self.log.info(
                            'Nobody is at work on %s any more', upload)
                        with self.contextOf(upload) as locked_context:
                            self._record(
                                locked_context, upload, upload.external_id,
                                interrupted=True)
            except LockException:
                self.pause({upload.uuid})

    def finish(self, upload, external_id):
        """Record what has become of a locked upload, and unlock it.

        :param external_id: of the image, or None if there is none.
        """
        log = get_annotated_logger(self.log, upload=upload.uuid)
        try:
            with self.contextOf(upload) as context:
                try:
                    self._record(context, upload, external_id,
                                 interrupted=self.stopping.is_set())
                finally:
                    upload.releaseLock(context)
        except Exception:
            log.exception('Unable to update %s, of which there is the '
                          'image %s:', upload, external_id)
        finally:
            self.release({upload.uuid})

    def release(self, uuids):
        """Nobody is at work on these uploads here any more."""
        self.upload_uuids_in_queue -= uuids
        self.launcher.queue.add(KEY)

    def pause(self, uuids):
        """Leave uploads alone for a while that could not be locked.

        Each attempt at a lock looks like a change, so without this, the
        next attempt would follow at once.
        """
        self._pauses.update(
            dict.fromkeys(uuids, time.monotonic() + LOCK_PAUSE))
        self.release(uuids)

    def contextOf(self, upload):
        return self.launcher.createZKContext(upload._lock, self.log)

    def _record(self, context, upload, external_id, interrupted):
        if external_id:
            self._recordReady(context, upload, external_id)
            return
        with upload.activeContext(context):
            if interrupted:
                upload.state = upload.State.PENDING
            elif upload.attempt < ATTEMPTS - 1:
                # What the failed one has left in the cloud has its name.
                new_upload = upload.copy(context)
                self.log.info('Replacing %s with %s', upload, new_upload)
                upload.state = upload.State.DELETING
            else:
                upload.state = upload.State.FAILED
        self.log.info('The image upload is %s: %s', upload.state, upload)

    def _recordReady(self, context, upload, external_id):
        """Write that an upload is ready, and that it is to be validated;
        both or neither."""
        announce = not upload.validated
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
        transaction = self.launcher.store.transaction()
        transaction.update(
            upload, external_id=external_id, _state=upload.State.READY,
            state_time=time.time())
        if announce:
            # The lock is free again before there is a result.
            try:
                self.announce(transaction, upload)
            except Exception:
                self.log.exception(
                    'Unable to have %s validated:', upload)
        transaction.commit()
