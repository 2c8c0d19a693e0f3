"""What a region may have, and what instances take of that.

Resources are named as the quotas are, ``N2_CPUS`` for instance, but for
``instances``, ``cores`` (of all machines) and ``ram``.

Source: https://cloud.google.com/compute/resource-usage
"""

import re
import threading

from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.gce.errors import isMissing
from zuul_nodes.drivers.gce.machine import ON_DEMAND

PREEMPTIBLE = 'PREEMPTIBLE_CPUS'
ADDRESSES = 'IN_USE_ADDRESSES'
# Those that instances are known to take something of.
METRICS = re.compile(r'(?!COMMITTED_)([A-Z0-9]+_)?CPUS|IN_USE_ADDRESSES'
                     r'|DISKS_TOTAL_GB|SSD_TOTAL_GB')
# Families of machines that have a quota in common.
COMMON_CPUS = frozenset({'e2', 'n1', 'f1', 'g1'})
DISKS = {None: 'DISKS_TOTAL_GB', 'pd-standard': 'DISKS_TOTAL_GB',
         'pd-balanced': 'SSD_TOTAL_GB', 'pd-ssd': 'SSD_TOTAL_GB'}


class Quota:
    """
    :param Client client:
    :param str region:
    :param list_zones: gives the names of the zones of the region.
    """

    def __init__(self, client, region, list_zones):
        self.client = client
        self.region = region
        self.list_zones = list_zones
        self._lock = threading.Lock()
        # (zone, name) -> (cores, MiB), or None if the zone has no such type.
        self._machine_types = {}
        # Whether there is a limit of their own for spot instances.
        self._spot_is_apart = None

    def getLimits(self):
        """:return: resource -> limit."""
        limits = self._getRegional()
        overall = self.client.call('Projects', 'get')
        for quota in overall.quotas:
            if quota.metric == 'CPUS_ALL_REGIONS':
                limits['cores'] = int(quota.limit)
        return limits

    def _getRegional(self):
        region = self.client.call('Regions', 'get', region=self.region)
        limits = {quota.metric: int(quota.limit) for quota in region.quotas}
        spot = limits.get(PREEMPTIBLE, 0)
        self._spot_is_apart = spot > 0
        found = {metric: limit for metric, limit in limits.items()
                 if METRICS.fullmatch(metric)
                 and (metric != PREEMPTIBLE or spot > 0)}
        if 'INSTANCES' in limits:
            found['instances'] = limits['INSTANCES']
        return found

    def getNeeds(self, spec):
        """
        :return: resource -> what an instance takes.
        :raises PermanentError: the machine type is nowhere in the region.
        """
        name = spec.flavor.machine_type
        zones = [spec.label.az] if spec.label.az else self.list_zones()
        for zone in zones:
            if self.hasMachineType(zone, name):
                break
        else:
            raise PermanentError(
                f'There is no machine type "{name}" in {", ".join(zones)}')
        is_spot = spec.flavor.market_type != ON_DEMAND
        return {
            'instances': 1, **self._getCores(zone, name, is_spot),
            **({ADDRESSES: 1} if spec.flavor.public_ipv4 else {}),
            **getDisk(spec.label.volume_type, spec.label.volume_size or 0)}

    def measure(self, instance, zone, volume_type):
        """
        :param instance: as the API lists it.
        :param str volume_type: of its boot disk.
        :return: resource -> what it takes.
        """
        needs = {'instances': 1, **getDisk(volume_type, sum(
            disk.disk_size_gb for disk in instance.disks))}
        if instance.status == 'TERMINATED':
            return needs
        addresses = sum(len(interface.access_configs)
                        for interface in instance.network_interfaces)
        return {**needs, **({ADDRESSES: addresses} if addresses else {}),
                **self._getCores(zone, getName(instance.machine_type),
                                 instance.scheduling.preemptible)}

    def _getCores(self, zone, name, is_spot):
        found = self._getMachineType(zone, name)
        if found is None:
            return {}
        cores, ram = found
        return {'cores': cores, 'ram': ram,
                self._getMetric(name, is_spot): cores}

    def _getMetric(self, name, is_spot):
        if is_spot:
            if self._spot_is_apart is None:
                self._getRegional()
            if self._spot_is_apart:
                return PREEMPTIBLE
        family = 'n1' if name.startswith('custom-') else name.split('-')[0]
        return ('CPUS' if family in COMMON_CPUS
                else f'{family.upper()}_CPUS')

    def hasMachineType(self, zone, name):
        return self._getMachineType(zone, name) is not None

    def _getMachineType(self, zone, name):
        with self._lock:
            if (zone, name) in self._machine_types:
                return self._machine_types[zone, name]
        try:
            found = self.client.call('MachineTypes', 'get', zone=zone,
                                     machine_type=name)
            result = found.guest_cpus, found.memory_mb
        except DriverError as error:
            if not isMissing(error):
                raise
            result = None
        with self._lock:
            self._machine_types[zone, name] = result
        return result


def getDisk(volume_type, size):
    """:return: what a disk takes, in GB."""
    metric = DISKS.get(volume_type)
    return {metric: size} if metric and size else {}


def getName(link):
    """:return: the last part of a URL of the API."""
    return link.rpartition('/')[2]
