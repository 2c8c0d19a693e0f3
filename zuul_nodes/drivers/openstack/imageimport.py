"""Imports of images: Glance's web-download.

Glance downloads the file itself.  Image service API, "Interoperable image
import": https://docs.openstack.org/api-ref/image/v2/
"""

import logging
import re
import time
from urllib.parse import urlsplit

from keystoneauth1.exceptions import ClientException, ConnectFailure
from openstack.exceptions import (
    HttpException,
    SDKException,
    raise_from_response,
)
from zuul.provider import BaseImageImportJob

from zuul_nodes.drivers.openstack.provider import WEB_DOWNLOAD

# What a cloud, or the way there, raises.
ERRORS = (ClientException, SDKException)
# Glance can't decompress them.
COMPRESSED = ('.zst', '.gz', '.xz')
# In which an image does not stay.
UNDER_WAY = ('queued', 'importing', 'saving', 'uploading')


class ImportFailed(Exception):
    """The cloud has not imported the image as it is."""


def getObstacle(connect, url, md5, sha256):
    """
    :param connect: gives a connection to the cloud.
    :return: why an artifact can't be imported, or an empty string.
    """
    parts = urlsplit(url)
    if parts.scheme not in ('http', 'https'):
        return f'the cloud can not download from {parts.scheme}:'
    if parts.path.endswith(COMPRESSED):
        return 'the cloud can not decompress it'
    if sha256 and not md5:
        return 'the cloud tells no SHA-256, and there is no md5sum'
    try:
        with connect() as client:
            methods = client.image.get_import_info().import_methods or {}
    except ERRORS as error:
        return f'the cloud does not tell whether it can: {error}'
    if WEB_DOWNLOAD not in methods.get('value', ()):
        return f'the cloud does not offer {WEB_DOWNLOAD}'
    return ''


class OpenstackImageImportJob(BaseImageImportJob):
    """
    :param OpenstackEndpoint endpoint: of the cloud.
    :param str url: of the artifact; may have secrets in it.
    :param md5, sha256: of its file, or None.
    :param fail: called if it fails.
    """

    log = logging.getLogger('zuul.OpenstackProvider')

    def __init__(self, endpoint, url, provider_image, image_name,
                 image_format, metadata, md5, sha256, fail):
        super().__init__()
        self.endpoint = endpoint
        self.url = url
        self.provider_image = provider_image
        self.image_name = image_name
        self.image_format = image_format
        self.metadata = metadata
        self.md5 = md5
        self.sha256 = sha256
        self.fail = fail

    def run(self):
        """
        :return: the id of the image.
        :raises ImportFailed: there is none, or it is not that of the
            artifact.
        """
        self.log.info('Importing image %s', self.image_name)
        try:
            with self.endpoint.connect() as client:
                return self._run(client)
        except ERRORS as error:
            self.fail()
            raise ImportFailed(
                f'Unable to import image {self.image_name}: '
                f'{self._describe(error)}') from None
        except Exception:
            self.fail()
            raise

    def _run(self, client):
        image_id = self._create(client)
        try:
            self._import(client, image_id)
            self._verify(self._await(client, image_id))
        except Exception:
            self._delete(client, image_id)
            raise
        return image_id

    def _create(self, client):
        # As it is made for an upload by Zuul's endpoint.  If this is not
        # answered, the properties tell that the image has leaked.
        properties = {'visibility': 'private', **(self.metadata or {})}
        return client.image.create_image(
            self.image_name, disk_format=self.image_format, md5=self.md5,
            sha256=self.sha256, allow_duplicates=True, **properties).id

    def _import(self, client, image_id):
        # openstacksdk would have the URL logged, here and with the tasks.
        raise_from_response(client.image.post(
            f'/images/{image_id}/import', log=False,
            json={'method': {'name': WEB_DOWNLOAD, 'uri': self.url}}))

    def _await(self, client, image_id):
        """:return: the image, when it is active."""
        timeout = self.provider_image.import_timeout
        end = time.monotonic() + timeout
        begun = False
        while True:
            if image := self._look(client, image_id):
                if image.status == 'active':
                    return image
                if image.status not in UNDER_WAY or (
                        begun and image.status == 'queued'):
                    raise ImportFailed(
                        f'The cloud has not imported image '
                        f'{self.image_name}: its status is {image.status}')
                begun = begun or image.status == 'importing'
            if time.monotonic() >= end:
                raise ImportFailed(
                    f'Image {self.image_name} is not imported after '
                    f'{timeout} s, its import-timeout')
            if self.endpoint.stopping.wait(self.endpoint.import_interval):
                raise ImportFailed(
                    f'Image {self.image_name} is not waited for any more')

    def _look(self, client, image_id):
        """:return: the image, or None if a later look may do better."""
        try:
            image = client.image.get_image(image_id)
            if image.status != 'active':
                self._checkTasks(client, image_id)
        except ConnectFailure:
            return None
        except HttpException as error:
            status = error.status_code or 0
            if status < 500 and status != 429:
                raise
            return None
        return image

    def _checkTasks(self, client, image_id):
        """
        :raises ImportFailed: the import has come to its end; the status of
            the image does not always say so.
        """
        response = client.image.get(f'/images/{image_id}/tasks', log=False)
        if response.status_code in (403, 404):
            # Not every cloud has them, or shows them.
            return
        raise_from_response(response)
        for task in response.json()['tasks']:
            if task['status'] == 'failure':
                raise ImportFailed(
                    f'The cloud has not imported image {self.image_name}: '
                    f'{self._describe(task["message"])}')

    def _verify(self, image):
        actual = {'md5': image.checksum, image.hash_algo: image.hash_value}
        expected = {name: value for name, value in (
            ('md5', self.md5), ('sha256', self.sha256)) if value}
        compared = {name: value for name, value in expected.items()
                    if actual.get(name)}
        if expected and not compared:
            raise ImportFailed(
                f'The cloud tells no checksum of image {self.image_name} '
                'that the artifact has too')
        for name, value in compared.items():
            if value.lower() != actual[name].lower():
                raise ImportFailed(
                    f'The {name} of image {self.image_name} is '
                    f'{actual[name]} in the cloud, and {value} was '
                    'expected. The file is another one, or the cloud '
                    'converts images that it imports')

    def _delete(self, client, image_id):
        try:
            client.image.delete_image(image_id)
        except Exception as error:
            # It has leaked then, which its properties tell.
            self.log.warning('Unable to delete image %s: %s', image_id,
                             self._describe(error))

    def _describe(self, error):
        """:return: what an error says, without the secrets of URLs."""
        text = str(error).replace(self.url, 'the artifact')
        return re.sub(r'\?[^\s)]+|//[^/@\s]+@', '', text)
