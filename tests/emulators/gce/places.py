"""Projects, regions, zones, and the networks that are in them."""

import ipaddress

from tests.emulators.gce.core import (
    Collection,
    Refusal,
    ZonalCollection,
    makeInvalid,
)

# region -> the last letters of its zones.
REGIONS = {'us-central1': 'abf', 'europe-west1': 'bc'}
# What the instances of a region get, and from where they seem to come.
INTERNAL = ipaddress.ip_network('10.128.0.0/16')
EXTERNAL = ipaddress.ip_network('198.18.0.0/15')
INTERNAL_IPV6 = ipaddress.ip_network('fd20:0:0:1::/64')
EXTERNAL_IPV6 = ipaddress.ip_network('2001:db8:1::/64')


class Projects(Collection):
    """
    :ivar set foreign: those that can only be read.
    """

    name = 'projects'
    kind = 'project'
    path = '/projects'

    def __init__(self, gce):
        super().__init__(gce)
        self.foreign = set()

    def create(self, name, foreign=False):
        """Make a project with what is in every one."""
        self.add(name, {'commonInstanceMetadata': {
            'kind': 'compute#metadata', 'items': []}, 'xpnProjectStatus':
            'UNSPECIFIED_XPN_PROJECT_STATUS'})
        if foreign:
            self.foreign.add(name)
            return
        network = self.gce.networks.create(name, 'default')
        for region, letters in REGIONS.items():
            zones = [f'{region}-{letter}' for letter in letters]
            self.gce.regions.add(region, {
                'description': region, 'status': 'UP', 'zones': [
                    self.gce.link(f'projects/{name}/zones/{zone}')
                    for zone in zones]}, project=name)
            self.gce.subnetworks.create(name, region, 'default', network)
            for zone in zones:
                self.gce.zones.create(name, region, zone)

    def show(self, path):
        resource = super().show(path)
        return resource and {
            **resource, 'quotas': self.gce.quota.getOverall(
                resource['name'])}

    def check(self, method, kind, project=None, zone=None, region=None,
              **others):
        """The place of a call.

        :raises Refusal: there is none, or it may not be changed.
        """
        if project is None:
            return
        path = self.getPath(project)
        if path not in self.resources:
            raise Refusal(404, f"The resource '{path}' was not found")
        for scope, name, known in (('zone', zone, self.gce.zones),
                                   ('region', region, self.gce.regions)):
            if name is not None and (
                    known.getPath(name, project=project)
                    not in known.resources):
                raise makeInvalid(scope, name, f'Unknown {scope}.')
        if method != 'GET' and project in self.foreign:
            raise Refusal(403, f"Required 'compute.{kind}' permission for "
                               f"'projects/{project}'")


class Regions(Collection):
    name = 'regions'
    kind = 'region'
    path = '/projects/{project}/regions'

    def show(self, path):
        resource = super().show(path)
        return resource and {
            **resource, **self.gce.quota.getRegional(
                self.getPlace(path)['project'], resource['name'])}


class Zones(Collection):
    name = 'zones'
    kind = 'zone'
    path = '/projects/{project}/zones'

    def create(self, project, region, zone):
        self.add(zone, {
            'description': zone, 'status': 'UP', 'region': self.gce.link(
                f'projects/{project}/regions/{region}'),
            'availableCpuPlatforms': [
                'Intel Skylake', 'Intel Cascade Lake', 'Intel Ice Lake']},
            project=project)
        self.gce.machine_types.create(project, zone)
        self.gce.disk_types.create(project, zone)
        self.gce.accelerator_types.create(project, zone)

    def getNames(self, project):
        return [zone['name'] for path, zone in self.resources.items()
                if path.startswith(f'projects/{project}/')]

    def getRegion(self, project, zone):
        """:return: the name of the region that the zone is in."""
        return self.resources[f'projects/{project}/zones/{zone}'][
            'region'].rpartition('/')[2]


class Networks(Collection):
    name = 'networks'
    kind = 'network'
    path = '/projects/{project}/global/networks'

    def create(self, project, name):
        """:return: its path."""
        self.add(name, {'autoCreateSubnetworks': True, 'subnetworks': []},
                 project=project)
        return self.getPath(name, project=project)


class Subnetworks(Collection):
    name = 'subnetworks'
    kind = 'subnetwork'
    path = '/projects/{project}/regions/{region}/subnetworks'

    def create(self, project, region, name, network, ipv6=None):
        """
        :param str network: its path.
        :param str ipv6: "EXTERNAL" or "INTERNAL".
        """
        fields = {'network': self.gce.link(network),
                  'ipCidrRange': str(INTERNAL), 'stackType': 'IPV4_ONLY'}
        if ipv6:
            fields.update(stackType='IPV4_IPV6', ipv6AccessType=ipv6)
        subnetwork = self.add(name, fields, project=project, region=region)
        self.gce.networks.resources[network]['subnetworks'].append(
            subnetwork['selfLink'])


