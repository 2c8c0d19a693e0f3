"""Transfers of an artifact to all endpoints that need it.

All uploads of an artifact share one download.  The thread of each upload
records its result, so uploads do not wait for each other.
"""

import collections
from concurrent.futures import wait
import contextlib
import dataclasses
import os
import tempfile
import traceback
from urllib.parse import unquote_plus

from zuul.lib.logutil import get_annotated_logger
from zuul.zk.exceptions import LockException

from zuul_nodes import (
    audit,
    gonefiles,
    imagefiles,
    messages,
    snapshotrecords,
)
from zuul_nodes.drivers import GoneError, addresses
from zuul_nodes.launcher.images import artifacts, web
from zuul_nodes.launcher.providers import describe, isFinalAnswer, isGone
from zuul_nodes.launcher.workers import Stopped
from zuul_nodes.launcher.zookeeper import makeUploadPlanner


def getProviders(scope, upload):
    """:return: yields all tenants' objects of the upload's providers."""
    for name in upload.providers or ():
        yield from scope.by_name.get(name, ())


def getPlace(upload):
    """:return: the names of an upload's connection and endpoint."""
    return tuple(map(unquote_plus, upload.endpoint_name.split('/', 1)))


def findFormer(scope, upload):
    """
    :return: a provider that used to be at an upload's endpoint, or None.
    :raises ProviderNodeError: the provider is no longer usable.
    """
    return scope.findFormer(getPlace(upload))


def findProvider(scope, upload):
    """Find a provider at an upload's endpoint that has its image.

    It does not have to be one for which the upload was made.

    :return: preferably a provider with the configuration of the upload; or
        None.
    """
    found = None
    for provider, image in _findImages(getProviders(scope, upload), upload):
        if _isSame(image, upload):
            return provider
        found = found or provider
    if found is None:
        # A provider may have been renamed.
        found = next((provider for provider, image
                      in _findImages(scope.providers, upload)
                      if _isSame(image, upload)), None)
    return found


def _findImages(providers, upload):
    """:return: yields (provider, image) for those at an upload's endpoint
        that have its image."""
    for provider in providers:
        for image in provider.images.values():
            if (image.canonical_name == upload.canonical_name
                    and provider.getEndpoint().canonical_name
                    == upload.endpoint_name):
                yield provider, image


def _isSame(image, upload):
    """:return: whether an image has the configuration of an upload."""
    return upload.config_hash in (image.config_hash, image.zuul_config_hash)


@dataclasses.dataclass(eq=False)
class PlannedUpload:
    """An upload in the form that Zuul's planner of uploads expects.

    The planner finds providers by name and takes the first one, of any tenant.
    Here, the name stands for one particular object.
    """
    upload: object
    provider: object

    def __post_init__(self):
        self.uuid = self.upload.uuid
        self.canonical_name = self.upload.canonical_name
        self.config_hash = self.upload.config_hash
        self.external_id = self.upload.external_id
        self.providers = [self.uuid]


