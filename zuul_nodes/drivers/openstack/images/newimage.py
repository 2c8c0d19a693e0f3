"""Create an image in the cloud.

A launcher that creates an image can die at any time.  So the image has the
tags of its upload from the beginning, which identify it if it leaks.

Image service API v2: https://docs.openstack.org/api-ref/image/v2/
"""

import hashlib
import logging
import re
import time

from keystoneauth1.exceptions import ClientException, ConnectFailure
from openstack.exceptions import (
    HttpException,
    SDKException,
    raise_from_response,
)

from zuul_nodes.drivers.openstack.cloud.errors import check
from zuul_nodes.drivers.openstack.cloud.names import fitName, fitProperties
from zuul_nodes.drivers.openstack.config import attributes

# Raised by openstacksdk and the libraries below it.
ERRORS = (ClientException, SDKException)
# Temporary states of an image.
UNDER_WAY = ('queued', 'importing', 'saving', 'uploading')
# Algorithms of the checksums that Glance reports by default.
ALGORITHMS = ('md5', 'sha512')
# Bytes that are sent at once.
BLOCK_SIZE = 1 << 20
# Seconds between two log lines about the progress.
PROGRESS_INTERVAL = 30
# Number of attempts to delete a failed image.
DELETE_ATTEMPTS = 3
# Fields of Glance that are booleans, and fields that are numbers.
BOOLEANS = ('os_hidden', 'protected')
NUMBERS = ('min_disk', 'min_ram')


class ImageFailed(Exception):
    """The cloud could not create the image, or its data is wrong."""


