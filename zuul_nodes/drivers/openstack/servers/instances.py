"""Servers of an endpoint, as the launcher sees them."""

from zuul.driver.openstack import openstackendpoint

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.openstack.config.connection import API_TIMEOUT
from zuul_nodes.drivers.openstack.servers.adapter import OpenstackAdapter


class Instances(extension.EndpointWithAdapter):
    """Part of an endpoint.

    :ivar Lookups lookups: what the cloud has by name.
    :ivar Refusals refusals: of flavors for which there was no host.
    :ivar Listing floating_ips, ports, volumes: one list of each serves all
        nodes that wait for it.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.setAdapter(OpenstackAdapter(self))
        # The client keeps to the rate, each service by itself, as it does
        # in Zuul's driver.
        self.calls.rate_limiter = openstackendpoint.RateLimiter(
            self.name, None)
        self.lookups = self.adapter.lookups
        self.refusals = extension.Refusals()
        self.floating_ips = self.makeListing('listFloatingIps')
        self.ports = self.makeListing('listPorts')
        self.volumes = self.makeListing('listVolumes')

    def _getRegionConfig(self):
        # Without a time-out, a call may go on for ever.
        config = super()._getRegionConfig()
        config.config['api_timeout'] = float(
            self.connection.api_timeout
            or config.config.get('api_timeout') or API_TIMEOUT)
        return config

    def getZones(self):
        """:return: a list of zones, as the cloud says."""
        return self.calls.call('listZones')

    def getAZs(self):
        return self.getZones() or [None]
