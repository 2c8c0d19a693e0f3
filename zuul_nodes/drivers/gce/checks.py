"""Checks of the configuration of GCE against the cloud.

The Compute Engine API reports permissions, and whether a service account may
be used, only when an instance is created.
"""

import functools
import re

from zuul_nodes.drivers import Check, DriverError, getUser, getZones
from zuul_nodes.drivers.gce.errors import isMissing
from zuul_nodes.drivers.gce.machine import getImagePath

IMAGE = re.compile(r'projects/([^/]+)/global/images/(family/)?([^/]+)$')
NETWORK = re.compile(r'projects/([^/]+)/global/networks/([^/]+)$')
SUBNETWORK = re.compile(
    r'projects/([^/]+)/regions/([^/]+)/subnetworks/([^/]+)$')


def makeChecks(adapter, spec):
    """
    :param GceAdapter adapter:
    :param InstanceSpec spec: without name, tags and zone.
    :return: yields a :class:`Check` for each object that the spec names.
    """
    asking = Asking(adapter, spec)
    label, flavor, image = spec.label, spec.flavor, spec.image
    # The requirements of a flavor may be available in some zones only.
    zones = tuple(getZones(label))
    where = f'label {label.name}' if zones else getUser(label, 'flavor')
    for subject, name, used_by, service, parameter in (
            ('machine type', flavor.machine_type, where,
             'MachineTypes', 'machine_type'),
            *(('accelerator', each['type'], where,
               'AcceleratorTypes', 'accelerator_type')
              for each in flavor.accelerators),
            ('disk type', label.volume_type, f'label {label.name}',
             'DiskTypes', 'disk_type')):
        if name:
            yield Check(subject, name, used_by, functools.partial(
                asking.inZones, service, parameter, name), question=zones)
    for subject, name, ask in (
            ('network', label.network or (
                None if label.subnetwork else 'default'), asking.forNetwork),
            ('subnetwork', label.subnetwork, asking.forSubnetwork)):
        if name:
            yield Check(subject, name, f'label {label.name}', ask)
    if image.type == 'cloud':
        yield Check('image', image.image_id or image.image_family
                    or image.name, getUser(label, 'image'), asking.forImage,
                    question=image.image_project)
    elif bucket := adapter.connection.bucket:
        yield Check(
            'bucket', bucket,
            f'connection {adapter.connection.connection_name}',
            functools.partial(asking.forBucket, bucket))


class Asking:
    """Asks Google about the objects of an instance.

    :param GceAdapter adapter: started before the checks are asked.
    :param InstanceSpec spec: names the objects.
    """

    def __init__(self, adapter, spec):
        self.adapter = adapter
        self.spec = spec
        self.region = adapter.place['region']

    def inZones(self, service, parameter, name):
        """Check all zones of the label, or any zone if it names none.

        Zones that do not exist are the subject of another check.
        """
        known = self.adapter.listZones()
        wanted = getZones(self.spec.label)
        zones = [zone for zone in wanted or known if zone in known]
        missing = [zone for zone in zones if not self._has(
            service, zone=zone, **{parameter: name})]
        if not missing or (not wanted and len(missing) < len(zones)):
            return ''
        return f'It does not exist in {", ".join(missing)}'

    def forImage(self):
        path = getImagePath(self.spec, self.adapter.client.project)
        match = IMAGE.search(path)
        if match is None:
            return (f'{path} is not the path of an image; use '
                    'projects/PROJECT/global/images/NAME')
        project, is_family, name = match.groups()
        method, parameter = (('get_from_family', 'family') if is_family
                             else ('get', 'image'))
        return '' if self._has('Images', method, project=project,
                               **{parameter: name}) else (
            f'The project "{project}" has no such '
            f'{"family of images" if is_family else "image"}')

    def forNetwork(self):
        name = self.spec.label.network or 'default'
        match = NETWORK.search(name)
        project, name = match.groups() if match else (
            self.adapter.client.project, name.rpartition('/')[2])
        return '' if self._has(
                'Networks', project=project, network=name) else (
            f'The project "{project}" has no such network')

    def forSubnetwork(self):
        name = self.spec.label.subnetwork
        match = SUBNETWORK.search(name)
        project, region, name = match.groups() if match else (
            self.adapter.client.project, self.region,
            name.rpartition('/')[2])
        if region != self.region:
            return (f'It is in the region {region}, but the nodes are in '
                    f'{self.region}')
        return '' if self._has('Subnetworks', project=project, region=region,
                               subnetwork=name) else (
            f'The project "{project}" has no such subnetwork in {region}')

    def forBucket(self, name):
        return '' if self.adapter.images.storage.hasBucket(name) else (
            'There is no such bucket')

    def _has(self, service, method='get', **request):
        try:
            self.adapter.client.call(service, method, **request)
        except DriverError as error:
            if isMissing(error):
                return False
            raise
        return True
