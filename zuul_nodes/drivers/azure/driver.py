"""What Zuul gets of all this."""

import zuul.driver.azure
from zuul.driver.azure import azureconnection

from zuul_nodes.drivers import bounds, extension
from zuul_nodes.drivers.azure.endpoint import AzureEndpoint
from zuul_nodes.drivers.azure.provider import (
    AzureProvider,
    AzureProviderSchema,
)

# Seconds that a call may take.
API_TIMEOUT = 60.0
# In zuul.conf: resource groups that tenants may use.
GROUPS = 'resource_groups'
# The same: user-assigned identities, by name.
IDENTITIES = 'identities'
# Attributes of labels and images that name a resource by its whole id.
IDS = ('subnet-id', 'image-id')


class AzureConnection(azureconnection.AzureConnection):
    """
    :ivar float api_timeout: seconds that a call may take.
    """

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        self.api_timeout = extension.readTimeout(self, API_TIMEOUT)


class AzureDriver(extension.ExtendedDriver, zuul.driver.azure.AzureDriver):
    """Zuul's driver for Azure.

    Errors have kinds, nodes can be in zones, families of sizes have their
    quota, and what a launcher has begun that died is neither made twice nor
    forgotten.
    """

    provider_class = AzureProvider
    schema_class = AzureProviderSchema
    _endpoint_class = AzureEndpoint

    def getConnection(self, name, config):
        return AzureConnection(self, name, config)

    def checkBounds(self, connection, config):
        """
        :raises BoundError: a resource group or an identity is used that
            the operator does not allow.
        """
        bounds.checkNames(connection, GROUPS, [config['resource-group']],
                          'it has the resource group')
        for kind in ('image', 'label'):
            for each in config[f'{kind}s']:
                bounds.checkNames(
                    connection, GROUPS, _yieldGroups(each),
                    f'its {kind} "{each["name"]}" has the resource group')
        for label in config['labels']:
            bounds.checkNames(
                connection, IDENTITIES,
                [each['name'] for each in label.get(
                    'user-assigned-identities') or ()],
                f'its label "{label["name"]}" has the identity')


def _yieldGroups(thing):
    """:return: yields the resource groups that an entry names."""
    references = [thing.get('subnet-reference') or {},
                  *(thing.get('user-assigned-identities') or ())]
    for each in references:
        yield each.get('resource-group')
    for name in IDS:
        parts = (thing.get(name) or '').lower().split('/')
        if 'resourcegroups' in parts[:-1]:
            # As it is written; Azure does not mind the case.
            place = parts.index('resourcegroups') + 1
            yield thing[name].split('/')[place]
