"""Execution of decided deletions of uploads and artifacts.

Each endpoint has its own work queue, so failing or hanging deletions at one
endpoint do not delay others, nor uploads.  A deletion that fails or is given
up is retried with an exponential back-off.
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
from zuul_nodes.launcher.workers import Backoff, WorkQueue
from zuul_nodes.launcher.zookeeper import Conflict, getLock, refuse

# Number of concurrent deletions per endpoint.
DELETES = 2


class Deletion:
    """Deletes uploads and artifacts, with a work queue per endpoint.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param Layouts layouts: has the providers of the uploads.
    :param EndpointPools pools: call the drivers.
    :param ArtifactDeletion artifacts: deletes artifacts.
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
        # Key -> version of the record at the time of the decision.
        self._decided = {}
        # Calls of drivers that a thread waits for.
        self._calls = set()
        self._running = True

    def stop(self):
        with self._lock:
            self._running = False
            for queue in self._queues.values():
                queue.stop()

    def join(self, timeout):
        """Wait for the threads to end.

        Call it after :meth:`stop`, and after the time that clouds have to
        answer: it abandons the calls of drivers.

        :param float timeout: in seconds, for what is left to do then.
        """
        end = time.monotonic() + timeout
        with self._lock:
            for call in self._calls:
                call.cancel()
        for queue in self._queues.values():
            queue.join(end - time.monotonic())

    def addUpload(self, upload, version):
        """Delete an upload.

        :param int version: of the record on which the decision is based.
        """
        self._add(upload.endpoint_name, ('image upload', upload.uuid), version)

    def addArtifact(self, artifact, version):
        self._add('', ('image artifact', artifact.uuid), version)

    def _add(self, endpoint_name, key, version):
        with self._lock:
            # A known key may be in its back-off.
            if not self._running or key in self._decided:
                return
            self._decided[key] = version
            if endpoint_name not in self._queues:
                settings = self.schedule.settings
                queue = WorkQueue(
                    functools.partial(self._handle, endpoint_name),
                    Backoff(settings.first_backoff, settings.longest_backoff),
                    DELETES)
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
                self.log.debug('Stopping while deleting %s', record)
                return
            except NoNodeError:
                self.log.debug('%s was already deleted', record)
        del self._decided[key]
        # The decision may be different now.
        self.schedule.checkSoon()

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


def remove(context, record):
    """Remove the record of an upload or an artifact together with its lock.

    A transaction removes both, because no clean-up finds locks without record.

    :param ZKContext context: of the lock.
    :param record: the locked record.
    :raises LockException: another process waits for the lock.
    """
    lock = getLock(record)
    transaction = context.client.transaction()
    for path in (record.getPath(), f'{lock.path}/{lock.node}', lock.path):
        transaction.delete(path)
    try:
        refuse(transaction.commit())
    except Conflict as error:
        raise LockException(f'{record} is not free: {error}') from error
