"""Checks of the configuration of OpenStack against the cloud."""

import types

from zuul.model import NodesetRequest

from zuul_nodes.drivers import (
    Check,
    DriverError,
    Found,
    PermanentError,
    getNodeTags,
    getUser,
    getZones,
    makeForLabels,
)
from zuul_nodes.drivers.openstack.cloud.errors import Translation, check
from zuul_nodes.drivers.openstack.cloud.flavors import (
    getFirst,
    getVolumeSize,
)
from zuul_nodes.drivers.openstack.cloud.networks import parse
from zuul_nodes.drivers.openstack.config.properties import checkMetadata
from zuul_nodes.suggestions import suggest

# Lists that a launcher needs: name -> service and path.
LISTS = {'servers': ('compute', '/servers'),
         'images': ('image', '/images'),
         'networks': ('network', '/networks')}


def makeChecks(provider):
    """
    :param OpenstackProvider provider:
    :return: yields a :class:`Check` for each object of the cloud that the
        provider names.  They call the cloud when ``ask`` is called.
    """
    questions = Questions(provider)
    user = f'provider {provider.name}'
    yield questions.make(
        'cloud', provider.connection.cloud_name,
        f'connection {provider.connection_name}', questions.askCloud,
        access=True)
    if provider.region:
        yield questions.make('region', provider.region, user,
                             questions.askRegion, access=True)
    for name, (service, path) in LISTS.items():
        yield questions.make('permission', f'list {name}', user,
                             questions.askList, service, path)
    yield from makeForLabels(
        provider, lambda view, label: _makeChecksOfLabel(
            Questions(view), label))


def _makeChecksOfLabel(questions, label):
    provider = questions.provider
    for subject, name, user, ask, *args in questions.getNames(label):
        if name:
            yield questions.make(subject, name, user, ask, *args)
    user = f'label {label.name}'
    if provider.images[label.image].type == 'cloud':
        yield questions.make(
            'disk', label.image, user, questions.askDisk, label,
            question=questions.getSizes(label))
    for subject, ask in (('metadata', questions.askMetadata),
                         ('quota', questions.askQuota)):
        yield questions.make(subject, label.name, user, ask, label,
                             question=provider.canonical_name)


