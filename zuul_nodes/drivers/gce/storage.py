"""Files in Cloud Storage, from which images are created."""

import base64

from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.gce.allowed import checkUrl
from zuul_nodes.drivers.gce.archive import UNIT, Archive
from zuul_nodes.drivers.gce.client import Translation
from zuul_nodes.drivers.gce.errors import isMissing
from zuul_nodes.drivers.gce.urls import ARCHIVE, getUrl, split

PREFIX = 'zuul-nodes/'


class Storage:
    """Uploads, lists and deletes objects.

    :param Client client:
    :param check: called regularly; an error from it ends the transfer.
    :ivar int chunk_size: bytes that are sent at once; a multiple of 256 KiB.
    :ivar int unit: the size of a disk is a multiple of this.
    """

    chunk_size = 16 << 20
    unit = UNIT

    def __init__(self, client, check):
        self.client = client
        self.check = check

    def uploadFile(self, path, image_format, name, tags):
        """
        :param str path: of a disk, or of a tar archive that contains one.
        :param str name: the result of :func:`makeName`.
        :return: the URL of the object.
        """
        with Translation(), open(path, 'rb') as file:
            blob = self._getBucket().blob(name, self.chunk_size)
            blob.metadata = tags
            # The library repeats failed parts for up to two minutes, so that
            # an error does not restart the whole upload.
            blob.upload_from_file(
                Archive(file, image_format, self.check, self.unit),
                content_type='application/gzip', timeout=self.client.timeout)
        return getUrl(blob.bucket.name, name)

    def hasBucket(self, name):
        """:return: whether a bucket exists."""
        with Translation():
            return self.client.storage.lookup_bucket(
                name, timeout=self.client.timeout, retry=None) is not None

    def listObjects(self):
        """:return: yields (name, tags) of the objects."""
        if not self.client.connection.bucket:
            return
        with Translation():
            for blob in self.client.storage.list_blobs(
                    self._getBucket(), prefix=PREFIX,
                    timeout=self.client.timeout, retry=None):
                yield blob.name, blob.metadata or {}

    def deleteObject(self, name):
        """Delete an object; do nothing if it does not exist."""
        try:
            with Translation():
                self._getBucket().blob(name).delete(
                    timeout=self.client.timeout, retry=None)
        except DriverError as error:
            if not isMissing(error):
                raise

    def downloadObject(self, url, path):
        """:param str url: of an object."""
        checkUrl(self.client.connection, url)
        bucket, name = split(url)
        with Translation():
            self.client.storage.bucket(bucket).blob(
                name).download_to_filename(path, timeout=self.client.timeout)

    def getVersion(self, url):
        """
        :param str url: of an object.
        :return: its generation, which changes with each write, and its MD5 in
            hexadecimal, or None if it was uploaded in parts.
        """
        checkUrl(self.client.connection, url)
        bucket, name = split(url)
        with Translation():
            blob = self.client.storage.bucket(bucket).blob(name)
            blob.reload(timeout=self.client.timeout, retry=None)
        md5 = blob.md5_hash
        return blob.generation, md5 and base64.b64decode(md5).hex()

    def _getBucket(self):
        connection = self.client.connection
        if not connection.bucket:
            raise PermanentError(
                f'[connection {connection.connection_name}] has no "bucket", '
                'which is required to upload images')
        return self.client.storage.bucket(connection.bucket)


def makeName(upload_id):
    """:return: the name of an object."""
    return f'{PREFIX}{upload_id}.{ARCHIVE}'
