"""A cloud or a region of one, as all providers that use it share it."""

import logging

from zuul.model import QuotaInformation
from zuul.provider import BaseProviderEndpoint

from zuul_nodes.drivers.api.model import MAKING_IMAGES, Ability, Resource
from zuul_nodes.drivers.framework.calls import Calls
from zuul_nodes.drivers.framework.listing import Listing
from zuul_nodes.drivers.framework.memory import Memory

INSTANCE = 'instance'
IMAGE = 'image'


class EndpointWithAdapter:
    """What an endpoint has whose instances an adapter makes, also one of
    a driver of Zuul's.

    :ivar Adapter adapter: which :meth:`setAdapter` is given.
    :ivar Calls calls: to it.
    :ivar Listing listing: of its instances.
    :ivar Memory memory: what ``zuul-nodes check`` was told, for other labels
        and providers.
    """

    def setAdapter(self, adapter):
        self.adapter = adapter
        self.abilities = adapter.abilities
        self.calls = Calls(self)
        self.listing = self.makeListing('listInstances')
        self.memory = Memory()

    def makeListing(self, name):
        """
        :param str name: of a method of the adapter that lists something.
        :return: its :class:`Listing`.
        """
        return Listing(self.calls, self.adapter.list_interval, name)

    def stopEndpoint(self):
        self.calls.stop()
        super().stopEndpoint()


class AdapterEndpoint(EndpointWithAdapter, BaseProviderEndpoint):
    """
    :param dict place: arguments of the adapter.
    """

    def __init__(self, driver, zk_client, connection, name, system_id,
                 place):
        # By this name, Zuul keeps quotas; that of a region is the same for
        # other connections.
        super().__init__(driver, zk_client, connection,
                         f'{connection.connection_name}/{name}', system_id)
        self.name = name
        self.log = logging.getLogger(f'zuul.{driver.name}.{name}')
        self.setAdapter(driver.adapter_class(connection, **place))
        # Launchers see by this that rates are kept to already.
        self.rate_limiter = self.calls.rate_limiter
        self._zones = []

    def startEndpoint(self):
        self.adapter.start()

    def stopEndpoint(self):
        self.calls.stop()
        self.adapter.stop()

    def getZones(self):
        """:return: a list of zones, as the cloud has said once."""
        if not self._zones and Ability.ZONES in self.abilities:
            self._zones = self.calls.call('listZones')
        return self._zones

    def refreshQuotaLimits(self, update):
        if (Ability.LIMITS not in self.abilities
                or (not update and self.quota_cache.hasLimits())):
            return False
        self.quota_cache.setLimits(
            QuotaInformation(**self.calls.call('getLimits')))
        return True

    def listInstances(self):
        return [instance for instance in self.listing.getNow()
                if not instance.deleted]

    def listResources(self, providers):
        for instance in self.listInstances():
            yield Resource(INSTANCE, instance.id, instance.tags)
        if self.has_images:
            yield from self.calls.call('listImages')
        if Ability.RESOURCES in self.abilities:
            yield from self.calls.call('listResources')

    @property
    def has_images(self):
        return bool(self.abilities & (MAKING_IMAGES | {Ability.SNAPSHOTS}))

    def getResourceTypes(self):
        return [INSTANCE, *([IMAGE] if self.has_images else []),
                *self.adapter.resource_types]

    def deleteResource(self, resource):
        if resource.type == INSTANCE:
            self.calls.call('deleteInstance', resource.id)
        elif resource.type == IMAGE:
            self.deleteImage(resource.id)
        else:
            self.calls.call('deleteResource', resource)

    def deleteImage(self, image_id):
        # Of uploads that never were, too.
        if image_id:
            self.calls.call('deleteImage', image_id)