class ArtifactJob:
    """Distributes an artifact to endpoints.

    :param Uploads uploads: has started this job.
    :param ImageBuildArtifact artifact: the artifact.
    :param list pending: its uploads in that state.
    :param list known: all of its uploads, as sources of copies.
    """

    def __init__(self, uploads, artifact, pending, known):
        # An annotation of uploads.log itself would affect all threads.
        self.log = get_annotated_logger(uploads.log, iba=artifact.uuid)
        self.uploads = uploads
        self.client = uploads.records.client
        self.session = uploads.session
        self.layouts = uploads.layouts
        self.settings = uploads.settings
        self.artifact = artifact
        self.checksums = {
            'md5': artifact.md5sum, 'sha256': artifact.sha256}
        self.pending = pending
        self.known = known
        # Ids of uploads that this job has locked.  Those in "held" have not
        # been passed to a thread of their endpoint yet.
        self.acquired = set()
        self.held = {}
        # Id of an upload in "held" -> why it failed; and the error that
        # applies to all others.
        self.errors = {}
        self.error = None

    def run(self):
        try:
            self._checkGoing()
            self._acquire()
            self._check()
            self._distribute()
        except Stopped:
            self.log.debug('Stopping before uploads of %s', self.artifact)
        except LockException:
            self.log.debug('Another launcher handles the artifact')
        except addresses.RefusedError as error:
            self.log.error('Unable to upload %s: %s', self.artifact, error)
            self.error = error
        except Exception as error:
            self._explain(
                self.log, error, 'Unable to upload %s:', self.artifact)
            self.error = error
        finally:
            for upload in list(self.held.values()):
                self.uploads.finish(
                    upload, None,
                    error=self.errors.get(upload.uuid, self.error))
            self.uploads.backOff({upload.uuid for upload in self.pending}
                               - self.acquired)

    def _checkGoing(self):
        self.uploads.check(self.artifact)

    def _acquire(self):
        with self.session.context(None, self.log) as context, \
                self.artifact.locked(context, blocking=False):
            for upload in self.pending:
                try:
                    self._acquireUpload(context, upload)
                except Exception:
                    self.log.exception('Unable to begin with %s:', upload)

    def _acquireUpload(self, context, upload):
        if not findProvider(self.layouts.scope, upload):
            self.log.warning('No provider needs the image of %s any more',
                             upload)
            return
        if not upload.acquireLock(context, blocking=False):
            return
        try:
            upload.refresh(context)
            # Another launcher may have changed the upload before the lock.
            if upload.state == upload.State.PENDING:
                with self.uploads.contextOf(upload) as locked_context, \
                        upload.activeContext(locked_context):
                    upload.state = upload.State.UPLOADING
                self.acquired.add(upload.uuid)
                self.held[upload.uuid] = upload
        finally:
            if upload.uuid not in self.held:
                upload.releaseLock(context)

    def _check(self):
        """Check whether the settings allow this artifact.

        :raises ArtifactError: they do not.
        """
        if self.artifact.format == snapshotrecords.FORMAT:
            self._checkSnapshot()
        elif self.settings.require_image_checksums and not any(
                self.checksums.values()):
            raise artifacts.WrongArtifactError(
                f'{artifacts.getName(self.artifact.url)} has no checksum; '
                'with "require_image_checksums" in the section "launcher" of '
                'zuul.conf, its metadata must contain "sha256" or "md5sum"')

    def _explain(self, log, error, message, *args):
        """Log the current exception, and record if the file is gone."""
        if isinstance(error, GoneError):
            self._noteGone(error)
        else:
            _logError(log, message, *args)

    def _noteGone(self, error):
        """Inform all launchers before the uploads fail."""
        self.log.warning(
            'The file of %s is gone; the launcher requests a new build for '
            'endpoints without another build of the image: %s', self.artifact,
            messages.withoutSecrets(error))
        try:
            gonefiles.write(self.client,
                            self.artifact.uuid, describe(error))
        except Exception:
            self.log.exception(
                'Unable to record that the file of %s is gone:', self.artifact)

    def _checkSnapshot(self):
        artifact = self.artifact
        # The scheduler has checked that the build owned the node.
        if not snapshotrecords.find(
                self.client, artifact.url,
                artifact.build_tenant_name):
            raise GoneError(
                f'{artifacts.getName(artifact.url)} is no snapshot that a '
                'launcher has made of a node of the tenant '
                f'{artifact.build_tenant_name} and that has not expired')

    def _distribute(self):
        plans = self._plan()
        for plan in plans:
            for planned, job in plan.import_jobs:
                self._submit(self.uploads.import_threads, planned, job)
            for planned, job, external_id in plan.copy_jobs:
                self._submit(self.uploads.import_threads, planned, job,
                             external_id)
        upload_jobs = [each for plan in plans for each in plan.upload_jobs]
        if not upload_jobs:
            return
        futures = []
        with tempfile.TemporaryDirectory(
                prefix=f'{self.artifact.uuid}-',
                dir=self.uploads.temp_dir) as directory:
            path = self._fetch(directory)
            try:
                for planned, job in upload_jobs:
                    futures.append(self._submit(
                        self.uploads.upload_threads, planned, job, path))
            finally:
                # The uploads read the file.
                wait(futures)

    def _plan(self):
        """:return: a list of plans, UploadPlanner."""
        planned_uploads = {
            upload.uuid: PlannedUpload(upload, provider)
            for upload in {**{each.uuid: each for each in self.known},
                           **self.held}.values()
            if (provider := findProvider(self.layouts.scope, upload))}
        # Copies are made only between uploads with equal configurations, so
        # a group that cannot be planned does not affect the others.
        pending = collections.defaultdict(list)
        known = collections.defaultdict(list)
        for planned in planned_uploads.values():
            known[planned.config_hash].append(planned)
            if planned.uuid in self.held:
                pending[planned.config_hash].append(planned)
        plans = []
        for config_hash, group in pending.items():
            try:
                plans.append(self._planGroup(group, known[config_hash]))
            except Exception:
                _logError(self.log, 'Unable to plan uploads together:')
                plans += self._planOneByOne(group)
        return plans

    def _planOneByOne(self, group):
        for planned in group:
            try:
                yield self._planGroup([planned], [planned])
            except Exception as error:
                self._explain(
                    self.log, error, 'Unable to plan %s:', planned.upload)
                self.errors[planned.uuid] = error

    def _planGroup(self, pending, known):
        providers = {each.uuid: each.provider for each in known}
        planner = makeUploadPlanner(
            self.layouts.system_id, providers, self.artifact, pending, known)
        endpoint_names = {each.upload.endpoint_name for each in pending}
        self.uploads.short_calls.call(
            ', '.join(sorted(endpoint_names)),
            f'Planning uploads of {self.artifact}', planner.plan)
        return planner

    def _fetch(self, directory):
        """Download the artifact's file.

        :param str directory: for the file.
        :return: the path of the file.
        """
        self._audit(audit.Event.IMPORTED, result=audit.Result.BEGUN)
        try:
            path = self._fetchFile(directory)
        except Stopped:
            raise
        except Exception as error:
            self._audit(audit.Event.IMPORTED, result=audit.Result.FAILED,
                        reason=describe(error))
            raise
        self._audit(audit.Event.IMPORTED)
        gonefiles.forget(self.client, self.artifact.uuid)
        return path

    def _fetchFile(self, directory):
        url = self.artifact.url
        path = os.path.join(directory, self.artifact.uuid)
        disk_space = imagefiles.DiskSpace(
            directory, self.settings.image_size_limit)
        self.log.info('Downloading %s from %s to %s', self.artifact,
                      artifacts.getName(url), path)
        path, is_certain = self._download(url, path, disk_space)
        # Drivers do not limit the size of their downloads.
        disk_space.check(os.path.getsize(path), 0)
        try:
            self._unpack(path, disk_space)
        except artifacts.WrongArtifactError as error:
            if is_certain:
                raise
            raise artifacts.ArtifactError(
                f'{error}; the server does not send enough to verify that '
                'the download is complete and of one version') from None
        return path

    def _unpack(self, path, disk_space):
        """Decompress and verify a file."""
        check, checksums = self._checkGoing, self.checksums
        # A record that Zuul's own launcher accepts may have no format.
        image_format = self.artifact.format or ''
        if image_format.lower().endswith(imagefiles.COMPRESSED):
            # The checksum may be that of the compressed file, or otherwise
            # that of its content.
            with contextlib.suppress(artifacts.WrongArtifactError):
                artifacts.verify(path, checksums, check)
                checksums = {}
        artifacts.decompress(path, check, disk_space, self._writeProgress,
                             self.settings.progress_interval)
        artifacts.verify(path, checksums, check)

    def _download(self, url, path, disk_space):
        """Download the file, by a driver if the launcher itself cannot.

        :return: the path of the file, and whether it is certainly complete.
        """
        try:
            is_certain = artifacts.download(
                web.Source(url, self.settings.image_sources), path,
                self._checkGoing, disk_space, artifacts.Pace(self.settings),
                self._writeProgress, any(self.checksums.values()))
            return path, is_certain
        except Stopped:
            raise
        except Exception as caught:
            failure = caught
            reason = messages.withoutSecrets(failure)
            self.log.info('Unable to download %s: %s', self.artifact, reason)
        # Drivers may have other ways to access the storage of their cloud.
        failures = [failure]
        asked = set()
        for provider in self.layouts.scope.by_tenant.get(
                self.artifact.build_tenant_name, {}).values():
            self._checkGoing()
            try:
                endpoint_name = provider.getEndpoint().canonical_name
                if endpoint_name in asked:
                    continue
                asked.add(endpoint_name)
                if found := self._downloadBy(
                        provider, endpoint_name, url, path):
                    return found, True
            except Exception as error:
                failures.append(error)
                self.log.warning('Unable to download %s by %s: %s',
                                 self.artifact, provider,
                                 messages.withoutSecrets(error))
        message = f'Unable to download {artifacts.getName(url)}: {reason}'
        if isGone(failures):
            raise GoneError(message)
        if isinstance(failure, addresses.RefusedError):
            raise addresses.RefusedError(message)
        if isFinalAnswer(failure):
            raise artifacts.WrongArtifactError(message)
        raise artifacts.ArtifactError(message)

    def _downloadBy(self, provider, endpoint_name, url, path):
        download = provider.downloadUrl
        if self.artifact.format == snapshotrecords.FORMAT:
            download = getattr(provider, 'downloadSnapshot', download)
        # A call that was given up may still write to its file.
        directory = tempfile.mkdtemp(dir=os.path.dirname(path))
        return self.uploads.calls.call(
            endpoint_name, f'downloadUrl of {provider} for {self.artifact}',
            download, url, os.path.join(directory, os.path.basename(path)))

    def _writeProgress(self, progress):
        for upload in list(self.held.values()):
            self.uploads.writeProgress(upload, progress)

    def _audit(self, event, *things, **fields):
        audit.tell(event, self.artifact, *things,
                   launcher=self.session.identifier, **fields)

    def _submit(self, threads, planned, job, *args):
        future = threads.submit(planned.upload.endpoint_name,
                                self._transfer, planned, job, args)
        for each, _ in getJobs(planned, job):
            self.held.pop(each.uuid, None)
        return future

    def _transfer(self, planned, job, args):
        """Execute a job, in a thread of the endpoint."""
        upload = planned.upload
        log = get_annotated_logger(
            self.uploads.log, iba=self.artifact.uuid, upload=upload.uuid)
        external_id, begun, failure = None, False, None
        try:
            self._checkGoing()
            log.info('Starting %s', upload)
            begun = True
            self._audit(audit.Event.UPLOADED, upload,
                        result=audit.Result.BEGUN)
            with self.uploads.stats.timeUpload(upload):
                external_id = self.uploads.calls.call(
                    upload.endpoint_name,
                    f'{type(job).__name__}.run of {planned.provider} for '
                    f'the image {upload.canonical_name}', job.run, *args)
            # With arguments, the job copies an image or uploads a file whose
            # download has been recorded already.
            if not args:
                gonefiles.forget(
                    self.client, self.artifact.uuid)
        except Stopped:
            log.debug('Stopping before %s', upload)
        except Exception as error:
            failure = error
            self._explain(log, error, 'Unable to upload image %s:', upload)
            self._audit(audit.Event.UPLOADED, upload,
                        result=audit.Result.FAILED,
                        reason=describe(error))
        self.uploads.finish(upload, external_id, begun, failure)
        for dependent, dependent_job in job.dependents:
            try:
                if not external_id:
                    raise Stopped
                self._submit(self.uploads.import_threads, dependent,
                             dependent_job, external_id)
            except Stopped:
                # There is no image to copy, or the launcher stops.
                for each, _ in getJobs(dependent, dependent_job):
                    self.uploads.finish(each.upload, None, error=failure)


def _logError(log, message, *args):
    """Log the current exception of a driver.

    The message may contain the URL of the artifact, which may be signed.
    """
    log.error(f'{message}\n%s', *args,
              messages.withoutSecrets(traceback.format_exc().rstrip()))


def getJobs(planned, job):
    """:return: yields a job and all jobs that depend on it."""
    yield planned, job
    for dependent in job.dependents:
        yield from getJobs(*dependent)
