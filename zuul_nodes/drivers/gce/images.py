"""Upload, import, copy and delete images, and create them from instances."""

import functools
import logging
import math
import threading
import time

from zuul_nodes.drivers import (
    DriverError,
    PermanentError,
    TemporaryError,
    reportGone,
)
from zuul_nodes.drivers.gce import tags
from zuul_nodes.drivers.gce.allowed import checkUrl
from zuul_nodes.drivers.gce.errors import (
    getFailure,
    isConflict,
    isGone,
    isMissing,
)
from zuul_nodes.drivers.gce.names import makeLabels, makeName
from zuul_nodes.drivers.gce.quota import getName
from zuul_nodes.drivers.gce.storage import Storage
from zuul_nodes.drivers.gce.storage import makeName as makeObjectName
from zuul_nodes.drivers.gce.urls import IMAGE, getUrl, split


class Images:
    """Creates and deletes the images of a project.  An image's id is its path.

    :param Client client:
    :ivar float interval: seconds between two requests for the state of an
        image.
    """

    log = logging.getLogger('zuul.nodes.drivers.gce')
    interval = 3

    def __init__(self, client):
        self.client = client
        self._stopped = threading.Event()
        self.storage = Storage(client, self._check)

    def stop(self):
        self._stopped.set()

    def _check(self):
        if self._stopped.is_set():
            raise TemporaryError('The operation has ended because the '
                                 'launcher stops')

    def uploadImage(self, spec, path):
        """:return: the id of the image."""
        name = makeObjectName(spec.upload_id)
        try:
            url = self.storage.uploadFile(path, spec.format, name, spec.tags)
            return self._make(spec, raw_disk={'source': url})
        finally:
            self._deleteObject(name)

    def _deleteObject(self, name):
        try:
            self.storage.deleteObject(name)
        except Exception as error:
            # It is a leaked resource once the upload does not exist any more.
            self.log.warning('Unable to delete %s: %s', name, error)

    def importImage(self, spec, url):
        """
        :return: the id of the image.
        :raises GoneError: the URL does not exist.
        """
        is_image = url.startswith(IMAGE)
        if not is_image:
            checkUrl(self.client.connection, url)
        with reportGone('Google', url, functools.partial(self._lookUp, url),
                        isMissing, self.log):
            return (self.copyImage(spec, url.removeprefix(IMAGE)) if is_image
                    else self._importObject(spec, url))

    def _lookUp(self, url):
        """:raises DriverError: the resource at a URL cannot be read."""
        if url.startswith(IMAGE):
            _, project, *_, name = url.removeprefix(IMAGE).split('/')
            self.client.call('Images', 'get', project=project, image=name)
        else:
            self.storage.getVersion(url)

    def _importObject(self, spec, url):
        source = {'source': getUrl(*split(url))}
        if not spec.md5:
            return self._make(spec, raw_disk=source)
        generation, md5 = self.storage.getVersion(url)
        if md5 != spec.md5.lower():
            raise PermanentError(
                f'The md5 of {url} is {md5}, but the artifact has {spec.md5}')
        image_id = self._make(spec, raw_disk=source)
        if self.storage.getVersion(url)[0] != generation:
            self.deleteImage(image_id)
            raise DriverError(f'{url} has changed while an image was created '
                              'from it')
        return image_id

    def isVerified(self, spec, url):
        """:return: whether an object has the MD5 of the artifact.  Google
            reports no other checksum, and none for objects that were uploaded
            in parts.  The MD5 may also be that of the disk in the archive."""
        try:
            return bool(spec.md5) and (
                self.storage.getVersion(url)[1] == spec.md5.lower())
        except DriverError as error:
            self.log.info('Unable to read %s: %s', url, error)
            return False

    def downloadObject(self, url, path):
        """:return: whether the URL is one of Cloud Storage."""
        if split(url) is None:
            return False
        self.storage.downloadObject(url, path)
        return True

    def copyImage(self, spec, image_id):
        """:return: the id of the image."""
        return self._make(spec, source_image=image_id)

    def createSnapshot(self, spec, instance_id):
        """:return: the URL for the image's artifact."""
        zone, _, name = instance_id.partition('/')
        instance = self.client.call(
            'Instances', 'get', zone=zone, instance=name)
        disk = next(disk for disk in instance.disks if disk.boot)
        return IMAGE + self._make(
            spec, source_disk=f'zones/{zone}/disks/{getName(disk.source)}')

    def listImages(self):
        """:return: yields (id, tags) of images that could be Zuul's."""
        for image in self.client.list(
                'Images', filter='labels.zuul_system_id:*'):
            yield (self._getPath(image.name),
                   tags.load(image.description)['tags'])

    def deleteImage(self, image_id):
        try:
            self.client.call('Images', 'delete_unary',
                             image=getName(image_id))
        except DriverError as error:
            if not isGone(error):
                raise

    def _getPath(self, name):
        return f'projects/{self.client.project}/global/images/{name}'

    def _make(self, spec, **source):
        """Create an image, and wait until it is ready.

        :param source: of the image, in the terms of the API.
        :return: its id.
        """
        # The prefix shows operators that it is Zuul's.
        name = makeName(f'zuul-{spec.name}')
        body = {'name': name, 'description': tags.describe(spec.tags),
                'labels': makeLabels(spec.tags), **source}
        if 'raw_disk' in source:
            # Images from other sources inherit these.
            body['architecture'] = spec.image.architecture
            body['guest_os_features'] = [
                {'type_': feature} for feature in
                spec.image.guest_os_features]
        try:
            operation = self.client.call(
                'Images', 'insert_unary', image_resource=body,
                # Required for the disk of a running instance.
                force_create='source_disk' in source).name
        except DriverError as error:
            if not isConflict(error):
                raise
            # The answer to an earlier call was lost.
            operation = None
        self._wait(name, operation, spec.timeout)
        return self._getPath(name)

    def _wait(self, name, operation, timeout):
        # Without a time-out, the wait may take any time.
        end = time.monotonic() + (timeout or math.inf)
        while not self._isReady(name, operation):
            if time.monotonic() > end:
                raise DriverError(
                    f'Image {name} was not ready after {timeout} seconds')
            self._stopped.wait(self.interval)
            self._check()

    def _isReady(self, name, operation):
        """
        :raises DriverError: the image has failed.
        """
        if operation is not None:
            found = self.client.call(
                'GlobalOperations', 'get', operation=operation)
            if found.status != found.Status.DONE:
                return False
            if error := getFailure(found):
                raise error
        image = self.client.call('Images', 'get', image=name)
        if image.status == 'FAILED':
            self.deleteImage(name)
            raise DriverError(f'GCE: image {name} is FAILED')
        return image.status == 'READY'
