"""Instances, and what goes on with them."""

import functools

from tests.emulators.gce.core import (
    Refusal,
    ZonalCollection,
    call,
    makeInvalid,
)
from tests.emulators.gce.hardware import (
    checkConfidential,
    checkDisk,
    checkMaintenance,
)
from tests.emulators.gce.labels import Labelled, makeLabels
from tests.emulators.gce.machinetypes import getFamily
from tests.emulators.gce.metadata import makeMetadata, makeTags
from tests.emulators.gce.operations import Changeable
from tests.emulators.gce.places import Interfaces

# What an instance has if the call doesn't tell.
SHIELDED = {'enableSecureBoot': False, 'enableVtpm': True,
            'enableIntegrityMonitoring': True}
RUNS = frozenset({'STAGING', 'RUNNING'})


class Instances(Labelled, Changeable, ZonalCollection):
    """
    :ivar dict consoles: name of an instance -> what its serial port has
        sent.
    :ivar int boot_polls: how often an instance whose operation is DONE is
        looked at until it is RUNNING; None: until :meth:`GCE.finish`.
    :ivar on_running: is called with each instance that becomes RUNNING,
        before anybody sees that.
    """

    name = 'instances'
    kind = 'instance'
    path = '/projects/{project}/zones/{zone}/instances'

    def __init__(self, gce):
        super().__init__(gce)
        self.consoles = {}
        self.boot_polls = 0
        self.on_running = lambda instance: None
        self._booting = {}
        self._interfaces = Interfaces(gce)

    def look(self, path):
        polls = self._booting.get(path)
        if polls == 0:
            self._run(path)
        elif polls is not None:
            self._booting[path] -= 1
        return super().look(path)

    def finish(self, name):
        """The instances of this name have booted."""
        for path in list(self._booting):
            if name in (path, self.getPlace(path)['name']):
                self._run(path)

    # Insert

    @call('POST')
    def insert(self, request, project, zone):
        given = request.json
        name = given.get('name', '')
        self.checkNew(name, project=project, zone=zone)
        region = self.gce.zones.getRegion(project, zone)
        machine_path = self._getMachineType(given, project, zone)
        machine = self.gce.machine_types.demand(machine_path)
        checkConfidential(given, machine['name'])
        fields = {
            **given, 'status': 'PROVISIONING',
            'machineType': self.gce.link(machine_path),
            'guestAccelerators': self.gce.accelerator_types.plan(
                given.get('guestAccelerators'), machine, project, zone),
            'networkInterfaces': self._interfaces.plan(
                project, region, given.get('networkInterfaces')),
            'scheduling': makeScheduling(given.get('scheduling', {})),
            'shieldedInstanceConfig': {
                **SHIELDED, **given.get('shieldedInstanceConfig', {})},
            'metadata': makeMetadata(given.get('metadata', {})),
            'tags': makeTags(given.get('tags', {})),
            **makeLabels(given.get('labels')),
            'cpuPlatform': given.get('minCpuPlatform', 'Intel Skylake'),
            'startRestricted': False, 'deletionProtection': False}
        checkMaintenance(fields, machine['name'])
        fields['disks'], disks = self._planDisks(given, name, project, zone)
        for disk in disks.values():
            checkDisk(disk, machine['name'])
        wanted = self.gce.quota.measureInstance(fields, region)
        for disk in disks.values():
            wanted.update(self.gce.quota.measureDisk(disk))
        failure = self.gce.quota.check(project, region, wanted)
        path = self.getPath(name, project=project, zone=zone)
        if failure:
            return self.gce.jobs.start('instances.insert', path,
                                       failure=failure)
        instance = self.add(name, fields, project=project, zone=zone)
        for disk_name, disk in disks.items():
            self.gce.disks.add(disk_name, disk, project=project, zone=zone)
        self._useDisks(instance)
        return self._startUp('instances.insert', path, undo=functools.partial(
            self.remove, path, disks))

    def _getMachineType(self, given, project, zone):
        """:return: its path."""
        value = given.get('machineType', '')
        path = self.gce.machine_types.resolve(
            value, 'resource.machineType', project=project, zone=zone)
        found = self.gce.machine_types.getPlace(path)
        name = found['name']
        if found['zone'] != zone or not self.gce.machine_types.look(path):
            raise makeInvalid(
                'resource.machineType', value, f"Machine type with name "
                f"'{name}' does not exist in zone '{zone}'.")
        nested = given.get('advancedMachineFeatures', {}).get(
            'enableNestedVirtualization')
        if getFamily(name) == 'e2' and (nested or given.get(
                'minCpuPlatform')):
            raise Refusal(
                400, f'The machine type {name} supports neither a minimum '
                     'CPU platform nor nested virtualization.')
        return path

    def _planDisks(self, given, name, project, zone):
        """
        :return: the instance's disks, and name -> fields of the new ones.
        """
        if [disk.get('boot', False) for disk in given.get('disks', ())
                ].count(True) != 1:
            raise makeInvalid('resource.disks', '',
                              'A boot disk must be specified.')
        attached, created = [], {}
        for i, disk in enumerate(given['disks']):
            field = f'resource.disks[{i}]'
            if 'source' in disk:
                path = self.gce.disks.resolve(
                    disk['source'], f'{field}.source', project=project,
                    zone=zone)
                self.gce.disks.checkUnused(path)
                size = self.gce.disks.resources[path]['sizeGb']
            else:
                disk_name, fields = self._planDisk(
                    disk, field, f'{name}-{i}' if i else name, project, zone)
                created[disk_name] = fields
                path = self.gce.disks.getPath(
                    disk_name, project=project, zone=zone)
                size = fields['sizeGb']
            attached.append({
                'kind': 'compute#attachedDisk', 'type': 'PERSISTENT',
                'mode': disk.get('mode', 'READ_WRITE'),
                'source': self.gce.link(path), 'index': i,
                'deviceName': disk.get('deviceName', f'persistent-disk-{i}'),
                'boot': disk.get('boot', False), 'diskSizeGb': size,
                'autoDelete': disk.get('autoDelete', False)})
        return attached, created

    def _planDisk(self, disk, field, name, project, zone):
        params = disk.get('initializeParams', {})
        name = params.get('diskName', name)
        if disk.get('boot') and not params.get('sourceImage'):
            raise makeInvalid(f'{field}.initializeParams', '',
                              'A boot disk needs a source image.')
        # Its size may be told at either place.
        return name, self.gce.disks.plan(
            {'diskSizeGb': disk.get('diskSizeGb'), **params},
            f'{field}.initializeParams', project, zone, name)

    # What it goes through

    def _startUp(self, kind, path, **kwargs):
        return self.gce.jobs.start(
            kind, path, begin=functools.partial(self._stage, path),
            finish=functools.partial(self._boot, path), **kwargs)

    def _stage(self, path):
        instance = self.resources[path]
        # It may be on its way out already.
        if instance['status'] == 'PROVISIONING':
            instance['status'] = 'STAGING'
            self._interfaces.connect(instance)

    def _boot(self, path):
        instance = self.resources[path]
        for disk_path in self._getDisks(instance):
            self.gce.disks.setReady(disk_path)
        if instance['status'] == 'STAGING':
            self._booting[path] = self.boot_polls
            if self.boot_polls == 0:
                self._run(path)

    def _run(self, path):
        del self._booting[path]
        instance = self.resources[path]
        self.on_running(instance)
        instance['status'] = 'RUNNING'

    def _getDisks(self, instance):
        """:return: path of each disk -> what the instance has of it."""
        return {self.gce.unlink(disk['source']): disk
                for disk in instance['disks']}

    def _useDisks(self, instance):
        for path in self._getDisks(instance):
            self.gce.disks.resources[path]['users'] = [instance['selfLink']]

    def remove(self, path, disks=()):
        """
        :param disks: names of those that go too, besides those which are
            to be deleted with it.
        """
        instance = super().remove(path)
        self._booting.pop(path, None)
        self.consoles.pop(instance['name'], None)
        for disk_path, disk in self._getDisks(instance).items():
            resource = self.gce.disks.resources[disk_path]
            del resource['users']
            if disk['autoDelete'] or resource['name'] in disks:
                self.gce.disks.remove(disk_path)
            else:
                self.gce.disks.setReady(disk_path)

    @call('DELETE', '/{name}')
    def delete(self, request, **place):
        path = self.getPath(**place)
        self._booting.pop(path, None)
        return self.startDelete(path, 'STOPPING')

    @call('POST', '/{name}/stop')
    def stop(self, request, **place):
        return self._startStop('instances.stop', self.getPath(**place))

    def preempt(self, path):
        """GCE itself stops an instance, or deletes it if that was so
        wanted.

        :return: the operation.
        """
        scheduling = self.demand(path)['scheduling']
        return self._startStop(
            'instances.preempt', path,
            delete=scheduling.get('instanceTerminationAction') == 'DELETE',
            operationType='compute.instances.preempted', user='system')

    def _startStop(self, kind, path, delete=False, **kwargs):
        instance = self.demand(path)
        if instance['status'] not in (*RUNS, 'TERMINATED'):
            raise makeNotReady(path)
        instance['status'] = 'STOPPING'
        self._booting.pop(path, None)
        return self.gce.jobs.start(kind, path, finish=functools.partial(
            self._stop, path, delete), **kwargs)

    def _stop(self, path, delete):
        instance = self.resources[path]
        instance['status'] = 'TERMINATED'
        self._interfaces.disconnect(instance)
        if delete:
            self.remove(path)

    @call('POST', '/{name}/start')
    def start(self, request, project, zone, name):
        path = self.getPath(name, project=project, zone=zone)
        instance = self.demand(path)
        if instance['status'] != 'TERMINATED':
            raise makeNotReady(path)
        instance['status'] = 'PROVISIONING'
        return self._startUp('instances.start', path)

    @call('GET', '/{name}/serialPort')
    def getSerialPortOutput(self, request, **place):
        path = self.getPath(**place)
        if self.demand(path)['status'] not in RUNS:
            raise makeNotReady(path)
        output = self.consoles.get(place['name'], '')
        start = int(request.query.get('start', ['0'])[0])
        return {'kind': 'compute#serialPortOutput',
                'selfLink': self.gce.url + request.path,
                'contents': output[start:], 'start': str(start),
                'next': str(len(output))}


def makeNotReady(path):
    return Refusal(400, f"The resource '{path}' is not ready",
                   'resourceNotReady')


def makeScheduling(given):
    """:return: ``scheduling`` with all that follows of what is given."""
    spot = given.get('provisioningModel') == 'SPOT'
    preemptible = given.get('preemptible', spot)
    scheduling = {
        'preemptible': preemptible, 'automaticRestart': not preemptible,
        'provisioningModel': 'STANDARD',
        'onHostMaintenance': 'TERMINATE' if preemptible else 'MIGRATE',
        **given}
    if 'instanceTerminationAction' in given and not spot:
        raise makeInvalid(
            'resource.scheduling.instanceTerminationAction',
            given['instanceTerminationAction'],
            'Only spot instances can have this.')
    for name, wanted in (('preemptible', True), ('automaticRestart', False),
                         ('onHostMaintenance', 'TERMINATE')):
        if (spot or preemptible) and scheduling[name] != wanted:
            raise makeInvalid(
                f'resource.scheduling.{name}', scheduling[name],
                'Preemptible instances can\'t have this.')
    return scheduling
