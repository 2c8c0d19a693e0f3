"""What becomes of images that are not needed any more.

Uploads go first.  Then a job deletes the artifact from its storage, and
only then the record of it goes; so no file is forgotten.
"""

import collections
import contextlib
import logging
import time

from zuul.model import ImageBuildArtifact

from zuul_nodes.launcher.caches import sync
from zuul_nodes.launcher.deletes import Deletes, remove
from zuul_nodes.launcher.imageevents import Kind
from zuul_nodes.launcher.transfers import getProviders
from zuul_nodes.launcher.uploads import KEY
from zuul_nodes.launcher.validation import isRejected

# Seconds until a node that is being made of an image may be there.
USE_PAUSE = 5


def isInService(upload, image, provider):
    """:return: whether new nodes of the provider may have that upload."""
    return bool(upload.state == upload.State.READY and upload.validated
                and upload.external_id
                and upload.isPermittedForProvider(image, provider))


def getKept(uploads, image, provider):
    """
    :param list uploads: of the image, the oldest first.
    :return: the ids of those that the provider is to keep.
    """
    uploads = [upload for upload in uploads
               if upload.isPermittedForProvider(image, provider)]
    valid = [upload for upload in uploads
             if isInService(upload, image, provider)][-image.retain_count:]
    since = valid[0].timestamp if valid else 0
    newer = [upload for upload in uploads if upload.timestamp > since]
    # A validation may be running.  If all of them fail, there is an end
    # to what is kept for it.
    complete = [upload for upload in newer
                if upload.state == upload.State.READY and upload.external_id
                and not isRejected(upload)]
    unvalidated = [upload for upload in complete
                   if not upload.validated][-image.retain_count:]
    # They may get complete, or somebody may want to see that they failed.
    incomplete = [upload for upload in newer if upload not in complete]
    return {upload.uuid for upload in (*valid, *unvalidated, *incomplete)}


