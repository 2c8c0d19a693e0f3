"""Servers of an endpoint, as the launcher sees them."""

import copy

from zuul.driver.openstack import openstackendpoint

from zuul_nodes.drivers import State, extension
from zuul_nodes.drivers.openstack.adapter import OpenstackAdapter
from zuul_nodes.drivers.openstack.connection import API_TIMEOUT


class Instances(extension.EndpointWithAdapter):
    """Part of an endpoint.

    :ivar Lookups lookups: what the cloud has by name.
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

    def listInstances(self):
        """:return: a list of all servers of the project, each with what it
            takes of the limits."""
        volumes = {each['id']: each for each in self.calls.call(
            'listVolumes')}
        instances = [copy.copy(instance)
                     for instance in self.listing.getNow()
                     if instance.state is not State.DELETED]
        for instance in instances:
            instance.needs = self._getNeeds(instance, volumes)
        return instances

    def _getNeeds(self, instance, volumes):
        flavor = instance.server['flavor']
        if 'vcpus' not in flavor:
            flavor = next((
                each for each in self.lookups.listFlavors()
                if each['id'] == flavor['id']), None)
        needs = {'instances': 1}
        if flavor:
            needs |= {'cores': flavor['vcpus'], 'ram': flavor['ram']}
        sizes = [volumes[each]['size'] for each in instance.volumes
                 if each in volumes]
        if sizes:
            needs |= {'volumes': len(sizes), 'volume-gb': sum(sizes)}
        return needs
