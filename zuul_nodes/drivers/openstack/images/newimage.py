"""An image of the cloud, while it is made.

Whoever makes an image can die at any time.  So it has the tags of its
upload from the beginning, by which it is found to have leaked.

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

# What a cloud, or the way there, raises.
ERRORS = (ClientException, SDKException)
# In which an image does not stay.
UNDER_WAY = ('queued', 'importing', 'saving', 'uploading')
# What Glance tells of an image, unless somebody has changed that.
ALGORITHMS = ('md5', 'sha512')
# What is sent at once, bytes.
BLOCK_SIZE = 1 << 20
# Seconds between two lines about it in the log.
PROGRESS_INTERVAL = 30
# How often the cloud is asked to delete what is not an image.
DELETE_ATTEMPTS = 3
# What Glance wants to be true or false, and what to be numbers.
BOOLEANS = ('os_hidden', 'protected')
NUMBERS = ('min_disk', 'min_ram')


class ImageFailed(Exception):
    """The cloud does not have the image, or not as it is."""


class Body:
    """The file of an image, on its way to a cloud.

    It can be sent several times if it can be read several times.

    :param str name: of the image.
    :param blocks: called to yield all blocks, bytes.
    :param int size: bytes that it has.
    :param Event stopping: nobody is to wait for the cloud any more.
    :ivar dict checksums: of what was sent, when all was: algorithm ->
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
        told = time.monotonic()
        for block in self.blocks():
            if self.stopping.is_set():
                raise ImageFailed(f'Image {self.name} is not sent any more')
            for digest in digests:
                digest.update(block)
            yield block
            done += len(block)
            if time.monotonic() > told + PROGRESS_INTERVAL:
                told = time.monotonic()
                self.log.info(
                    'Image %s: %s of %s MiB sent, %s %%', self.name,
                    done >> 20, self.size >> 20, 100 * done // self.size)
        if done != self.size:
            raise ImageFailed(f'Image {self.name} should have {self.size} '
                              f'bytes, and {done} have come')
        self.checksums = {digest.name: digest.hexdigest()
                          for digest in digests}


class NewImage:
    """
    :param OpenstackEndpoint endpoint: of the cloud.
    :param provider_image: what is configured of it.
    :param str name: that it gets.
    :param str disk_format: of its file.
    :param dict metadata: its tags; may be None.
    :param md5, sha256: of the artifact's file, or None.
    :param str secret: what no message may have in it.
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
        """Of the artifact: algorithm -> checksum."""
        return {name: value for name, value in (
            ('md5', self.md5), ('sha256', self.sha256)) if value}

    def make(self, fill):
        """
        :param fill: called with the id of the image, for which there is
            nothing but a record.  Has the cloud put something there, and
            returns its checksums, as far as they are known.
        :return: the id of the image, which is ready to be used.
        :raises ImageFailed: there is none, or it is another one.
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
            raise ImageFailed(f'Unable to make image {self.name}: '
                              f'{self._describe(error)}') from None
        return image_id

    def send(self, image_id, body, part='file'):
        """
        :param Body body: what is sent.
        :param str part: ``stage`` if it is to be imported after that.
        """
        limit = self._client.session.timeout
        # Nothing but sending block after block may take as long as it
        # takes.
        raise_from_response(self._client.image.put(
            f'/images/{image_id}/{part}', data=body,
            headers={'Content-Type': 'application/octet-stream',
                     'Accept': ''},
            timeout=(limit, max(limit, self.timeout)),
            connect_retries=0, status_code_retries=0))

    def importBy(self, image_id, name, **arguments):
        """Begin an import.

        :param str name: of Glance's method.
        :param arguments: of the method.
        """
        # openstacksdk would have a URL logged, here and with the tasks.
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
                f'Image {self.name} has tags that Glance has other values '
                f'for: {", ".join(sorted(reserved))}')
        # Not by openstacksdk: a tag may have the name of an argument, and
        # the image the name of a file, which it would upload.
        return check(self._client.image.post('/images', json={
            'visibility': 'private', **{
                name: _convert(name, value) for name, value in tags.items()},
            # As openstacksdk has it, and Zuul's own driver.
            'owner_specified.openstack.md5': self.md5 or '',
            'owner_specified.openstack.sha256': self.sha256 or '',
            'owner_specified.openstack.object': f'images/{self.name}',
            'name': self.name, 'disk_format': self.disk_format,
            'container_format': 'bare'})).json()['id']

    def _await(self, image_id):
        """:return: the image, when it is active."""
        end = time.monotonic() + self.timeout
        begun = False
        while True:
            if image := self._look(image_id):
                if image.status == 'active':
                    return image
                if image.status not in UNDER_WAY or (
                        begun and image.status == 'queued'):
                    raise ImageFailed(
                        f'The cloud has not got image {self.name}: its '
                        f'status is {image.status}')
                begun = begun or image.status == 'importing'
            if time.monotonic() >= end:
                raise ImageFailed(
                    f'Image {self.name} is not ready after '
                    f'{self.timeout} s, its import-timeout')
            if self.endpoint.stopping.wait(self.endpoint.import_interval):
                raise ImageFailed(
                    f'Image {self.name} is not waited for any more')

    def _look(self, image_id):
        """:return: the image, or None if a later look may do better."""
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
        :raises ImageFailed: an import has come to its end; the status of
            the image does not always say so.
        """
        response = self._client.image.get(
            f'/images/{image_id}/tasks', log=False)
        if response.status_code in (403, 404):
            # Not every cloud has them, or shows them.
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
                f'The cloud tells no checksum of image {self.name} that is '
                'known of the original too')
        for name, value in compared.items():
            if value.lower() != actual[name].lower():
                raise ImageFailed(
                    f'The {name} of image {self.name} is {actual[name]} in '
                    f'the cloud, and {value} was expected. The file is '
                    'another one, or the cloud converts images that it '
                    'imports')

    def _delete(self, image_id):
        # While an import comes to its end, Glance may answer with 500.
        for left in reversed(range(DELETE_ATTEMPTS)):
            try:
                self._client.image.delete_image(image_id)
                return
            except Exception as error:
                # It has leaked then, which its properties tell.
                self.log.warning('Unable to delete image %s: %s', image_id,
                                 self._describe(error))
            if not left or self.endpoint.stopping.wait(
                    self.endpoint.import_interval):
                return

    def _describe(self, error):
        """:return: what an error says, without the secrets of URLs."""
        text = str(error)
        if self.secret:
            text = text.replace(self.secret, 'the artifact')
        return re.sub(r'\?[^\s)]+|//[^/@\s]+@', '', text)


def _convert(name, value):
    """:return: the value of a tag as Glance wants it; tags are texts."""
    text = str(value)
    if name in BOOLEANS:
        if text.lower() not in ('true', 'false'):
            raise ImageFailed(
                f'The tag "{name}" of an image has to be "true" or "false", '
                f'and not "{value}"')
        return text.lower() == 'true'
    if name in NUMBERS:
        if not text.isdecimal():
            raise ImageFailed(f'The tag "{name}" of an image has to be a '
                              f'number, and not "{value}"')
        return int(text)
    return text
