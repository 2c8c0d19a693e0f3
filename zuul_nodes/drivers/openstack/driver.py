"""What Zuul gets of all this."""

import zuul.driver.openstack

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.openstack.connection import OpenstackConnection
from zuul_nodes.drivers.openstack.endpoint import OpenstackEndpoint
from zuul_nodes.drivers.openstack.provider import (
    OpenstackProvider,
    OpenstackProviderSchema,
)


class OpenstackDriver(extension.ExtendedDriver,
                      zuul.driver.openstack.OpenstackDriver):
    """Zuul's driver for OpenStack.

    Images are imported by the cloud itself, if it can and may.
    """

    provider_class = OpenstackProvider
    schema_class = OpenstackProviderSchema
    _endpoint_class = OpenstackEndpoint

    def getConnection(self, name, config):
        return OpenstackConnection(self, name, config)
