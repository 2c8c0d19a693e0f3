"""Which upload of an image a node gets."""

from zuul_nodes import uploadboots
from zuul_nodes.imageuse import isUsable
from zuul_nodes.launcher.images.policy import isInService


class NoImageError(Exception):
    """There is no image for a node."""


class NodeImages:
    """
    :param ImageRecords records: of all images.
    """

    def __init__(self, records):
        self.records = records

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
        upload = self.records.uploads.getItem(node.image_upload_uuid)
        if upload is None:
            raise NoImageError(
                f'The upload {node.image_upload_uuid}, which is to be '
                'validated, is gone')
        same = upload.canonical_name == image.canonical_name
        return upload if same else None

    def _getReady(self, image, provider):
        """:return: a list of uploads, that of the newest build last."""
        return [upload for upload in self.records.getUploads(
                    image.canonical_name)
                if isInService(upload, image, provider)]
