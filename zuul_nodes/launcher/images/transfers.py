"""Transfers: an artifact on its way to the endpoints.

One download serves all uploads that need one.  What an upload has come
to is told by the thread that made it, so none waits for another one.
"""

import collections
from concurrent.futures import wait
import contextlib
import dataclasses
import itertools
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
    """:return: yields all tenants' objects of an upload's providers."""
    for name in upload.providers or ():
        yield from scope.by_name.get(name, ())


def getPlace(upload):
    """:return: the names of an upload's connection and endpoint."""
    return tuple(map(unquote_plus, upload.endpoint_name.split('/', 1)))


def findFormer(scope, upload):
    """
    :return: a provider that was at an upload's endpoint when there was one,
        or None.
    :raises ProviderNodeError: it can't be used any more.
    """
    return scope.findFormer(getPlace(upload))


def findProvider(scope, upload):
    """
    :return: a provider at an upload's endpoint that has its image, as the
        upload wants it if there is one, be it another one than the upload
        was made for; or None.
    """
    found = None
    for provider, image in _findImages(getProviders(scope, upload), upload):
        if _isSame(image, upload):
            return provider
        found = found or provider
    if found is None:
        # A provider may have another name by now.
        others = itertools.chain(*scope.by_name.values())
        found = next((provider for provider, image
                      in _findImages(others, upload)
                      if _isSame(image, upload)), None)
    return found


def _findImages(providers, upload):
    """:return: yields those at an upload's endpoint that have its image,
        with what they have of it."""
    for provider in providers:
        for image in provider.images.values():
            if (image.canonical_name == upload.canonical_name
                    and provider.getEndpoint().canonical_name
                    == upload.endpoint_name):
                yield provider, image


def _isSame(image, upload):
    """:return: whether a provider has the image as the upload is."""
    return upload.config_hash in (image.config_hash, image.zuul_config_hash)


