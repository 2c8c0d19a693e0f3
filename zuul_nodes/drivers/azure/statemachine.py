"""State machines that extend those of the framework with addresses."""

import copy

from zuul_nodes.drivers import DriverError, extension

PUBLIC = ('public_ipv4', 'public_ipv6')
PRIVATE = ('private_ipv4', 'private_ipv6')


class AzureCreateStateMachine(extension.BoundedCreateStateMachine):
    """Creates a virtual machine; the parameters are those of the base class.
    """

    def __init__(self, provider, node, image_external_id, log):
        super().__init__(provider, node, image_external_id, log)
        if self.state not in (self.START, self.MOVING, self.ASKED,
                              self.BOOTING, self.COMPLETE):
            # Zuul's own driver has started the launch.
            self.state = self.ASKED
        if 'instance_id' not in node.create_state and node.azure_vm_id:
            self.instance_id = node.azure_vm_id.lower()

    def advance(self):
        instance = super().advance()
        # Zuul's own driver finds the virtual machine by this field.
        if (self.node.azure_vm_id or '').lower() != (self.instance_id or ''):
            self.node.azure_vm_id = self.instance_id
        return instance

    def getFlavorName(self):
        label = self.provider.labels[self.node.label]
        return self.provider.flavors[label.flavor].vm_size

    def hasFlavor(self, instance, name):
        size = instance.vm['properties'].get('hardwareProfile', {})
        return size.get('vmSize', '').lower() == name.lower()

    def _findReady(self):
        instance = super()._findReady()
        return instance and self._connect(copy.copy(instance))

    def _connect(self, instance):
        """:return: the instance with its addresses; None until they are known.
        """
        interface = self._find(
            self.endpoint.interfaces, _getInterface(instance.vm))
        if interface is None or not interface['properties'].get(
                'ipConfigurations'):
            return None
        if interface['properties'].get('provisioningState') == 'Failed':
            raise DriverError(f'The interface {interface["id"]} has failed')
        found = {}
        for config in interface['properties']['ipConfigurations']:
            properties = config['properties']
            version = properties.get('privateIPAddressVersion', 'IPv4')
            private = properties.get('privateIPAddress')
            found[f'private_{version.lower()}'] = private
            if private is None:
                return None
            if public := properties.get('publicIPAddress'):
                public = self._find(self.endpoint.addresses, public['id'])
                address = public and public['properties'].get('ipAddress')
                if not address:
                    return None
                found[f'public_{version.lower()}'] = address
        vars(instance).update(found)
        wanted = (PRIVATE if self.provider.use_internal_ip
                  else PUBLIC + PRIVATE)
        instance.interface_ip = next(filter(None, map(found.get, wanted)))
        return instance

    def _find(self, listing, resource_id):
        """:return: a resource; None until a list contains it."""
        return next((each for each in listing.get(self.since) or ()
                     if each['id'].lower() == resource_id.lower()), None)


class AzureDeleteStateMachine(extension.DeleteStateMachine):
    """Deletes a virtual machine; the parameters are those of the base class.
    """

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log)
        if self.removal.instance_id is None and node.azure_vm_id:
            # Zuul's own driver has created it.
            self.removal.instance_id = node.azure_vm_id.lower()


def _getInterface(vm):
    """:return: the id of a virtual machine's first interface."""
    interfaces = vm['properties']['networkProfile']['networkInterfaces']
    return min(interfaces, key=lambda each: not each.get(
        'properties', {}).get('primary', False))['id']
