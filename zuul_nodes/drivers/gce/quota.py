"""Limits of a region, and the resources that instances use.

Resources have the names of quotas, such as ``N2_CPUS``, except for
``instances``, ``cores`` (of all machine types) and ``ram``.
"""

import collections
import dataclasses

from zuul_nodes.drivers import DriverError, PermanentError, TemporaryError
from zuul_nodes.drivers.gce import metrics
from zuul_nodes.drivers.gce.errors import isMissing
from zuul_nodes.drivers.gce.machine import ON_DEMAND
from zuul_nodes.drivers.gce.memory import Memory

PREEMPTIBLE = 'PREEMPTIBLE_'
# The type of a local SSD among the disks of an instance.
SCRATCH = 'SCRATCH'


@dataclasses.dataclass(frozen=True)
class MachineType:
    """The resources of a machine type.

    :ivar int ram: MiB.
    :ivar dict gpus: type -> number of built-in GPUs.
    :ivar int local_ssd: GB of built-in local SSDs.
    """

    name: str
    cores: int
    ram: int
    gpus: dict
    local_ssd: int


class Quota:
    """Reads the limits of a region and the needs of instances.

    :param Client client:
    :param str region:
    :param list_zones: returns the names of the zones of the region.
    :param count_usage: returns a Counter of the resources that all instances
        of the region use.
    """

    def __init__(self, client, region, list_zones, count_usage):
        self.client = client
        self.region = region
        self.list_zones = list_zones
        self.count_usage = count_usage
        self._machine_types = Memory()
        # metric -> last known limit of the region, and whether Google has
        # reported all limits at least once.
        self._regional = None
        self._is_complete = False

    # Limits

    def getLimits(self):
        """
        :return: resource -> limit.
        :raises TemporaryError: Google does not report all limits now.
        """
        told = self._demandRegion()
        limits = {metric: limit for metric, limit in told.items()
                  if metrics.KNOWN.fullmatch(metric)
                  and (not metric.startswith(PREEMPTIBLE) or limit)}
        if 'INSTANCES' in told:
            limits['instances'] = told['INSTANCES']
        return limits | self._askProject()

    def _demandRegion(self):
        """
        :return: metric -> limit.
        :raises TemporaryError: Google has never reported some limits.
        """
        self._askRegion()
        if not self._is_complete:
            raise TemporaryError(
                f'Google does not report all quotas of {self.region} now')
        return self._regional

    def _askRegion(self):
        region = self.client.call('Regions', 'get', region=self.region)
        told = {quota.metric: int(quota.limit) for quota in region.quotas}
        if region.quota_status_warning.code:
            # Keep the last known values of missing limits.
            told = (self._regional or {}) | told
        else:
            self._is_complete = True
        self._regional = told

    def _askProject(self):
        """:return: for limits over all regions, the share that is left for
            this region."""
        overall = {quota.metric: quota for quota in self.client.call(
            'Projects', 'get').quotas if quota.metric in metrics.OVERALL}
        here = (self.count_usage() if any(
            quota.usage for quota in overall.values()) else {})
        limits = {}
        for metric, quota in overall.items():
            resource = metrics.OVERALL[metric]
            elsewhere = max(quota.usage - here.get(resource, 0), 0)
            limits[resource] = max(int(quota.limit - elsewhere), 0)
        return limits

    # Needs

    def getNeeds(self, spec):
        """
        :return: resource -> amount that an instance needs.
        :raises PermanentError: no zone of the region has the machine type.
        :raises TemporaryError: it is unknown now whether spot instances have
            limits of their own.
        """
        flavor = spec.flavor
        is_spot = flavor.market_type != ON_DEMAND
        if is_spot and not self._is_complete:
            # The launchers cache the answer, so it must be complete.
            self._demandRegion()
        name = flavor.machine_type
        zones = [spec.label.az] if spec.label.az else self.list_zones()
        for zone in zones:
            if machine_type := self.getMachineType(zone, name):
                break
        else:
            raise PermanentError(
                f'There is no machine type "{name}" in {", ".join(zones)}')
        return {
            **self._measureMachine(
                machine_type, is_spot, collections.Counter({
                    each['type']: each['count']
                    for each in flavor.accelerators}), 0),
            **({metrics.ADDRESSES: 1} if flavor.public_ipv4 else {}),
            **metrics.getDisk(
                spec.label.volume_type, spec.label.volume_size or 0)}

    def measure(self, instance, zone, volume_type):
        """
        :param instance: as the API lists it.
        :param str volume_type: of its boot disk.
        :return: resource -> amount that it uses.
        """
        sizes = collections.Counter()
        for disk in instance.disks:
            sizes[disk.type_ == SCRATCH] += disk.disk_size_gb
        disks = metrics.getDisk(volume_type, sizes[False])
        if instance.status == 'TERMINATED':
            return {'instances': 1, **disks}
        addresses = sum(len(interface.access_configs)
                        for interface in instance.network_interfaces)
        needs = {**disks,
                 **({metrics.ADDRESSES: addresses} if addresses else {})}
        machine_type = self.getMachineType(
            zone, getName(instance.machine_type))
        if machine_type is None:
            return {'instances': 1, **needs}
        gpus = collections.Counter()
        for each in instance.guest_accelerators:
            gpus[getName(each.accelerator_type)] += each.accelerator_count
        return self._measureMachine(
            machine_type, instance.scheduling.preemptible, gpus,
            0 if machine_type.local_ssd else sizes[True]) | needs

    def _measureMachine(self, machine_type, is_spot, gpus, local_ssd):
        """
        :param dict gpus: type -> number of attached GPUs.
        :param int local_ssd: GB of attached local SSDs.
        """
        name = machine_type.name
        # The API lists built-in GPUs as attached ones, too.
        gpus = gpus or machine_type.gpus
        taken = {
            metrics.getCpus(name): machine_type.cores,
            metrics.LOCAL_SSD: local_ssd,
            **{metrics.getGpus(each): count for each, count in gpus.items()}}
        if is_spot:
            taken = {self._choose(metric): amount
                     for metric, amount in taken.items() if amount}
        taken |= {metrics.getLocalSsd(name): machine_type.local_ssd,
                  metrics.ALL_GPUS: sum(gpus.values())}
        return {'instances': 1, 'cores': machine_type.cores,
                'ram': machine_type.ram,
                **{metric: amount for metric, amount in taken.items()
                   if amount}}

    def _choose(self, metric):
        """:return: the metric of spot instances.  Without a limit of their
            own, they use the limit of other instances."""
        own = metrics.getPreemptible(metric)
        if self._regional is None:
            self._askRegion()
        return own if self._regional.get(own) else metric

    def getMachineType(self, zone, name):
        """:return: a :class:`MachineType`, or None if the zone lacks it."""
        return self._machine_types.get(
            (zone, name), lambda: self._askMachineType(zone, name))

    def _askMachineType(self, zone, name):
        try:
            found = self.client.call('MachineTypes', 'get', zone=zone,
                                     machine_type=name)
        except DriverError as error:
            if not isMissing(error):
                raise
            return None
        return MachineType(
            name, found.guest_cpus, found.memory_mb,
            {each.guest_accelerator_type: each.guest_accelerator_count
             for each in found.accelerators},
            found.bundled_local_ssds.partition_count
            * metrics.getBundled(name))


def getName(link):
    """:return: the last part of a URL of the API."""
    return link.rpartition('/')[2]