class DiskTypes(ZonalCollection):
    name = 'diskTypes'
    kind = 'diskType'
    path = '/projects/{project}/zones/{zone}/diskTypes'

    def create(self, project, zone):
        for name, least in (('pd-standard', 10), ('pd-balanced', 10),
                            ('pd-ssd', 10), ('hyperdisk-balanced', 4)):
            self.add(name, {
                'defaultDiskSizeGb': '100', 'validDiskSize':
                f'{least}GB-65536GB'}, project=project, zone=zone)

    def checkSize(self, path, size, field):
        """
        :param str path: of the disk type.
        :raises Refusal: a disk can't be as large, or as small.
        """
        least, most = (int(text.removesuffix('GB')) for text in self.resources[
            path]['validDiskSize'].split('-'))
        if not least <= size <= most:
            raise makeInvalid(
                field, size, f'Disk size must be between {least} GB and '
                             f'{most} GB, inclusive.')


class Interfaces:
    """Makes the network interfaces of instances."""

    def __init__(self, gce):
        self.gce = gce
        self._internal = INTERNAL.hosts()
        self._external = EXTERNAL.hosts()
        self._internal_ipv6 = INTERNAL_IPV6.hosts()
        self._external_ipv6 = EXTERNAL_IPV6.hosts()
        # What is the router's.
        next(self._internal)

    def plan(self, project, region, given):
        """
        :param list given: of the call.
        :return: the interfaces, without what only instances that run have.
        """
        if not given:
            raise makeInvalid('resource.networkInterfaces', '',
                              'At least one network interface is required.')
        return [self._planOne(project, region, i, dict(each))
                for i, each in enumerate(given)]

    def _planOne(self, project, region, i, interface):
        field = f'resource.networkInterfaces[{i}]'
        network, subnetwork = self._find(project, region, field, interface)
        stack = interface.setdefault('stackType', 'IPV4_ONLY')
        if stack != 'IPV4_ONLY' and subnetwork['stackType'] == 'IPV4_ONLY':
            raise makeInvalid(
                f'{field}.stackType', stack, 'The subnetwork does not have '
                'IPv6.')
        for config in interface.get('ipv6AccessConfigs', ()):
            if (stack == 'IPV4_ONLY' or config.get('type') != 'DIRECT_IPV6'
                    or config.get('networkTier', 'PREMIUM') != 'PREMIUM'):
                raise makeInvalid(
                    f'{field}.ipv6AccessConfigs', '', 'It must be one of the '
                    'type DIRECT_IPV6 and of the PREMIUM tier, at an '
                    'interface with IPv6.')
            if subnetwork.get('ipv6AccessType') != 'EXTERNAL':
                raise makeInvalid(
                    f'{field}.ipv6AccessConfigs', '', 'The subnetwork does '
                    'not have external IPv6.')
        interface.update({
            'kind': 'compute#networkInterface', 'name': f'nic{i}',
            'network': network, 'subnetwork': subnetwork['selfLink'],
            'accessConfigs': [
                {'kind': 'compute#accessConfig', 'type': 'ONE_TO_ONE_NAT',
                 'name': 'External NAT', 'networkTier': 'PREMIUM', **config}
                for config in interface.get('accessConfigs', ())]})
        interface.setdefault('networkIP', str(next(self._internal)))
        if stack != 'IPV4_ONLY':
            interface['ipv6AccessType'] = subnetwork['ipv6AccessType']
        return interface

    def _find(self, project, region, field, interface):
        """:return: link of the network, subnetwork."""
        found = {}
        for kind, known in (('network', self.gce.networks),
                            ('subnetwork', self.gce.subnetworks)):
            if kind not in interface:
                continue
            path = known.resolve(interface[kind], f'{field}.{kind}',
                                 project=project, region=region)
            if path not in known.resources:
                raise makeInvalid(
                    f'{field}.{kind}', interface[kind],
                    f'The referenced {kind} resource cannot be found.')
            found[kind] = known.resources[path]
        if 'subnetwork' not in found:
            network = found.get('network') or self.gce.networks.demand(
                f'projects/{project}/global/networks/default')
            place = f'/regions/{region}/'
            found['subnetwork'] = next((
                each for each in self.gce.subnetworks.resources.values()
                if each['network'] == network['selfLink']
                and place in each['selfLink']), None)
            if found['subnetwork'] is None:
                raise makeInvalid(
                    f'{field}.subnetwork', '', 'The network has no '
                    f'subnetwork in {region}.')
        network = found['subnetwork']['network']
        if 'network' in found and found['network']['selfLink'] != network:
            raise makeInvalid(
                f'{field}.subnetwork', interface['subnetwork'],
                'It is not one of the network.')
        return network, found['subnetwork']

    def connect(self, instance):
        """Give it the addresses that only an instance which runs has."""
        for interface in instance['networkInterfaces']:
            for config in interface['accessConfigs']:
                config.setdefault('natIP', str(next(self._external)))
            if interface['stackType'] != 'IPV4_ONLY':
                self._connectIPv6(interface)

    def _connectIPv6(self, interface):
        if interface['ipv6AccessType'] == 'INTERNAL':
            interface.setdefault(
                'ipv6Address', str(next(self._internal_ipv6)))
        for config in interface.get('ipv6AccessConfigs', ()):
            config.setdefault(
                'externalIpv6', str(next(self._external_ipv6)))
            config['externalIpv6PrefixLength'] = 96

    def disconnect(self, instance):
        """Take from it the addresses that it got only while it ran."""
        for interface in instance['networkInterfaces']:
            for config in interface['accessConfigs']:
                config.pop('natIP', None)
