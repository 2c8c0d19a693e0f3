"""The adapter for servers and their ports, floating IPs and volumes.

Compute, Network and Block Storage API:
https://docs.openstack.org/api-ref/compute/
https://docs.openstack.org/api-ref/network/v2/
https://docs.openstack.org/api-ref/block-storage/v3/
"""

import functools
import itertools

from openstack import exceptions
from openstack.cloud import meta
from openstack.utils import supports_microversion
from zuul.driver.openstack.openstackendpoint import ZuulOpenstackServer

from zuul_nodes.drivers import (
    Ability,
    Adapter,
    CapacityError,
    DriverError,
    Instance,
    PermanentError,
    State,
)
from zuul_nodes.drivers.openstack.cloud import marks, names, networks
from zuul_nodes.drivers.openstack.cloud.errors import (
    ABSENT,
    Translation,
    check,
)
from zuul_nodes.drivers.openstack.cloud.failures import getKind
from zuul_nodes.drivers.openstack.cloud.lookups import Lookups
from zuul_nodes.drivers.openstack.cloud.pages import getPages
from zuul_nodes.drivers.openstack.servers.request import (
    AUTO,
    WITH_AUTO,
    getName,
    makeRequest,
)
from zuul_nodes.drivers.openstack.servers.serverlist import Servers

STATES = {'ACTIVE': State.READY, 'ERROR': State.FAILED,
          'DELETED': State.DELETED, 'SOFT_DELETED': State.DELETED,
          **dict.fromkeys(('SHUTOFF', 'PAUSED', 'SUSPENDED', 'SHELVED',
                           'SHELVED_OFFLOADED'), State.STOPPED)}
# From this version of Nova's API on, servers contain their flavor.
WITH_FLAVOR = '2.47'
# Maximum number of lines of the console output.
CONSOLE_LINES = 1000


def translated(method):
    """Decorate a method to raise the errors of :func:`errors.translate`."""
    @functools.wraps(method)
    def wrapper(*args, **kwargs):
        with Translation():
            return method(*args, **kwargs)
    return wrapper


