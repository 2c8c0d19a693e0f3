"""An endpoint is a cloud or a region, shared by all providers that use it."""

from collections.abc import Iterable, Iterator, Mapping
import logging
from typing import TYPE_CHECKING, Any

from zuul.model import ProviderNode, QuotaInformation
from zuul.provider import BaseProvider, BaseProviderEndpoint
from zuul.zk import ZooKeeperClient

from zuul_nodes.drivers.api.adapter import Adapter
from zuul_nodes.drivers.api.errors import DriverError
from zuul_nodes.drivers.api.model import (
    MAKING_IMAGES,
    Ability,
    Instance,
    Resource,
)
from zuul_nodes.drivers.framework.calls import Calls
from zuul_nodes.drivers.framework.listing import Listing
from zuul_nodes.drivers.framework.memory import Memory

if TYPE_CHECKING:
    # The class that EndpointWithAdapter is combined with.
    from zuul.provider import BaseProviderEndpoint as Endpoint

    from zuul_nodes.drivers.framework.connection import AdapterConnection
    from zuul_nodes.drivers.framework.driver import Driver
else:
    Endpoint = object

INSTANCE = 'instance'
IMAGE = 'image'


class EndpointWithAdapter(Endpoint):
    """Base class of endpoints with an adapter, including those that extend a
    driver of Zuul.

    :ivar adapter: the argument of :meth:`setAdapter`.
    :ivar calls: the calls of the adapter.
    :ivar listing: the list of its instances.
    :ivar memory: answers to ``zuul-nodes check``, for other labels and
        providers.
    """

    def setAdapter(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.abilities = adapter.abilities
        self.calls = Calls(self)
        self.listing: Listing[Instance] = self.makeListing('listInstances')
        self.memory = Memory()

    def makeListing(self, name: str) -> Listing[Any]:
        """
        :param name: of a method of the adapter that lists something.
        :return: a list that all nodes of the endpoint share.
        """
        return Listing(self.calls, self.adapter.list_interval, name)

    def startForChecks(self) -> None:
        """Start the endpoint for ``zuul-nodes check``.

        :raises DriverError: it cannot be started, so the cloud cannot be
            asked anything.
        """
        try:
            self.start()
        except DriverError:
            raise
        except Exception as error:
            raise DriverError(f'{type(error).__name__}: {error}') from error

    def getInstanceId(self, node: ProviderNode) -> str | None:
        """
        :param node: that was launched.
        :return: the id of its instance in :meth:`listResources`, so that the
            clean-up can delete others; None if it is not known.
        """
        return node.create_state.get('instance_id')

    def stopEndpoint(self) -> None:
        self.calls.stop()
        super().stopEndpoint()


class AdapterEndpoint(EndpointWithAdapter, BaseProviderEndpoint):
    """The endpoint of a driver for a new cloud.

    :param place: arguments of the adapter.
    """

    def __init__(self, driver: 'Driver', zk_client: ZooKeeperClient,
                 connection: 'AdapterConnection', name: str, system_id: str,
                 place: Mapping[str, str]) -> None:
        # Zuul stores quotas under this name, and several connections may have
        # a region of the same name.
        super().__init__(driver, zk_client, connection,
                         f'{connection.connection_name}/{name}', system_id)
        self.name = name
        self.log = logging.getLogger(f'zuul.{driver.name}.{name}')
        self.setAdapter(driver.adapter_class(connection, **place))
        # The launcher limits the rate only of endpoints without this.
        self.rate_limiter = self.calls.rate_limiter
        self._zones: list[str] = []

    def startEndpoint(self) -> None:
        self.adapter.start()

    def stopEndpoint(self) -> None:
        self.calls.stop()
        self.adapter.stop()

    def getZones(self) -> list[str]:
        """:return: the zones of the cloud, which is asked once."""
        if not self._zones and Ability.ZONES in self.abilities:
            self._zones = self.calls.call('listZones')
        return self._zones

    def refreshQuotaLimits(self, update: bool) -> bool:
        if (Ability.LIMITS not in self.abilities
                or (not update and self.quota_cache.hasLimits())):
            return False
        self.quota_cache.setLimits(
            QuotaInformation(**self.calls.call('getLimits')))
        return True

    def listInstances(self) -> list[Instance]:
        return [instance for instance in self.listing.getNow()
                if not instance.deleted]

    def listResources(self,
                      providers: Iterable[BaseProvider]) -> Iterator[Resource]:
        for instance in self.listInstances():
            yield Resource(INSTANCE, instance.id, instance.tags)
        if self.has_images:
            yield from self.calls.call('listImages')
        if Ability.RESOURCES in self.abilities:
            yield from self.calls.call('listResources')

    @property
    def has_images(self) -> bool:
        return bool(self.abilities & (MAKING_IMAGES | {Ability.SNAPSHOTS}))

    def getResourceTypes(self) -> list[str]:
        return [INSTANCE, *([IMAGE] if self.has_images else []),
                *self.adapter.resource_types]

    def deleteResource(self, resource: Resource) -> None:
        if resource.type == INSTANCE:
            self.calls.call('deleteInstance', resource.id)
        elif resource.type == IMAGE:
            self.deleteImage(resource.id)
        else:
            self.calls.call('deleteResource', resource)

    def deleteImage(self, image_id: str | None) -> None:
        # A failed upload may have no image.
        if image_id:
            self.calls.call('deleteImage', image_id)
