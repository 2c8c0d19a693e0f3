"""Machine types, and custom ones that are only known by their name."""

import re

from tests.emulators.gce.core import ZonalCollection

SMALL = (2, 4, 8, 16, 32)
LARGE = (*SMALL, 48, 64, 80, 96, 128)
OLD = (1, 2, 4, 8, 16, 32, 64, 96)
# family -> series -> (MB for one processor, numbers of processors)
FAMILIES = {
    'e2': {'standard': (4096, SMALL), 'highmem': (8192, SMALL[:-1]),
           'highcpu': (1024, SMALL)},
    'n1': {'standard': (3840, OLD), 'highmem': (6656, OLD[1:]),
           'highcpu': (921.6, OLD[1:])},
    'n2': {'standard': (4096, LARGE), 'highmem': (8192, LARGE),
           'highcpu': (1024, LARGE[:-1])},
    'n2d': {'standard': (4096, SMALL)},
    'c3': {'standard': (4096, (4, 8, 22))},
    'c4': {'standard': (3840, (2, 4, 8))},
    'n4': {'standard': (4096, (2, 4, 8))},
    'h4d': {'standard': (3840, (192,))},
    'g2': {'standard': (4096, (4, 8))},
}
# name -> number of local SSDs that it has by itself.
LOCAL_SSDS = {'c3-standard-4-lssd': 1, 'c3-standard-8-lssd': 2}
L4 = {'guestAcceleratorType': 'nvidia-l4', 'guestAcceleratorCount': 1}
# name -> MB; two processors that are shared.
SHARED = {'e2-micro': 1024, 'e2-small': 2048, 'e2-medium': 4096}
CUSTOM = re.compile(r'(?:(e2|n1|n2)-)?custom-(\d+)-(\d+)(-ext)?')
# MB for one processor that a custom type has at least and at most.
CUSTOM_MEMORY = {'e2': (512, 8192), 'n1': (921.6, 6656), 'n2': (512, 8192)}


class MachineTypes(ZonalCollection):
    name = 'machineTypes'
    kind = 'machineType'
    path = '/projects/{project}/zones/{zone}/machineTypes'

    def create(self, project, zone):
        for name, memory in SHARED.items():
            self._create(name, 2, memory, project, zone, isSharedCpu=True)
        for family, types in FAMILIES.items():
            for series, (memory, numbers) in types.items():
                for cpus in numbers:
                    self._create(f'{family}-{series}-{cpus}', cpus,
                                 int(memory * cpus), project, zone, **(
                        {'accelerators': [L4]} if family == 'g2' else {}))
        for name, count in LOCAL_SSDS.items():
            cpus = int(name.split('-')[2])
            self._create(name, cpus, 4096 * cpus, project, zone,
                         bundledLocalSsds={'defaultInterface': 'NVME',
                                           'partitionCount': count})

    def _create(self, name, cpus, memory, project, zone, isSharedCpu=False,
                **fields):
        self.add(name, {
            **fields,
            'description': f'{cpus} vCPUs, {memory / 1024:.3g} GB RAM',
            'guestCpus': cpus, 'memoryMb': memory, 'isSharedCpu': isSharedCpu,
            'maximumPersistentDisks': 128, 'architecture': 'X86_64',
            'maximumPersistentDisksSizeGb': '263168'},
            project=project, zone=zone)

    def show(self, path):
        resource = super().show(path)
        if resource is None and self._pattern.fullmatch(path):
            resource = self._makeCustom(**self.getPlace(path))
        return resource

    def _makeCustom(self, name, project, zone):
        """:return: None if there can't be one of this name."""
        found = CUSTOM.fullmatch(name)
        if found is None:
            return None
        cpus, memory = int(found[2]), int(found[3])
        least, most = CUSTOM_MEMORY[found[1] or 'n1']
        if (cpus == 0 or (cpus > 1 and cpus % 2) or memory % 256
                or memory < least * cpus
                or (memory > most * cpus and not found[4])):
            return None
        path = self.getPath(name, project=project, zone=zone)
        return {
            'kind': 'compute#machineType', 'name': name,
            'description': 'Custom created machine type.',
            'guestCpus': cpus, 'memoryMb': memory, 'isSharedCpu': False,
            'zone': self.gce.link(f'projects/{project}/zones/{zone}'),
            'selfLink': self.gce.link(path)}


def getFamily(name):
    """:return: "n2" and so on, of the name of a machine type."""
    return 'n1' if name.startswith('custom-') else name.partition('-')[0]
