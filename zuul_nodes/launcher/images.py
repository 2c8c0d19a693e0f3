"""Images: which uploads there are to be, and which of them a node gets.

All is decided from Zuul's records of artifacts and uploads, as they are
at the moment, and from the configuration.  What is to be done takes its
time: see :mod:`zuul_nodes.launcher.uploads` and
:mod:`zuul_nodes.launcher.deletes`.
"""

import collections
import contextlib
import logging

from zuul_nodes.launcher.deletes import Deletes
from zuul_nodes.launcher.transfers import findProvider, getProviders
from zuul_nodes.launcher.uploads import KEY, Uploads

# Seconds until a cache has what ZooKeeper had.
SYNC_TIMEOUT = 10


class NoImageError(Exception):
    """There is no image for a node."""


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
                if upload.state == upload.State.READY and upload.external_id]
    unvalidated = [upload for upload in complete
                   if not upload.validated][-image.retain_count:]
    # They may get complete, or somebody may want to see that they failed.
    incomplete = [upload for upload in newer if upload not in complete]
    return {upload.uuid for upload in (*valid, *unvalidated, *incomplete)}


class Images:
    """
    :param launcher: what :class:`zuul_nodes.launcher.Launcher` offers to
        its parts.
    """

    log = logging.getLogger('zuul.Launcher')

    def __init__(self, launcher):
        self.launcher = launcher
        self.builds = launcher.image_build_registry
        self.registry = launcher.image_upload_registry
        self.uploads = Uploads(launcher, self.addValidateEvent)
        self.deletes = Deletes(launcher)

    def start(self):
        self.launcher.queue.add(KEY)

    def stop(self):
        """Begin nothing any more; downloads end early."""
        self.uploads.stop()
        self.deletes.stop()

    def join(self):
        """Wait for what drivers do, which nobody can end.

        ZooKeeper is needed until then.
        """
        self.uploads.join()
        self.deletes.join()

    def reconcile(self):
        """See what is to be uploaded and what deleted, and have it done.

        To be called when the layouts of all tenants are known.
        """
        if self.uploads.stopping.is_set():
            return
        try:
            self.checkOldImages()
        finally:
            self.checkMissingUploads()

    # What becomes of images

    def checkOldImages(self):
        """Delete uploads that are not kept, and artifacts without any."""
        # Records of uploads are complete before their artifact gets a
        # state.  So with the artifacts first, no upload is missed.
        artifacts = [
            artifact for artifact in self.builds.getItems()
            if artifact.state in (artifact.State.DELETING,
                                  artifact.State.READY)]
        if not self.registry.waitForSync(SYNC_TIMEOUT):
            raise TimeoutError('The records of uploads are not up to date')
        # What comes up from here on is nothing to delete.
        uploads = self.registry.getItems()
        keepers = self._getKeepers()
        for upload in self._getHandled(uploads):
            with self._alone(upload):
                if self._isOld(upload, keepers):
                    self.deletes.addUpload(upload)
        latest = max((upload.timestamp or 0 for upload in uploads), default=0)
        uploaded = {upload.artifact_uuid for upload in uploads}
        for artifact in artifacts:
            with self._alone(artifact):
                # Those that are newer than any upload may get some.
                if (artifact.uuid not in uploaded
                        and latest and artifact.timestamp <= latest):
                    self.deletes.addArtifact(artifact)

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

    def _isOld(self, upload, keepers):
        artifact = self._getArtifact(upload)
        if artifact is None:
            return False
        if not any(getProviders(self.launcher.scope, upload)):
            # The provider may be gone, or just not load.  It should find
            # its images when it comes back.
            self.log.warning('Keeping %s, for nobody knows the providers %s',
                             upload, upload.providers)
            return False
        if upload.State.DELETING in (upload.state, artifact.state):
            return True
        kept = keepers[upload.canonical_name]
        return kept is not None and upload.uuid not in kept

    def checkMissingUploads(self):
        """Upload what has been built."""
        pending = collections.defaultdict(list)
        known = collections.defaultdict(list)
        for upload in self._getHandled(self.registry.getItems()):
            with self._alone(upload):
                if not self._isWanted(upload):
                    continue
                known[upload.artifact_uuid].append(upload)
                if not self.uploads.isFree(upload):
                    continue
                if (upload.state == upload.State.UPLOADING
                        and not upload.is_locked):
                    self.uploads.recover(upload)
                if upload.state == upload.State.PENDING:
                    pending[upload.artifact_uuid].append(upload)
        for artifact_uuid, uploads in pending.items():
            if artifact := self.builds.getItem(artifact_uuid):
                with self._alone(artifact):
                    self.uploads.start(
                        artifact, uploads, known[artifact_uuid])

    def _isWanted(self, upload):
        artifact = self._getArtifact(upload)
        if artifact is None or artifact.state != artifact.State.READY:
            return False
        if upload.state == upload.State.DELETING:
            return False
        if findProvider(self.launcher.scope, upload) is None:
            self.log.warning(
                'Not looking after %s, for none of the providers %s is known '
                'to have the image', upload, upload.providers)
            return False
        return True

    def _getHandled(self, uploads):
        """:return: yields those at endpoints that are ours to handle."""
        endpoints = self.launcher.getEndpoints()
        for upload in uploads:
            if upload.endpoint_name in endpoints:
                yield upload

    def _getArtifact(self, upload):
        artifact = self.builds.getItem(upload.artifact_uuid)
        if artifact is None:
            self.log.warning('Unable to find the artifact of %s', upload)
        return artifact

    @contextlib.contextmanager
    def _alone(self, record):
        """What goes wrong with a record does not concern others."""
        try:
            yield
        except Exception:
            self.log.exception('Unable to look after %s:', record)

    # What nodes get

    def getExternalId(self, node, provider):
        """
        :param ProviderNode node: which is to be made.
        :param BaseProvider provider: that makes it, the tenant's.
        :return: what the cloud calls the image, or None if that is not
            Zuul's affair.
        :raises NoImageError: there is none.
        """
        image = self._getImage(provider, node.label)
        if image is None:
            return None
        if upload := self._getTested(node, image):
            if not (upload.external_id
                    and upload.isPermittedForProvider(image, provider)):
                raise NoImageError(
                    f'{provider} does not have the upload {upload.uuid} of '
                    f'the image {image.name}, which is to be validated')
            return upload.external_id
        ready = self._getReady(image, provider)
        if not ready:
            raise NoImageError(
                f'{provider} has no upload of the image {image.name} that '
                'is ready and validated')
        return ready[-1].external_id

    def isReady(self, provider, label_name):
        """:return: whether there is an image for new nodes of a label."""
        image = self._getImage(provider, label_name)
        return image is None or bool(self._getReady(image, provider))

    def canUse(self, request, provider, label_name):
        """
        :param NodesetRequest request: perhaps of a job that validates an
            upload.
        :return: whether the provider can make nodes of a label for it.
        """
        image = self._getImage(provider, label_name)
        if image is None or not request.image_upload_uuid:
            return True
        try:
            upload = self._getTested(request, image)
        except NoImageError:
            return image.name not in (request.image_names or ())
        return upload is None or bool(
            upload.external_id
            and upload.isPermittedForProvider(image, provider))

    def _getImage(self, provider, label_name):
        """:return: a label's image, or None if it is none of Zuul's."""
        image = provider.images.get(provider.labels[label_name].image)
        return image if image and image.type == 'zuul' else None

    def _getTested(self, node, image):
        """:return: the upload of that very image that the node is to
            test, or None.
        :raises NoImageError: it is gone; of what image it was is not
            known.
        """
        if not node.image_upload_uuid:
            return None
        upload = self.registry.getItem(node.image_upload_uuid)
        if upload is None:
            raise NoImageError(
                f'The upload {node.image_upload_uuid}, which is to be '
                'validated, is gone')
        same = upload.canonical_name == image.canonical_name
        return upload if same else None

    def _getReady(self, image, provider):
        """:return: a list of uploads, the newest last."""
        return [upload for upload in self.registry.getUploadsForImage(
                    image.canonical_name)
                if isInService(upload, image, provider)]

    # What the scheduler is told

    def addValidateEvent(self, transaction, upload):
        """Have an upload validated.

        :param Transaction transaction: that makes it ready.
        """
        artifact = self._getArtifact(upload)
        if artifact is None:
            return
        hostname, _, name = artifact.project_canonical_name.partition('/')
        driver = self.launcher.connections.drivers['zuul']
        event = driver.getImageValidateEvent(
            [artifact.name], hostname, name, artifact.project_branch,
            upload.uuid)
        tenant_name = artifact.build_tenant_name
        self.log.info('Submitting the event %s of %s to the tenant %s',
                      event.type, artifact, tenant_name)
        transaction.trigger(
            self.launcher.trigger_events[tenant_name], event)
