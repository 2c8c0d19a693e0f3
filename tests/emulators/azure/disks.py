"""Managed disks, how they are uploaded, and images that are made of them.

https://learn.microsoft.com/rest/api/compute/disks
https://learn.microsoft.com/rest/api/storageservices/put-page
"""

import dataclasses
import re
import uuid

from tests.emulators.azure.core import (
    Collection,
    Refusal,
    Service,
    getGroup,
    route,
)
from tests.emulators.emulation import Answer

# Bytes.
PAGE = 512
LARGEST_WRITE = 4 * 1024 ** 2
# 20 MiB, and the end of a VHD.
SMALLEST = 20 * 1024 ** 2 + PAGE
COOKIE = b'conectix'


@dataclasses.dataclass
class Upload:
    """
    :ivar str signature: with which it can be written now, or None.
    """

    content: bytearray
    signature: str | None = None


class Disks(Collection):
    """
    :ivar dict uploads: id in lower case -> :class:`Upload`.
    :ivar int smallest: how many bytes an upload has to have.
    """

    collection = 'Microsoft.Compute/disks'
    BEGIN = Collection.ITEM + '/beginGetAccess'
    END = Collection.ITEM + '/endGetAccess'

    def __init__(self, azure):
        super().__init__(azure)
        self.uploads = {}
        self.smallest = SMALLEST

    def fill(self, resource):
        creation = resource['properties']['creationData']
        if creation['createOption'] != 'Upload':
            raise Refusal(501, 'The emulator makes disks by uploads, and '
                               'with virtual machines, only.',
                          'NotImplemented')
        size = creation.get('uploadSizeBytes', 0)
        if size < self.smallest or size % PAGE:
            raise Refusal(
                400, f"The value '{size}' of parameter 'uploadSizeBytes' is "
                     f'out of range. It must be at least {self.smallest}, '
                     f'and a multiple of {PAGE}.', 'InvalidParameter')
        resource['properties']['diskState'] = 'ReadyToUpload'
        self.uploads[resource['id'].lower()] = Upload(bytearray(size))

    def attach(self, vm, given):
        """
        :param dict given: osDisk of a virtual machine.
        :return: the new disk.
        """
        name = given.get(
            'name', f'{vm["name"]}_OsDisk_1_{uuid.uuid4().hex}')
        disk = self.store(self.make(self.getID(getGroup(vm['id']), name), {
            'location': vm['location'], 'tags': vm['tags'],
            'properties': {
                'diskState': 'Attached', 'osType': 'Linux',
                'diskSizeGB': given.get('diskSizeGB', 30),
                'creationData': {'createOption': 'FromImage'}}}))
        disk['managedBy'] = vm['id']
        return disk

    def detach(self, disk_id, deletes):
        """The virtual machine of a disk is gone.

        :param bool deletes: whether the disk goes with it.
        """
        if deletes:
            self.remove(disk_id)
            return
        disk = self.get(disk_id)
        del disk['managedBy']
        disk['properties']['diskState'] = 'Unattached'

    def remove(self, resource_id):
        super().remove(resource_id)
        self.uploads.pop(resource_id.lower(), None)

    def checkFree(self, resource):
        if 'managedBy' in resource:
            raise Refusal(409, f'Disk {resource["name"]} is attached to VM '
                               f'{resource["managedBy"]}.',
                          'OperationNotAllowed')
        self.checkUnshared(resource)

    def checkUnshared(self, resource):
        upload = self.uploads.get(resource['id'].lower())
        if upload and upload.signature:
            raise Refusal(
                409, 'There is an active shared access signature outstanding '
                     f'for disk {resource["name"]}. Call EndGetAccess before '
                     'deleting or attaching this disk.',
                'OperationNotAllowed')

    @route('POST', BEGIN)
    def callBegin(self, request, **place):
        disk = self.demand(request.path.rpartition('/')[0])
        if (request.json.get('access') != 'Write'
                or disk['properties']['diskState'] != 'ReadyToUpload'):
            raise Refusal(
                409, 'Disk is not in a state to be written, which is '
                     'ReadyToUpload.', 'OperationNotAllowed')

        def end():
            upload = self.uploads[disk['id'].lower()]
            upload.signature = uuid.uuid4().hex
            disk['properties']['diskState'] = 'ActiveUpload'
            return {'accessSAS': f'{self.azure.url}/md-impexp{disk["id"]}'
                                 f'?sv=2018-03-28&sr=b&sig={upload.signature}'
                    }
        return self._start('disks.beginGetAccess', disk, end)

    @route('POST', END)
    def callEnd(self, request, **place):
        disk = self.demand(request.path.rpartition('/')[0])

        def end():
            upload = self.uploads.get(disk['id'].lower())
            if upload and upload.signature:
                upload.signature = None
                disk['properties']['diskState'] = 'Unattached'
        return self._start('disks.endGetAccess', disk, end)

    def _start(self, kind, disk, end):
        operation = self.azure.operations.start(kind, disk, end)
        return Answer(202, headers=operation.headers)


