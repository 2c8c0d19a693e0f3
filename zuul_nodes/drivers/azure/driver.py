"""The driver that Zuul loads."""

import zuul.driver.azure
from zuul.driver.azure import azureconnection

from zuul_nodes.drivers import bounds, extension
from zuul_nodes.drivers.azure import options
from zuul_nodes.drivers.azure.endpoint import AzureEndpoint
from zuul_nodes.drivers.azure.provider import (
    AzureProvider,
    AzureProviderSchema,
)

# Attributes of labels and images whose value is the id of a resource.
IDS = ('subnet-id', 'image-id')


class AzureConnection(azureconnection.AzureConnection):
    """The connection of an Azure subscription.

    :ivar float api_timeout: seconds that a call may take.
    """

    def __init__(self, driver, connection_name, connection_config):
        super().__init__(driver, connection_name, connection_config)
        self.api_timeout = extension.readTimeout(self, options.API_TIMEOUT)


class AzureDriver(extension.ExtendedDriver, zuul.driver.azure.AzureDriver):
    """Zuul's driver for Azure.

    It distinguishes kinds of errors, supports zones and the quota of families
    of sizes, and continues the work of a launcher that has died without
    duplicates or leaks.
    """

    provider_class = AzureProvider
    schema_class = AzureProviderSchema
    connection_schema = options.SCHEMA
    _endpoint_class = AzureEndpoint

    def getConnection(self, name, config):
        return AzureConnection(self, name, config)

    def checkBounds(self, connection, config):
        """
        :raises BoundError: the operator does not allow a resource group or an
            identity.
        """
        bounds.checkNames(
            connection, options.GROUPS, [config['resource-group']],
            'it has the resource group')
        for kind in ('image', 'label'):
            for each in config[f'{kind}s']:
                bounds.checkNames(
                    connection, options.GROUPS, _yieldGroups(each),
                    f'its {kind} "{each["name"]}" has the resource group')
        for label in config['labels']:
            bounds.checkNames(
                connection, options.IDENTITIES,
                [each['name'] for each in label.get(
                    'user-assigned-identities') or ()],
                f'its label "{label["name"]}" has the identity')


def _yieldGroups(thing):
    """:return: yields the resource groups in an entry of the configuration."""
    references = [thing.get('subnet-reference') or {},
                  *(thing.get('user-assigned-identities') or ())]
    for each in references:
        yield each.get('resource-group')
    for name in IDS:
        parts = (thing.get(name) or '').lower().split('/')
        if 'resourcegroups' in parts[:-1]:
            # In the original case, which Azure ignores.
            place = parts.index('resourcegroups') + 1
            yield thing[name].split('/')[place]