class OpenstackAdapter(Adapter):
    """Calls a cloud for a project in a region.

    :param OpenstackEndpoint endpoint: that has a client.
    :ivar Lookups lookups: finds objects of the cloud by name.
    """

    abilities = frozenset({Ability.CONSOLE, Ability.ZONES})
    list_interval = 2.0

    def __init__(self, endpoint):
        # Unlike other adapters, this one uses the endpoint's client.
        self.endpoint = endpoint
        self.lookups = Lookups(endpoint)
        self.servers = Servers()

    @property
    def client(self):
        return self.endpoint.client

    @property
    def timeout(self):
        """Seconds that a call may take."""
        return self.client.session.timeout

    # Servers

    @translated
    def createInstance(self, spec):
        nics = self._makeNetworks(spec)
        request, version = makeRequest(spec, self.lookups, nics)
        try:
            return self._create(request, version)
        except exceptions.BadRequestException as error:
            # The name of an image or a flavor may lead to another one now.
            self.lookups.forgetAnswers()
            if self.lookups.isClosed(spec.zone):
                raise CapacityError(f'The availability zone "{spec.zone}" '
                                    'is closed') from error
            self.client._reset_network_caches()
            again, version = makeRequest(
                spec, self.lookups, self._makeNetworks(spec))
            if again == request:
                raise
            return self._create(again, version)

    def _create(self, request, version):
        try:
            # Not logged: the request has userdata, and the answer a password.
            response = check(self.client.compute.post(
                '/servers', json=request, microversion=version, log=False))
        except exceptions.HttpException as error:
            if error.status_code == 406:
                raise PermanentError(
                    f'The cloud is too old for "volume-type", which requires '
                    f'version {version} of Nova\'s API') from error
            raise
        return Instance(response.json()['server']['id'], State.BUILDING,
                        request['server']['metadata'])

    @translated
    def listInstances(self):
        version = WITH_FLAVOR if supports_microversion(
            self.client.compute, WITH_FLAVOR) else None
        return [self._makeInstance(server)
                for server in self.servers.listServers(
                    self.client.compute, version)]

    def _makeInstance(self, server):
        state = STATES.get(server['status'], State.BUILDING)
        message = (server.get('fault') or {}).get('message')
        return Instance(
            server['id'], state, server.get('metadata') or {},
            message=message, error=message and (
                getKind(message) or DriverError),
            server=server, host_id=server.get('hostId'),
            cloud=self.endpoint.connection.cloud_name,
            region=self.endpoint.getRegionName(),
            az=server.get('OS-EXT-AZ:availability_zone'),
            volumes=[each['id'] for each in server.get(
                'os-extended-volumes:volumes_attached', ())])

    @translated
    def deleteInstance(self, instance_id):
        self._delete(self.client.compute, f'/servers/{instance_id}')

    @translated
    def getConsoleLog(self, instance_id):
        return check(self.client.compute.post(
            f'/servers/{instance_id}/action', json={
                'os-getConsoleOutput': {'length': CONSOLE_LINES}},
        )).json()['output']

    def listZones(self):
        return self.lookups.listZones()

    # Networks

    def _makeNetworks(self, spec):
        """:return: the networks of a server for Nova; empty to let Nova
            choose."""
        nics = []
        for number, network in enumerate(spec.label.networks):
            wanted = networks.parse(network)
            network_id = self.lookups.getNetwork(wanted['name'])['id']
            if wanted['port_security']:
                nics.append({'uuid': network_id})
            else:
                nics.append({'port': self._getPort(
                    network_id, f'{getName(spec)}-{number}', spec.tags)})
        # As openstacksdk does.
        if not nics and (default := self.client.get_default_network()):
            return [{'uuid': default['id']}]
        return nics or (AUTO if supports_microversion(
            self.client.compute, WITH_AUTO) else [])

    def _getPort(self, network_id, name, node_tags):
        """:return: the id of a port of the node without port security."""
        # Nova would create a port with the port security of the network.
        description = marks.describe(node_tags)
        for port in getPages(self.client.network, '/ports', 'ports',
                             query={'name': name, 'network_id': network_id}):
            # The answer to an earlier request may have been lost.
            if port['description'] == description:
                return port['id']
        return check(self.client.network.post('/ports', json={'port': {
            'network_id': network_id, 'name': name,
            'description': description, 'port_security_enabled': False,
            'security_groups': []}})).json()['port']['id']

    @translated
    def getAddresses(self, server, floating):
        """
        :param dict server: as Nova returns it.
        :param list floating: its floating IPs, as Neutron returns them.
        :return: the addresses for an :class:`Instance`, a dict, and whether
            the server needs a floating IP.
        """
        addresses = networks.addFloatingIps(
            server.get('addresses') or {}, floating)
        public = self._sort(
            server, networks.keepOne(addresses, networks.FLOATING))
        private = self._sort(server, networks.keepOne(
            networks.getBehind(addresses), networks.FIXED))
        preferred = private if self.client.private else public
        found = {
            'public_ipv4': public['public_v4'] or None,
            'public_ipv6': public['public_v6'] or None,
            'private_ipv4': private['private_v4'] or None,
            'interface_ip': preferred['interface_ip']
            or private['private_v4'] or public['public_v6'] or None}
        return found, (
            not public['public_v4'] and self.hasFloatingIps()
            and not self.client.private
            and networks.hasFixed(addresses)
            and bool(self.client.get_external_ipv4_floating_networks()))

    def _sort(self, server, addresses):
        """:return: the server with these addresses as openstacksdk presents
            it."""
        # openstacksdk would query Neutron for each active server.
        return meta.add_server_interfaces(self.client, ZuulOpenstackServer({
            **server, 'status': '', 'accessIPv4': server.get('accessIPv4'),
            'accessIPv6': server.get('accessIPv6'),
            'addresses': addresses}))

    @translated
    def hasFloatingIps(self):
        """:return: whether the cloud may have floating IPs according to
            ``clouds.yaml`` and the catalog."""
        source = self.client.config.config.get('floating_ip_source')
        return ((source or 'none').lower() != 'none'
                and self.client.has_service('network'))

    @translated
    def createFloatingIp(self, server_id, ports, network, node_tags):
        """Give a server a floating IP, or return the one that it has.

        :param list ports: of the server.
        :param str network: the source of floating IPs, name or id, or None.
        :param dict node_tags: of the node.
        :return: a dict, as Neutron returns it.
        """
        sources = ([self.lookups.getNetwork(network)['id']] if network
                   else self._getSources())
        response = None
        for (port, address), source in itertools.product(
                networks.choosePorts(
                    server_id, ports, self.client.get_nat_destination()),
                sources):
            response = self.client.network.post('/floatingips', json={
                'floatingip': {
                    'floating_network_id': source,
                    'port_id': port['id'], 'fixed_ip_address': address,
                    'description': marks.describe(node_tags)}})
            if response.status_code == 409 and (
                    existing := self._findFloatingIp(port, address)):
                # The answer to an earlier request was lost.
                return existing
            if response.status_code != 404:
                break
            # No router connects the networks.
        return check(response).json()['floatingip']

    def _getSources(self):
        """:return: ids of the networks that can provide floating IPs, the best
            one first."""
        first = self.client.get_nat_source()
        return [each['id'] for each in sorted(
            self.client.get_external_ipv4_floating_networks(),
            key=lambda each: each['id'] != (first or each)['id'])]

    def _findFloatingIp(self, port, address):
        return next((
            each for each in getPages(
                self.client.network, '/floatingips', 'floatingips',
                query={'port_id': port['id']})
            if each['fixed_ip_address'] == address), None)

    @translated
    def listFloatingIps(self):
        """:return: the floating IPs of the project, as Neutron returns them;
            none if there are no routers."""
        return self._list(self.client.network, '/floatingips', 'floatingips',
                          project_id=self.client.current_project_id)

    @translated
    def listPorts(self):
        """:return: the ports of the project, as Neutron returns them; none if
            there is no Neutron."""
        return self._list(self.client.network, '/ports', 'ports',
                          project_id=self.client.current_project_id)

    @translated
    def deleteFloatingIp(self, floating_ip_id):
        self._delete(self.client.network, f'/floatingips/{floating_ip_id}')

    @translated
    def deletePort(self, port_id):
        self._delete(self.client.network, f'/ports/{port_id}')

    # Volumes

    @translated
    def listVolumes(self):
        """:return: the volumes of the project, as Cinder returns them; none if
            there is no Cinder."""
        return self._list(
            self.client.block_storage, '/volumes/detail', 'volumes')

    @translated
    def tagVolume(self, volume_id, node_tags):
        """Tag the volume of a node, which Nova does not do."""
        check(self.client.block_storage.post(
            f'/volumes/{volume_id}/metadata',
            json={'metadata': names.fitMetadata(node_tags)}))

    @translated
    def deleteVolume(self, volume_id):
        self._delete(self.client.block_storage, f'/volumes/{volume_id}')

    def _list(self, proxy, path, key, **query):
        try:
            return list(getPages(proxy, path, key, query=query))
        except ABSENT:
            return []

    def _delete(self, proxy, path):
        """Delete a resource if it exists."""
        response = proxy.delete(path)
        if response.status_code != 404:
            check(response)