class Blobs(Service):
    """Where disks are uploaded to."""

    guarded = False

    @route('PUT', '/md-impexp(?P<disk>/.*)')
    def callPut(self, request, disk):
        upload = self.azure.disks.uploads.get(disk.lower())
        if (upload is None or upload.signature is None
                or request.query.get('sig') != [upload.signature]):
            return _refuse(403, 'AuthenticationFailed')
        if (request.query.get('comp') != ['page']
                or request.headers.get('x-ms-page-write', '').lower()
                != 'update'):
            return _refuse(400, 'UnsupportedHeader')
        found = re.fullmatch(r'bytes=(\d+)-(\d+)', request.headers.get(
            'x-ms-range') or request.headers.get('range', ''))
        if found is None:
            return _refuse(400, 'MissingRequiredHeader')
        start, end = int(found[1]), int(found[2]) + 1
        if (start % PAGE or end % PAGE or end > len(upload.content)
                or end - start != len(request.body)):
            return _refuse(416, 'InvalidPageRange')
        if len(request.body) > LARGEST_WRITE:
            return _refuse(413, 'RequestBodyTooLarge')
        upload.content[start:end] = request.body
        return Answer(201)


def _refuse(status, code):
    return Answer(
        status, f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}'
                f'</Code><Message>{code}</Message></Error>'.encode(),
        {'Content-Type': 'application/xml'})


class Images(Collection):
    """
    :ivar dict contents: id in lower case -> the VHD that it was made of.
    """

    collection = 'Microsoft.Compute/images'

    def __init__(self, azure):
        super().__init__(azure)
        self.contents = {}

    def add(self, name, group='zuul'):
        """:return: an image that is there already."""
        return self.store(self.make(self.getID(group, name), {
            'location': self.azure.groups.demand(group)['location'],
            'properties': {'hyperVGeneration': 'V2'}}))

    def fill(self, resource):
        given = resource['properties']['storageProfile']['osDisk']
        disk = self.azure.disks.demand(given['managedDisk']['id'])
        self.azure.disks.checkUnshared(disk)
        if disk['properties']['diskState'] == 'ReadyToUpload':
            raise Refusal(409, f'Disk {disk["name"]} has not been uploaded.',
                          'OperationNotAllowed')
        upload = self.azure.disks.uploads.get(disk['id'].lower())
        if upload and upload.content[-PAGE:][:len(COOKIE)] != COOKIE:
            raise Refusal(
                400, 'The specified cookie value in VHD footer indicates '
                     f"that disk '{disk['name']}' is not a supported VHD. "
                     "Disk is expected to have cookie value 'conectix'.",
                'InvalidVhd')
        self.contents[resource['id'].lower()] = bytes(
            upload.content if upload else b'')

    def remove(self, resource_id):
        super().remove(resource_id)
        self.contents.pop(resource_id.lower(), None)
