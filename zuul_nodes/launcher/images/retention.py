"""What becomes of images that are not needed any more.

Uploads go first.  Then a job deletes the artifact from its storage, where a
tenant has one for that, and only when it has ended the record goes.
"""

import collections
import logging
import time

from zuul.model import ImageBuildArtifact

from zuul_nodes import gonefiles
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.policy import getKept, isRejected, isUsed
from zuul_nodes.launcher.images.schedule import groupByArtifact
from zuul_nodes.launcher.images.transfers import findFormer, getPlace
from zuul_nodes.launcher.zookeeper import makeRecord, sync


class Retention:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param Layouts layouts: say what is needed.
    :param HandledEndpoints endpoints: of which this launcher sees to the
        uploads.
    :param ImageJobs jobs: know which images there are.
    :param Deletion deletion: of what is decided to be deleted.
    :param nodes_cache: the cache of all nodes, which may be made of images.
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
        # The id of each upload that has no provider any more -> since when,
        # by the monotonic clock, as far as this launcher has seen.
        self._abandoned = {}

    def reconcile(self):
        """Delete uploads that are not kept, and artifacts without any."""
        if self.layouts.scope.unread:
            # Whoever can't be read now may need them.
            return
        # Records of uploads are complete before their artifact gets a
        # state.  So with the artifacts first, no upload is missed.
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
                self.events.forget(EventKind.DELETE, key)
        self._forgetKept()

    def _forgetKept(self):
        """Whoever has a build kept may do so while it is reported."""
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
                # Of what is decided on now; it may change meanwhile.
                version = upload.getZKVersion()
                with self.schedule.alone(upload):
                    if upload.endpoint_name not in endpoints:
                        old = self._isLeft(artifact, upload)
                    else:
                        old = self._isOld(artifact, upload, keepers)
                    if old and not self._isInUse(upload):
                        self.deletion.addUpload(upload, version)

    def _isLeft(self, artifact, upload):
        """:return: whether an upload is to be deleted where there is no
        provider any more, and we can do it."""
        if not self.endpoints.handles(getPlace(upload)[0]):
            return False
        deleting = upload.state == upload.State.DELETING or (
            artifact and artifact.state == artifact.State.DELETING)
        if not deleting and (artifact is None
                             or not self._isLost(artifact, upload)):
            return False
        if findFormer(self.layouts.scope, upload):
            return True
        self.log.warning(
            'Keeping %s, for nobody knows its endpoint; if that is gone for '
            'good, "zuul-nodes images forget %s --endpoint %s" removes the '
            'record', upload, upload.artifact_uuid[:8], upload.endpoint_name)
        return False

    def _noteAbandoned(self):
        now = time.monotonic()
        abandoned = {}
        for upload in self.uploads.getItems():
            with self.schedule.alone(upload):
                if self.tenants.isAbandoned(upload):
                    abandoned[upload.uuid] = self._abandoned.get(
                        upload.uuid, now)
                    if upload.uuid not in self._abandoned:
                        self.log.warning(
                            'No layout has a provider any more for %s, of '
                            'the providers %s; it is deleted in %s s',
                            upload, upload.providers,
                            f'{self.settings.abandoned_upload_age:g}')
        self._abandoned = abandoned

    def _isLost(self, artifact, upload):
        """:return: whether an upload that no provider uses is to go."""
        if self._isKept(artifact):
            return False
        if self._isGone(artifact):
            return True
        since = self._abandoned.get(upload.uuid)
        return since is not None and self.schedule.isOver(
            since + self.settings.abandoned_upload_age - time.monotonic())

    def _getKeepers(self):
        """
        :return: for the canonical name of each image, a set of the ids of
            uploads to keep, or None if all are.
        """
        keepers = collections.defaultdict(set)
        for providers in self.layouts.tenant_providers.values():
            for provider in providers:
                for image in provider.images.values():
                    if image.type != 'zuul':
                        continue
                    name = image.canonical_name
                    try:
                        kept = getKept(
                            self.records.getUploads(name), image, provider)
                    except Exception:
                        self.log.exception(
                            'Unable to tell which uploads of %s the %s '
                            'needs; none is deleted:', name, provider)
                        keepers[name] = None
                    if keepers[name] is not None:
                        keepers[name] |= kept
        return keepers

    def _isOld(self, artifact, upload, keepers):
        if artifact is None:
            return self._isOrphan(upload)
        deleting = upload.State.DELETING in (upload.state, artifact.state)
        if deleting or not isUsed(self.layouts.scope, upload):
            # The provider may be gone, or just not load.  It should find
            # its images when it comes back.
            return (deleting or self._isLost(artifact, upload)) and (
                self.deletion.findProvider(upload) is not None)
        kept = keepers[upload.canonical_name]
        if (kept is not None and upload.uuid not in kept
                and not self._isKept(artifact)):
            return True
        # What was refused leaves its cloud at once; that it was refused is
        # kept in mind, so that it is not uploaded again.
        return isRejected(upload) and upload.state != upload.State.FAILED

    def _isInUse(self, upload):
        """:return: whether a node is being made of an upload."""
        if not upload.external_id or upload.external_id not in map(
                _getImageId, self._getBuilding()):
            return False
        self.schedule.lookAfter(self.settings.image_use_pause)
        return True

    def _getBuilding(self):
        return [node for node in self.nodes_cache.getItems()
                if node.state == node.State.BUILDING]

    def _isOrphan(self, upload):
        """:return: whether there is no artifact: it goes last."""
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
        gone = gonefiles.getIds(self.records.client)
        newest_gone = _getNewest(
            artifact for artifact in ready if artifact.uuid in gone)
        needed = self.layouts.scope.getImageFormats()
        for artifact in artifacts:
            version = artifact.getZKVersion()
            with self.schedule.alone(artifact):
                superseded = _isSuperseded(artifact, newest)
                # The last one is a reason to wait before the next build.
                lost = (artifact.state == artifact.State.READY
                        and artifact.uuid in gone
                        and _isSuperseded(artifact, newest_gone))
                left = [upload for upload in uploads[artifact.uuid]
                        if not (lost and upload.state == upload.State.FAILED)]
                if self._isToGo(
                        artifact, left,
                        superseded or self._isUnwanted(artifact, needed)) \
                        and not self.deletion.artifacts.isUnderWay(artifact):
                    self.deletion.addArtifact(artifact, version)

    def _isUnwanted(self, artifact, needed):
        # Otherwise it may get uploads again.
        formats = needed[artifact.canonical_name]
        return artifact.format not in formats and (
            bool(formats) or self._isSettled(artifact))

    def _isToGo(self, artifact, uploads, superseded):
        if artifact.state == artifact.State.DELETING:
            return not uploads
        if self._isKept(artifact):
            return False
        if self._isGone(artifact):
            return True
        # The newest one stays for people to look at, though it was refused.
        return superseded and all(map(isRejected, uploads))

    def _isKept(self, artifact):
        """:return: whether an operator wants it kept."""
        return self.records.steering.isKept(artifact.uuid)

    def _isGone(self, artifact):
        return self.pipelines.isGone(
            artifact.canonical_name, artifact.project_canonical_name) \
            and self._isSettled(artifact)

    def _isSettled(self, artifact):
        """:return: whether the layouts have what an image was built for."""
        return self.schedule.isOlder(
            artifact, self.settings.unwanted_build_age)


def _getNewest(artifacts):
    """:return: the name and format of images -> when they were built last."""
    newest = collections.defaultdict(int)
    for artifact in artifacts:
        key = artifact.canonical_name, artifact.format
        newest[key] = max(newest[key], artifact.timestamp or 0)
    return newest


def _isSuperseded(artifact, newest):
    key = artifact.canonical_name, artifact.format
    return (artifact.timestamp or 0) < newest[key]


def _getImageId(node):
    """:return: the external id of the image that a node is made of, as all
    drivers keep it; None if it has none, or that is not decided."""
    machine = node.create_state_machine
    return getattr(machine, 'image_external_id', None) or (
        node.create_state or {}).get('image_external_id')
