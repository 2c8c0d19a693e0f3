"""A region of Azure, shared by all providers that use it."""

import copy
import threading

from zuul.driver.azure import azureendpoint
from zuul.model import QuotaInformation

from zuul_nodes.drivers import extension, getKnownNeeds, refreshNeeds
from zuul_nodes.drivers.azure.adapter import AzureAdapter
from zuul_nodes.drivers.azure.client import Client
from zuul_nodes.drivers.azure.upload import UploadJob


class AzureEndpoint(extension.EndpointWithAdapter,
                    azureendpoint.AzureProviderEndpoint):
    """Zuul's endpoint, with an adapter in place of its own lists.

    :ivar Refusals refusals: sizes for which there was no capacity.
    :ivar Listing interfaces, addresses: each list is shared by all nodes that
        wait for it.
    :ivar Event stopping: set when uploads have to stop.
    """

    def __init__(self, zk_client, driver, connection, region, system_id):
        super().__init__(zk_client, driver, connection, region, system_id)
        self.stopping = threading.Event()
        self.setAdapter(AzureAdapter(self))
        # The launcher limits the rate only of endpoints without this.
        self.rate_limiter = self.calls.rate_limiter
        self.refusals = extension.Refusals()
        self.interfaces = self.makeListing('listInterfaces')
        self.addresses = self.makeListing('listAddresses')

    @property
    def client(self):
        return self._client

    def _getClient(self):
        return Client(self.connection)

    def startEndpoint(self):
        # Zuul's method requests all sizes of all regions.
        self._client = self._getClient()

    def stopEndpoint(self):
        self.stopping.set()
        self.calls.stop()

    def getZones(self):
        """:return: an empty list: Azure chooses the zone if a label has none.
        """
        return []

    # Quota

    def refreshQuotaLimits(self, update):
        if not update and self.quota_cache.hasLimits():
            return False
        self.quota_cache.setLimits(
            QuotaInformation(**self.calls.call('getLimits')))
        return True

    def getQuotaForLabel(self, label, flavor):
        return getKnownNeeds(self, _getKey(flavor))

    def refreshQuotaForLabel(self, label, flavor, update):
        refreshNeeds(self, _getKey(flavor), update, label,
                     lambda: self.adapter.sizes.getNeeds(
                         flavor.vm_size, flavor.priority))

    def listInstances(self):
        """:return: a list of all instances, each with its power state."""
        # Copies, because other threads use the listed instances.
        instances = [copy.copy(each) for each in self.listing.getNow()]
        states = dict(self.calls.call('listPowerStates'))
        for instance in instances:
            instance.power = states.get(instance.id)
        return instances

    # Resources and images

    def listResources(self, providers):
        return self.calls.call('listResources')

    def deleteResource(self, resource):
        self.log.info('Deleting leaked %s: %s', resource.type, resource.id)
        self.calls.call('deleteResource', resource)

    def getImageUploadJob(self, resource_group, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        return UploadJob(self, resource_group, provider_image, image_name,
                         metadata)

    def deleteImage(self, external_id):
        # A failed upload may have no image.
        if external_id:
            self.calls.call('deleteImage', external_id)


def _getKey(flavor):
    # Not Zuul's key, whose cached answers have no families.
    return f'needs-{flavor.priority}-{flavor.vm_size}'
