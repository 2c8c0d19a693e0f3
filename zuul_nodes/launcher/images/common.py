"""Images: the parts that look after them, and which upload a node gets.

All is decided from Zuul's records of artifacts and uploads, as they are
at the moment, and from the configuration.  What is to be done takes its
time: see :mod:`zuul_nodes.launcher.images.uploads` and
:mod:`zuul_nodes.launcher.images.deletion`.
"""

import collections
import contextlib
import functools
import logging

from zuul_nodes import gonefiles, uploadboots
from zuul_nodes.imagepipelines import ImagePipelines
from zuul_nodes.imageuse import isUsable
from zuul_nodes.launcher.images.builds import ImageBuilds
from zuul_nodes.launcher.images.events import ImageEvents
from zuul_nodes.launcher.images.eventtracker import EventTracker
from zuul_nodes.launcher.images.policy import Tenants, isInService, isRejected
from zuul_nodes.launcher.images.reconciler import KEY, alone
from zuul_nodes.launcher.images.retention import Retention
from zuul_nodes.launcher.images.transfers import findProvider
from zuul_nodes.launcher.images.uploads import Uploads
from zuul_nodes.launcher.images.validation import Validation
from zuul_nodes.launcher.zookeeper import sync


class NoImageError(Exception):
    """There is no image for a node."""


class Images:
    """
    :param launcher: what :class:`zuul_nodes.launcher.Launcher` offers to
        its parts.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, launcher):
        self.launcher = launcher
        self.builds = launcher.image_build_registry
        self.registry = launcher.image_upload_registry
        self.events = ImageEvents(launcher)
        self.pipelines = ImagePipelines(
            launcher, lambda: launcher.queue.add(KEY))
        self.tenants = Tenants(launcher, self.pipelines)
        event_tracker = EventTracker(
            launcher.zk_client.client, lambda: launcher.queue.add(KEY))
        parts = (launcher, self.events, self.pipelines, self.tenants,
                 event_tracker)
        self.validation = Validation(*parts)
        self.retention = Retention(*parts)
        self.missing = ImageBuilds(*parts)
        self.uploads = Uploads(launcher, self.validation.addEvent)

    def start(self):
        self.launcher.queue.add(KEY)

    def stop(self):
        """Begin nothing any more; downloads end early."""
        self.uploads.stop()
        self.retention.deletion.stop()

    def join(self, timeout):
        """Wait for what drivers do, which nobody can end, but not for ever.

        ZooKeeper is needed until then.

        :param float timeout: in seconds, for uploads and deletes each.
        """
        self.uploads.join(timeout)
        self.retention.deletion.join(timeout)

    def reconcile(self):
        """See what is to be built, uploaded, validated and deleted, and
        have it done.

        To be called when the layouts of all tenants are known.
        """
        if self.uploads.stopping.is_set():
            return
        with contextlib.ExitStack() as steps:
            # The last comes first; whatever one of them raises, all have
            # their turn.
            for step in (self._forgetRemarks, self._forgetGoneFiles,
                         self.missing.reconcile,
                         self._validate, self.checkMissingUploads,
                         self.retention.reconcile):
                steps.callback(step)

    def _forgetRemarks(self):
        """Forget what is on record of uploads that are gone."""
        client, remarks = (
            self.launcher.zk_client.client, self.launcher.image_remarks)
        for keys, forget in (
                (remarks.getKeys(), remarks.forget),
                (uploadboots.getUploads(client), functools.partial(
                    uploadboots.forget, client))):
            if keys - self._getUploadIds():
                # One that replaces another is written with what is said of
                # it.
                sync(self.registry)
                for key in keys - self._getUploadIds():
                    forget(key)

    def _forgetGoneFiles(self):
        """Forget what is on record of builds that are gone themselves."""
        gone = gonefiles.getIds(self.launcher.zk_client.client)
        if all(map(self.builds.getItem, gone)):
            return
        sync(self.builds)
        for key in gone:
            if self.builds.getItem(key) is None:
                gonefiles.forget(self.launcher.zk_client.client, key)

    def _getUploadIds(self):
        return {upload.uuid for upload in self.registry.getItems()}

    def _validate(self):
        self.validation.reconcile(
            list(self._getHandled(self.registry.getItems())))

    def checkMissingUploads(self):
        """Upload what has been built."""
        pending = collections.defaultdict(list)
        known = collections.defaultdict(list)
        gone = gonefiles.getIds(self.launcher.zk_client.client)
        for upload in self._getHandled(self.registry.getItems()):
            with alone(self.launcher, upload):
                if not self._isWanted(upload):
                    continue
                known[upload.artifact_uuid].append(upload)
                if not self.uploads.isFree(upload):
                    continue
                if _isForgotten(upload) or (
                        _isToBeTried(upload)
                        and upload.artifact_uuid not in gone
                        and not self._isPaused(upload)):
                    self.uploads.recover(upload)
                if (upload.state == upload.State.PENDING
                        and not self._isPaused(upload)):
                    pending[upload.artifact_uuid].append(upload)
        for artifact_uuid, uploads in pending.items():
            if artifact := self.builds.getItem(artifact_uuid):
                with alone(self.launcher, artifact):
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

    def _isPaused(self, upload):
        return self.launcher.image_steering.isPaused(upload.canonical_name)

    def _getHandled(self, uploads):
        """:return: yields those at endpoints that are ours to handle, and
            are started: we are told when others are."""
        endpoints = self.launcher.getEndpoints()
        for upload in uploads:
            endpoint = endpoints.get(upload.endpoint_name)
            if endpoint and endpoint.started:
                yield upload

    def _getArtifact(self, upload):
        artifact = self.builds.getItem(upload.artifact_uuid)
        if artifact is None:
            self.log.warning('Unable to find the artifact of %s', upload)
        return artifact

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
                    and isUsable(upload, image, provider)):
                raise NoImageError(
                    f'{provider} does not have the upload {upload.uuid} of '
                    f'the image {image.name}, which is to be validated')
            uploadboots.add(self.launcher.zk_client.client, upload.uuid,
                            (node.uuid, *(node.subnodes or ())))
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
            upload.external_id and isUsable(upload, image, provider))

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
        """:return: a list of uploads, that of the newest build last."""
        return [upload for upload in self.retention.getUploads(
                    image.canonical_name)
                if isInService(upload, image, provider)]


def _isForgotten(upload):
    return upload.state == upload.State.UPLOADING and not upload.is_locked


def _isToBeTried(upload):
    return upload.state == upload.State.FAILED and not isRejected(upload)
