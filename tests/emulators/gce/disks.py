"""Disks, alone and of instances."""

import functools

from tests.emulators.gce.core import (
    Refusal,
    ZonalCollection,
    call,
    checkDescription,
    makeInvalid,
)
from tests.emulators.gce.labels import Labelled, makeLabels
from tests.emulators.gce.operations import Changeable


class Disks(Labelled, Changeable, ZonalCollection):
    name = 'disks'
    kind = 'disk'
    path = '/projects/{project}/zones/{zone}/disks'

    @call('POST')
    def insert(self, request, project, zone):
        given = request.json
        given.setdefault('sourceImage', request.query.get(
            'sourceImage', [None])[0])
        fields = self.plan(given, 'resource', project, zone)
        failure = self.gce.quota.check(
            project, self.gce.zones.getRegion(project, zone),
            self.gce.quota.measureDisk(fields))
        path = self.getPath(given['name'], project=project, zone=zone)
        if failure:
            return self.gce.jobs.start('disks.insert', path, failure=failure)
        self.add(given['name'], fields, project=project, zone=zone)
        return self.gce.jobs.start(
            'disks.insert', path,
            finish=functools.partial(self.setReady, path),
            undo=functools.partial(self.remove, path))

    def plan(self, given, field, project, zone, name=None):
        """
        :param dict given: of a disk, or ``initializeParams``.
        :param str field: where that is, for errors.
        :return: the fields of the new disk, but for its name.
        :raises Refusal: there can't be such a disk.
        """
        name = name or given.get('name', '')
        self.checkNew(name, project=project, zone=zone)
        checkDescription(given)
        type_path = self.gce.disk_types.resolve(
            given.get('type') or given.get('diskType') or 'pd-standard',
            f'{field}.type', project=project, zone=zone)
        if (type_path not in self.gce.disk_types.resources
                or f'/zones/{zone}/' not in type_path):
            raise makeInvalid(f'{field}.type', type_path,
                              'The referenced diskType resource cannot be '
                              'found.')
        fields = {'status': 'CREATING', 'type': self.gce.link(type_path),
                  'physicalBlockSizeBytes': '4096',
                  **makeLabels(given.get('labels'), f'{field}.labels')}
        if 'description' in given:
            fields['description'] = given['description']
        size = given.get('sizeGb') or given.get('diskSizeGb')
        if given.get('sourceImage'):
            image = self.gce.images.demandReady(
                given['sourceImage'], f'{field}.sourceImage', project)
            fields.update(sourceImage=image['selfLink'],
                          sourceImageId=image['id'])
            if int(size or image['diskSizeGb']) < int(image['diskSizeGb']):
                raise makeInvalid(
                    f'{field}.diskSizeGb', size, 'Requested disk size '
                    'cannot be smaller than the image size '
                    f'({image["diskSizeGb"]} GB)')
        if size:
            self.gce.disk_types.checkSize(
                type_path, int(size), f'{field}.diskSizeGb')
        elif given.get('sourceImage'):
            # An image may be smaller than a disk can be.
            size = max(int(image['diskSizeGb']), 10)
        fields['sizeGb'] = str(size or 500)
        return fields

    def setReady(self, path):
        self.resources[path]['status'] = 'READY'

    @call('DELETE', '/{name}')
    def delete(self, request, **place):
        path = self.getPath(**place)
        self.checkUnused(path)
        return self.startDelete(path, 'DELETING')

    def checkUnused(self, path):
        """:raises Refusal: an instance has it, or there is none."""
        users = self.demand(path).get('users')
        if users:
            user = users[0].partition('/v1/')[2]
            raise Refusal(
                400, f"The disk resource '{path}' is already being used by "
                     f"'{user}'", 'resourceInUseByAnotherResource')
