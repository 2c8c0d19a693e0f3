"""What a project may have, and what it has."""

import collections

from tests.emulators.gce.core import Refusal
from tests.emulators.gce.machinetypes import getFamily
from tests.emulators.gce.operations import Failure

REGIONAL = {'INSTANCES': 1000, 'CPUS': 1000, 'N2_CPUS': 1000,
            'N2D_CPUS': 1000, 'C3_CPUS': 1000, 'PREEMPTIBLE_CPUS': 0,
            'COMMITTED_CPUS': 0, 'NVIDIA_T4_GPUS': 16,
            'PREEMPTIBLE_NVIDIA_T4_GPUS': 0, 'NVIDIA_L4_GPUS': 16,
            'DISKS_TOTAL_GB': 100000, 'SSD_TOTAL_GB': 100000,
            'HDB_TOTAL_GB': 100000, 'LOCAL_SSD_TOTAL_GB': 100000,
            'IN_USE_ADDRESSES': 1000}
OVERALL = {'CPUS_ALL_REGIONS': 1000, 'GPUS_ALL_REGIONS': 16, 'IMAGES': 1000}
CPUS = {'n2': 'N2_CPUS', 'n2d': 'N2D_CPUS', 'c3': 'C3_CPUS'}
# These have a part for each family, which no region tells.
PER_FAMILY = 'CPUS_PER_VM_FAMILY'
NEW = frozenset({'c4', 'h4d', 'n4'})
GPUS = {'nvidia-tesla-t4': 'NVIDIA_T4_GPUS', 'nvidia-l4': 'NVIDIA_L4_GPUS'}
DISKS = {'pd-standard': 'DISKS_TOTAL_GB', 'hyperdisk-balanced':
         'HDB_TOTAL_GB'}


class Quota:
    """
    Processors of n2 count as N2_CPUS, those of c4 as CPUS_PER_VM_FAMILY of
    C4, and so on, and all others as CPUS.  What spot and other preemptible
    instances have counts as PREEMPTIBLE_CPUS and the like instead, but only
    if that limit is not 0.

    :ivar dict regional: metric -> limit, for each region of a project.
    :ivar dict overall: metric -> limit, for all of a project.
    :ivar dict regions: region -> metric -> limit that is different there.
    :ivar dict families: ``C4`` and so on -> processors, for each region.
    :ivar set hidden: metrics that a region does not tell for now.
    :ivar bool late: what exceeds a limit is told by the operation.
    """

    def __init__(self, gce):
        self.gce = gce
        self.regional = dict(REGIONAL)
        self.overall = dict(OVERALL)
        self.regions = collections.defaultdict(dict)
        self.families = {family.upper(): 1000 for family in NEW}
        self.hidden = set()
        self.late = False

    def getLimits(self, region):
        return {**self.regional, **self.regions[region]}

    def getRegional(self, project, region):
        """:return: ``quotas`` of a region, and what it tells of them."""
        used = self.getUsed(project, region)
        shown = {metric: limit for metric, limit in self.getLimits(
            region).items() if metric not in self.hidden}
        told = {'quotas': makeQuotas(shown, used)}
        if self.hidden:
            told['quotaStatusWarning'] = {
                'code': 'QUOTA_INFO_UNAVAILABLE',
                'message': 'Quota information is not available now.'}
        return told

    def getOverall(self, project):
        """:return: ``quotas`` of a project."""
        return makeQuotas(self.overall, self._getUsedOverall(project))

    def getUsed(self, project, region):
        """:return: Counter of metrics."""
        used = collections.Counter()
        for instance in self._iterate(self.gce.instances, project, region):
            used.update(self.measureInstance(instance, region))
        for disk in self._iterate(self.gce.disks, project, region):
            used.update(self.measureDisk(disk))
        return used

    def _iterate(self, resources, project, region):
        for path, resource in resources.resources.items():
            place = resources.getPlace(path)
            if (place['project'] == project and region ==
                    self.gce.zones.getRegion(project, place['zone'])):
                yield resource

    def _getUsedOverall(self, project):
        used = collections.Counter()
        for path in self.gce.regions.resources:
            place = self.gce.regions.getPlace(path)
            if place['project'] == project:
                used.update(self.getUsed(project, place['name']))
        used['IMAGES'] = sum(path.startswith(f'projects/{project}/')
                             for path in self.gce.images.resources)
        return used

    def measureInstance(self, instance, region):
        """:return: Counter of what it counts for, without its disks."""
        measured = collections.Counter(INSTANCES=1)
        if instance['status'] == 'TERMINATED':
            return measured
        path = self.gce.machine_types.resolve(
            instance['machineType'], 'resource.machineType')
        machine = self.gce.machine_types.demand(path)
        taken = collections.Counter(
            {getMetric(machine['name']): machine['guestCpus']})
        for each in instance.get('guestAccelerators', ()):
            taken[GPUS[each['acceleratorType'].rpartition('/')[2]]] += (
                each['acceleratorCount'])
            measured['GPUS_ALL_REGIONS'] += each['acceleratorCount']
        if instance['scheduling']['preemptible']:
            taken = self._replace(taken, self.getLimits(region))
        measured.update(taken)
        measured['CPUS_ALL_REGIONS'] += machine['guestCpus']
        measured['IN_USE_ADDRESSES'] += sum(
            len(interface['accessConfigs'])
            for interface in instance['networkInterfaces'])
        return measured

    def _replace(self, taken, limits):
        """:return: what that is for preemptible instances."""
        replaced = collections.Counter()
        for metric, amount in taken.items():
            own = ('PREEMPTIBLE_CPUS' if 'CPUS' in metric
                   else f'PREEMPTIBLE_{metric}')
            replaced[own if limits.get(own) else metric] += amount
        return replaced

    def measureDisk(self, disk):
        metric = DISKS.get(disk['type'].rpartition('/')[2], 'SSD_TOTAL_GB')
        return collections.Counter({metric: int(disk['sizeGb'])})

    def check(self, project, region, wanted):
        """
        :param Counter wanted: metric -> how much more.
        :return: the :class:`Failure` for the operation, or None.
        :raises Refusal: it exceeds a limit, and that is told at once.
        """
        limits = self.getLimits(region) | {
            f'{PER_FAMILY} {family}': limit
            for family, limit in self.families.items()}
        message = (self._check(limits, wanted,
                               self.getUsed(project, region),
                               f'in region {region}')
                   or self._check(self.overall, wanted,
                                  self._getUsedOverall(project), 'globally'))
        return self._tell(message)

    def checkImage(self, project):
        """As :meth:`check`, for one more image."""
        return self._tell(self._check(
            self.overall, {'IMAGES': 1}, self._getUsedOverall(project),
            'globally'))

    def _check(self, limits, wanted, used, where):
        return next((
            f"Quota '{metric.partition(' ')[0]}' exceeded.  Limit: "
            f'{float(limits[metric])} {where}.'
            for metric, amount in wanted.items()
            if amount and metric in limits
            and used[metric] + amount > limits[metric]), None)

    def _tell(self, message):
        if message is None:
            return None
        if not self.late:
            raise Refusal(403, message, 'quotaExceeded')
        return Failure('QUOTA_EXCEEDED', message)


def getMetric(machine):
    """
    :param str machine: the name of a machine type.
    :return: what its processors count as.
    """
    family = getFamily(machine)
    return (f'{PER_FAMILY} {family.upper()}' if family in NEW
            else CPUS.get(family, 'CPUS'))


def makeQuotas(limits, used):
    return [{'metric': metric, 'limit': float(limit),
             'usage': float(used[metric])}
            for metric, limit in limits.items()]
