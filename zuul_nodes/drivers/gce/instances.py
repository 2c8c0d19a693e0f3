"""Create, list and delete instances."""

import collections

from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    Instance,
    PermanentError,
    State,
    TemporaryError,
)
from zuul_nodes.drivers.gce import tags
from zuul_nodes.drivers.gce.errors import isConflict, isGone, isMissing
from zuul_nodes.drivers.gce.insertions import Insertions
from zuul_nodes.drivers.gce.machine import ITEM, makeInstance
from zuul_nodes.drivers.gce.memory import Memory
from zuul_nodes.drivers.gce.names import makeName
from zuul_nodes.drivers.gce.quota import Quota, getName

# https://cloud.google.com/compute/docs/instances/instance-lifecycle
STATES = {'PROVISIONING': State.BUILDING, 'STAGING': State.BUILDING,
          'REPAIRING': State.BUILDING, 'RUNNING': State.READY}


class Instances:
    """Manages all instances of a project in a region; ids are ``zone/name``.

    :param Client client:
    :param str region:
    """

    def __init__(self, client, region):
        self.client = client
        self.region = region
        # The API compares URLs; zones are called region-a or region-ai1a.
        self._filter = f'zone eq ".*/{region}-[a-z0-9]+"'
        self._zones = Memory()
        self.quota = Quota(client, region, self.getZones, self.countUsage)
        self.insertions = Insertions(client, self.getZones)

    def getZones(self):
        """As :meth:`listZones`, cached for some time."""
        return self._zones.get(None, self.listZones)

    def listZones(self):
        """
        :return: names of the available zones of the region.
        :raises DriverError: there are none.
        """
        zones = [zone for zone in self.client.list('Zones')
                 if getName(zone.region) == self.region]
        if not zones:
            raise PermanentError(f'There is no region "{self.region}"')
        found = sorted(zone.name for zone in zones if zone.status == 'UP')
        if not found:
            raise TemporaryError(
                f'No zone of region "{self.region}" is available')
        return found

    def createInstance(self, spec):
        """:return: an :class:`Instance`, which an earlier call may have
            created."""
        name = makeName(spec.name)
        instance_id = f'{spec.zone}/{name}'
        flavor = spec.flavor
        # Instances of a kind need the same capacity.
        kind = (spec.zone, flavor.machine_type, flavor.market_type,
                flavor.min_cpu_platform, flavor.confidential_type,
                str(flavor.accelerators))
        if self.insertions.isFull(kind):
            if existing := self._get(instance_id):
                return existing
            raise CapacityError(
                f'Zone {spec.zone} had no capacity for {flavor.machine_type} '
                'some minutes ago')
        body = makeInstance(spec, name, self.client.project, self.region)
        try:
            operation = self.client.call(
                'Instances', 'insert_unary', zone=spec.zone,
                instance_resource=body)
        except PermanentError as error:
            if self.quota.getMachineType(spec.zone, flavor.machine_type):
                raise
            # Zones differ in their machine types; another zone has this one.
            raise CapacityError(
                f'Zone {spec.zone} has no machine type '
                f'"{flavor.machine_type}"') from error
        except DriverError as error:
            if not isConflict(error):
                raise
            if existing := self._get(instance_id):
                return existing
            # Its boot disk was left over and has the same name.
            self.deleteDisk(instance_id)
            raise TemporaryError(
                f'Deleted the disk {instance_id}, which had the name of an '
                'instance') from error
        self.insertions.addOperation(instance_id, operation.name, kind)
        return Instance(instance_id, State.BUILDING, spec.tags)

    def _get(self, instance_id):
        """:return: an :class:`Instance`, or None."""
        zone, _, name = instance_id.partition('/')
        try:
            return self._convert(self.client.call(
                'Instances', 'get', zone=zone, instance=name), zone)
        except DriverError as error:
            if not isMissing(error):
                raise
            return None

    def listInstances(self):
        """:return: yields an :class:`Instance` for each instance, and for each
            that could not be created."""
        pending = self.insertions.getPending()
        states = {}
        for zone, found in self._listZonal('Instances'):
            for each in found.instances:
                instance = self._convert(each, zone)
                states[instance.id] = instance.state
                yield instance
        yield from self.insertions.findFailures(pending, states)

    def countUsage(self):
        """:return: Counter of the resources that all instances use."""
        used = collections.Counter()
        for zone, found in self._listZonal('Instances'):
            for each in found.instances:
                used.update(self._convert(each, zone).needs)
        return used

    def _listZonal(self, service):
        """
        :return: yields (zone, resources in it), possibly more than once.
        :raises TemporaryError: Google cannot list a zone of the region now.
            Other regions are ignored.
        """
        for scopes, unreachable in self.client.listScopes(
                service, filter=self._filter):
            missing = [*unreachable, *(
                scope for scope, found in scopes.items()
                if found.warning.code == 'UNREACHABLE')]
            for zone in map(getName, missing):
                if zone.startswith(f'{self.region}-'):
                    raise TemporaryError(f'Google cannot list {zone} now')
            for scope, found in scopes.items():
                yield getName(scope), found

    def _convert(self, instance, zone):
        """:return: an :class:`Instance`."""
        item = next((item.value for item in instance.metadata.items
                     if item.key == ITEM), None)
        ours = tags.load(item)
        state = STATES.get(instance.status, State.FAILED)
        addresses = getAddresses(instance)
        address = chooseAddress(instance, addresses, ours.get('internal'))
        if state is State.READY and not address:
            state = State.BUILDING
        return Instance(
            f'{zone}/{instance.name}', state,
            ours['tags'] if item else dict(instance.labels),
            address=address, az=zone, **addresses,
            needs=self.quota.measure(
                instance, zone, ours.get('volume_type')),
            message=f'its status is {instance.status}'
                    + (f', {instance.status_message}'
                       if instance.status_message else '')
                    + (', Google may have reclaimed it'
                       if instance.scheduling.preemptible else ''))

    def deleteInstance(self, instance_id):
        self.insertions.forgetInstance(instance_id)
        zone, _, name = instance_id.partition('/')
        try:
            self.client.call('Instances', 'delete_unary', zone=zone,
                             instance=name)
        except DriverError as error:
            if not isGone(error):
                raise

    def getConsole(self, instance_id):
        """:return: the end of the output of the first serial port."""
        zone, _, name = instance_id.partition('/')
        try:
            return self.client.call(
                'Instances', 'get_serial_port_output', zone=zone,
                instance=name).contents
        except DriverError as error:
            if not isGone(error):
                raise
            return None

    # Disks

    def listDisks(self):
        """:return: yields (id, tags) of the disks that no instance uses."""
        for zone, found in self._listZonal('Disks'):
            for disk in found.disks:
                if not disk.users:
                    yield (f'{zone}/{disk.name}',
                           tags.load(disk.description)['tags'])

    def deleteDisk(self, disk_id):
        zone, _, name = disk_id.partition('/')
        try:
            self.client.call('Disks', 'delete_unary', zone=zone, disk=name)
        except DriverError as error:
            if not isGone(error):
                raise


def getAddresses(instance):
    """:return: a dict of the addresses of an instance by Zuul's names."""
    found = dict.fromkeys(('private_ipv4', 'public_ipv4', 'public_ipv6'))
    for interface in instance.network_interfaces:
        found['private_ipv4'] = interface.network_i_p or None
        for config in interface.access_configs:
            found['public_ipv4'] = config.nat_i_p or None
        for config in interface.ipv6_access_configs:
            found['public_ipv6'] = config.external_ipv6 or None
        # Nodes have one interface.
        break
    return found


def chooseAddress(instance, addresses, is_internal):
    """
    :param bool is_internal: whether to use the internal address.
    :return: the address to connect to, or None if there is none yet.
    """
    wanted = []
    for interface in instance.network_interfaces[:1]:
        wanted = ['public_ipv4'] * bool(interface.access_configs) + [
            'public_ipv6'] * bool(interface.ipv6_access_configs)
    # An instance may be listed before it has its external addresses.
    return addresses[wanted[0] if wanted and not is_internal
                     else 'private_ipv4']
