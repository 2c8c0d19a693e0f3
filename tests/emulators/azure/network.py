"""Interfaces, public addresses and subnets.

https://learn.microsoft.com/rest/api/virtualnetwork/
"""

import ipaddress
import itertools

from tests.emulators.azure.core import Collection, Refusal, checkTags, getGroup

# Where addresses begin, by their version.
PRIVATE = {'IPv4': '10.0.0.4', 'IPv6': 'fd00::4'}
PUBLIC = {'IPv4': '198.18.0.1', 'IPv6': '2001:db8::1'}


def _count(beginnings):
    return {version: map(ipaddress.ip_address(beginning).__add__,
                         itertools.count())
            for version, beginning in beginnings.items()}


class Subnets(Collection):
    collection = 'Microsoft.Network/virtualNetworks/{network}/subnets'

    def add(self, group, network, name):
        """:return: a new subnet."""
        return self.store(self.make(
            self.getID(group, name, network=network),
            {'properties': {'addressPrefix': '10.0.0.0/16'}}))


class PublicAddresses(Collection):
    collection = 'Microsoft.Network/publicIPAddresses'

    def __init__(self, azure):
        super().__init__(azure)
        self._free = _count(PUBLIC)

    def fill(self, resource):
        properties = resource['properties']
        version = properties.setdefault('publicIPAddressVersion', 'IPv4')
        properties['ipAddress'] = str(next(self._free[version]))

    def checkFree(self, resource):
        if user := resource['properties'].get('ipConfiguration'):
            raise Refusal(
                400, f'Public IP address {resource["id"]} can not be deleted '
                     f'since it is still allocated to resource {user["id"]}. '
                     'In order to delete the public IP, disassociate/detach '
                     'the Public IP address from the resource.',
                'PublicIPAddressCannotBeDeleted')


class Interfaces(Collection):
    """They are made with virtual machines, by configurations."""

    collection = 'Microsoft.Network/networkInterfaces'

    def __init__(self, azure):
        super().__init__(azure)
        self._free = _count(PRIVATE)

    def add(self, vm, config):
        """
        :param dict config: one of networkInterfaceConfigurations.
        :return: the new interface of a virtual machine.
        :raises Refusal: it can not be made.
        """
        given = config['properties']['ipConfigurations']
        if not any(each['properties'].get(
                'privateIPAddressVersion', 'IPv4') == 'IPv4'
                for each in given):
            raise Refusal(
                400, f'Network interface {config["name"]} must have at least '
                     'one IPv4 IP configuration.', 'BadRequest')
        self.checkName(config['name'])
        checkTags(config.get('tags'))
        for each in given:
            subnet_id = each['properties']['subnet']['id']
            if self.azure.subnets.get(subnet_id) is None:
                raise Refusal(
                    400, f'Resource {subnet_id} referenced by resource '
                         f'{vm["id"]} was not found. Please make sure that '
                         'the referenced resource exists, and that both '
                         'resources are in the same region.',
                    'InvalidResourceReference')
        nic_id = self.getID(getGroup(vm['id']), config['name'])
        if former := self.get(nic_id):
            self.checkFree(former)
        nic = self.store(self.make(nic_id, {
            'location': vm['location'], 'tags': config.get('tags'),
            'properties': {'primary': True,
                           'virtualMachine': {'id': vm['id']}}}))
        nic['properties']['ipConfigurations'] = [
            self._addAddress(nic, each) for each in given]
        return nic

    def _addAddress(self, nic, config):
        properties = config['properties']
        version = properties.get('privateIPAddressVersion', 'IPv4')
        made = {
            'id': f'{nic["id"]}/ipConfigurations/{config["name"]}',
            'name': config['name'], 'properties': {
                'provisioningState': 'Succeeded',
                'privateIPAddress': str(next(self._free[version])),
                'privateIPAllocationMethod': 'Dynamic',
                'privateIPAddressVersion': version,
                'subnet': properties['subnet']}}
        if public := properties.get('publicIPAddressConfiguration'):
            addresses = self.azure.addresses
            addresses.checkName(public['name'])
            checkTags(public.get('tags'))
            resource = addresses.store(addresses.make(
                addresses.getID(getGroup(nic['id']), public['name']),
                {**public, 'location': nic['location'], 'properties': {
                    **public['properties'],
                    'ipConfiguration': {'id': made['id']}}}))
            addresses.fill(resource)
            made['properties']['publicIPAddress'] = {
                'id': resource['id'], 'properties': {
                    'deleteOption': resource['properties'].pop(
                        'deleteOption', 'Detach')}}
        return made

    def leave(self, nic_id, deletes):
        """The virtual machine of an interface is gone.

        :param bool deletes: whether the interface goes with it.
        """
        nic = self.get(nic_id)
        if not deletes:
            del nic['properties']['virtualMachine']
            return
        public = [address for each in nic['properties']['ipConfigurations']
                  if (address := each['properties'].get('publicIPAddress'))]
        self.remove(nic_id)
        for address in public:
            if address['properties']['deleteOption'] == 'Delete':
                self.azure.addresses.remove(address['id'])

    def remove(self, resource_id):
        nic = self.get(resource_id)
        super().remove(resource_id)
        for each in nic['properties']['ipConfigurations']:
            if public := each['properties'].get('publicIPAddress'):
                self.azure.addresses.demand(public['id'])['properties'].pop(
                    'ipConfiguration')

    def fill(self, resource):
        raise Refusal(501, 'The emulator makes interfaces with their '
                           'virtual machines only.', 'NotImplemented')

    def checkFree(self, resource):
        if user := resource['properties'].get('virtualMachine'):
            raise Refusal(
                400, f'Network Interface {resource["id"]} is used by '
                     f'existing resource {user["id"]}. In order to delete '
                     'the network interface, it must be dissociated from '
                     'the resource. To learn more, see aka.ms/deletenic.',
                'NicInUse')
