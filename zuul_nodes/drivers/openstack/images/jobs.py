"""Jobs that create an image in the cloud.

All jobs create it by :class:`NewImage`; they differ in the source of its data.
"""

import contextlib
import functools
import os

from zuul.provider import (
    BaseImageCopyJob,
    BaseImageImportJob,
    BaseImageUploadJob,
)

from zuul_nodes.drivers.openstack.config.imageattributes import (
    GLANCE_DIRECT,
    SNAPSHOT,
    WEB_DOWNLOAD,
)
from zuul_nodes.drivers.openstack.images.newimage import (
    BLOCK_SIZE,
    Body,
    ImageFailed,
)

GLANCE_DOWNLOAD = 'glance-download'
# The first bytes of a file -> its format.
_BEGINNINGS = {b'QFI\xfb': 'qcow2', b'KDMV': 'vmdk', b'vhdxfile': 'vhdx'}


class UploadJob(BaseImageUploadJob):
    """The launcher sends a file.

    :param NewImage new_image:
    :param bool staged: whether the cloud imports the file afterwards.
    """

    def __init__(self, new_image, staged):
        super().__init__()
        self.new_image = new_image
        self.staged = staged

    def run(self, filename):
        new_image = self.new_image
        if new_image.disk_format == SNAPSHOT:
            new_image.disk_format = findFormat(filename)
        new_image.log.info('Uploading image %s', new_image.name)
        with open(filename, 'rb') as file:
            return new_image.createImage(functools.partial(self._fill, file))

    def _fill(self, file, image_id):
        new_image = self.new_image
        body = Body(new_image.name, functools.partial(_readBlocks, file),
                    os.fstat(file.fileno()).st_size,
                    new_image.endpoint.stopping)
        if not self.staged:
            new_image.sendData(image_id, body)
            return body.checksums
        new_image.sendData(image_id, body, 'stage')
        new_image.importBy(image_id, GLANCE_DIRECT)
        # The cloud may convert the file, which changes its checksums.
        return {}


class WebDownloadJob(BaseImageImportJob):
    """The cloud downloads the artifact.

    :param NewImage new_image:
    :param str url: may contain secrets.
    :param fail: called after an error.
    """

    def __init__(self, new_image, url, fail):
        super().__init__()
        self.new_image = new_image
        self.url = url
        self.fail = fail

    def run(self):
        self.new_image.log.info('Importing image %s', self.new_image.name)
        with _reporting(self.fail):
            return self.new_image.createImage(self._fill)

    def _fill(self, image_id):
        self.new_image.importBy(image_id, WEB_DOWNLOAD, uri=self.url)
        return self.new_image.checksums


class GlanceDownloadJob(BaseImageCopyJob):
    """The cloud downloads an image from a Glance that it is federated with.

    :param NewImage new_image:
    :param ImageReader source: of the endpoint that has the image.
    :param fail: called after an error.
    """

    def __init__(self, new_image, source, fail):
        super().__init__()
        self.new_image = new_image
        self.source = source
        self.fail = fail

    def run(self, external_id):
        new_image = self.new_image
        new_image.log.info('Copying image %s from %s of %s', new_image.name,
                           external_id, self.source.endpoint.name)
        with _reporting(self.fail):
            image = self.source.getImage(external_id)
            new_image.disk_format = image.disk_format
            return new_image.createImage(
                functools.partial(self._fill, image))

    def _fill(self, image, image_id):
        self.new_image.importBy(
            image_id, GLANCE_DOWNLOAD, glance_image_id=image.id,
            glance_region=self.source.endpoint.getRegionName())
        return getChecksums(image)


class SnapshotImportJob(BaseImageImportJob):
    """The cloud copies one of its own snapshots.

    :param GlanceDownloadJob copy: from the same endpoint.
    :param str image_id: of the snapshot.
    """

    def __init__(self, copy, image_id):
        super().__init__()
        self.copy = copy
        self.image_id = image_id

    def run(self):
        return self.copy.run(self.image_id)


class StreamJob(BaseImageCopyJob):
    """The launcher sends the data that it reads from another cloud.

    :param NewImage new_image:
    :param ImageReader source: of the endpoint that has the image.
    """

    def __init__(self, new_image, source):
        super().__init__()
        self.new_image = new_image
        self.source = source

    def run(self, external_id):
        new_image = self.new_image
        new_image.log.info('Copying image %s from %s of %s', new_image.name,
                           external_id, self.source.endpoint.name)
        image = self.source.getImage(external_id)
        new_image.disk_format = image.disk_format
        return new_image.createImage(functools.partial(self._fill, image))

    def _fill(self, image, image_id):
        with self.source.openImage(image) as read:
            body = Body(self.new_image.name, read, image.size,
                        self.new_image.endpoint.stopping)
            self.new_image.sendData(image_id, body)
        checksums = getChecksums(image)
        if any(checksums.get(name, checksum) != checksum
               for name, checksum in body.checksums.items()):
            raise ImageFailed(f'Image {image.id} was damaged on the way from '
                              f'{self.source.endpoint.name}')
        return body.checksums


def getChecksums(image):
    """:return: the checksums that a cloud reports: algorithm -> checksum."""
    return {name: value for name, value in (
        ('md5', image.checksum), (image.hash_algo, image.hash_value))
        if value}


def findFormat(path):
    """:return: the format of an image that Nova has created from a disk."""
    with open(path, 'rb') as file:
        beginning = file.read(8)
    return next((name for mark, name in _BEGINNINGS.items()
                 if beginning.startswith(mark)), 'raw')


def _readBlocks(file):
    # The blocks may be sent again after an error.
    file.seek(0)
    while block := file.read(BLOCK_SIZE):
        yield block


@contextlib.contextmanager
def _reporting(fail):
    try:
        yield
    except Exception:
        fail()
        raise
