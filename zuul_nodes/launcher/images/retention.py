"""What becomes of images that are not needed any more.

Uploads go first.  Then a job deletes the artifact from its storage, where a
tenant has one for that, and only when it has ended the record goes.
"""

import collections
import operator
import time

from zuul.model import ImageBuildArtifact

from zuul_nodes import audit, gonefiles
from zuul_nodes.launcher.images.deletion import Deletion, remove
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.policy import (
    choose,
    getKept,
    isRejected,
    isUsed,
)
from zuul_nodes.launcher.images.reconciler import (
    KEY,
    ImagePart,
    alone,
    groupByArtifact,
    isOlder,
    isOver,
)
from zuul_nodes.launcher.images.transfers import findFormer, getPlace
from zuul_nodes.launcher.zookeeper import inState, makeRecord, sync

# Seconds until a node that is being made of an image may be there.
USE_PAUSE = 5
# Seconds until a build can be one that nobody wants.  A change that adds an
# image may have it built before it is in any layout.
UNWANTED_AGE = 300
# Seconds that an upload stays after its providers have gone: they may have
# been taken out by mistake, or get another name in two steps.
ABANDONED_AGE = 3600


class Retention(ImagePart):

    def __init__(self, *args):
        super().__init__(*args)
        self.deletion = Deletion(self.launcher, self.deleteArtifact)
        # The id of each upload that has no provider any more -> since when,
        # by the monotonic clock, as far as this launcher has seen.
        self._abandoned = {}

    def reconcile(self):
        """Delete uploads that are not kept, and artifacts without any."""
        if self.launcher.scope.unread:
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
        kept = self.launcher.image_steering.getKept()
        if all(map(self.builds.getItem, kept)):
            return
        sync(self.builds)
        for key in kept:
            if self.builds.getItem(key) is None:
                self.launcher.image_steering.release(key)

    # Uploads

    def getUploads(self, name):
        """
        :param str name: the canonical name of an image.
        :return: a list of its uploads, that of the oldest build first; but
            none of a build that is being deleted.  The time of an upload is
            that of its validation.
        """
        aged = []
        for upload in self.uploads.getUploadsForImage(name):
            artifact = self.builds.getItem(upload.artifact_uuid)
            if artifact is None or artifact.state != artifact.State.DELETING:
                aged.append((
                    (artifact.timestamp or 0) if artifact else 0, upload))
        aged.sort(key=operator.itemgetter(0))
        return [upload for _, upload in aged]

    def _checkUploads(self, uploads):
        keepers = self._getKeepers()
        endpoints = self.launcher.getEndpoints()
        self._noteAbandoned()
        for artifact_uuid, several in uploads.items():
            artifact = self.builds.getItem(artifact_uuid)
            for upload in several:
                # Of what is decided on now; it may change meanwhile.
                version = upload.getZKVersion()
                with alone(self.launcher, upload):
                    if upload.endpoint_name not in endpoints:
                        old = self._isLeft(artifact, upload)
                    else:
                        old = self._isOld(artifact, upload, keepers)
                    if old and not self._isInUse(upload):
                        self.deletion.addUpload(upload, version)

    def _isLeft(self, artifact, upload):
        """:return: whether an upload is to be deleted where there is no
        provider any more, and we can do it."""
        if not self.launcher.ownership.handles(getPlace(upload)[0]):
            return False
        deleting = upload.state == upload.State.DELETING or (
            artifact and artifact.state == artifact.State.DELETING)
        if not deleting and (artifact is None
                             or not self._isLost(artifact, upload)):
            return False
        if findFormer(self.launcher.scope, upload):
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
            with alone(self.launcher, upload):
                if self.tenants.isAbandoned(upload):
                    abandoned[upload.uuid] = self._abandoned.get(
                        upload.uuid, now)
                    if upload.uuid not in self._abandoned:
                        self.log.warning(
                            'No layout has a provider any more for %s, of '
                            'the providers %s; it is deleted in %s s',
                            upload, upload.providers, ABANDONED_AGE)
        self._abandoned = abandoned

    def _isLost(self, artifact, upload):
        """:return: whether an upload that no provider uses is to go."""
        if self._isKept(artifact):
            return False
        if self._isGone(artifact):
            return True
        since = self._abandoned.get(upload.uuid)
        return since is not None and isOver(
            self.launcher, since + ABANDONED_AGE - time.monotonic())

    def _getKeepers(self):
        """
        :return: for the canonical name of each image, a set of the ids of
            uploads to keep, or None if all are.
        """
        keepers = collections.defaultdict(set)
        for providers in self.launcher.tenant_providers.values():
            for provider in providers:
                for image in provider.images.values():
                    if image.type != 'zuul':
                        continue
                    name = image.canonical_name
                    try:
                        kept = getKept(
                            self.getUploads(name), image, provider)
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
        if deleting or not isUsed(self.launcher.scope, upload):
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
        self.launcher.queue.addAfter(KEY, USE_PAUSE)
        return True

    def _getBuilding(self):
        return [node for node in self.launcher.api.nodes_cache.getItems()
                if node.state == node.State.BUILDING]

    def _isOrphan(self, upload):
        """:return: whether there is no artifact: it goes last."""
        artifact = makeRecord(ImageBuildArtifact, uuid=upload.artifact_uuid)
        if self.launcher.zk_client.client.exists(artifact.getPath()):
            self.log.warning('Unable to read the artifact of %s', upload)
            return False
        return True

    # Artifacts

    def _checkArtifacts(self, artifacts, uploads):
        ready = [artifact for artifact in artifacts
                 if artifact.state == artifact.State.READY]
        newest = _getNewest(ready)
        gone = gonefiles.getIds(self.launcher.zk_client.client)
        newest_gone = _getNewest(
            artifact for artifact in ready if artifact.uuid in gone)
        needed = self.launcher.scope.getImageFormats()
        for artifact in artifacts:
            version = artifact.getZKVersion()
            with alone(self.launcher, artifact):
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
                        and not self._isBeingDeleted(artifact):
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
        return self.launcher.image_steering.isKept(artifact.uuid)

    def _isGone(self, artifact):
        return self.pipelines.isGone(
            artifact.canonical_name, artifact.project_canonical_name) \
            and self._isSettled(artifact)

    def _isSettled(self, artifact):
        """:return: whether the layouts have what an image was built for."""
        return isOlder(self.launcher, artifact, UNWANTED_AGE)

    def _isBeingDeleted(self, artifact):
        """:return: whether an event for that, or its item, is under way."""
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        if sent is None:
            return False
        # Whatever is sent to a tenant that is gone, nobody gets.
        layout = self.pipelines.get(sent.tenant_name)
        if layout is None or not self.event_tracker.isUnderWay(
                sent.tenant_name, layout.pipelines[EventKind.DELETE],
                'image_build_uuid', artifact.uuid):
            return False
        self.events.lookLater()
        return True

    def deleteArtifact(self, context, artifact):
        """Take the next step to delete an artifact, which is locked: its
        uploads, its file in storage, its record."""
        # Whoever had the lock before may have added some.
        sync(self.uploads)
        if any(upload.artifact_uuid == artifact.uuid
               for upload in self.uploads.getItems()):
            if artifact.state != artifact.State.DELETING:
                self.log.info('Deleting all uploads of %s', artifact)
                with artifact.activeContext(context):
                    artifact.state = artifact.State.DELETING
            return
        # Another launcher may have sent it since it was decided to delete.
        if self._isBeingDeleted(artifact):
            return
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        deleters = self.tenants.getDeleters(artifact)
        if deleters and (sent is None or sent.tenant_name not in deleters):
            self._send(artifact, sent, choose(deleters, None))
            return
        self.log.info('Deleting %s, which has no uploads', artifact)
        audit.tell(audit.Event.DELETED, artifact,
                   launcher=self.launcher.hostname)
        remove(context, artifact)

    def _send(self, artifact, sent, tenant_name):
        transaction = self.launcher.session.transaction()
        transaction.update(
            artifact, **inState(artifact.State.DELETING))
        transaction.audit(audit.Event.DELETED, artifact,
                          result=audit.Result.BEGUN)
        self.events.add(
            transaction, EventKind.DELETE, artifact.uuid, sent, tenant_name,
            artifact.name, artifact.project_canonical_name,
            artifact.project_branch)
        transaction.commit()


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
