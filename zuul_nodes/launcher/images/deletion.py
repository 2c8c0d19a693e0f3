"""Execution of decided deletions of uploads and artifacts.

Each endpoint has its own threads, so failing or hanging deletions at one
endpoint do not delay others, nor uploads.  A deletion that fails or is given
up is decided anew after an exponential back-off.
"""

from concurrent.futures import CancelledError, Future
import functools
import logging
import threading

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
from zuul_nodes.launcher.workers import Backoff, Stopped, Threads
from zuul_nodes.launcher.zookeeper import Conflict, getLock, refuse

# Number of concurrent deletions per endpoint.
DELETES = 2


class Deletion:
    """Deletes uploads and artifacts, in threads of each endpoint.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param Layouts layouts: has the providers of the uploads.
    :param EndpointPools pools: call the drivers.
    :param ArtifactDeletion artifacts: deletes artifacts.
    :ivar set uuids_in_queue: ids of the records whose deletion is queued or
        running in this launcher.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, pools, artifacts):
        self.records = records
        self.session = records.session
        self.schedule = schedule
        self.layouts = layouts
        self.pools = pools
        self.artifacts = artifacts
        self.threads = Threads(None, 'image deletion', DELETES)
        # Of the ids of records.
        self.backoff = Backoff(schedule.settings.first_backoff,
                               schedule.settings.longest_backoff)
        self.uuids_in_queue = set()
        self._lock = threading.Lock()
        # Calls of drivers that a thread waits for.
        self._calls = set()
        self._running = True

    def stop(self):
        self.threads.stop()
        with self._lock:
            self._running = False

    def join(self, timeout):
        """Wait for the threads to end.

        Call it after :meth:`stop`, and after the time that clouds have to
        answer: it abandons the calls of drivers.

        :param float timeout: in seconds, for what is left to do then.
        """
        with self._lock:
            for call in self._calls:
                call.cancel()
        self.threads.join(timeout)

    def addUpload(self, upload, version):
        """Delete an upload.

        :param int version: of the record on which the decision is based.
        """
        self._add(upload.endpoint_name, self._deleteUpload,
                  self.records.uploads, upload.uuid, version)

    def addArtifact(self, artifact, version):
        self._add('', self.artifacts.delete, self.records.builds,
                  artifact.uuid, version)

    def _add(self, endpoint_name, delete, registry, uuid, version):
        if uuid in self.uuids_in_queue or not self.schedule.isOver(
                self.backoff.getLeft(uuid)):
            return
        self.uuids_in_queue.add(uuid)
        try:
            self.threads.submit(
                endpoint_name, self._run, delete, registry, uuid, version)
        except Stopped:
            self.uuids_in_queue.discard(uuid)

    def _run(self, delete, registry, uuid, version):
        record, delay = registry.getItem(uuid), 0
        try:
            if record and self._running:
                self._deleteLocked(delete, record, version)
            self.backoff.clear(uuid)
        except NoNodeError:
            self.log.debug('%s was already deleted', record)
            self.backoff.clear(uuid)
        except CancelledError:
            self.log.debug('Stopping while deleting %s', record)
        except Exception as error:
            if not isinstance(error, LockException):
                self.log.exception('Unable to delete %s:', record)
            # Other launchers may have deleted some of the records.
            self.backoff.clearOld()
            delay = self.backoff.noteFailure(uuid)
        finally:
            self.uuids_in_queue.discard(uuid)
            # The decision may be different then.
            self.schedule.checkAfter(delay)

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
            # The image was deleted from the cloud before.
            remove(context, upload)
            return
        if upload.external_id:
            self._audit(upload, result=audit.Result.BEGUN)
        # From this state on, no node uses the upload.
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
        """Delete an image from a cloud, in a thread of its endpoint.

        :raises CancelledError: the launcher stops.
        :raises TimeoutError: the call was given up.
        :raises Exception: any exception of the driver.
        """
        call = Future()

        def done(_, error):
            # False if join() has abandoned the call.
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
        """Find a provider whose driver can delete an upload.

        :return: a provider at the upload's endpoint, preferably one of the
            upload's own; or a former provider there; or None.
        """
        scope = self.layouts.scope
        for provider in getProviders(scope, upload):
            if provider.getEndpoint().canonical_name == upload.endpoint_name:
                return provider
        return (scope.getPlaces().get(getPlace(upload))
                or findFormer(scope, upload))


def remove(context, record, others=()):
    """Remove the record of an upload or an artifact together with its lock.

    A transaction removes both, because no clean-up finds locks without record.

    :param ZKContext context: of the lock.
    :param record: the locked record.
    :param others: records because of which it may go; they must not have
        changed since.
    :raises LockException: another process waits for the lock, or one of the
        others has changed.
    """
    lock = getLock(record)
    transaction = context.client.transaction()
    for other in others:
        transaction.check(other.getPath(), other.getZKVersion())
    for path in (record.getPath(), f'{lock.path}/{lock.node}', lock.path):
        transaction.delete(path)
    try:
        refuse(transaction.commit())
    except Conflict as error:
        raise LockException(f'{record} is not free: {error}') from error
