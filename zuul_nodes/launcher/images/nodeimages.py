"""Selection of the upload of an image for a node."""

from zuul.model import ImageUpload

from zuul_nodes import uploadboots
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imageuse import isUsable
from zuul_nodes.launcher.images.policy import isInService, isWaiting
from zuul_nodes.launcher.images.schedule import getAge

UNFINISHED_STATES = (ImageUpload.State.PENDING, ImageUpload.State.UPLOADING)


class NoImageError(Exception):
    """No image is available for a node."""


class NodeImages:
    """Selects images for nodes.

    :param ImageRecords records: of all images.
    :param isUnderWay: as :meth:`.ImageEvents.isUnderWay`.
    :param float timeout: seconds after which an upload is not expected to end.
    """

    def __init__(self, records, isUnderWay=lambda kind, key: False,
                 timeout=0):
        self.records = records
        self._isUnderWay = isUnderWay
        self.timeout = timeout

    def getExternalId(self, node, provider):
        """Select the image for a node.

        :param ProviderNode node: the node to launch.
        :param BaseProvider provider: the tenant's provider that launches it.
        :return: the cloud's id of the image, or None if Zuul does not manage
            the image.
        :raises NoImageError: no image is available.
        """
        image = self._getImage(provider, node.label)
        if image is None:
            return None
        if upload := self._getTested(node, image):
            if not (upload.external_id
                    and isUsable(upload, image, provider)):
                raise NoImageError(
                    f'{provider} does not have the upload {upload.uuid} of '
                    f'the image {image.name}, which a job validates')
            uploadboots.add(self.records.client, upload.uuid,
                            (node.uuid, *(node.subnodes or ())))
            return upload.external_id
        ready = self._getReady(image, provider)
        if not ready:
            raise NoImageError(
                f'{provider} has no upload of the image {image.name} that '
                'is ready and validated')
        return ready[-1].external_id

    def isReady(self, provider, label_name):
        """:return: whether an image for new nodes of a label is available."""
        image = self._getImage(provider, label_name)
        return image is None or bool(self._getReady(image, provider))

    def isUnderWay(self, provider, label_name):
        """:return: whether a build of a label's image, an upload of it to a
            provider or its validation has begun and not ended yet."""
        image = self._getImage(provider, label_name)
        return image is not None and (
            self._isUnderWay(EventKind.BUILD, image.canonical_name) or any(
                isUsable(upload, image, provider) and (
                    self._isUnderWay(EventKind.VALIDATE, upload.uuid)
                    if isWaiting(upload) else
                    upload.state in UNFINISHED_STATES
                    and getAge(upload.timestamp) < self.timeout)
                for upload in self.records.getUploads(image.canonical_name)))

    def canUse(self, request, provider, label_name):
        """
        :param NodesetRequest request: which may be of a validation job.
        :return: whether the provider can ever launch nodes of a label for it.
        """
        tested = self._findTested(request, provider, label_name)
        return tested is not False

    def hasImage(self, request, provider, label_name):
        """
        :param NodesetRequest request: which may be of a validation job.
        :return: whether the provider has the image for new nodes of a label
            now.
        """
        tested = self._findTested(request, provider, label_name)
        return (self.isReady(provider, label_name) if tested is None
                else tested)

    def _findTested(self, request, provider, label_name):
        """:return: whether the provider can boot the upload that a request
            validates; None if nodes of the label boot something else."""
        image = self._getImage(provider, label_name)
        if image is None or not request.image_upload_uuid:
            return None
        try:
            upload = self._getTested(request, image)
        except NoImageError:
            return False if image.name in (request.image_names or ()) else None
        return None if upload is None else bool(
            upload.external_id and isUsable(upload, image, provider))

    def _getImage(self, provider, label_name):
        """:return: a label's image, or None if Zuul does not manage it."""
        image = provider.images.get(provider.labels[label_name].image)
        return image if image and image.type == 'zuul' else None

    def _getTested(self, node, image):
        """
        :return: the upload of the given image that the node validates, or
            None.
        :raises NoImageError: the upload is gone, and with it the name of its
            image.
        """
        if not node.image_upload_uuid:
            return None
        upload = self.records.uploads.getItem(node.image_upload_uuid)
        if upload is None:
            raise NoImageError(
                f'The upload {node.image_upload_uuid}, which a job '
                'validates, is gone')
        same = upload.canonical_name == image.canonical_name
        return upload if same else None

    def _getReady(self, image, provider):
        """:return: a list of uploads, that of the newest build last."""
        return [upload for upload in self.records.getUploads(
                    image.canonical_name)
                if isInService(upload, image, provider)]