class Questions:
    """Asks a cloud about the configuration of a provider.

    :param OpenstackProvider provider: or a view of one, for a label.
    """

    def __init__(self, provider):
        self.provider = provider
        self.endpoint = provider.endpoint

    def make(self, subject, name, user, ask, *args, question=None,
             access=False):
        def askTranslated():
            try:
                self.endpoint.startForChecks()
                with Translation():
                    answer = ask(*args)
                    return '' if answer is None else answer
            except DriverError as error:
                return str(error)
        return Check(subject, str(name), user, askTranslated,
                     question or (ask.__name__, *args), access)

    def getNames(self, label):
        """
        :param label: of this view.
        :return: yields the subject, the name (empty if it is not set), the
            object that names it, the method that asks for it, and its
            arguments.
        """
        user = f'label {label.name}'
        for network in label.networks:
            name = parse(network)['name']
            yield 'network', name, user, self._find, 'getNetwork', name
        for group in label.security_groups:
            yield ('security group', group, user, self._find,
                   'getSecurityGroup', group)
        for subject, name, ask, *args in (
                ('network', label.floating_network, self._askFloating),
                ('server group', label.server_group, self._find,
                 'getServerGroup'),
                ('key', label.key_name, self._askKey),
                *(('zone', zone, self._askZone) for zone in getZones(label)),
                ('volume type', label.boot_from_volume and label.volume_type,
                 self._find, 'getVolumeType')):
            yield subject, name, user, ask, *args, name
        flavor, image = self._getParts(label)
        name, ram = flavor.flavor_name, flavor.min_ram
        yield ('flavor', name or f'{ram} MiB', getUser(label, 'flavor'),
               self._askFlavor, name, ram)
        if image.type == 'cloud':
            filters = tuple(sorted((image.image_filters or {}).items()))
            yield ('image', image.image_id or image.image_name
                   or ', '.join(map('='.join, filters)),
                   getUser(label, 'image'), self._askImage, image.image_id,
                   image.image_name, filters)

    def _getParts(self, label):
        """:return: the flavor and the image of a label."""
        return (self.provider.flavors[label.flavor],
                self.provider.images[label.image])

    def getSizes(self, label):
        """:return: the values that decide whether an image fits on a disk."""
        flavor, image = self._getParts(label)
        return (flavor.flavor_name, flavor.min_ram, image.image_id,
                image.image_name, str(image.image_filters),
                label.boot_from_volume, getFirst(types.SimpleNamespace(
                    label=label, flavor=flavor, image=image), 'volume_size'))

    # Each of the following methods returns a sentence with the problem, what
    # it has found, or None.

    @property
    def _lookups(self):
        return self.endpoint.lookups

    def askCloud(self):
        self._lookups.client.authorize()

    def askRegion(self):
        client, region = self._lookups.client, self.provider.region
        # As the client finds the service, also by other settings of
        # clouds.yaml.
        if client.config.get_session_endpoint('compute'):
            return None
        catalog = client.session.auth.get_access(
            client.session).service_catalog
        regions = {each.region_name for each in catalog.get_endpoint_data_list(
            'compute', client.config.get_interface('compute'))}
        return (f'There is no compute service in the region "{region}". '
                f'{suggest(region, regions - {None})}')

    def askList(self, service, path):
        check(getattr(self._lookups.client, service).get(
            path, params={'limit': 1}))

    def _find(self, method, name):
        getattr(self._lookups, method)(name)

    def _askFloating(self, name):
        network = self._lookups.getNetwork(name)
        if not network.get('router:external'):
            names = [each['name'] for each in self._lookups.listNetworks()
                     if each.get('router:external')]
            return (f'The network "{name}" is not external, so it has no '
                    f'floating IPs. {suggest(name, names)}')

    def _askKey(self, name):
        names = self._lookups.listKeys()
        if name not in names:
            return (f'The user of the connection has no key pair "{name}". '
                    f'{suggest(name, names)}')

    def _askZone(self, zone):
        zones = self._lookups.listZones()
        if zone not in zones:
            return (f'There is no available zone "{zone}". '
                    f'{suggest(zone, zones)}')

    def _askFlavor(self, name, ram):
        return Found(self._lookups.getFlavor(types.SimpleNamespace(
            flavor_name=name, min_ram=ram))['name'])

    def _askImage(self, image_id, name, filters):
        image = self._lookups.getImage(
            image_id or self._lookups.findImage(name, dict(filters))['id'])
        if image.status != 'active':
            return (f'The image "{image.name}" ({image.id}) has the status '
                    f'"{image.status}". Use an active image')
        return Found(f'{image.name} ({image.id})')

    def askMetadata(self, label):
        tags = getNodeTags(
            self.provider, self.provider.system_id or 32 * '0', label,
            32 * '0', NodesetRequest())
        checkMetadata(
            {**label.instance_properties, **label.dynamic_instance_properties,
             **tags}, label.name,
            self._lookups.getLimits().get('maxServerMeta', -1))

    def askDisk(self, label):
        """Check whether the image of a label fits on its nodes' disk."""
        wanted, image = self._getParts(label)
        try:
            flavor = self._lookups.getFlavor(wanted)
            found = self._lookups.getImage(self._lookups.getImageId(image))
        except PermanentError:
            # The checks of the flavor and the image report this.
            return None
        if label.boot_from_volume:
            spec = types.SimpleNamespace(
                label=label, flavor=wanted, image=image)
            disk, what = getVolumeSize(spec, flavor), 'its volume'
        else:
            disk, what = flavor['disk'], f'the flavor "{flavor["name"]}"'
        if disk and (found.min_disk or 0) > disk:
            return (f'The image needs a disk of {found.min_disk} GB, but '
                    f'{what} has {disk}. Use a larger one')
        if (found.min_ram or 0) > flavor['ram']:
            return (f'The image needs {found.min_ram} MiB of RAM, but the '
                    f'flavor "{flavor["name"]}" has {flavor["ram"]}. Use a '
                    f'larger one')

    def askQuota(self, label):
        """Check whether the quota of the project allows a node of a label."""
        try:
            needs = self.endpoint.makeQuotaForLabel(
                label, self.provider.flavors[label.flavor]).getResources()
        except PermanentError:
            # The check of the flavor reports this.
            return None
        limits = self._lookups.getQuota().getResources()
        limits = {**limits, **{
            name: min(limit, limits.get(name, limit))
            for name, limit in self.provider.resource_limits.items()}}
        short = [f'{need} {name}, but the limit is {limits[name]}'
                 for name, need in needs.items()
                 if need > limits.get(name, need)]
        if short:
            return (f'A node of the label "{label.name}" needs '
                    f'{"; ".join(short)}. Raise the quota, or use a smaller '
                    f'flavor')
