"""An image file in an OpenStack cloud, and a server that boots from it.

All resources of a test have the same unique name.  The cleanup finds them by
this name, even if the cloud did not answer the request that created them.
"""

import base64
import contextlib
import time
import uuid

from keystoneauth1.exceptions import ClientException, ConnectFailure
import openstack
from openstack.exceptions import (
    HttpException,
    NotFoundException,
    SDKException,
)

import zuul_nodes
from zuul_nodes.cmd.common.limits import limit, poll
from zuul_nodes.cmd.dibtest.errors import BrokenImage, describe
from zuul_nodes.exceptions import UserError

# Errors of a cloud and of the connection to it.
ERRORS = (ClientException, SDKException)
# Seconds for which a resource may still appear after an unanswered request.
DOUBT = 15
# The kinds of resources, in the order of their removal.
SERVER, FLOATING_IP, KEYPAIR, IMAGE = KINDS = (
    'server', 'floating IP', 'key pair', 'image')


class OpenStackImage:
    """The resources of one test.

    :param str cloud: the name of a cloud in clouds.yaml; None to use the
        environment.
    :param str region: a region of that cloud, or None.
    :param str prefix: of the name of all resources.
    :param float api_timeout: seconds per call.
    :ivar str name: of all resources.
    :ivar str server_id: of the server, or None.
    :raises UserError: the cloud does not exist or cannot be used.
    """

    def __init__(self, cloud, region, prefix, api_timeout):
        self.name = f'{prefix}-{uuid.uuid4().hex[:12]}'
        self.server_id = None
        self._where = {'cloud': cloud, 'region_name': region,
                       'app_name': 'zuul-nodes',
                       'app_version': zuul_nodes.__version__}
        # Kind -> whether the cloud answered the request.
        self._created = {}
        self._cloud = self._connect(api_timeout)
        # Fail for a wrong password now, not after the upload.
        self._cloud.authorize()

    def _connect(self, timeout):
        return openstack.connect(**self._where, api_timeout=timeout)

    def close(self):
        self._cloud.close()

    @contextlib.contextmanager
    def _creating(self, kind):
        """The block requests a resource of a kind."""
        self._created[kind] = False
        try:
            yield
        except HttpException as error:
            # A rejection is an answer; the failure of a proxy is not.
            self._created[kind] = 400 <= (error.status_code or 0) < 500
            raise
        self._created[kind] = True

    # Choices

    def findFlavor(self, name, min_ram):
        """
        :param str name: name or id, or None.
        :param int min_ram: in MB; used if there is no name.
        :return: the flavor, or the smallest with enough memory.
        :raises UserError: the cloud has no such flavor.
        """
        flavors = sorted(self._cloud.list_flavors(get_extra=False),
                         key=lambda each: (each.ram, each.vcpus, each.disk,
                                           each.name))
        for flavor in flavors:
            if (flavor.ram >= min_ram if name is None
                    else name in (flavor.name, flavor.id)):
                return flavor
        wanted = (f'with {min_ram} MB of memory' if name is None
                  else f'"{name}"')
        known = ', '.join(each.name for each in flavors)
        raise UserError(f'the cloud has no flavor {wanted}. There are: '
                        f'{known}')

    def findNetwork(self, name):
        """
        :param str name: name or id.
        :raises UserError: the cloud has no such network.
        """
        network = self._cloud.network.find_network(name)
        if network is None:
            known = ', '.join(sorted(
                each.name for each in self._cloud.network.networks()))
            raise UserError(f'the cloud has no network "{name}". There are: '
                            f'{known}')
        return network

    def checkKeypair(self, name):
        """:raises UserError: the cloud has no key pair of this name."""
        if self._cloud.compute.find_keypair(name) is None:
            raise UserError(f'the cloud has no key pair "{name}"')

    # Resources

    def createKeypair(self, public_key):
        with self._creating(KEYPAIR):
            self._cloud.compute.create_keypair(
                name=self.name, public_key=public_key)

    def uploadImage(self, filename, disk_format, properties, timeout):
        """Upload an image and wait until it is active.

        :param str filename: of the image.
        :param dict properties: name -> value.
        :param float timeout: seconds.
        :return: the image.
        :raises UserError: the image does not become active.
        """
        # The upload is a single call, whose duration depends on the size.
        with (limit(timeout, lambda: UserError(
                f'the image is not active after {timeout:g} s')),
              self._connect(timeout) as cloud):
            with self._creating(IMAGE):
                image = cloud.image.create_image(
                    self.name, filename=str(filename),
                    disk_format=disk_format, container_format='bare',
                    allow_duplicates=True, wait=True, timeout=timeout,
                    properties=dict(properties))
            return poll(lambda: self._getActiveImage(image.id))

    def _getActiveImage(self, image_id):
        image = _tryCall(lambda: self._cloud.image.get_image(image_id))
        if image and image.status in ('killed', 'deleted'):
            raise UserError(f'the cloud did not accept the image: its '
                            f'status is {image.status}')
        return image if image and image.status == 'active' else None

    def bootServer(self, image, flavor, timeout, networks=(),
                   security_groups=(), user_data=None, **kwargs):
        """Boot a server from the image and wait until it is active.

        :param networks: networks of the server; if empty, the default of
            clouds.yaml or of the cloud.
        :param security_groups: names.
        :param bytes user_data: or None.
        :param kwargs: further arguments of openstacksdk's compute service.
        :return: the server.
        :raises BrokenImage: the server does not become active.
        """
        if security_groups:
            kwargs['security_groups'] = [
                {'name': name} for name in security_groups]
        if user_data:
            kwargs['user_data'] = base64.b64encode(user_data).decode()
        if not networks:
            networks = filter(None, [self._cloud.get_default_network()])
        with limit(timeout, lambda: BrokenImage(
                f'the server is not active after {timeout:g} s')):
            with self._creating(SERVER):
                self.server_id = self._cloud.compute.create_server(
                    name=self.name, image_id=image.id, flavor_id=flavor.id,
                    networks=[{'uuid': network.id} for network in networks]
                    or 'auto', **kwargs).id
            return poll(self._getActiveServer)

    def _getActiveServer(self):
        try:
            server = _tryCall(
                lambda: self._cloud.compute.get_server(self.server_id))
        except NotFoundException as error:
            raise BrokenImage('the server is gone') from error
        if server and server.status == 'ERROR':
            fault = (server.fault or {}).get('message', 'no reason given')
            raise BrokenImage(f'the server is in ERROR: {fault}')
        if server and server.status == 'ACTIVE':
            # This call classifies the server's addresses.
            return _tryCall(
                lambda: self._cloud.get_server_by_id(self.server_id))
        return None

    def getAddress(self, server, floating_ip):
        """
        :param bool floating_ip: whether to create a floating IP; None to
            create one if needed.
        :return: an address at which the server can be reached.
        :raises UserError: there is none.
        """
        if floating_ip is None:
            floating_ip = not server.interface_ip and bool(
                self._cloud.get_external_ipv4_floating_networks())
        if floating_ip:
            return self._createFloatingIp(server)
        address = server.interface_ip or server.private_v4 or next(
            (each['addr'] for addresses in server.addresses.values()
             for each in addresses), None)
        if not address:
            raise UserError('the server has no address: choose a network '
                            'with --network')
        return address

    def _createFloatingIp(self, server):
        networks = self._cloud.get_external_ipv4_floating_networks()
        if not networks:
            raise UserError('the cloud has no network for floating IPs')
        ports = list(self._cloud.network.ports(device_id=server.id))
        if not ports:
            raise UserError('the server has no port for a floating IP')
        # openstacksdk guesses the network unless clouds.yaml names it.
        inside = self._cloud.get_nat_destination()
        port = min(ports, key=lambda port: (
            inside is None or port.network_id != inside.id))
        with self._creating(FLOATING_IP):
            return self._cloud.network.create_ip(
                floating_network_id=networks[0].id, port_id=port.id,
                description=self.name).floating_ip_address

    def getConsole(self):
        """:return: the log of the server's console; empty if unavailable."""
        if self.server_id is None:
            return ''
        try:
            return self._cloud.compute.get_server_console_output(
                self.server_id)['output'] or ''
        except Exception:
            # Some clouds have no console, and the test goes on without.
            return ''

    # Cleanup

    @property
    def created(self):
        """:return: the kinds of resources that may exist."""
        return [kind for kind in KINDS if kind in self._created]

    def removeAll(self, kind, timeout):
        """Delete the resources of a kind, and wait until they are gone.

        :param float timeout: seconds.
        :raises UserError: a resource still exists after that time.
        """
        reason = ''
        asked = set()
        grace = 0 if self._created[kind] else DOUBT
        begin = time.monotonic()

        def step():
            nonlocal reason
            try:
                found = list(self._list(kind))
                for each in found:
                    if each.id not in asked:
                        self._delete(kind, each)
                        asked.add(each.id)
            except ERRORS as error:
                # The resource is in use, or the cloud has a problem: retry.
                reason = f': {describe(error)}'
                return False
            return not found and (
                asked or time.monotonic() - begin >= grace)

        with limit(timeout, lambda: UserError(
                f'the {kind} {self.name} is not gone after '
                f'{timeout:g} s{reason}')):
            poll(step)

    def _list(self, kind):
        if kind == SERVER:
            listed = self._cloud.compute.servers(details=False,
                                                 name=self.name)
        elif kind == FLOATING_IP:
            listed = self._cloud.network.ips(description=self.name)
            return (each for each in listed
                    if each.description == self.name)
        elif kind == KEYPAIR:
            listed = self._cloud.compute.keypairs()
        else:
            listed = self._cloud.image.images(name=self.name)
        return (each for each in listed if each.name == self.name)

    def _delete(self, kind, resource):
        delete = {SERVER: self._cloud.compute.delete_server,
                  FLOATING_IP: self._cloud.network.delete_ip,
                  KEYPAIR: self._cloud.compute.delete_keypair,
                  IMAGE: self._cloud.image.delete_image}[kind]
        delete(resource, ignore_missing=True)


def _tryCall(call):
    """:return: the result of a call; None after an error that may pass."""
    try:
        return call()
    except ConnectFailure:
        return None
    except HttpException as error:
        if (error.status_code or 0) < 500 and error.status_code != 429:
            raise
        return None
