"""What a cloud is asked about a configuration before it is used."""

import functools
import types

from zuul_nodes.drivers import Check, DriverError, getZones
from zuul_nodes.drivers.openstack.errors import Translation, check
from zuul_nodes.drivers.openstack.flavors import getVolumeSize, nearest
from zuul_nodes.drivers.openstack.networks import parse
from zuul_nodes.drivers.openstack.properties import checkMetadata

# What is listed while nodes are made: a service, and a list of it.
LISTS = {'servers': ('compute', '/servers'),
         'images': ('image', '/images'),
         'networks': ('network', '/networks')}


class Checks:
    """Part of a provider."""

    def getChecks(self):
        """
        :return: yields a :class:`Check` for each thing that the provider
            names; the cloud is not asked before their ``ask`` is called.
        """
        region = self.region or ''
        yield self._make(
            'cloud', self.connection.cloud_name,
            [f'connection {self.connection_name}'], self._askCloud)
        if region:
            yield self._make('region', region, [f'provider {self.name}'],
                             self._askRegion)
        for name, (service, path) in LISTS.items():
            yield self._make(
                'permission', f'list {name}', [f'provider {self.name}'],
                functools.partial(self._askList, service, path))
        for (subject, name, ask, *args), users in self._getNames().items():
            yield self._make(subject, name, users, functools.partial(
                getattr(self, ask), *args))
        for label in self.labels.values():
            user = [f'label {label.name}']
            yield self._make('disk', label.image, user, functools.partial(
                self._askDisk, label))
            yield self._make('quota', label.name, user, functools.partial(
                self._askQuota, label))

    def _make(self, subject, name, users, ask):
        def askOnce():
            self.endpoint.start()
            try:
                with Translation():
                    return ask() or ''
            except DriverError as error:
                return str(error)
        return Check(subject, str(name), ', '.join(users), askOnce)

    def _getNames(self):
        """:return: (subject, name, method that asks, its arguments) -> what
            uses it, each as it is written."""
        names = {}

        def add(user, subject, name, ask, *args):
            if name:
                names.setdefault((subject, name, ask, *args), []).append(user)
        for label in self.labels.values():
            user = f'label {label.name}'
            for network in label.networks:
                add(user, 'network', parse(network)['name'],
                    '_find', 'getNetwork', parse(network)['name'])
            for group in label.security_groups:
                add(user, 'security group', group,
                    '_find', 'getSecurityGroup', group)
            add(user, 'network', label.floating_network,
                '_askFloating', label.floating_network)
            add(user, 'server group', label.server_group,
                '_find', 'getServerGroup', label.server_group)
            add(user, 'key', label.key_name, '_askKey', label.key_name)
            for zone in getZones(label):
                add(user, 'zone', zone, '_askZone', zone)
            if label.boot_from_volume:
                add(user, 'volume type', label.volume_type,
                    '_find', 'getVolumeType', label.volume_type)
            add(user, 'metadata', label.name, '_askMetadata', label.name)
        for name, flavor in self.flavors.items():
            add(f'flavor {name}', 'flavor',
                flavor.flavor_name or f'{flavor.min_ram} MiB',
                '_askFlavor', name)
        for name, image in self.images.items():
            if image.type == 'cloud':
                add(f'image {name}', 'image', image.image_id
                    or image.image_name or ', '.join(
                        map('='.join, image.image_filters.items())),
                    '_askImage', name)
        return names

    # Questions: each gives a sentence that says what is wrong, or nothing.

    @property
    def _lookups(self):
        return self.endpoint.lookups

    def _askCloud(self):
        self._lookups.client.authorize()

    def _askRegion(self):
        client = self._lookups.client
        catalog = client.session.auth.get_access(
            client.session).service_catalog
        regions = {endpoint.get('region_id') or endpoint.get('region')
                   for endpoints in catalog.get_endpoints(
                       service_type=['compute']).values()
                   for endpoint in endpoints}
        if self.region not in regions:
            return (f'There is no compute service in the region '
                    f'"{self.region}". There are: '
                    f'{nearest(self.region, regions - {None})}')

    def _askList(self, service, path):
        check(getattr(self._lookups.client, service).get(
            path, params={'limit': 1}))

    def _find(self, method, name):
        getattr(self._lookups, method)(name)

    def _askFloating(self, name):
        network = self._lookups.getNetwork(name)
        if not network.get('router:external'):
            names = [each['name'] for each in self._lookups.listNetworks()
                     if each.get('router:external')]
            return (f'The network "{name}" is not external, so no floating '
                    f'IPs come from there. There are: '
                    f'{nearest(name, names)}')

    def _askKey(self, name):
        names = self._lookups.listKeys()
        if name not in names:
            return (f'The user of the connection has no key pair "{name}". '
                    f'There are: {nearest(name, names)}')

    def _askZone(self, zone):
        zones = self._lookups.listZones()
        if zone not in zones:
            return (f'There is no availability zone "{zone}" that is open. '
                    f'There are: {nearest(zone, zones)}')

    def _askFlavor(self, name):
        self._lookups.getFlavor(self.flavors[name])

    def _askImage(self, name):
        image = self._lookups.getImage(
            self._lookups.getImageId(self.images[name]))
        if image.status != 'active':
            return (f'The image "{image.name}" ({image.id}) has the status '
                    f'"{image.status}". Take one that is active')

    def _askMetadata(self, label_name):
        label = self.labels[label_name]
        tags = self.getNodeTags(
            self.system_id or 32 * '0', label, 32 * '0')
        checkMetadata(
            {**label.instance_properties, **label.dynamic_instance_properties,
             **tags}, label_name,
            self._lookups.getLimits().get('maxServerMeta', -1))

    def _askDisk(self, label):
        """Whether the image of a label fits on its nodes' disk."""
        image = self.images[label.image]
        if image.type != 'cloud':
            return None
        flavor = self._lookups.getFlavor(self.flavors[label.flavor])
        found = self._lookups.getImage(self._lookups.getImageId(image))
        if label.boot_from_volume:
            spec = types.SimpleNamespace(
                label=label, flavor=self.flavors[label.flavor], image=image)
            disk, what = getVolumeSize(spec, flavor), 'its volume'
        else:
            disk, what = flavor['disk'], f'the flavor "{flavor["name"]}"'
        if disk and (found.min_disk or 0) > disk:
            return (f'The image needs a disk of {found.min_disk} GB, and '
                    f'{what} has {disk}. Take a larger one')
        if (found.min_ram or 0) > flavor['ram']:
            return (f'The image needs {found.min_ram} MiB of RAM, and the '
                    f'flavor "{flavor["name"]}" has {flavor["ram"]}. Take a '
                    f'larger one')

    def _askQuota(self, label):
        """Whether the project may have a node of a label at all."""
        needs = self.endpoint.makeQuotaForLabel(
            label, self.flavors[label.flavor]).getResources()
        limits = self.endpoint.getQuotaLimits().getResources()
        limits = {**limits, **{
            name: min(limit, limits.get(name, limit))
            for name, limit in self.resource_limits.items()}}
        short = [f'{need} {name}, and there may be {limits[name]}'
                 for name, need in needs.items()
                 if need > limits.get(name, need)]
        if short:
            return (f'A node of the label "{label.name}" takes '
                    f'{"; ".join(short)}. Have the quota raised, or take a '
                    f'smaller flavor')
