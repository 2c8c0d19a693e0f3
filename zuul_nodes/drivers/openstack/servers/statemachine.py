"""State machines that extend those of the framework with floating IPs, ports
and volumes."""

import copy
import dataclasses
import time

from zuul_nodes.drivers import DriverError, TemporaryError, extension
from zuul_nodes.drivers.openstack.cloud import marks, networks
from zuul_nodes.drivers.openstack.cloud.resources import IDLE
from zuul_nodes.drivers.openstack.config.properties import Properties

# The method of the adapter.
ADDRESS = 'createFloatingIp'


class OpenstackCreateStateMachine(extension.BoundedCreateStateMachine):
    """Creates a server; the parameters are those of the base class."""

    def __init__(self, provider, node, image_external_id, log):
        super().__init__(provider, node, image_external_id, log)
        if self.state not in (self.START, self.MOVING, self.ASKED,
                              self.BOOTING, self.COMPLETE):
            # Zuul's own driver has started the launch.
            self.state = self.ASKED
        if 'instance_id' not in node.create_state:
            self.instance_id = node.openstack_server_id
        # Nova deletes its volumes with the server unless an error occurs.
        self.volumes = list(node.create_state.get('volumes', ()))
        self.ports = networks.hasInsecure(provider.labels[node.label])
        self._tagged = set()
        # Whether the server needs a floating IP, and the one that it has.
        self._wanting = False
        self._floating_ip = None
        self._asked_since = time.monotonic()

    def toDict(self):
        return super().toDict() | {
            'volumes': self.volumes, 'ports': self.ports}

    def advance(self):
        instance = super().advance()
        # Zuul's own driver finds the server by this field.
        if self.node.openstack_server_id != self.instance_id:
            self.node.openstack_server_id = self.instance_id
        return instance

    def getFlavorName(self):
        label = self.provider.labels[self.node.label]
        return self.endpoint.lookups.getFlavor(
            self.provider.flavors[label.flavor])['name']

    def hasFlavor(self, instance, name):
        flavor = instance.server['flavor']
        # Old versions of Nova return only its id.
        return name == (flavor.get('original_name') or (
            self.endpoint.lookups.getFlavorName(flavor['id'])))

    def _getSpec(self, zone):
        label = self.provider.labels[self.node.label]
        filled = Properties(self.provider, self.node).fill(
            label.dynamic_instance_properties)
        spec = super()._getSpec(zone)
        return dataclasses.replace(spec, tags={
            **label.instance_properties, **filled, **spec.tags})

    def _findReady(self):
        self._noteVolumes()
        instance = super()._findReady()
        if instance is None or not self._tagVolumes(instance):
            return None
        return self._connect(copy.copy(instance))

    def _noteVolumes(self):
        """Record the volumes of a server while it is not ready, because only
        Nova can have attached these."""
        if not self.provider.labels[self.node.label].boot_from_volume:
            return
        for instance in self.endpoint.listing.get(self.since) or ():
            if instance.id == self.instance_id:
                # The node may have had an instance in another zone before.
                self.volumes = sorted({*self.volumes, *instance.volumes})

    def _tagVolumes(self, instance):
        """:return: whether all volumes of the server have been tagged, as far
            as the cloud allows it."""
        for volume_id in instance.volumes:
            if volume_id not in self.volumes or volume_id in self._tagged:
                continue
            task = self._perform(
                'tagVolume', volume_id, self.node.tags, key=volume_id)
            if task is None:
                return False
            try:
                task.result()
            except DriverError as error:
                # The tags only help to find a leaked volume.
                self.log.warning('Unable to tag volume %s: %s', volume_id,
                                 error)
            self._tagged.add(volume_id)
        return True

    # Addresses

    def _connect(self, instance):
        """:return: the instance, once it has its addresses."""
        known = None
        if not self._wanting:
            known = self._getAddresses(instance, [])
            label = self.provider.labels[self.node.label]
            self._wanting = bool(self.node.openstack_floating_ip_id) or bool(
                known and label.auto_floating_ip and known[1])
        if self._wanting:
            known = (self._getAddresses(instance, [self._floating_ip])
                     if self._hasFloatingIp(instance) else None)
        if known is None:
            return None
        addresses, _ = known
        if not addresses['interface_ip']:
            raise DriverError(
                f'Server {instance.id} has no address to which Zuul could '
                f'connect')
        vars(instance).update(addresses)
        return instance

    def _getAddresses(self, instance, floating):
        """:return: the result of the adapter; None until it is known."""
        task = self._perform('getAddresses', instance.server, floating)
        return task and task.result()

    def _hasFloatingIp(self, instance):
        """:return: whether the floating IP can be used."""
        if not self.node.openstack_floating_ip_id:
            ports = self._getPorts(instance)
            if not ports:
                return False
            label = self.provider.labels[self.node.label]
            task = self._perform(ADDRESS, instance.id, ports,
                                 label.floating_network, self.node.tags)
            if task is None:
                return False
            self._floating_ip = task.result()
            self.node.openstack_floating_ip_id = self._floating_ip['id']
            self._asked_since = time.monotonic()
        if self._floating_ip is None or self._floating_ip[
                'status'] != 'ACTIVE':
            self._lookForFloatingIp()
        return (self._floating_ip is not None
                and self._floating_ip['status'] == 'ACTIVE')

    def _getPorts(self, instance):
        """:return: the server's ports; None until they are known."""
        ports = self.endpoint.ports.get(self._asked_since)
        return ports and [port for port in ports
                          if port['device_id'] == instance.id]

    def _lookForFloatingIp(self):
        known = self.endpoint.floating_ips.get(self._asked_since)
        if known is None:
            return
        wanted = self.node.openstack_floating_ip_id
        self._floating_ip = next(
            (each for each in known if each['id'] == wanted), None)
        if self._floating_ip is None:
            raise TemporaryError(f'The floating IP {wanted} has vanished')
        if self._floating_ip['status'] == 'ERROR':
            raise TemporaryError(
                f'The floating IP {self._floating_ip["floating_ip_address"]}'
                f' has the status ERROR')

    def _perform(self, name, *args, key=None):
        return self.endpoint.calls.perform(
            key or self.node.uuid, name, *args)


