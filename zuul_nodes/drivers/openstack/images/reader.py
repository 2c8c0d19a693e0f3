"""Read the data of images of an endpoint."""

import contextlib
import functools

from openstack.exceptions import raise_from_response

from zuul_nodes.drivers.openstack.images.newimage import (
    BLOCK_SIZE,
    ERRORS,
    ImageFailed,
)


class ImageReader:
    """Reads images.

    :param OpenstackEndpoint endpoint: that has the images.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint

    def getImage(self, image_id):
        """
        :return: an existing image.
        :raises ImageFailed: it does not exist, or cannot be read.
        """
        try:
            return self.endpoint.client.image.get_image(image_id)
        except ERRORS as error:
            raise ImageFailed(f'Unable to get image {image_id} of '
                              f'{self.endpoint.name}: {error}') from None

    @contextlib.contextmanager
    def openImage(self, image):
        """
        :return: a function that yields the blocks of an image's file, once.
        :raises ImageFailed: the image has no file, as images of volumes.
        """
        response = self.endpoint.client.image.get(
            f'/images/{image.id}/file', stream=True)
        with contextlib.closing(response):
            raise_from_response(response)
            if response.status_code == 204:
                raise ImageFailed(f'Image {image.id} of '
                                  f'{self.endpoint.name} has no file')
            yield functools.partial(response.iter_content, BLOCK_SIZE)