@dataclasses.dataclass(eq=False)
class Candidate:
    """An upload as Zuul's planner looks at it.

    The planner takes the first provider of that name, whatever tenant it
    is of.  Here the name stands for the very object.
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

    :param Uploads uploads: by which it was started.
    """

    def __init__(self, uploads, artifact, pending, known):
        # Annotating it once more would change it for all threads.
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
        # Those that we took, and of them those that no endpoint's thread
        # has taken over yet; by their ids.
        self.acquired = set()
        self.held = {}
        # Why nothing came of those that no endpoint's thread has taken
        # over: the id of an upload -> an exception; and of all others.
        self.errors = {}
        self.error = None

    def run(self):
        try:
            self.uploads.check()
            self._acquire()
            self._check()
            self._distribute()
        except Stopped:
            self.log.debug('Not uploaded any more: %s', self.artifact)
        except LockException:
            self.log.debug('Another launcher takes what there is to do')
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
            self.uploads.pause({upload.uuid for upload in self.pending}
                               - self.acquired)

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
            self.log.warning('Nobody has the image of %s any more', upload)
            return
        if not upload.acquireLock(context, blocking=False):
            return
        try:
            upload.refresh(context)
            # Otherwise somebody else was at work on it meanwhile.
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
        """
        :raises ArtifactError: nothing is to be done with the artifact.
        """
        if self.artifact.format == snapshotrecords.FORMAT:
            self._checkSnapshot()
        elif self.settings.require_image_checksums and not any(
                self.checksums.values()):
            raise artifacts.WrongArtifactError(
                f'{artifacts.getName(self.artifact.url)} has no checksum; '
                'with "require_image_checksums" in the section "launcher" of '
                'zuul.conf, its metadata have to have "sha256" or "md5sum"')

    def _explain(self, log, error, message, *args):
        """Log what is being handled, and note if it says that the file is
        gone."""
        if isinstance(error, GoneError):
            self._noteGone(error)
        else:
            _logError(log, message, *args)

    def _noteGone(self, error):
        """Have all launchers know, before the uploads have failed."""
        self.log.warning(
            'The file of %s is gone; the image is built anew for endpoints '
            'that can\'t have another build of it: %s', self.artifact,
            messages.withoutSecrets(error))
        try:
            gonefiles.write(self.client,
                            self.artifact.uuid, describe(error))
        except Exception:
            self.log.exception(
                'Unable to write that the file of %s is gone:', self.artifact)

    def _checkSnapshot(self):
        artifact = self.artifact
        # The scheduler has compared its nodes with those of the build.
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
            for candidate, job in plan.import_jobs:
                self._submit(self.uploads.import_threads, candidate, job)
            for candidate, job, external_id in plan.copy_jobs:
                self._submit(self.uploads.import_threads, candidate, job,
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
                for candidate, job in upload_jobs:
                    futures.append(self._submit(
                        self.uploads.upload_threads, candidate, job, path))
            finally:
                # They need the file.
                wait(futures)

    def _plan(self):
        """:return: a list of plans, UploadPlanner."""
        candidates = {
            upload.uuid: Candidate(upload, provider)
            for upload in {**{each.uuid: each for each in self.known},
                           **self.held}.values()
            if (provider := findProvider(self.layouts.scope, upload))}
        # Copies are made among those with equal configurations only, so
        # one that can not be planned does not concern the others.
        pending = collections.defaultdict(list)
        known = collections.defaultdict(list)
        for candidate in candidates.values():
            known[candidate.config_hash].append(candidate)
            if candidate.uuid in self.held:
                pending[candidate.config_hash].append(candidate)
        plans = []
        for config_hash, group in pending.items():
            try:
                plans.append(self._planGroup(group, known[config_hash]))
            except Exception:
                _logError(self.log, 'Unable to plan uploads together:')
                plans += self._planOneByOne(group)
        return plans

    def _planOneByOne(self, group):
        for candidate in group:
            try:
                yield self._planGroup([candidate], [candidate])
            except Exception as error:
                self._explain(
                    self.log, error, 'Unable to plan %s:', candidate.upload)
                self.errors[candidate.uuid] = error

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
        """:return: the path of the artifact's file in a directory."""
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
        # What a driver has downloaded may be larger than it should be.
        disk_space.check(os.path.getsize(path), 0)
        try:
            self._unpack(path, disk_space)
        except artifacts.WrongArtifactError as error:
            if is_certain:
                raise
            raise artifacts.ArtifactError(
                f'{error}; its server does not tell whether all of it has '
                'come, and unchanged') from None
        return path

    def _unpack(self, path, disk_space):
        """Have a file be an image, and verify it."""
        check, checksums = self.uploads.check, self.checksums
        if self.artifact.format.lower().endswith(imagefiles.COMPRESSED):
            # It is of such a file, or of what comes out, as otherwise.
            with contextlib.suppress(artifacts.WrongArtifactError):
                artifacts.verify(path, checksums, check)
                checksums = {}
        artifacts.decompress(path, check, disk_space, self._tell,
                             self.settings.progress_interval)
        artifacts.verify(path, checksums, check)

    def _download(self, url, path, disk_space):
        """:return: the path of the file, and whether it is certain that all
            of it has come."""
        try:
            is_certain = artifacts.download(
                web.Source(url, self.settings.image_sources), path,
                self.uploads.check, disk_space, artifacts.Pace(self.settings),
                self._tell, any(self.checksums.values()))
            return path, is_certain
        except Stopped:
            raise
        except Exception as caught:
            failure = caught
            reason = messages.withoutSecrets(failure)
            self.log.info('Unable to download %s: %s', self.artifact, reason)
        # Clouds have ways of their own to get at what is stored there.
        failures = [failure]
        asked = set()
        for provider in self.layouts.tenant_providers.get(
                self.artifact.build_tenant_name, ()):
            self.uploads.check()
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
        message = f'Nobody can download {artifacts.getName(url)}: {reason}'
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
        # A call that is given up may still write where it was told to.
        directory = tempfile.mkdtemp(dir=os.path.dirname(path))
        return self.uploads.calls.call(
            endpoint_name, f'downloadUrl of {provider} for {self.artifact}',
            download, url, os.path.join(directory, os.path.basename(path)))

    def _tell(self, progress):
        for upload in list(self.held.values()):
            self.uploads.tell(upload, progress)

    def _audit(self, event, *things, **fields):
        audit.tell(event, self.artifact, *things,
                   launcher=self.session.identifier, **fields)

    def _submit(self, threads, candidate, job, *args):
        future = threads.submit(candidate.upload.endpoint_name,
                                self._transfer, candidate, job, args)
        for each, _ in getJobs(candidate, job):
            self.held.pop(each.uuid, None)
        return future

    def _transfer(self, candidate, job, args):
        """In a thread of the endpoint."""
        upload = candidate.upload
        log = get_annotated_logger(
            self.uploads.log, iba=self.artifact.uuid, upload=upload.uuid)
        external_id, begun, failure = None, False, None
        try:
            self.uploads.check()
            log.info('Starting %s', upload)
            begun = True
            self._audit(audit.Event.UPLOADED, upload,
                        result=audit.Result.BEGUN)
            with self.uploads.stats.timeUpload(upload):
                external_id = self.uploads.calls.call(
                    upload.endpoint_name,
                    f'{type(job).__name__}.run of {candidate.provider} for '
                    f'the image {upload.canonical_name}', job.run, *args)
            # Neither a copy nor of what was downloaded.
            if not args:
                gonefiles.forget(
                    self.client, self.artifact.uuid)
        except Stopped:
            log.debug('Not begun: %s', upload)
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
                # There is nothing to copy, or it is too late.
                for each, _ in getJobs(dependent, dependent_job):
                    self.uploads.finish(each.upload, None, error=failure)


def _logError(log, message, *args):
    """Log what is being handled, of a driver that has been given the URL of
    an artifact: that may be signed."""
    log.error(f'{message}\n%s', *args,
              messages.withoutSecrets(traceback.format_exc().rstrip()))


def getJobs(candidate, job):
    """:return: yields a job and all that can only run after it."""
    yield candidate, job
    for dependent in job.dependents:
        yield from getJobs(*dependent)
