"""Images: uploaded, imported, copied, made of instances, and removed."""

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

# Seconds between two looks at what is under way.
INTERVAL = 3


class Images:
    """The images of a project.  Their id is the path.

    :param Client client:
    """

    log = logging.getLogger('zuul.nodes.drivers.gce')

    def __init__(self, client):
        self.client = client
        self._stopped = threading.Event()
        self.storage = Storage(client, self._check)

    def stop(self):
        self._stopped.set()

    def _check(self):
        if self._stopped.is_set():
            raise TemporaryError('The launcher stops')

    def upload(self, spec, path):
        """:return: the id of the image."""
        name = makeObjectName(spec.upload_id)
        try:
            url = self.storage.upload(path, spec.format, name, spec.tags)
            return self._make(spec, raw_disk={'source': url})
        finally:
            self._deleteObject(name)

    def _deleteObject(self, name):
        try:
            self.storage.delete(name)
        except Exception as error:
            # It is found when the upload is gone.
            self.log.warning('Unable to remove %s: %s', name, error)

    def importImage(self, spec, url):
        """
        :return: the id of the image.
        :raises GoneError: there is nothing at the URL.
        """
        is_image = url.startswith(IMAGE)
        if not is_image:
            checkUrl(self.client.connection, url)
        with reportGone('Google', url, functools.partial(self._look, url),
                        isMissing, self.log):
            return (self.copy(spec, url.removeprefix(IMAGE)) if is_image
                    else self._importObject(spec, url))

    def _look(self, url):
        """:raises DriverError: Google does not show what is at a URL."""
        if url.startswith(IMAGE):
            _, project, *_, name = url.removeprefix(IMAGE).split('/')
            self.client.call('Images', 'get', project=project, image=name)
        else:
            self.storage.look(url)

    def _importObject(self, spec, url):
        source = {'source': getUrl(*split(url))}
        if not spec.md5:
            return self._make(spec, raw_disk=source)
        generation, md5 = self.storage.look(url)
        if md5 != spec.md5.lower():
            raise PermanentError(
                f'The md5 of {url} is {md5}, the artifact says {spec.md5}')
        image_id = self._make(spec, raw_disk=source)
        if self.storage.look(url)[0] != generation:
            self.delete(image_id)
            raise DriverError(f'{url} was written again while an image was '
                              'made of it, and may be another one')
        return image_id

    def isVerified(self, spec, url):
        """:return: whether an object has the MD5 that the artifact says.
            Google tells no other checksum, and none of what was uploaded in
            parts; and it may be that of what is packed in the archive."""
        try:
            return bool(spec.md5) and (
                self.storage.look(url)[1] == spec.md5.lower())
        except DriverError as error:
            self.log.info('Unable to look at %s: %s', url, error)
            return False

    def download(self, url, path):
        """:return: whether the URL is one of Cloud Storage."""
        if split(url) is None:
            return False
        self.storage.download(url, path)
        return True

    def copy(self, spec, image_id):
        """:return: the id of the image."""
        return self._make(spec, source_image=image_id)

    def snapshot(self, spec, instance_id):
        """:return: what the image's artifact has for its URL."""
        zone, _, name = instance_id.partition('/')
        instance = self.client.call(
            'Instances', 'get', zone=zone, instance=name)
        disk = next(disk for disk in instance.disks if disk.boot)
        return IMAGE + self._make(
            spec, source_disk=f'zones/{zone}/disks/{getName(disk.source)}')

    def list(self):
        """:return: yields (id, tags) of images that could be Zuul's."""
        for image in self.client.list(
                'Images', filter='labels.zuul_system_id:*'):
            yield (self._getPath(image.name),
                   tags.load(image.description)['tags'])

    def delete(self, image_id):
        try:
            self.client.call('Images', 'delete_unary',
                             image=getName(image_id))
        except DriverError as error:
            if not isGone(error):
                raise

    def _getPath(self, name):
        return f'projects/{self.client.project}/global/images/{name}'

    def _make(self, spec, **source):
        """Make an image, and wait for it.

        :param source: what it is made of, as the API has it.
        :return: its id.
        """
        # Of which people recognize whose it is.
        name = makeName(f'zuul-{spec.name}')
        body = {'name': name, 'description': tags.describe(spec.tags),
                'labels': makeLabels(spec.tags), **source}
        if 'raw_disk' in source:
            # The others have it of what they are made of.
            body['architecture'] = spec.image.architecture
            body['guest_os_features'] = [
                {'type_': feature} for feature in
                spec.image.guest_os_features]
        try:
            operation = self.client.call(
                'Images', 'insert_unary', image_resource=body,
                # Also of the disk of an instance that runs.
                force_create='source_disk' in source).name
        except DriverError as error:
            if not isConflict(error):
                raise
            # Of an earlier call whose answer nobody has heard.
            operation = None
        self._wait(name, operation, spec.timeout)
        return self._getPath(name)

    def _wait(self, name, operation, timeout):
        # Without a limit, there is no hurry.
        end = time.monotonic() + (timeout or math.inf)
        while not self._isReady(name, operation):
            if time.monotonic() > end:
                raise DriverError(
                    f'Image {name} was not ready after {timeout} seconds')
            self._stopped.wait(INTERVAL)
            self._check()

    def _isReady(self, name, operation):
        """
        :raises DriverError: it never will be.
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
            self.delete(name)
            raise DriverError(f'GCE: image {name} is FAILED')
        return image.status == 'READY'
