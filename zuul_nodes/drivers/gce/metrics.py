"""Names of the quotas for the resources of instances.

Resources that the Compute Engine API does not report have names of the same
pattern, so that operators can limit them: the processors and the local SSDs of
new families of machine types (Google's CPUS_PER_VM_FAMILY and
LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY).

Sources: https://cloud.google.com/compute/resource-usage, and the enumeration
``Quota.Metric`` of the API.
"""

import re

ADDRESSES = 'IN_USE_ADDRESSES'
LOCAL_SSD = 'LOCAL_SSD_TOTAL_GB'
ALL_GPUS = 'GPUS_ALL_REGIONS'
# Quotas of a region that instances use.
KNOWN = re.compile(
    r'(?!COMMITTED_)([A-Z0-9]+_)?CPUS|(PREEMPTIBLE_)?NVIDIA_\w+_GPUS'
    r'|IN_USE_ADDRESSES|(DISKS|SSD|LOCAL_SSD|HD[A-Z]+)_TOTAL_GB'
    r'|PREEMPTIBLE_LOCAL_SSD_GB')
# Quotas of a project over all regions -> resource of an instance.
OVERALL = {'CPUS_ALL_REGIONS': 'cores', ALL_GPUS: ALL_GPUS}
# Families of machine types that share a quota.
COMMON_CPUS = frozenset({'e2', 'n1', 'f1', 'g1'})
DISKS = {None: 'DISKS_TOTAL_GB', 'pd-standard': 'DISKS_TOTAL_GB',
         'pd-balanced': 'SSD_TOTAL_GB', 'pd-ssd': 'SSD_TOTAL_GB',
         'pd-extreme': 'SSD_TOTAL_GB',
         'hyperdisk-balanced': 'HDB_TOTAL_GB',
         'hyperdisk-extreme': 'HDX_TOTAL_GB',
         'hyperdisk-ml': 'HDML_TOTAL_GB',
         'hyperdisk-throughput': 'HDT_TOTAL_GB'}
# GPUs whose quota has another name.
GPUS = {'nvidia-h100-80gb': 'NVIDIA_H100_GPUS',
        'nvidia-h100-mega-80gb': 'NVIDIA_H100_MEGA_GPUS',
        'nvidia-h200-141gb': 'NVIDIA_H200_GPUS'}
# GB of a built-in disk of a machine type.
BUNDLED = 375
BUNDLED_OF_FAMILY = {'z3': 3000}


def getFamily(machine_type):
    """:return: the family, such as ``n2``."""
    return ('n1' if machine_type.startswith('custom-')
            else machine_type.partition('-')[0])


def getCpus(machine_type):
    family = getFamily(machine_type)
    return 'CPUS' if family in COMMON_CPUS else f'{family.upper()}_CPUS'


def getGpus(accelerator_type):
    """:param str accelerator_type: such as ``nvidia-tesla-t4``."""
    return GPUS.get(accelerator_type) or (
        accelerator_type.replace('-tesla-', '-').replace('-', '_').upper()
        + '_GPUS')


def getLocalSsd(machine_type):
    """:return: the quota of the built-in local SSDs of a machine type."""
    return f'{getFamily(machine_type).upper()}_{LOCAL_SSD}'


def getBundled(machine_type):
    return BUNDLED_OF_FAMILY.get(getFamily(machine_type), BUNDLED)


def getDisk(volume_type, size):
    """:return: the usage of a disk, in GB."""
    metric = DISKS.get(volume_type)
    return {metric: size} if metric and size else {}


def getPreemptible(metric):
    """:return: the quota that spot instances use instead, if it has a limit.
    """
    if metric == LOCAL_SSD:
        return 'PREEMPTIBLE_LOCAL_SSD_GB'
    return 'PREEMPTIBLE_' + (
        'CPUS' if metric.endswith('CPUS') else metric)