class Body:
    """The file of an image as the body of a request.

    It can be sent as often as its blocks can be read.

    :param str name: of the image.
    :param blocks: called to yield all blocks, bytes.
    :param int size: bytes of the file.
    :param Event stopping: set when the upload has to stop.
    :ivar dict checksums: of the data, once all was sent: algorithm ->
        checksum.
    """

    log = logging.getLogger('zuul.nodes.drivers.openstack')

    def __init__(self, name, blocks, size, stopping):
        self.name = name
        self.blocks = blocks
        self.size = size
        self.stopping = stopping
        self.checksums = {}

    def __len__(self):
        return self.size

    def __iter__(self):
        digests = [hashlib.new(name, usedforsecurity=False)
                   for name in ALGORITHMS]
        done = 0
        logged = time.monotonic()
        for block in self.blocks():
            if self.stopping.is_set():
                raise ImageFailed(f'The upload of image {self.name} has ended '
                                  'because the endpoint stops')
            for digest in digests:
                digest.update(block)
            yield block
            done += len(block)
            if time.monotonic() > logged + PROGRESS_INTERVAL:
                logged = time.monotonic()
                self.log.info(
                    'Sent image %s: %s of %s MiB, %s %%', self.name,
                    done >> 20, self.size >> 20, 100 * done // self.size)
        if done != self.size:
            raise ImageFailed(f'Image {self.name} should have {self.size} '
                              f'bytes, but its source has {done}')
        self.checksums = {digest.name: digest.hexdigest()
                          for digest in digests}


class NewImage:
    """Creates an image.

    :param OpenstackEndpoint endpoint: of the cloud.
    :param provider_image: the configuration of the image.
    :param str name: of the new image.
    :param str disk_format: of its file.
    :param dict metadata: its tags; may be None.
    :param md5, sha256: of the artifact's file, or None.
    :param str secret: a text that messages must not contain.
    """

    log = logging.getLogger('zuul.nodes.drivers.openstack')

    def __init__(self, endpoint, provider_image, name, disk_format, metadata,
                 md5, sha256, secret=''):
        self.endpoint = endpoint
        self.timeout = provider_image.import_timeout
        self.name = fitName(name)
        self.disk_format = disk_format
        self.metadata = fitProperties(metadata or {})
        self.md5 = md5
        self.sha256 = sha256
        self.secret = secret

    @property
    def checksums(self):
        """The checksums of the artifact: algorithm -> checksum."""
        return {name: value for name, value in (
            ('md5', self.md5), ('sha256', self.sha256)) if value}

    def createImage(self, fill):
        """
        :param fill: called with the id of the image, which has no data yet.
            Brings the data to the cloud, and returns its known checksums.
        :return: the id of the image, which is active.
        :raises ImageFailed: the image could not be created, or its data is
            wrong.
        """
        try:
            image_id = self._create()
            try:
                checksums = fill(image_id)
                self._verify(self._await(image_id), checksums)
            except Exception:
                self._delete(image_id)
                raise
        except ERRORS as error:
            raise ImageFailed(f'Unable to create image {self.name}: '
                              f'{self._describe(error)}') from None
        return image_id

    def sendData(self, image_id, body, part='file'):
        """
        :param Body body: the data.
        :param str part: ``stage`` if the cloud imports the data afterwards.
        """
        limit = self._client.session.timeout
        # The read time-out covers the whole transfer.
        raise_from_response(self._client.image.put(
            f'/images/{image_id}/{part}', data=body,
            headers={'Content-Type': 'application/octet-stream',
                     'Accept': ''},
            timeout=(limit, max(limit, self.timeout)),
            connect_retries=0, status_code_retries=0))

    def importBy(self, image_id, name, **arguments):
        """Start an import.

        :param str name: of Glance's method.
        :param arguments: of the method.
        """
        # openstacksdk would log the URL, both here and with the tasks.
        raise_from_response(self._client.image.post(
            f'/images/{image_id}/import', log=False,
            json={'method': {'name': name, **arguments}}))

    @property
    def _client(self):
        return self.endpoint.client

    def _create(self):
        tags = self.metadata
        if reserved := attributes.RESERVED & tags.keys():
            raise ImageFailed(
                f'Image {self.name} has tags with names of Glance\'s own '
                f'fields: {", ".join(sorted(reserved))}')
        # openstacksdk treats some tags as its own arguments, and uploads a
        # file that has the name of the image.
        return check(self._client.image.post('/images', json={
            'visibility': 'private', **{
                name: _convert(name, value) for name, value in tags.items()},
            # The properties that openstacksdk and Zuul's own driver set.
            'owner_specified.openstack.md5': self.md5 or '',
            'owner_specified.openstack.sha256': self.sha256 or '',
            'owner_specified.openstack.object': f'images/{self.name}',
            'name': self.name, 'disk_format': self.disk_format,
            'container_format': 'bare'})).json()['id']

    def _await(self, image_id):
        """:return: the image once it is active."""
        end = time.monotonic() + self.timeout
        begun = False
        while True:
            if image := self._getImage(image_id):
                if image.status == 'active':
                    return image
                if image.status not in UNDER_WAY or (
                        begun and image.status == 'queued'):
                    raise ImageFailed(
                        f'The cloud has not created image {self.name}: its '
                        f'status is {image.status}')
                begun = begun or image.status == 'importing'
            if time.monotonic() >= end:
                raise ImageFailed(
                    f'Image {self.name} is not active after '
                    f'{self.timeout} s, its import-timeout')
            if self.endpoint.stopping.wait(self.endpoint.import_interval):
                raise ImageFailed(
                    f'The wait for image {self.name} has ended because the '
                    'endpoint stops')

    def _getImage(self, image_id):
        """:return: the image, or None after a temporary error."""
        try:
            image = self._client.image.get_image(image_id)
            if image.status != 'active':
                self._checkTasks(image_id)
        except ConnectFailure:
            return None
        except HttpException as error:
            status = error.status_code or 0
            if status < 500 and status != 429:
                raise
            return None
        return image

    def _checkTasks(self, image_id):
        """
        :raises ImageFailed: an import has failed; the status of the image does
            not always change then.
        """
        response = self._client.image.get(
            f'/images/{image_id}/tasks', log=False)
        if response.status_code in (403, 404):
            # Some clouds have no tasks or do not return them.
            return
        raise_from_response(response)
        for task in response.json()['tasks']:
            if task['status'] == 'failure':
                raise ImageFailed(
                    f'The cloud has not imported image {self.name}: '
                    f'{self._describe(task["message"])}')

    def _verify(self, image, expected):
        actual = {'md5': image.checksum, image.hash_algo: image.hash_value}
        compared = {name: value for name, value in expected.items()
                    if actual.get(name)}
        if expected and not compared:
            raise ImageFailed(
                f'The cloud reports no checksum of image {self.name} of which '
                'the original is known')
        for name, value in compared.items():
            if value.lower() != actual[name].lower():
                raise ImageFailed(
                    f'The {name} of image {self.name} is {actual[name]} in '
                    f'the cloud, but {value} was expected. The file has '
                    'changed, or the cloud converts images that it imports')

    def _delete(self, image_id):
        # Glance may answer with 500 until an import has ended.
        for left in reversed(range(DELETE_ATTEMPTS)):
            try:
                self._client.image.delete_image(image_id)
                return
            except Exception as error:
                # The image has leaked then, and its properties identify it.
                self.log.warning('Unable to delete image %s: %s', image_id,
                                 self._describe(error))
            if not left or self.endpoint.stopping.wait(
                    self.endpoint.import_interval):
                return

    def _describe(self, error):
        """:return: the message of an error, without the secrets of URLs."""
        text = str(error)
        if self.secret:
            text = text.replace(self.secret, 'the artifact')
        return re.sub(r'\?[^\s)]+|//[^/@\s]+@', '', text)


def _convert(name, value):
    """:return: the value of a tag, a string, in the type of Glance's field."""
    text = str(value)
    if name in BOOLEANS:
        if text.lower() not in ('true', 'false'):
            raise ImageFailed(
                f'The tag "{name}" of an image must be "true" or "false", '
                f'not "{value}"')
        return text.lower() == 'true'
    if name in NUMBERS:
        if not text.isdecimal():
            raise ImageFailed(f'The tag "{name}" of an image must be a '
                              f'number, not "{value}"')
        return int(text)
    return text
