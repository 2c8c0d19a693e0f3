"""Nodes on the launcher's own machine.

A node is a tree of processes that bubblewrap keeps apart from the machine,
with a copy of its image's file system.  For trying things out, for the CI
of Zuul configurations and for small sites.
"""

from zuul.driver import ConnectionInterface, Driver, ProviderInterface
from zuul.provider import EndpointCacheMixin

from zuul_nodes.drivers.local.connection import LocalConnection
from zuul_nodes.drivers.local.endpoint import LocalEndpoint
from zuul_nodes.drivers.local.model import LocalProviderNode
from zuul_nodes.drivers.local.provider import (
    LocalProvider,
    LocalProviderSchema,
)


class LocalDriver(Driver, EndpointCacheMixin, ConnectionInterface,
                  ProviderInterface):
    name = 'local'
    _endpoint_class = LocalEndpoint

    def getConnection(self, name, config):
        return LocalConnection(self, name, config)

    def getProvider(self, zk_client, connection, tenant_name,
                    canonical_name, provider_config, system_id):
        return LocalProvider(self, zk_client, connection, tenant_name,
                             canonical_name, provider_config, system_id)

    def getProviderClass(self):
        return LocalProvider

    def getProviderSchema(self, internal=False):
        return LocalProviderSchema().getProviderSchema(internal)

    def getProviderSchemaClass(self):
        return LocalProviderSchema

    def getProviderNodeClass(self):
        return LocalProviderNode

    def getEndpoint(self, provider):
        # All providers of a connection have the same machine.
        name = provider.connection.connection_name
        return self.getEndpointById(name, create_args=(
            self, provider.zk_client, provider.connection, name,
            provider.system_id))

    def stop(self):
        self.stopEndpoints()
