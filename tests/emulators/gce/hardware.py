"""What instances of a family of machines can have, and what they can't.

Sources, below https://cloud.google.com/compute/docs/: gpus,
disks/hyperdisks, confidential-vm, instances/setting-vm-host-options.
"""

from tests.emulators.gce.core import Refusal, ZonalCollection, makeInvalid
from tests.emulators.gce.machinetypes import getFamily

# GPUs can be attached to them; others have them by themselves.
ATTACHABLE = frozenset({'n1'})
# Without GPUs, and yet they can't move to another host.
STAYING = frozenset({'h4d'})
# They can only move.
MOVING = frozenset({'e2'})
CONFIDENTIAL = {'SEV': {'n2d'}, 'SEV_SNP': {'n2d'}, 'TDX': {'c3'}}
HYPERDISK_ONLY = frozenset({'c4', 'h4d', 'n4'})
NO_HYPERDISK = frozenset({'e2', 'n1'})
# Of the older kinds, these have fewer.
NO_STANDARD_DISK = frozenset({'c3'})


class AcceleratorTypes(ZonalCollection):
    name = 'acceleratorTypes'
    kind = 'acceleratorType'
    path = '/projects/{project}/zones/{zone}/acceleratorTypes'

    def create(self, project, zone):
        for name in ('nvidia-tesla-t4', 'nvidia-l4'):
            self.add(name, {'maximumCardsPerInstance': 4},
                     project=project, zone=zone)

    def plan(self, given, machine, project, zone):
        """
        :param list given: ``guestAccelerators``, or None.
        :param dict machine: the machine type.
        :return: what the instance has for it.
        :raises Refusal: it can't have them.
        """
        own = [{'acceleratorType': self.gce.link(self.getPath(
                    each['guestAcceleratorType'], project=project,
                    zone=zone)),
                'acceleratorCount': each['guestAcceleratorCount']}
               for each in machine.get('accelerators', ())]
        planned = [self._planOne(each, f'resource.guestAccelerators[{i}]',
                                 project, zone)
                   for i, each in enumerate(given or ())]
        if planned and planned != own and (
                getFamily(machine['name']) not in ATTACHABLE):
            raise Refusal(400, f'[{machine["name"]}, guest accelerators] '
                               'features are not compatible for creating '
                               'instance.', 'badRequest')
        return planned or own

    def _planOne(self, given, field, project, zone):
        path = self.resolve(
            given.get('acceleratorType', ''), f'{field}.acceleratorType',
            project=project, zone=zone)
        if path not in self.resources or f'/zones/{zone}/' not in path:
            raise makeInvalid(
                f'{field}.acceleratorType', path, 'The referenced '
                'acceleratorType resource cannot be found.')
        count = given.get('acceleratorCount', 0)
        if not 0 < count <= self.resources[path]['maximumCardsPerInstance']:
            raise makeInvalid(f'{field}.acceleratorCount', count,
                              'Out of range.')
        return {'acceleratorType': self.gce.link(path),
                'acceleratorCount': count}


def checkDisk(disk, machine):
    """
    :param dict disk: a new one.
    :raises Refusal: the machine type can't have it.
    """
    family = getFamily(machine)
    name = disk['type'].rpartition('/')[2]
    is_hyperdisk = name.startswith('hyperdisk-')
    if (family in (NO_HYPERDISK if is_hyperdisk else HYPERDISK_ONLY)
            or (family in NO_STANDARD_DISK and name == 'pd-standard')):
        raise Refusal(400, f'[{name}] features are not compatible for '
                           'creating instance.', 'badRequest')


def checkConfidential(given, machine):
    """:raises Refusal: the machine type is none for it."""
    config = given.get('confidentialInstanceConfig') or {}
    kind = config.get('confidentialInstanceType') or (
        'SEV' if config.get('enableConfidentialCompute') else None)
    if kind is None:
        return
    if kind not in CONFIDENTIAL:
        raise makeInvalid('resource.confidentialInstanceConfig.'
                          'confidentialInstanceType', kind, '')
    if getFamily(machine) not in CONFIDENTIAL[kind]:
        raise Refusal(400, f'[{machine}, {kind}] features are not compatible '
                           'for creating instance.', 'badRequest')


def checkMaintenance(instance, machine):
    """:raises Refusal: it can't move, or can't stay, as it shall."""
    family = getFamily(machine)
    scheduling = instance['scheduling']
    moves = scheduling['onHostMaintenance'] == 'MIGRATE'
    if moves and instance['guestAccelerators']:
        raise Refusal(400, 'Instances with guest accelerators do not support '
                           'live migration.', 'badRequest')
    if moves and (family in STAYING
                  or instance.get('confidentialInstanceConfig')):
        raise Refusal(400, f'Instances of {machine} that are like that do '
                           'not support live migration.', 'badRequest')
    if not moves and family in MOVING and not scheduling['preemptible']:
        raise Refusal(400, f'{machine} instances support live migration '
                           'only.', 'badRequest')
