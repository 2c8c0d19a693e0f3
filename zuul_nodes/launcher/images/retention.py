"""Retention: decides which uploads and builds are deleted.

The uploads of a build are deleted first.  Then a job deletes the artifact from
its storage, if a tenant has such a job.  After it has ended, the launcher
removes the record.
"""

import collections
import logging

from zuul.model import ImageBuildArtifact

from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.policy import getKept, isRejected, isUsed
from zuul_nodes.launcher.images.schedule import groupByArtifact
from zuul_nodes.launcher.images.transfers import findFormer, getPlace
from zuul_nodes.launcher.zookeeper import makeRecord, sync


class Retention:
    """Decides which uploads and artifacts are deleted.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param Layouts layouts: has the images that are needed.
    :param HandledEndpoints endpoints: the endpoints of this launcher.
    :param ImageJobs jobs: the pipelines and events of tenants.
    :param Deletion deletion: executes the deletions.
    :param nodes_cache: the cache of all nodes, which may use images.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, endpoints, jobs, deletion,
                 nodes_cache):
        self.records = records
        self.builds = records.builds
        self.uploads = records.uploads
        self.schedule = schedule
        self.settings = schedule.settings
        self.layouts = layouts
        self.endpoints = endpoints
        self.events = jobs.events
        self.pipelines = jobs.pipelines
        self.tenants = jobs.tenants
        self.deletion = deletion
        self.nodes_cache = nodes_cache
        # Id of an upload without providers -> since when this launcher has
        # seen that, of the monotonic clock.
        self._abandoned = {}

    def reconcile(self):
        """Delete uploads that are not kept, and artifacts without uploads."""
        if self.layouts.scope.unread:
            # A provider in an unread layout may need any of them.
            return
        # An artifact gets its state after its uploads are written.  Reading
        # artifacts first makes sure that all of their uploads are seen.
        artifacts = [
            artifact for artifact in self.builds.getItems()
            if artifact.state in (artifact.State.DELETING,
                                  artifact.State.READY)]
        sync(self.uploads)
        uploads = groupByArtifact(self.uploads)
        self._checkUploads(uploads)
        self._checkArtifacts(artifacts, uploads)
        for key in self.events.getKeys(EventKind.DELETE):
            if self.builds.getItem(key) is None:
                self.events.forgetEvent(EventKind.DELETE, key)
        self._forgetKept()

    def _forgetKept(self):
        """Remove requests to keep a build that is gone.

        An operator may have made the request while the build was reported.
        """
        kept = self.records.steering.getKept()
        if all(map(self.builds.getItem, kept)):
            return
        sync(self.builds)
        for key in kept:
            if self.builds.getItem(key) is None:
                self.records.steering.release(key)

    # Uploads

    def _checkUploads(self, uploads):
        keepers = self._getKeepers()
        endpoints = self.endpoints.get()
        self._noteAbandoned()
        for artifact_uuid, several in uploads.items():
            artifact = self.builds.getItem(artifact_uuid)
            for upload in several:
                # Taken before the decision, which a later change may affect.
                version = upload.getZKVersion()
                with self.schedule.isolate(upload):
                    endpoint = endpoints.get(upload.endpoint_name)
                    if endpoint is None:
                        old = self._isLeftBehind(artifact, upload)
                    else:
                        old = (not self.endpoints.leaves(endpoint)
                               and self._isOld(artifact, upload, keepers))
                    if old and not self._isInUse(upload):
                        self.deletion.addUpload(upload, version)

    def _isLeftBehind(self, artifact, upload):
        """:return: whether to delete an upload at an endpoint without
            providers; a former provider must be known for that."""
        if not self.endpoints.handles(getPlace(upload)[0]):
            return False
        deleting = upload.state == upload.State.DELETING or (
            artifact and artifact.state == artifact.State.DELETING)
        if not deleting and (artifact is None
                             or not self._isExpired(artifact, upload)):
            return False
        if findFormer(self.layouts.scope, upload):
            return True
        self.log.warning(
            'Keeping %s, because its endpoint is unknown; if the endpoint is '
            'gone for good, remove the record with "zuul-nodes images forget '
            '%s --endpoint %s"', upload, upload.artifact_uuid[:8],
            upload.endpoint_name)
        return False

    def _noteAbandoned(self):
        now = self.schedule.clock()
        abandoned = {}
        for upload in self.uploads.getItems():
            with self.schedule.isolate(upload):
                if self.tenants.isAbandoned(upload):
                    abandoned[upload.uuid] = self._abandoned.get(
                        upload.uuid, now)
                    if upload.uuid not in self._abandoned:
                        self.log.warning(
                            'No layout has a provider for %s any more, of the '
                            'providers %s; deleting it in %s s',
                            upload, upload.providers,
                            f'{self.settings.abandoned_upload_age:g}')
        self._abandoned = abandoned

    def _isExpired(self, artifact, upload):
        """:return: whether to delete an upload that no provider uses."""
        if self._isKept(artifact):
            return False
        if self._isGone(artifact):
            return True
        since = self._abandoned.get(upload.uuid)
        return since is not None and self.schedule.isOver(
            since + self.settings.abandoned_upload_age - self.schedule.clock())

    def _getKeepers(self):
        """
        :return: canonical name of an image -> set of the ids of uploads to
            keep, or None to keep all of them.
        """
        keepers = collections.defaultdict(set)
        for provider in self.layouts.scope.providers:
            for image in provider.images.values():
                if image.type != 'zuul':
                    continue
                name = image.canonical_name
                try:
                    kept = getKept(
                        self.records.getUploads(name), image, provider)
                except Exception:
                    self.log.exception(
                        'Unable to determine which uploads of %s the %s '
                        'needs, keeping all of them:', name, provider)
                    keepers[name] = None
                if keepers[name] is not None:
                    keepers[name] |= kept
        return keepers

    def _isOld(self, artifact, upload, keepers):
        if artifact is None:
            return self._isOrphan(upload)
        deleting = upload.State.DELETING in (upload.state, artifact.state)
        if deleting or not isUsed(self.layouts.scope, upload):
            # The provider may be missing because of an error in its
            # configuration, and needs its images when it is back.
            return (deleting or self._isExpired(artifact, upload)) and (
                self.deletion.findProvider(upload) is not None)
        kept = keepers[upload.canonical_name]
        if (kept is not None and upload.uuid not in kept
                and not self._isKept(artifact)):
            return True
        # A rejected upload is deleted from its cloud at once.  Its record
        # stays, so that the image is not uploaded again.
        return isRejected(upload) and upload.state != upload.State.FAILED

    def _isInUse(self, upload):
        """:return: whether a node is being launched from an upload."""
        if not upload.external_id or upload.external_id not in map(
                _getImageId, self._getBuilding()):
            return False
        self.schedule.checkAfter(self.settings.image_use_interval)
        return True

    def _getBuilding(self):
        return [node for node in self.nodes_cache.getItems()
                if node.state == node.State.BUILDING]

    def _isOrphan(self, upload):
        """:return: whether the artifact of an upload is gone."""
        artifact = makeRecord(ImageBuildArtifact, uuid=upload.artifact_uuid)
        if self.records.client.exists(artifact.getPath()):
            self.log.warning('Unable to read the artifact of %s', upload)
            return False
        return True

    # Artifacts

    def _checkArtifacts(self, artifacts, uploads):
        ready = [artifact for artifact in artifacts
                 if artifact.state == artifact.State.READY]
        newest = _getNewest(ready)
        gone = self.records.gone_files.get()
        newest_gone = _getNewest(
            artifact for artifact in ready if artifact.uuid in gone)
        needed = self.layouts.scope.getImageFormats()
        for artifact in artifacts:
            version = artifact.getZKVersion()
            with self.schedule.isolate(artifact):
                outdated = _isOutdated(artifact, newest)
                # The last one delays the next build.
                lost = (artifact.state == artifact.State.READY
                        and artifact.uuid in gone
                        and _isOutdated(artifact, newest_gone))
                left = [upload for upload in uploads[artifact.uuid]
                        if not (lost and upload.state == upload.State.FAILED)]
                if self._mayBeDeleted(
                        artifact, left,
                        outdated or self._isUnwanted(artifact, needed)) \
                        and not self.deletion.artifacts.isUnderWay(artifact):
                    self.deletion.addArtifact(artifact, version)

    def _isUnwanted(self, artifact, needed):
        # A needed build may get uploads again.
        formats = needed[artifact.canonical_name]
        return artifact.format not in formats and (
            bool(formats) or self._isSettled(artifact))

    def _mayBeDeleted(self, artifact, uploads, outdated):
        if artifact.state == artifact.State.DELETING:
            return not uploads
        if self._isKept(artifact):
            return False
        if self._isGone(artifact):
            return True
        # The newest one is kept as evidence, even if it was rejected.
        return outdated and all(map(isRejected, uploads))

    def _isKept(self, artifact):
        """:return: whether an operator has requested to keep an artifact."""
        return self.records.steering.isKept(artifact.uuid)

    def _isGone(self, artifact):
        return self.pipelines.isGone(
            artifact.canonical_name, artifact.project_canonical_name) \
            and self._isSettled(artifact)

    def _isSettled(self, artifact):
        """:return: whether the change that needs a build had time to merge.
        """
        return self.schedule.isOlder(
            artifact, self.settings.unwanted_build_age)


def _getNewest(artifacts):
    """:return: (name, format) of an image -> time of its newest build."""
    newest = collections.defaultdict(int)
    for artifact in artifacts:
        key = artifact.canonical_name, artifact.format
        newest[key] = max(newest[key], artifact.timestamp or 0)
    return newest


def _isOutdated(artifact, newest):
    key = artifact.canonical_name, artifact.format
    return (artifact.timestamp or 0) < newest[key]


def _getImageId(node):
    """:return: external id of the image from which a node is launched, as all
        drivers keep it; None if there is none, or not yet."""
    machine = node.create_state_machine
    return getattr(machine, 'image_external_id', None) or (
        node.create_state or {}).get('image_external_id')