class OpenstackDeleteStateMachine(extension.DeleteStateMachine):
    """Deletes a server; the parameters are those of the base class."""

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log)
        if self.state not in (self.START, self.REMOVING, self.COMPLETE):
            self.state = self.START
        self.removal = NodeRemoval(provider, node)

    def advance(self):
        if self.state == self.START and not self.endpoint.calls.isIdle(
                self.node.uuid, ADDRESS):
            return
        super().advance()


class NodeRemoval(extension.Removal):
    """Deletes all resources of a node.

    These are floating IPs, servers, and then the volumes and ports that Nova
    may have left.

    :param provider: of its endpoint; may not have its label any more.
    :param ProviderNode node:
    :ivar list volumes: ids of the volumes of its server.
    """

    def __init__(self, provider, node):
        endpoint = provider.getEndpoint()
        super().__init__(
            endpoint, node, node.create_state.get('instance_id')
            or node.openstack_server_id)
        self.volumes = node.create_state.get('volumes', [])
        # The state of the node may have been lost after ports were created.
        label = provider.labels.get(node.label)
        self.has_ports = node.create_state.get(
            'ports', label is not None and networks.hasInsecure(label))
        # Methods that have deleted all resources of their kind.
        self.done = set()

    def begin(self):
        super().begin()
        self.begun = self.since

    def isComplete(self):
        return (self._removeFloatingIps() and super().isComplete()
                and self._removePorts() and self._removeVolumes())

    def _removeFloatingIps(self):
        known = self.node.openstack_floating_ip_id
        if known:
            return self._removeOnce('deleteFloatingIp', lambda: [known])
        if not self.endpoint.adapter.hasFloatingIps():
            return True
        # A launcher may have died before it recorded the id.
        return self._removeOnce('deleteFloatingIp', lambda: (
            self._findOurs(self.endpoint.floating_ips)))

    def _removePorts(self):
        return not self.has_ports or self._removeOnce(
            'deletePort', lambda: self._findOurs(self.endpoint.ports))

    def _findOurs(self, listing):
        """:return: ids of the resources of the node; None until they are
            known."""
        things = listing.get(self.begun)
        return things if things is None else [
            each['id'] for each in things if marks.getTags(
                each.get('description')).get(marks.NODE) == self.node.uuid]

    def _removeOnce(self, name, find):
        """:return: whether all have been deleted; each is deleted once."""
        if name in self.done:
            return True
        ids = find()
        if ids is None:
            return False
        for each in ids:
            task = self.endpoint.calls.perform(each, name, each)
            if task is None:
                return False
            task.result()
        self.done.add(name)
        return True

    def _removeVolumes(self):
        """:return: whether all volumes have been deleted."""
        if not self.volumes:
            return True
        volumes = self.endpoint.volumes.get(self.since)
        if volumes is None:
            return False
        left = [each for each in volumes if each['id'] in self.volumes
                and each['status'] != 'deleting']
        for each in left:
            if each['status'] in IDLE:
                self._remove(each['id'], 'deleteVolume')
        return not left
