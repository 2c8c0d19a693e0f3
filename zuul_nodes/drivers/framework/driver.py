"""What makes a provider driver of Zuul's of an adapter."""

import logging
import urllib.parse

from zuul.driver import ConnectionInterface, ProviderInterface
from zuul.driver import Driver as ZuulDriver
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.provider import BaseProvider, EndpointCacheMixin

from zuul_nodes.drivers.framework import schemas
from zuul_nodes.drivers.framework.connection import (
    AdapterConnection,
    makeSchema,
)
from zuul_nodes.drivers.framework.endpoint import AdapterEndpoint
from zuul_nodes.drivers.framework.extension import ExtendedDriver
from zuul_nodes.drivers.framework.provider import AdapterProvider
from zuul_nodes.imagefiles import SIZE_LIMIT


class Driver(ExtendedDriver, ZuulDriver, EndpointCacheMixin,
             ConnectionInterface, ProviderInterface):
    """A provider driver; its docstring is the beginning of its reference.

    All attributes are voluptuous schemas, dictionaries whose keys are
    ``Required`` or ``Optional`` of :mod:`zuul_nodes.drivers`, with a
    ``doc`` each.  Objects have them with underscores instead of hyphens.

    :cvar str name: that of the entry point.
    :cvar adapter_class: a subclass of :class:`Adapter`.
    :cvar dict connection_attributes: options in ``zuul.conf``, which are
        strings there.
    :cvar dict provider_attributes: of sections and providers,
    :cvar dict label_attributes: of labels,
    :cvar dict flavor_attributes: of flavors,
    :cvar dict image_attributes: of all images,
    :cvar dict cloud_image_attributes: of those that the cloud has,
    :cvar dict zuul_image_attributes: and of those that Zuul makes.
    :cvar endpoint_attributes: names of attributes of providers: those with
        other values are at other endpoints.
    :cvar str default_username: of nodes whose image does not say.
    :ivar bool steps_have_threads: whether a step of a node may wait for a
        call to the cloud, for it does not hold up those of other nodes.  A
        launcher that sees to that sets it,
    :ivar statsd: and this, if times of calls are to be reported,
    :ivar int image_size_limit: and this: the bytes that an image may have,
        decompressed and unpacked,
    :ivar image_sources: and this, :class:`.addresses.ImageSources`; a driver
        that has its cloud download from the URL of a job calls ``check``,
    :ivar bool require_image_checksums: and this: whether a driver that can't
        verify the checksum of an artifact has to leave it to the launcher.
    """

    name = None
    adapter_class = None
    connection_attributes = {}
    provider_attributes = {}
    label_attributes = {}
    flavor_attributes = {}
    image_attributes = {}
    cloud_image_attributes = {}
    zuul_image_attributes = {}
    endpoint_attributes = ()
    default_username = 'zuul'
    image_size_limit = SIZE_LIMIT

    _endpoint_class = AdapterEndpoint

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.name is None:
            # What several drivers have in common.
            return
        cls.connection_schema = makeSchema(cls)
        cls.image_class = schemas.makeImageClass(cls)
        cls.flavor_class = schemas.makeFlavorClass(cls)
        cls.label_class = schemas.makeLabelClass(cls)
        cls.schema_class = schemas.makeSchemaClass(cls)
        cls.provider_class = _makeProviderClass(cls)

    def __init__(self):
        super().__init__()
        # The records of providers say what class they are of by its name.
        # It is that of the driver that is used, of all that have the name.
        BaseProvider._subclasses[self.name.encode()] = self.provider_class

    def getConnection(self, name, config):
        return AdapterConnection(self, name, config)

    def getProviderNodeClass(self):
        # Executors read the records of nodes, and write them; they may be
        # without our drivers.  All that we put there has a place in the
        # record of any node, so it is one that they know.
        return StaticProviderNode

    def getEndpoint(self, provider):
        """:return: what a provider has in common with others."""
        connection = provider.connection
        place = {name: getattr(provider, name)
                 for name in self.endpoint_attributes}
        name = '/'.join(urllib.parse.quote_plus(str(value)) for value in (
            *place.values(),)) or connection.connection_name
        return self.getEndpointById(
            (connection.connection_name, name),
            (self, provider.zk_client, connection, name,
             provider.system_id, place))

    def stop(self):
        self.stopEndpoints()


def _makeProviderClass(driver_class):
    subclasses = BaseProvider._subclasses
    other = subclasses.pop(driver_class.name.encode(), None)

    class Provider(AdapterProvider, BaseProvider,
                   subclass_id=driver_class.name):
        log = logging.getLogger(f'zuul.{driver_class.name}.Provider')
        schema = driver_class.schema_class().getProviderSchema()
        internal_schema = driver_class.schema_class().getProviderSchema(
            internal=True)

    Provider.driver_class = driver_class
    if other is not None:
        subclasses[driver_class.name.encode()] = other
    return Provider
