"""Makes a provider driver of Zuul from an adapter."""

from collections.abc import Mapping
import logging
from typing import Any, ClassVar
import urllib.parse

import voluptuous as vs
from zuul.driver import ConnectionInterface, ProviderInterface
from zuul.driver import Driver as ZuulDriver
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import ProviderNode
from zuul.provider import (
    BaseProvider,
    BaseProviderFlavor,
    BaseProviderImage,
    BaseProviderLabel,
    EndpointCacheMixin,
)

from zuul_nodes.drivers.api.adapter import Adapter
from zuul_nodes.drivers.api.configuration import Attributes
from zuul_nodes.drivers.framework import schemas
from zuul_nodes.drivers.framework.connection import (
    AdapterConnection,
    makeSchema,
)
from zuul_nodes.drivers.framework.endpoint import AdapterEndpoint
from zuul_nodes.drivers.framework.extension import ExtendedDriver
from zuul_nodes.drivers.framework.provider import AdapterProvider
from zuul_nodes.drivers.framework.providerclasses import (
    setProviderClass,
    takeProviderClass,
)
from zuul_nodes.imagefiles import SIZE_LIMIT


class Driver(ExtendedDriver, ZuulDriver, EndpointCacheMixin,
             ConnectionInterface, ProviderInterface):
    """A provider driver; its docstring is the introduction of its reference.

    All attributes are voluptuous schemas: dictionaries whose keys are
    ``Required`` or ``Optional`` of :mod:`zuul_nodes.drivers`, each with a
    ``doc``.  Objects have the attributes with underscores instead of hyphens.

    :cvar name: the name of the entry point.
    :cvar adapter_class: the class of its adapters.
    :cvar connection_attributes: options in ``zuul.conf``, whose values are
        strings there.
    :cvar provider_attributes: attributes of sections and providers,
    :cvar label_attributes: of labels,
    :cvar flavor_attributes: of flavors,
    :cvar image_attributes: of all images,
    :cvar cloud_image_attributes: of images of type ``cloud``,
    :cvar zuul_image_attributes: and of images of type ``zuul``.
    :cvar endpoint_attributes: names of attributes of providers; providers with
        different values use different endpoints.
    :cvar default_username: the user of nodes whose image does not set one.
    :ivar steps_have_threads: whether a step of a node may wait for a call to
        the cloud, because it does not delay the steps of other nodes.  The
        launcher sets this and the following attributes.
    :ivar statsd: the client for the metrics of calls, or None.
    :ivar image_size_limit: maximum bytes of an image, decompressed and
        unpacked.
    :ivar image_sources: the allowed sources of images; a driver whose cloud
        downloads from a job's URL has to call its ``check``.
    :ivar require_image_checksums: whether a driver that cannot verify the
        checksum of an artifact has to leave the import to the launcher.
    """

    name: ClassVar[str]
    adapter_class: ClassVar[type[Adapter]]
    connection_attributes: ClassVar[Attributes] = {}
    provider_attributes: ClassVar[Attributes] = {}
    label_attributes: ClassVar[Attributes] = {}
    flavor_attributes: ClassVar[Attributes] = {}
    image_attributes: ClassVar[Attributes] = {}
    cloud_image_attributes: ClassVar[Attributes] = {}
    zuul_image_attributes: ClassVar[Attributes] = {}
    endpoint_attributes: ClassVar[tuple[str, ...]] = ()
    default_username: ClassVar[str] = 'zuul'
    image_size_limit: int = SIZE_LIMIT

    # __init_subclass__ creates these for each driver.
    connection_schema: ClassVar[vs.Schema]
    image_class: ClassVar[type[BaseProviderImage]]
    flavor_class: ClassVar[type[BaseProviderFlavor]]
    label_class: ClassVar[type[BaseProviderLabel]]

    _endpoint_class = AdapterEndpoint

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is None:
            # A base class of several drivers.
            return
        cls.connection_schema = makeSchema(cls)
        cls.image_class = schemas.makeImageClass(cls)
        cls.flavor_class = schemas.makeFlavorClass(cls)
        cls.label_class = schemas.makeLabelClass(cls)
        cls.schema_class = schemas.makeSchemaClass(cls)
        cls.provider_class = _makeProviderClass(cls)

    def __init__(self) -> None:
        super().__init__()
        # The record of a provider names the driver, which selects the class.
        # Of several drivers with one name, the one in use registers its class.
        setProviderClass(self.name, self.provider_class)

    def getConnection(self, name: str,
                      config: Mapping[str, Any]) -> AdapterConnection:
        return AdapterConnection(self, name, config)

    def getProviderNodeClass(self) -> type[ProviderNode]:
        # Executors read and write the records of nodes, and may not have our
        # drivers.  The records of our nodes have no additional fields, so they
        # can be of a class that every Zuul knows.
        return StaticProviderNode

    def getEndpoint(self, provider: AdapterProvider) -> AdapterEndpoint:
        """:return: the endpoint that a provider shares with others."""
        connection = provider.connection
        place = {name: getattr(provider, name)
                 for name in self.endpoint_attributes}
        name = '/'.join(urllib.parse.quote_plus(str(value)) for value in (
            *place.values(),)) or connection.connection_name
        return self.getEndpointById(
            (connection.connection_name, name),
            (self, provider.zk_client, connection, name,
             provider.system_id, place))

    def stop(self) -> None:
        self.stopEndpoints()


def _makeProviderClass(driver_class: type[Driver]) -> type[AdapterProvider]:
    other = takeProviderClass(driver_class.name)

    class Provider(AdapterProvider, BaseProvider,
                   subclass_id=driver_class.name):  # type: ignore[call-arg]
        log = logging.getLogger(f'zuul.{driver_class.name}.Provider')
        schema = driver_class.schema_class().getProviderSchema()
        internal_schema = driver_class.schema_class().getProviderSchema(
            internal=True)

    Provider.driver_class = driver_class
    if other is not None:
        setProviderClass(driver_class.name, other)
    return Provider
