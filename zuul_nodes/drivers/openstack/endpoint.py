"""A region of an OpenStack cloud, as all providers of it share it."""

import collections
import enum
import functools
import threading

from openstack.connection import Connection
from zuul.driver.openstack import openstackendpoint, openstackmodel

from zuul_nodes.drivers.openstack.imageimport import (
    OpenstackImageImportJob,
    getObstacle,
)
from zuul_nodes.drivers.openstack.provider import WEB_DOWNLOAD

# Seconds that a call of ours may take, unless clouds.yaml has a limit.
CALL_TIMEOUT = 60
# How many artifacts that could not be imported are remembered.
FAILURES = 100
# The most that Glance puts into one page of a list, as it is set up
# unless somebody has changed that.
PAGE = 1000


class OpenstackResource(openstackmodel.OpenstackResource):
    ResourceType = enum.StrEnum('ResourceType', {
        **{each.name: each.value
           for each in openstackmodel.OpenstackResource.ResourceType},
        'IMAGE': 'image'})


class OpenstackEndpoint(openstackendpoint.OpenstackProviderEndpoint):
    """Zuul's endpoint, with imports, and with images that have leaked.

    :cvar float import_interval: seconds between two looks at an image
        that is imported.
    :ivar Event stopping: nobody is to wait for the cloud any more.
    """

    import_interval = 10

    def __init__(self, *args):
        super().__init__(*args)
        self.stopping = threading.Event()
        # Artifacts by URL and checksums.
        self._failures = collections.deque(maxlen=FAILURES)

    def stopEndpoint(self):
        # Imports may take long.
        self.stopping.set()
        super().stopEndpoint()

    def connect(self):
        """
        :return: a connection in which no call goes on for ever; to be
            closed.
        """
        # Not that of Zuul's endpoint: it sends images in one call.
        config = self._getRegionConfig()
        config.config['api_timeout'] = (
            config.config.get('api_timeout') or CALL_TIMEOUT)
        return Connection(config=config, rate_limit=self.connection.rate)

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        """
        :return: what has the cloud import an image, or None if that has
            to be downloaded and uploaded.
        """
        if provider_image.import_method != WEB_DOWNLOAD:
            return None
        artifact = url, md5, sha256
        # An upload that fails is begun again, as another one: it has to
        # get there some other way.
        if (artifact in self._failures
                and 'upload' in provider_image.upload_methods):
            return None
        if obstacle := getObstacle(self.connect, url, md5, sha256):
            self.log.info('Image %s is not imported: %s', image_name,
                          obstacle)
            return None
        return OpenstackImageImportJob(
            self, url, provider_image, image_name, image_format, metadata,
            md5, sha256,
            functools.partial(self._failures.append, artifact))

    def listResources(self, providers):
        yield from super().listResources(providers)
        with self.connect() as client:
            for image in client.image.images(
                    owner=client.current_project_id, limit=PAGE):
                if _isUpload(image):
                    yield OpenstackResource(
                        image.properties,
                        OpenstackResource.ResourceType.IMAGE, image.id)

    def getResourceTypes(self):
        return OpenstackResource.ResourceType

    def deleteResource(self, resource):
        if resource.type == OpenstackResource.ResourceType.IMAGE:
            self.log.info('Deleting leaked image: %s', resource.id)
            self.deleteImage(resource.id)
        else:
            super().deleteResource(resource)


def _isUpload(image):
    """:return: whether it has been made for an upload."""
    # A snapshot that somebody has made of a node has the properties of
    # the image that the node was made of.
    upload_uuid = image.properties.get('zuul_upload_uuid')
    return bool(upload_uuid) and (image.name or '').endswith(
        f'-{upload_uuid}')
