"""Upload images.

The launcher creates a disk, writes it in parts, and creates an image from it.

https://learn.microsoft.com/azure/virtual-machines/linux/disks-upload-vhd-to-managed-disk-cli
"""

from concurrent.futures import ThreadPoolExecutor
import os
import time

from zuul.provider import BaseImageUploadJob

from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.azure.names import fitName, fitTags

THREADS = 8
# Bytes of a page of Azure's disks.
PAGE = 512
# Seconds for which the signature is valid.
ACCESS = 24 * 3600
# Time-out in seconds of the deletion after a failure.
CLEAN_UP = 60


class UploadJob(BaseImageUploadJob):
    """Uploads an image.

    :param AzureEndpoint endpoint:
    :param str group: the resource group of the image.
    :param ProviderImage image:
    :param str name: of the image, before it is made valid for Azure.
    :param dict tags:
    :cvar int part_size: maximum number of bytes in one call.
    """

    part_size = 4 * 1024 ** 2

    def __init__(self, endpoint, group, image, name, tags):
        super().__init__()
        self.endpoint = endpoint
        self.group = group
        self.image = image
        self.name = fitName(name)
        self.tags = fitTags(tags)
        self.end = None

    def run(self, filename):
        """
        :param str filename: of a VHD of fixed size.
        :return: the id of the image.
        :raises DriverError: the upload has failed, and its remains were
            deleted as far as possible.
        """
        self.end = time.monotonic() + self.image.import_timeout
        size = os.path.getsize(filename)
        if not size or size % PAGE:
            raise PermanentError(
                f'Image {self.image.name} has {size} bytes, which is not a '
                f'multiple of {PAGE}: Azure requires a VHD of fixed size')
        self.endpoint.log.info('Uploading image %s', self.name)
        try:
            disk = self._createDisk(size)
            self._write(self._getUrl(), filename, size)
            self._post('endGetAccess', {})
            image_id = self._createImage(disk['id'])
        except Exception:
            self._cleanUp()
            raise
        self._tryTo(self._disks.delete)
        return image_id

    @property
    def _client(self):
        return self.endpoint.client

    @property
    def _disks(self):
        return self._client.resource_group_disks

    def _createDisk(self, size):
        return self._create(self._disks, {'creationData': {
            'createOption': 'Upload', 'uploadSizeBytes': size}})

    def _createImage(self, disk_id):
        profile = {'osDisk': {
            'osType': 'Linux', 'osState': 'Generalized',
            'managedDisk': {'id': disk_id}}}
        # Azure refuses this option in regions without zones.
        if self.endpoint.adapter.sizes.getZones():
            profile['zoneResilient'] = True
        return self._create(self._client.resource_group_images, {
            'hyperVGeneration': 'V2', 'storageProfile': profile})['id']

    def _create(self, crud, properties):
        """:return: a resource, once it exists."""
        with self.endpoint.calls.rate_limiter:
            answer = crud.create(self.group, self.name, {
                'location': self.endpoint.region, 'tags': self.tags,
                'properties': properties})
        self._await(answer)
        return answer

    def _getUrl(self):
        """:return: the URL for writing the disk; it contains a secret."""
        found = self._post('beginGetAccess', {
            'access': 'Write', 'durationInSeconds': ACCESS}) or {}
        # The format depends on the header with the operation.
        output = found.get('properties', {}).get('output') or found
        if 'accessSAS' not in output:
            raise DriverError(f'Azure gives no access to disk {self.name}')
        return output['accessSAS']

    def _post(self, action, data):
        with self.endpoint.calls.rate_limiter:
            answer = self._disks.post(self.group, self.name, action, data)
        return self._await(answer)

    def _await(self, answer):
        return self._client.await_(answer, self.end, self.endpoint.stopping)

    def _write(self, url, filename, size):
        with open(filename, 'rb') as file:
            descriptor = file.fileno()

            def send(start):
                if self.endpoint.stopping.is_set():
                    raise DriverError('The launcher stops')
                if time.monotonic() > self.end:
                    raise DriverError(
                        f'Image {self.name} is not uploaded after '
                        f'{self.image.import_timeout} s, its import-timeout')
                data = os.pread(descriptor, self.part_size, start)
                # A new disk contains zeros.
                if data.strip(b'\0'):
                    self._client.sendPart(url, start, data)
            with ThreadPoolExecutor(THREADS) as executor:
                try:
                    for _ in executor.map(
                            send, range(0, size, self.part_size)):
                        pass
                except BaseException:
                    executor.shutdown(wait=False, cancel_futures=True)
                    raise

    def _cleanUp(self):
        """Delete the remains; a later search by tags finds any others."""
        self.end = time.monotonic() + CLEAN_UP
        self._tryTo(self._client.resource_group_images.delete)
        # Azure does not delete a disk with write access.
        self._tryTo(lambda *names: self._await(self._disks.post(
            *names, 'endGetAccess', {})))
        self._tryTo(self._disks.delete)

    def _tryTo(self, act):
        try:
            with self.endpoint.calls.rate_limiter:
                pass
            act(self.group, self.name)
        except DriverError as error:
            self.endpoint.log.info('Unable to delete parts of the upload of '
                                   'image %s: %s',
                                   self.name, error)
