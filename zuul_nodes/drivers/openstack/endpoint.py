"""A region of an OpenStack cloud, shared by all providers that use it."""

import os
import threading

from openstack.config import loader
from openstack.exceptions import ConflictException
from zuul.driver.openstack import openstackendpoint

from zuul_nodes.drivers import extension, rates
from zuul_nodes.drivers.openstack.cloud.quota import Quota
from zuul_nodes.drivers.openstack.cloud.resources import Resources, Type
from zuul_nodes.drivers.openstack.config.connection import API_TIMEOUT
from zuul_nodes.drivers.openstack.images.images import Images
from zuul_nodes.drivers.openstack.servers.adapter import OpenstackAdapter


class OpenstackEndpoint(extension.EndpointWithAdapter,
                        openstackendpoint.OpenstackProviderEndpoint):
    """Extends Zuul's endpoint.

    :cvar float import_interval: seconds between two requests for the status
        of an image that is being created.
    :ivar Event stopping: set when the endpoint stops, which ends all waits
        for the cloud.
    :ivar Images images: of the project.
    :ivar Lookups lookups: finds objects of the cloud by name.
    :ivar Refusals refusals: flavors that the cloud had no host for.
    :ivar Listing floating_ips, ports, volumes: each list is shared by all
        nodes that wait for it.
    """

    import_interval = 10

    def __init__(self, *args):
        super().__init__(*args)
        self.stopping = threading.Event()
        self.setAdapter(OpenstackAdapter(self))
        # The session limits the rate for each service, as in Zuul's driver.
        self.calls.rate_limiter = openstackendpoint.RateLimiter(
            self.name, None)
        self.lookups = self.adapter.lookups
        self.refusals = extension.Refusals()
        self.floating_ips = self.makeListing('listFloatingIps')
        self.ports = self.makeListing('listPorts')
        self.volumes = self.makeListing('listVolumes')
        self.images = Images(self)
        self._quota = Quota(self)
        self._resources = Resources(self)
        # The versions of the configuration files, and what they say.
        self._image_format = None, None

    @property
    def client(self):
        """:return: an openstacksdk connection; None before the start."""
        return self._client

    def stopEndpoint(self):
        # Creating an image may take long.
        self.stopping.set()
        super().stopEndpoint()

    def _getClient(self):
        client = super()._getClient()
        request = client.session.request

        def requestAtRate(*args, endpoint_filter=None, **kwargs):
            # The client's own limits are those of one region.
            service = (endpoint_filter or {}).get('service_type', '')
            return request(
                *args, endpoint_filter=endpoint_filter, **kwargs | {
                    'rate_semaphore': rates.getLimiter(
                        self.connection, service)})
        client.session.request = requestAtRate
        return client

    def _getRegionConfig(self):
        # Without a time-out, a call may block forever.
        config = super()._getRegionConfig()
        config.config['api_timeout'] = float(
            self.connection.api_timeout
            or config.config.get('api_timeout') or API_TIMEOUT)
        return config

    def getImageFormat(self):
        # Each image of each provider asks, and openstacksdk parses all of
        # clouds.yaml each time.
        versions = _getVersions(
            self.connection.config_files or loader.CONFIG_FILES)
        if versions != self._image_format[0]:
            self._image_format = versions, super().getImageFormat()
        return self._image_format[1]

    def getZones(self):
        """:return: the available zones of the cloud."""
        return self.calls.call('listZones')

    def getAZs(self):
        return self.getZones() or [None]

    # Resources

    def listInstances(self):
        return self._quota.listInstances()

    def getResourceTypes(self):
        return Type

    def listResources(self, providers):
        return self._resources.listResources(providers)

    def deleteResource(self, resource):
        self._resources.deleteResource(resource)

    # Quota

    def getQuotaLimits(self):
        return self._quota.getLimits()

    def getQuotaForLabel(self, label, flavor):
        return self._quota.getForLabel(label, flavor)

    def refreshQuotaForLabel(self, label, flavor, update):
        self._quota.refreshForLabel(label, flavor, update)

    def makeQuotaForLabel(self, label, flavor):
        return self._quota.makeForLabel(label, flavor)

    # Images

    def getImageUploadJob(self, provider_image, image_name, image_format,
                          metadata, md5, sha256):
        # Zuul's job uploads by way of Swift, as some clouds require.
        make = (super().getImageUploadJob if self._client.image_api_use_tasks
                else self.images.makeUploadJob)
        return make(provider_image, image_name, image_format, metadata, md5,
                    sha256)

    def getImageCopyJob(self, source_provider, provider_image, image_name,
                        image_format, metadata, md5, sha256):
        source = source_provider.endpoint
        if not isinstance(source, OpenstackEndpoint) or source is self:
            return None
        return self.images.makeCopyJob(
            source.images, provider_image, image_name, image_format,
            metadata, md5, sha256)

    def deleteImage(self, external_id):
        self.images.deleteImage(external_id)

    def _shareImage(self, external_id, member_id):
        try:
            return super()._shareImage(external_id, member_id)
        except ConflictException:
            # A launcher has died after it had shared the image.
            return member_id


def _getVersions(paths):
    """:return: a list of what changes with each version of some files."""
    versions = []
    for path in paths:
        try:
            stat = os.stat(path)
        except OSError:
            versions.append(None)
        else:
            versions.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return versions
