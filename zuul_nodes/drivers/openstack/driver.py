"""The driver that Zuul loads."""

import zuul.driver.openstack

from zuul_nodes.drivers import bounds, extension
from zuul_nodes.drivers.openstack.config import options
from zuul_nodes.drivers.openstack.config.connection import OpenstackConnection
from zuul_nodes.drivers.openstack.endpoint import OpenstackEndpoint
from zuul_nodes.drivers.openstack.provider import (
    OpenstackProvider,
    OpenstackProviderSchema,
)


class OpenstackDriver(extension.ExtendedDriver,
                      zuul.driver.openstack.OpenstackDriver):
    """Zuul's driver for OpenStack.

    The cloud imports images itself if it is able and allowed to.
    """

    provider_class = OpenstackProvider
    schema_class = OpenstackProviderSchema
    connection_schema = options.SCHEMA
    _endpoint_class = OpenstackEndpoint

    def getConnection(self, name, config):
        return OpenstackConnection(self, name, config)

    def getEndpointOf(self, zk_client, connection, region, system_id):
        """:return: the endpoint of providers in a region."""
        return self._getEndpoint(zk_client, connection, region, system_id)

    def checkBounds(self, connection, config):
        """
        :raises BoundError: the visibility of an image of type ``zuul`` is
            wider than the operator allows.
        """
        for image in config['images']:
            visibility = (image.get('tags') or {}).get('visibility')
            if (image.get('type') == 'zuul' and visibility is not None
                    and visibility not in connection.image_visibilities):
                raise bounds.BoundError(
                    f'its image "{image["name"]}" has the tag '
                    f'"visibility: {visibility}", and '
                    f'{bounds.describe(connection, options.VISIBILITIES)} '
                    'allows '
                    + ', '.join(sorted(connection.image_visibilities)))
