"""Limits of a project, and the usage of nodes and other servers.

Sources, each below https://docs.openstack.org/api-ref/: compute, "Limits";
block-storage/v3, "Limits"; network/v2, "Quotas extension".
"""

import collections
import copy
import hashlib
import json
import types

import voluptuous as vs
from zuul.lib.voluputil import Optional
from zuul.model import QuotaInformation

from zuul_nodes.drivers import (
    Instance,
    State,
    extension,
    getKnownNeeds,
    refreshNeeds,
)
from zuul_nodes.drivers.openstack.cloud.errors import (
    ABSENT,
    Translation,
    check,
)
from zuul_nodes.drivers.openstack.cloud.flavors import getVolumeSize
from zuul_nodes.drivers.openstack.cloud.marks import getTags
from zuul_nodes.drivers.openstack.cloud.networks import (
    FLOATING,
    KIND,
    MAC,
    parse,
)
from zuul_nodes.drivers.openstack.cloud.resources import IDLE

FLOATING_IPS = 'floating-ips'
PORTS = 'ports'
# Additional resources in ``resource-limits``.
RESOURCE_LIMITS = {
    Optional(
        FLOATING_IPS,
        default=vs.UNDEFINED,
        doc='The number of floating IPs.',
    ): int,
    Optional(
        PORTS,
        default=vs.UNDEFINED,
        doc='The number of ports.',
    ): int,
}


def addLimits(schema):
    """
    :param schema: of a provider.
    :return: the schema with all resources of a node in ``resource-limits``.
    """
    key = next(key for key in schema.schema if key == 'resource-limits')
    limits = schema.schema[key] | RESOURCE_LIMITS
    return extension.extendSchema(schema, {key: {
        # Zuul turns "volume-gb" into "volume_gb", a resource that no node
        # uses.
        Optional(each.schema, default=vs.UNDEFINED, output=each.schema,
                 doc=each.doc): value
        for each, value in limits.items()}})


