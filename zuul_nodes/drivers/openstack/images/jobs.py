"""The ways of an image into the cloud.

All have :class:`NewImage` make it; they differ in what puts its data there.
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
# What a file begins with -> its format.
_BEGINNINGS = {b'QFI\xfb': 'qcow2', b'KDMV': 'vmdk', b'vhdxfile': 'vhdx'}


class UploadJob(BaseImageUploadJob):
    """The launcher sends a file.

    :param NewImage new_image:
    :param bool staged: the cloud imports it after that.
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
            return new_image.make(functools.partial(self._fill, file))

    def _fill(self, file, image_id):
        new_image = self.new_image
        body = Body(new_image.name, functools.partial(_readBlocks, file),
                    os.fstat(file.fileno()).st_size,
                    new_image.endpoint.stopping)
        if not self.staged:
            new_image.send(image_id, body)
            return body.checksums
        new_image.send(image_id, body, 'stage')
        new_image.importBy(image_id, GLANCE_DIRECT)
        # The cloud may convert it.
        return {}


class WebDownloadJob(BaseImageImportJob):
    """The cloud downloads the artifact.

    :param NewImage new_image:
    :param str url: may have secrets in it.
    :param fail: called if it fails.
    """

    def __init__(self, new_image, url, fail):
        super().__init__()
        self.new_image = new_image
        self.url = url
        self.fail = fail

    def run(self):
        self.new_image.log.info('Importing image %s', self.new_image.name)
        with _reporting(self.fail):
            return self.new_image.make(self._fill)

    def _fill(self, image_id):
        self.new_image.importBy(image_id, WEB_DOWNLOAD, uri=self.url)
        return self.new_image.checksums


class GlanceDownloadJob(BaseImageCopyJob):
    """The cloud downloads an image from a Glance that it is federated with.

    :param NewImage new_image:
    :param ImageReader source: of the endpoint that has the image.
    :param fail: called if it fails.
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
            return new_image.make(functools.partial(self._fill, image))

    def _fill(self, image, image_id):
        self.new_image.importBy(
            image_id, GLANCE_DOWNLOAD, glance_image_id=image.id,
            glance_region=self.source.endpoint.getRegionName())
        return getChecksums(image)


class SnapshotImportJob(BaseImageImportJob):
    """The cloud copies a snapshot that is there already.

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
    """The launcher sends what it gets from another cloud.

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
        return new_image.make(functools.partial(self._fill, image))

    def _fill(self, image, image_id):
        with self.source.openImage(image) as read:
            body = Body(self.new_image.name, read, image.size,
                        self.new_image.endpoint.stopping)
            self.new_image.send(image_id, body)
        checksums = getChecksums(image)
        if any(checksums.get(name, checksum) != checksum
               for name, checksum in body.checksums.items()):
            raise ImageFailed(f'Image {image.id} has come from '
                              f'{self.source.endpoint.name} with errors')
        return body.checksums


def getChecksums(image):
    """:return: what a cloud tells of an image: algorithm -> checksum."""
    return {name: value for name, value in (
        ('md5', image.checksum), (image.hash_algo, image.hash_value))
        if value}


def findFormat(path):
    """:return: the format of a disk that Nova has made an image of."""
    with open(path, 'rb') as file:
        beginning = file.read(8)
    return next((name for mark, name in _BEGINNINGS.items()
                 if beginning.startswith(mark)), 'raw')


def _readBlocks(file):
    # Also if it has to be sent again.
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
