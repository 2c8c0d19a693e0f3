"""OpenStack: Zuul's driver, and what it lacks."""

import zuul.driver.openstack

from zuul_nodes.drivers.openstack.endpoint import OpenstackEndpoint
from zuul_nodes.drivers.openstack.provider import (
    OpenstackProvider,
    OpenstackProviderSchema,
)


class OpenstackDriver(zuul.driver.openstack.OpenstackDriver):
    """Zuul's driver for OpenStack.

    Images are imported by the cloud itself, if it can and may.
    """

    _endpoint_class = OpenstackEndpoint

    def getProvider(self, zk_client, connection, tenant_name,
                    canonical_name, provider_config, system_id):
        return OpenstackProvider(
            self, zk_client, connection, tenant_name, canonical_name,
            provider_config, system_id)

    def getProviderClass(self):
        return OpenstackProvider

    def getProviderSchema(self, internal=False):
        return OpenstackProviderSchema().getProviderSchema(internal)

    def getProviderSchemaClass(self):
        return OpenstackProviderSchema
