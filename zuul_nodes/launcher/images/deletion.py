"""Deletion of the uploads and artifacts that are decided to be deleted.

For each endpoint there is a work queue, so that one where deletes fail or
hang holds up nobody else, least of all uploads.  One that fails, or is given
up, is tried again after a pause, and each pause is longer than the last.
"""

from concurrent.futures import CancelledError, Future
import functools
import logging
import threading
import time

from kazoo.exceptions import NoNodeError
from zuul.zk.exceptions import LockException

from zuul_nodes import audit
from zuul_nodes.launcher.images.policy import isRejected
from zuul_nodes.launcher.images.transfers import (
    findFormer,
    getPlace,
    getProviders,
)
from zuul_nodes.launcher.providers import describe
from zuul_nodes.launcher.workers import WorkQueue
from zuul_nodes.launcher.zookeeper import Conflict, getLock, refuse

# At a time, for each endpoint.
DELETES = 2


class Deletion:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param Layouts layouts: with the providers that have them.
    :param EndpointPools pools: delete what is in a cloud.
    :param ArtifactDeletion artifacts: deletes what is in storage.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, pools, artifacts):
        self.records = records
        self.session = records.session
        self.schedule = schedule
        self.layouts = layouts
        self.pools = pools
        self.artifacts = artifacts
        self._lock = threading.Lock()
        self._queues = {}
        # Key -> the version of the record for which that was decided.
        self._decided = {}
        # Calls of clouds that somebody waits for.
        self._calls = set()
        self._running = True

    def stop(self):
        with self._lock:
            self._running = False
            for queue in self._queues.values():
                queue.stop()

    def join(self, timeout):
        """To be called after :meth:`stop`, and after the time that clouds
        get to answer: nobody waits for them any more.

        :param float timeout: in seconds, for what there is to do then.
        """
        end = time.monotonic() + timeout
        with self._lock:
            for call in self._calls:
                call.cancel()
        for queue in self._queues.values():
            queue.join(end - time.monotonic())

    def addUpload(self, upload, version):
        """:param int version: of the record, as of which it was decided."""
        self._add(upload.endpoint_name, ('image upload', upload.uuid), version)

    def addArtifact(self, artifact, version):
        self._add('', ('image artifact', artifact.uuid), version)

    def _add(self, endpoint_name, key, version):
        with self._lock:
            # One that is known already has its own time.
            if not self._running or key in self._decided:
                return
            self._decided[key] = version
            if endpoint_name not in self._queues:
                queue = WorkQueue(functools.partial(
                    self._handle, endpoint_name), DELETES)
                self._queues[endpoint_name] = queue
                queue.start()
            self._queues[endpoint_name].add(key)

    def _handle(self, endpoint_name, key):
        kind, uuid = key
        delete, registry = {
            'image upload': (self._deleteUpload, self.records.uploads),
            'image artifact': (self.artifacts.delete,
                               self.records.builds)}[kind]
        if record := registry.getItem(uuid):
            try:
                self._deleteLocked(delete, record, self._decided[key])
            except LockException:
                self._queues[endpoint_name].retry(key)
                return
            except CancelledError:
                self.log.debug('Not waiting for the end of %s', record)
                return
            except NoNodeError:
                self.log.debug('Somebody else has deleted %s', record)
        del self._decided[key]
        # Whether it is to be deleted may have changed.
        self.schedule.tell()

    def _deleteLocked(self, delete, record, version):
        with self.session.context(None, self.log) as context, \
                record.locked(context, blocking=False) as lock, \
                self.session.context(lock, self.log) as own_context:
            record.refresh(own_context)
            if (record.state == record.State.DELETING
                    or record.getZKVersion() == version):
                delete(own_context, record)

    def _deleteUpload(self, context, upload):
        provider = self.findProvider(upload)
        if provider is None:
            return
        self.log.info('Deleting %s', upload)
        refused = isRejected(upload)
        if refused and upload.state == upload.State.FAILED:
            # The cloud has it no more.
            remove(context, upload)
            return
        if upload.external_id:
            self._audit(upload, result=audit.Result.BEGUN)
        # Nobody is to use it from now on.
        if upload.state != upload.State.DELETING:
            with upload.activeContext(context):
                upload.state = upload.State.DELETING
        if upload.external_id:
            self._deleteImage(provider, upload)
        self._audit(upload)
        if refused:
            with upload.activeContext(context):
                upload.state = upload.State.FAILED
        else:
            remove(context, upload)

    def _audit(self, upload, **fields):
        audit.tell(
            audit.Event.DELETED,
            self.records.builds.getItem(upload.artifact_uuid),
            upload, launcher=self.session.identifier, **fields)

    def _deleteImage(self, provider, upload):
        """Have a cloud delete an image, in a thread of its endpoint.

        :raises CancelledError: the launcher stops.
        :raises TimeoutError: it was given up.
        :raises Exception: whatever the driver raises.
        """
        call = Future()

        def done(_, error):
            # Unless nobody waits for it any more.
            if call.set_running_or_notify_cancel():
                if error is None:
                    call.set_result(None)
                else:
                    call.set_exception(error)
        with self._lock:
            if not self._running:
                raise CancelledError
            self._calls.add(call)
        try:
            self.pools.submit(
                provider.getEndpoint(), functools.partial(
                    provider.deleteImage, upload.external_id),
                done, f'Deleting {upload}')
            call.result()
        except CancelledError:
            raise
        except Exception as error:
            self._audit(upload, result=audit.Result.FAILED,
                        reason=describe(error))
            raise
        finally:
            with self._lock:
                self._calls.discard(call)

    def findProvider(self, upload):
        """:return: a provider at the upload's endpoint, one of its own if
            there is one; or one that was there, or None."""
        scope = self.layouts.scope
        for provider in getProviders(scope, upload):
            if provider.getEndpoint().canonical_name == upload.endpoint_name:
                return provider
        return (scope.getPlaces().get(getPlace(upload))
                or findFormer(scope, upload))


def remove(context, record):
    """Remove the record of an upload or an artifact with its lock, both or
    neither: nobody looks for the locks of what is gone.

    :param ZKContext context:
    :param record: which is locked.
    :raises LockException: somebody else wants the lock at the moment.
    """
    lock = getLock(record)
    transaction = context.client.transaction()
    for path in (record.getPath(), f'{lock.path}/{lock.node}', lock.path):
        transaction.delete(path)
    try:
        refuse(transaction.commit())
    except Conflict as error:
        raise LockException(f'{record} is not free: {error}') from error