class Quota:
    """Reads the limits and the usage of a project.

    :param OpenstackEndpoint endpoint: of the project.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint

    @property
    def client(self):
        return self.endpoint.client

    def getLimits(self):
        """:return: a QuotaInformation with the limits of the project."""
        with Translation():
            limits = self._getComputeLimits()
            for function in (self._getVolumeLimits, self._getNetworkLimits):
                try:
                    limits |= function()
                except ABSENT as error:
                    self.endpoint.log.debug('%s: %s', function.__name__, error)
        return QuotaInformation(**{
            resource: limit for resource, limit in limits.items()
            # A negative limit means that there is none.
            if limit >= 0})

    def getForLabel(self, label, flavor):
        return getKnownNeeds(self.endpoint, _getKey(label, flavor))

    def refreshForLabel(self, label, flavor, update):
        refreshNeeds(
            self.endpoint, _getKey(label, flavor), update, label,
            lambda: self.makeForLabel(label, flavor).getResources())

    def makeForLabel(self, label, flavor):
        """:return: a QuotaInformation with the needs of a node; calls the
            cloud if they are unknown."""
        cloud_flavor = self.endpoint.lookups.getFlavor(flavor)
        quota = {'instances': 1, 'cores': cloud_flavor['vcpus'],
                 'ram': cloud_flavor['ram'],
                 PORTS: max(1, len(label.networks))}
        if label.boot_from_volume:
            spec = types.SimpleNamespace(
                label=label, flavor=flavor, image=None)
            quota |= {'volumes': 1,
                      'volume-gb': getVolumeSize(spec, cloud_flavor)}
        if self._takesFloatingIp(label):
            quota[FLOATING_IPS] = 1
        return QuotaInformation(**quota)

    def _getComputeLimits(self):
        limits = check(self.client.compute.get(
            '/limits')).json()['limits']['absolute']
        return {'instances': limits['maxTotalInstances'],
                'cores': limits['maxTotalCores'],
                'ram': limits['maxTotalRAMSize']}

    def _getVolumeLimits(self):
        limits = check(self.client.block_storage.get(
            '/limits')).json()['limits']['absolute']
        return {'volumes': limits['maxTotalVolumes'],
                'volume-gb': limits['maxTotalVolumeGigabytes']}

    def _getNetworkLimits(self):
        project_id = self.client.current_project_id
        limits = check(self.client.network.get(
            f'/quotas/{project_id}')).json()['quota']
        # Not every Neutron has routers.
        return {FLOATING_IPS: limits.get('floatingip', -1),
                PORTS: limits['port']}

    def listInstances(self):
        """:return: a list of all servers of the project, each with its needs;
            the last item represents all resources of others that belong to no
            server."""
        instances = [copy.copy(instance)
                     for instance in self.endpoint.listing.getNow()
                     if instance.state is not State.DELETED]
        volumes = self.endpoint.calls.call('listVolumes')
        sizes = {each['id']: each['size'] for each in volumes}
        for instance in instances:
            instance.needs = self._getNeeds(instance, sizes)
        if kept := self._getKept(volumes):
            instances.append(Instance('', State.READY, {}, needs=kept))
        return instances

    def _getNeeds(self, instance, sizes):
        """
        :param dict sizes: id of a volume -> GB.
        :return: the resources that a server uses: resource -> number.
        """
        flavor = instance.server['flavor']
        if 'vcpus' not in flavor:
            flavor = next((
                each for each in self.endpoint.lookups.listFlavors()
                if each['id'] == flavor['id']), None)
        addresses = [address for known in (
            instance.server.get('addresses') or {}).values()
            for address in known]
        needs = {
            'instances': 1,
            FLOATING_IPS: sum(
                address.get(KIND) == FLOATING for address in addresses),
            PORTS: len({address.get(MAC) for address in addresses})}
        if flavor:
            needs |= {'cores': flavor['vcpus'], 'ram': flavor['ram']}
        volumes = [sizes[each] for each in instance.volumes if each in sizes]
        if volumes:
            needs |= {'volumes': len(volumes), 'volume-gb': sum(volumes)}
        return needs

    def _getKept(self, volumes):
        """
        :param list volumes: of the project, as Cinder returns them.
        :return: limited resources that others use without a server, such as
            volumes: resource -> number.
        """
        limits = self.endpoint.quota_cache.getLimits().getResources()
        kept = collections.Counter()
        if not limits.keys().isdisjoint(('volumes', 'volume-gb')):
            for volume in volumes:
                if volume['status'] in IDLE and not (
                        volume['metadata'] or {}).get('zuul_system_id'):
                    kept.update({'volumes': 1, 'volume-gb': volume['size']})
        if FLOATING_IPS in limits:
            kept[FLOATING_IPS] = sum(
                not each['port_id'] and _isForeign(each)
                for each in self.endpoint.calls.call('listFloatingIps'))
        if PORTS in limits:
            kept[PORTS] = sum(
                not (each['device_owner'] or '').startswith('compute:')
                and _isForeign(each)
                for each in self.endpoint.calls.call('listPorts'))
        return +kept

    def _takesFloatingIp(self, label):
        """:return: whether a node needs a floating IP to be reachable, judging
            by the names of its networks."""
        if (not label.auto_floating_ip or self.client.private
                or not self.endpoint.adapter.hasFloatingIps()):
            return False
        outside = [network for network in self.endpoint.lookups.listNetworks()
                   if network.get('router:external')]
        names = [parse(network)['name'] for network in label.networks]
        return bool(outside) and not any(
            name in (network['id'], network['name'])
            for name in names for network in outside)


def _isForeign(thing):
    return not getTags(thing.get('description'))


def _getKey(label, flavor):
    """:return: the cache key of the needs, equal for labels with equal needs.
    """
    needs = [label.boot_from_volume, label.volume_size, flavor.volume_size,
             label.auto_floating_ip, label.networks, flavor.flavor_name,
             getattr(flavor, 'min_ram', None)]
    return 'label-' + hashlib.sha256(json.dumps(needs).encode()).hexdigest()