class Retirement:
    """
    :param launcher: see :class:`zuul_nodes.launcher.images.Images`.
    :param ImageEvents events:
    :param ImagePipelines pipelines:
    :param Trails trails:
    """

    log = logging.getLogger('zuul.Launcher')

    def __init__(self, launcher, events, pipelines, trails):
        self.launcher = launcher
        self.builds = launcher.image_build_registry
        self.registry = launcher.image_upload_registry
        self.events = events
        self.pipelines = pipelines
        self.trails = trails
        self.deletes = Deletes(launcher, self.deleteArtifact)

    def reconcile(self):
        """Delete uploads that are not kept, and artifacts without any."""
        # Records of uploads are complete before their artifact gets a
        # state.  So with the artifacts first, no upload is missed.
        artifacts = [
            artifact for artifact in self.builds.getItems()
            if artifact.state in (artifact.State.DELETING,
                                  artifact.State.READY)]
        sync(self.registry)
        uploads = collections.defaultdict(list)
        for upload in self.registry.getItems():
            uploads[upload.artifact_uuid].append(upload)
        self._checkUploads(uploads)
        self._checkArtifacts(artifacts, uploads)
        for key in self.events.getKeys(Kind.DELETE):
            if self.builds.getItem(key) is None:
                self.events.forget(Kind.DELETE, key)

    # Uploads

    def _checkUploads(self, uploads):
        keepers = self._getKeepers()
        endpoints = self.launcher.getEndpoints()
        for artifact_uuid, several in uploads.items():
            artifact = self.builds.getItem(artifact_uuid)
            for upload in several:
                if upload.endpoint_name not in endpoints:
                    continue
                with self._alone(upload):
                    if self._isOld(artifact, upload, keepers) \
                            and not self._isInUse(upload):
                        self.deletes.addUpload(upload)

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
                        kept = getKept(self.registry.getUploadsForImage(name),
                                       image, provider)
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
        if (not any(getProviders(self.launcher.scope, upload))
                and not self._isGone(artifact)):
            # The provider may be gone, or just not load.  It should find
            # its images when it comes back.
            self.log.warning('Keeping %s, for nobody knows the providers %s',
                             upload, upload.providers)
            return False
        if upload.State.DELETING in (upload.state, artifact.state):
            return True
        kept = keepers[upload.canonical_name]
        if kept is not None and upload.uuid not in kept:
            return True
        # What was refused leaves its cloud at once; that it was refused is
        # kept in mind, so that it is not uploaded again.
        return isRejected(upload) and upload.state != upload.State.FAILED

    def _isInUse(self, upload):
        """:return: whether a node is being made of an upload."""
        if upload.external_id not in map(_getImageId, self._getBuilding()):
            return False
        self.launcher.queue.addAfter(KEY, USE_PAUSE)
        return True

    def _getBuilding(self):
        return [node for node in self.launcher.api.nodes_cache.getItems()
                if node.state == node.State.BUILDING]

    def _isOrphan(self, upload):
        """:return: whether there is no artifact: it goes last."""
        artifact = ImageBuildArtifact()
        artifact._set(uuid=upload.artifact_uuid)
        if self.launcher.zk_client.client.exists(artifact.getPath()):
            self.log.warning('Unable to read the artifact of %s', upload)
            return False
        return True

    # Artifacts

    def _checkArtifacts(self, artifacts, uploads):
        newest = {}
        for artifact in artifacts:
            if artifact.state == artifact.State.READY:
                key = artifact.canonical_name, artifact.format
                newest[key] = max(newest.get(key, 0), artifact.timestamp or 0)
        needed = self.launcher.scope.getImageFormats()
        for artifact in artifacts:
            key = artifact.canonical_name, artifact.format
            # Otherwise it may get uploads again.
            superseded = (artifact.format not in needed[key[0]]
                          or (artifact.timestamp or 0) < newest.get(key, 0))
            with self._alone(artifact):
                if self._isToGo(
                        artifact, uploads[artifact.uuid], superseded) \
                        and not self._isBeingDeleted(artifact):
                    self.deletes.addArtifact(artifact)

    def _isToGo(self, artifact, uploads, superseded):
        if artifact.state == artifact.State.DELETING:
            return not uploads
        if self._isGone(artifact):
            return True
        # The newest one stays for people to look at, though it was refused.
        return superseded and all(map(isRejected, uploads))

    def _isGone(self, artifact):
        return self.pipelines.isGone(
            artifact.canonical_name, artifact.project_canonical_name)

    def _isBeingDeleted(self, artifact):
        """:return: whether an event for that, or its item, is under way."""
        sent = self.events.get(Kind.DELETE, artifact.uuid)
        if sent is None:
            return False
        layout = self.pipelines.get(sent.tenant_name)
        if layout is None or not self.trails.isUnderWay(
                sent.tenant_name, layout.pipelines[Kind.DELETE],
                'image_build_uuid', artifact.uuid):
            return False
        self.events.lookLater()
        return True

    def deleteArtifact(self, context, artifact):
        """Take the next step to delete an artifact, which is locked: its
        uploads, its file in storage, its record."""
        # Whoever had the lock before may have added some.
        sync(self.registry)
        if any(upload.artifact_uuid == artifact.uuid
               for upload in self.registry.getItems()):
            if artifact.state != artifact.State.DELETING:
                self.log.info('Deleting all uploads of %s', artifact)
                with artifact.activeContext(context):
                    artifact.state = artifact.State.DELETING
            return
        sent = self.events.get(Kind.DELETE, artifact.uuid)
        layout = self.pipelines.get(artifact.build_tenant_name)
        if sent is None and layout and layout.pipelines[Kind.DELETE]:
            self._send(artifact)
            return
        # Another launcher may have sent it since it was decided to delete.
        if self._isBeingDeleted(artifact):
            return
        self.log.info('Deleting %s, which has no uploads', artifact)
        remove(context, artifact)

    def _send(self, artifact):
        hostname, _, name = artifact.project_canonical_name.partition('/')
        driver = self.launcher.connections.drivers['zuul']
        event = driver.getImageDeleteEvent(
            [artifact.name], hostname, name, artifact.project_branch,
            artifact.uuid)
        tenant_name = artifact.build_tenant_name
        transaction = self.launcher.store.transaction()
        transaction.update(artifact, _state=artifact.State.DELETING,
                           state_time=time.time())
        self.events.add(
            transaction, Kind.DELETE, artifact.uuid, None, tenant_name,
            event)
        self.log.info('Submitting the event %s of %s to the tenant %s',
                      event.type, artifact, tenant_name)
        transaction.commit()

    @contextlib.contextmanager
    def _alone(self, record):
        """What goes wrong with a record does not concern others."""
        try:
            yield
        except Exception:
            self.log.exception('Unable to look after %s:', record)


def _getImageId(node):
    """:return: the external id of the image that a node is made of, as all
    drivers keep it; None if it has none, or that is not decided."""
    machine = node.create_state_machine
    return getattr(machine, 'image_external_id', None) or (
        node.create_state or {}).get('image_external_id')
