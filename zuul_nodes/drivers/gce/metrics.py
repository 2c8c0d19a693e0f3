"""What the quotas are called that instances take something of.

What Google does not tell of by the Compute Engine API has a name after the
same pattern, so that operators can limit it: the processors and the local SSDs
of new families of machines (CPUS_PER_VM_FAMILY and
LOCAL_SSD_TOTAL_GB_PER_VM_FAMILY of Google's).

Sources: https://cloud.google.com/compute/resource-usage, and the enumeration
``Quota.Metric`` of the API.
"""

import re

ADDRESSES = 'IN_USE_ADDRESSES'
LOCAL_SSD = 'LOCAL_SSD_TOTAL_GB'
ALL_GPUS = 'GPUS_ALL_REGIONS'
# Those of a region that instances are known to take something of.
KNOWN = re.compile(
    r'(?!COMMITTED_)([A-Z0-9]+_)?CPUS|(PREEMPTIBLE_)?NVIDIA_\w+_GPUS'
    r'|IN_USE_ADDRESSES|(DISKS|SSD|LOCAL_SSD|HD[A-Z]+)_TOTAL_GB'
    r'|PREEMPTIBLE_LOCAL_SSD_GB')
# Those of a project, all regions together, and what instances have for them.
OVERALL = {'CPUS_ALL_REGIONS': 'cores', ALL_GPUS: ALL_GPUS}
# Families of machines that have a quota in common.
COMMON_CPUS = frozenset({'e2', 'n1', 'f1', 'g1'})
DISKS = {None: 'DISKS_TOTAL_GB', 'pd-standard': 'DISKS_TOTAL_GB',
         'pd-balanced': 'SSD_TOTAL_GB', 'pd-ssd': 'SSD_TOTAL_GB',
         'pd-extreme': 'SSD_TOTAL_GB',
         'hyperdisk-balanced': 'HDB_TOTAL_GB',
         'hyperdisk-extreme': 'HDX_TOTAL_GB',
         'hyperdisk-ml': 'HDML_TOTAL_GB',
         'hyperdisk-throughput': 'HDT_TOTAL_GB'}
# GPUs whose quota is called otherwise than they are.
GPUS = {'nvidia-h100-80gb': 'NVIDIA_H100_GPUS',
        'nvidia-h100-mega-80gb': 'NVIDIA_H100_MEGA_GPUS',
        'nvidia-h200-141gb': 'NVIDIA_H200_GPUS'}
# GB of one disk that a machine type has by itself.
BUNDLED = 375
BUNDLED_OF_FAMILY = {'z3': 3000}


def getFamily(machine_type):
    """:return: ``n2`` and so on."""
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
    """:return: what is called so that a machine type has by itself."""
    return f'{getFamily(machine_type).upper()}_{LOCAL_SSD}'


def getBundled(machine_type):
    return BUNDLED_OF_FAMILY.get(getFamily(machine_type), BUNDLED)


def getDisk(volume_type, size):
    """:return: what a disk takes, in GB."""
    metric = DISKS.get(volume_type)
    return {metric: size} if metric and size else {}


def getPreemptible(metric):
    """:return: what spot instances take instead, if there is a limit of it."""
    if metric == LOCAL_SSD:
        return 'PREEMPTIBLE_LOCAL_SSD_GB'
    return 'PREEMPTIBLE_' + (
        'CPUS' if metric.endswith('CPUS') else metric)
