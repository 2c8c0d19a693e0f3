"""Instances: made, listed and removed."""

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
    """All instances of a project in a region.  Their id is ``zone/name``.

    :param Client client:
    :param str region:
    """

    def __init__(self, client, region):
        self.client = client
        self.region = region
        # What the API compares is a URL; zones are region-a, region-ai1a.
        self._filter = f'zone eq ".*/{region}-[a-z0-9]+"'
        self._zones = Memory()
        self.quota = Quota(client, region, self.getZones, self.countUsage)
        self.insertions = Insertions(client, self.getZones)

    def getZones(self):
        """As :meth:`listZones`, asked for now and then."""
        return self._zones.get(None, self.listZones)

    def listZones(self):
        """
        :return: names of the zones of the region that can be used.
        :raises DriverError: there are none.
        """
        zones = [zone for zone in self.client.list('Zones')
                 if getName(zone.region) == self.region]
        if not zones:
            raise PermanentError(f'There is no region "{self.region}"')
        found = sorted(zone.name for zone in zones if zone.status == 'UP')
        if not found:
            raise TemporaryError(
                f'No zone of region "{self.region}" can be used')
        return found

    def create(self, spec):
        """:return: an :class:`Instance`, of an earlier call maybe."""
        name = makeName(spec.name)
        instance_id = f'{spec.zone}/{name}'
        flavor = spec.flavor
        # Which machines there may be none of.
        kind = (spec.zone, flavor.machine_type, flavor.market_type,
                flavor.min_cpu_platform, flavor.confidential_type,
                str(flavor.accelerators))
        if self.insertions.isFull(kind):
            if existing := self._get(instance_id):
                return existing
            raise CapacityError(
                f'Zone {spec.zone} had no room for {flavor.machine_type} '
                'some minutes ago')
        body = makeInstance(spec, name, self.client.project, self.region)
        try:
            operation = self.client.call(
                'Instances', 'insert_unary', zone=spec.zone,
                instance_resource=body)
        except PermanentError as error:
            if self.quota.getMachineType(spec.zone, flavor.machine_type):
                raise
            # Not all zones have all of them, and one of them has.
            raise CapacityError(
                f'Zone {spec.zone} has no machine type '
                f'"{flavor.machine_type}"') from error
        except DriverError as error:
            if not isConflict(error):
                raise
            if existing := self._get(instance_id):
                return existing
            # Its boot disk has the same name, and has been left over.
            self.deleteDisk(instance_id)
            raise TemporaryError(
                f'There was a disk {instance_id}, with the name of an '
                'instance') from error
        self.insertions.add(instance_id, operation.name, kind)
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

    def list(self):
        """:return: yields an :class:`Instance` for each, and for those that
            could not be made."""
        pending = self.insertions.getPending()
        states = {}
        for zone, found in self._listZonal('Instances'):
            for each in found.instances:
                instance = self._convert(each, zone)
                states[instance.id] = instance.state
                yield instance
        yield from self.insertions.check(pending, states)

    def countUsage(self):
        """:return: Counter of what all instances take."""
        used = collections.Counter()
        for zone, found in self._listZonal('Instances'):
            for each in found.instances:
                used.update(self._convert(each, zone).needs)
        return used

    def _listZonal(self, service):
        """
        :return: yields (zone, what there is in it), more than once maybe.
        :raises TemporaryError: Google does not know now what there is in a
            zone of the region.  Other regions do not matter.
        """
        for scopes, unreachable in self.client.listScopes(
                service, filter=self._filter):
            missing = [*unreachable, *(
                scope for scope, found in scopes.items()
                if found.warning.code == 'UNREACHABLE')]
            for zone in map(getName, missing):
                if zone.startswith(f'{self.region}-'):
                    raise TemporaryError(f'Google has no list of {zone}')
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
                    + (', Google may have taken it away'
                       if instance.scheduling.preemptible else ''))

    def delete(self, instance_id):
        self.insertions.forget(instance_id)
        zone, _, name = instance_id.partition('/')
        try:
            self.client.call('Instances', 'delete_unary', zone=zone,
                             instance=name)
        except DriverError as error:
            if not isGone(error):
                raise

    def getConsole(self, instance_id):
        """:return: what came from the first serial port, the end of it."""
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
        """:return: yields (id, tags) of the disks that no instance has."""
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
    """:return: a dict of what Zuul calls the addresses of an instance."""
    found = dict.fromkeys(('private_ipv4', 'public_ipv4', 'public_ipv6'))
    for interface in instance.network_interfaces:
        found['private_ipv4'] = interface.network_i_p or None
        for config in interface.access_configs:
            found['public_ipv4'] = config.nat_i_p or None
        for config in interface.ipv6_access_configs:
            found['public_ipv6'] = config.external_ipv6 or None
        # Nodes have one.
        break
    return found


def chooseAddress(instance, addresses, is_internal):
    """
    :param bool is_internal: whether it is to be the internal one.
    :return: that to connect to, or None if there is none yet.
    """
    wanted = []
    for interface in instance.network_interfaces[:1]:
        wanted = ['public_ipv4'] * bool(interface.access_configs) + [
            'public_ipv6'] * bool(interface.ipv6_access_configs)
    # An instance may be seen before it has the external ones.
    return addresses[wanted[0] if wanted and not is_internal
                     else 'private_ipv4']
