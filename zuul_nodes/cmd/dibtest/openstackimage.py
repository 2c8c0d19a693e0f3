"""An image file in an OpenStack cloud, and a server made of it.

Everything made here has the same unique name, by which it is found again
in the end, whether its creation was answered or not.
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

# What a cloud, or the way there, raises.
ERRORS = (ClientException, SDKException)
# Seconds.  So late may something appear whose creation was not answered.
DOUBT = 15
# Of what can be made, in the order in which it is removed.
SERVER, FLOATING_IP, KEYPAIR, IMAGE = KINDS = (
    'server', 'floating IP', 'key pair', 'image')


class OpenStackImage:
    """
    :param str cloud: the name of a cloud in clouds.yaml, or None for what
        the environment says.
    :param str region: of that cloud, or None.
    :param str prefix: of the name of everything made.
    :param float api_timeout: seconds that a call may take.
    :ivar str name: of everything made.
    :ivar str server_id: of the server, or None.
    :raises UserError: there is no such cloud, or none of that kind.
    """

    def __init__(self, cloud, region, prefix, api_timeout):
        self.name = f'{prefix}-{uuid.uuid4().hex[:12]}'
        self.server_id = None
        self._where = {'cloud': cloud, 'region_name': region,
                       'app_name': 'zuul-nodes',
                       'app_version': zuul_nodes.__version__}
        # Kind -> whether its creation was answered.
        self._made = {}
        self._cloud = self._connect(api_timeout)
        # The password is wrong now, not after the upload.
        self._cloud.authorize()

    def _connect(self, timeout):
        return openstack.connect(**self._where, api_timeout=timeout)

    def close(self):
        self._cloud.close()

    @contextlib.contextmanager
    def _making(self, kind):
        """The block asks for one of a kind."""
        self._made[kind] = False
        try:
            yield
        except HttpException as error:
            # A refusal is an answer; the failure of a proxy is none.
            self._made[kind] = 400 <= (error.status_code or 0) < 500
            raise
        self._made[kind] = True

    # What there is to choose from

    def findFlavor(self, name, min_ram):
        """
        :param str name: or id, or None.
        :param int min_ram: in MB, if there is no name.
        :return: the flavor, or the smallest with so much memory.
        :raises UserError: there is none.
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
        """:param str name: or id.  :raises UserError: there is none."""
        network = self._cloud.network.find_network(name)
        if network is None:
            known = ', '.join(sorted(
                each.name for each in self._cloud.network.networks()))
            raise UserError(f'the cloud has no network "{name}". There are: '
                            f'{known}')
        return network

    def checkKeypair(self, name):
        """:raises UserError: there is none of this name."""
        if self._cloud.compute.find_keypair(name) is None:
            raise UserError(f'the cloud has no key pair "{name}"')

    # What is made

    def createKeypair(self, public_key):
        with self._making(KEYPAIR):
            self._cloud.compute.create_keypair(
                name=self.name, public_key=public_key)

    def upload(self, filename, disk_format, properties, timeout):
        """
        :param str filename: of the image.
        :param dict properties: name -> value.
        :param float timeout: seconds.
        :return: the image, when it can be used.
        :raises UserError: it does not get there.
        """
        # A single call is as long as the image is large.
        with (limit(timeout, lambda: UserError(
                f'the image is not active after {timeout:g} s')),
              self._connect(timeout) as cloud):
            with self._making(IMAGE):
                image = cloud.image.create_image(
                    self.name, filename=str(filename),
                    disk_format=disk_format, container_format='bare',
                    allow_duplicates=True, wait=True, timeout=timeout,
                    properties=dict(properties))
            return poll(lambda: self._getActiveImage(image.id))

    def _getActiveImage(self, image_id):
        image = _tolerate(lambda: self._cloud.image.get_image(image_id))
        if image and image.status in ('killed', 'deleted'):
            raise UserError(f'the cloud does not take the image: it is '
                            f'{image.status}')
        return image if image and image.status == 'active' else None

    def boot(self, image, flavor, timeout, networks=(), security_groups=(),
             user_data=None, **kwargs):
        """Make a server of the image.

        :param networks: to be in; the one that clouds.yaml or the cloud
            has for this if there are none.
        :param security_groups: names.
        :param bytes user_data: or None.
        :param kwargs: what else openstacksdk's compute service takes.
        :return: the server, active.
        :raises BrokenImage: it does not get there.
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
            with self._making(SERVER):
                self.server_id = self._cloud.compute.create_server(
                    name=self.name, image_id=image.id, flavor_id=flavor.id,
                    networks=[{'uuid': network.id} for network in networks]
                    or 'auto', **kwargs).id
            return poll(self._getActiveServer)

    def _getActiveServer(self):
        try:
            server = _tolerate(
                lambda: self._cloud.compute.get_server(self.server_id))
        except NotFoundException as error:
            raise BrokenImage('the server is gone') from error
        if server and server.status == 'ERROR':
            fault = (server.fault or {}).get('message', 'it does not say why')
            raise BrokenImage(f'the server is in ERROR: {fault}')
        if server and server.status == 'ACTIVE':
            # With the addresses as openstacksdk tells them apart.
            return _tolerate(
                lambda: self._cloud.get_server_by_id(self.server_id))
        return None

    def getAddress(self, server, floating_ip):
        """
        :param bool floating_ip: whether to make one, or None for when it
            is needed.
        :return: the address at which the server is to be reached.
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
        # Without a configuration that says so, openstacksdk guesses this.
        inside = self._cloud.get_nat_destination()
        port = min(ports, key=lambda port: (
            inside is None or port.network_id != inside.id))
        with self._making(FLOATING_IP):
            return self._cloud.network.create_ip(
                floating_network_id=networks[0].id, port_id=port.id,
                description=self.name).floating_ip_address

    def getConsole(self):
        """:return: what the server's console shows; empty if that can't
            be known."""
        if self.server_id is None:
            return ''
        try:
            return self._cloud.compute.get_server_console_output(
                self.server_id)['output'] or ''
        except Exception:
            # Not every cloud has it, and it must not get in the way.
            return ''

    # How it ends

    @property
    def made(self):
        """:return: the kinds of what there may be."""
        return [kind for kind in KINDS if kind in self._made]

    def remove(self, kind, timeout):
        """Returns when there is nothing of this kind and our name.

        :param float timeout: seconds.
        :raises UserError: there still is.
        """
        reason = ''
        asked = set()
        patience = 0 if self._made[kind] else DOUBT
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
                # It may be in use, or the cloud out of order.
                reason = f': {describe(error)}'
                return False
            return not found and (
                asked or time.monotonic() - begin >= patience)

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


def _tolerate(look):
    """:return: what it gives, or None where a later look may do better."""
    try:
        return look()
    except ConnectFailure:
        return None
    except HttpException as error:
        if (error.status_code or 0) < 500 and error.status_code != 429:
            raise
        return None
