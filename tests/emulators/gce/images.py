"""Images: of archives in storage, disks, and other images."""

import functools
import gzip
import io
import re
import tarfile
import urllib.parse
import zlib

from tests.emulators.gce.core import (
    Collection,
    Refusal,
    call,
    checkDescription,
    makeInvalid,
)
from tests.emulators.gce.labels import Labelled, makeLabels
from tests.emulators.gce.operations import Changeable, Failure

GIB = 1024 ** 3
ARCHITECTURES = frozenset({'X86_64', 'ARM64'})
FEATURES = frozenset({
    'BARE_METAL_LINUX_COMPATIBLE', 'GVNIC', 'IDPF', 'MULTI_IP_SUBNET',
    'SECURE_BOOT', 'SEV_CAPABLE', 'SEV_LIVE_MIGRATABLE',
    'SEV_LIVE_MIGRATABLE_V2', 'SEV_SNP_CAPABLE', 'SUSPEND_RESUME_COMPATIBLE',
    'TDX_CAPABLE', 'UEFI_COMPATIBLE', 'VIRTIO_SCSI_MULTIQUEUE', 'WINDOWS'})
SOURCES = ('rawDisk', 'sourceDisk', 'sourceImage')
FAMILY = re.compile(r'projects/(?P<project>[^/]+)/global/images/family/'
                    r'(?P<family>[^/]+)')
HOSTS = frozenset({'storage.googleapis.com', 'storage.cloud.google.com',
                   'www.googleapis.com'})
# At this offset an archive tells its format.
MAGIC = slice(257, 265)
GNU = b'ustar  \0'


class Images(Labelled, Changeable, Collection):
    """
    :ivar dict contents: path of an image -> the bytes of disk.raw that it
        was imported from; a copy of it has that too.
    :ivar int unit: bytes of which the size of disk.raw is a multiple.  It
        is 1 GiB in GCE, and 1 here, for tests are quick with that.
    :ivar bool keeps_failed: an image that can't be made stays, as FAILED.
    """

    name = 'images'
    kind = 'image'
    path = '/projects/{project}/global/images'

    def __init__(self, gce):
        super().__init__(gce)
        self.contents = {}
        self.unit = 1
        self.keeps_failed = False

    def create(self, project, name, size=10, **fields):
        """Make an image that can be used at once.

        :param int size: GB
        :return: the image.
        """
        labels = makeLabels(fields.pop('labels', None))
        return self.add(name, {
            'status': 'READY', 'sourceType': 'RAW', 'diskSizeGb': str(size),
            'archiveSizeBytes': '1000000', 'architecture': 'X86_64',
            **labels, **fields}, project=project)

    # Find

    def resolve(self, value, field, **place):
        """As for others, but may be that of a family."""
        path = re.sub(r'^https?://[^/]+/compute/[^/]+/', '', value)
        if not path.startswith('projects/') and '/' in path:
            path = f'projects/{place["project"]}/{path}'
        found = FAMILY.fullmatch(path)
        if found:
            return self.gce.unlink(self._findNewest(**found.groupdict())[
                'selfLink'])
        return super().resolve(path, field, **place)

    def demandReady(self, value, field, project):
        """:return: the image that can be used."""
        path = self.resolve(value, field, project=project)
        image = self.demand(path)
        if image['status'] != 'READY':
            raise Refusal(400, f"The resource '{path}' is not ready",
                          'resourceNotReady')
        return image

    def _findNewest(self, project, family):
        prefix = self.getPath('', project=project)
        images = [self.look(path) for path in list(self.resources)
                  if path.startswith(prefix)]
        images = [image for image in images
                  if image and image.get('family') == family
                  and image['status'] == 'READY'
                  and 'deprecated' not in image]
        if not images:
            raise Refusal(404, f"The resource '{prefix}family/{family}' was "
                               'not found')
        return max(images, key=lambda image: int(image['id']))

    @call('GET', '/family/{family}')
    def getFromFamily(self, request, **place):
        return self._findNewest(**place)

    # Change

    @call('POST')
    def insert(self, request, project):
        given = request.json
        name = given.get('name', '')
        self.checkNew(name, project=project)
        checkDescription(given)
        kinds = [kind for kind in SOURCES if given.get(kind)]
        if len(kinds) != 1:
            raise makeInvalid('resource', '', 'Exactly one of '
                              f'{", ".join(SOURCES)} must be specified.')
        checkKind(given)
        force = request.query.get('forceCreate') == ['true']
        fields = {**given, 'status': 'PENDING', 'sourceType': 'RAW',
                  **makeLabels(given.get('labels'))}
        path = self.getPath(name, project=project)
        if 'rawDisk' in kinds:
            source = given['rawDisk'].get('source', '')
            key = self._findObject(source)
            fields['rawDisk'] = {'containerType': 'TAR', **given['rawDisk']}
            finish = functools.partial(self._import, path, *key)
        else:
            fields.update(self._plan(given, kinds[0], project, force))
            finish = functools.partial(self._copy, path)
        failure = self.gce.quota.checkImage(project)
        if failure is not None:
            return self.gce.jobs.start('images.insert', path,
                                       failure=failure)
        self.add(name, fields, project=project)
        return self.gce.jobs.start('images.insert', path, finish=finish,
                                   undo=functools.partial(self._fail, path))

    def _plan(self, given, kind, project, force):
        """:return: what an image has from its source."""
        field = f'resource.{kind}'
        if kind == 'sourceImage':
            image = self.demandReady(given[kind], field, project)
            return {'sourceImage': image['selfLink'],
                    'sourceImageId': image['id'],
                    'diskSizeGb': image['diskSizeGb']}
        zone = re.search(r'zones/([^/]+)/', given[kind])
        if not zone:
            raise makeInvalid(field, given[kind], 'The URL is malformed.')
        path = self.gce.disks.resolve(given[kind], field, project=project)
        disk = self.gce.disks.demand(path)
        if disk.get('users') and not force:
            instance = self.gce.instances.resources[
                self.gce.unlink(disk['users'][0])]
            if instance['status'] != 'TERMINATED':
                self.gce.disks.checkUnused(path)
        return {'sourceDisk': disk['selfLink'], 'sourceDiskId': disk['id'],
                'diskSizeGb': disk['sizeGb']}

    def _findObject(self, source):
        """:return: (bucket, name) of what a URL names."""
        url = urllib.parse.urlsplit(source)
        path = urllib.parse.unquote(url.path)
        host = url.netloc
        if url.scheme == 'gs':
            key = (host, path[1:])
        elif host in HOSTS or source.startswith(f'{self.gce.storage_url}/'):
            found = re.fullmatch(
                r'/(?:storage/v1/b/([^/]+)/o/(.+)|([^/]+)/(.+))', path)
            key = found and (found[1] or found[3], found[2] or found[4])
        else:
            key = None
        if not key:
            raise makeInvalid('resource.rawDisk.source', source,
                              'The URL is malformed.')
        if key not in self.gce.objects.data:
            raise makeInvalid('resource.rawDisk.source', source,
                              'The referenced object cannot be found.')
        return key

    def _import(self, path, bucket, name):
        data = self.gce.objects.data.get((bucket, name))
        if data is None:
            raise Failure('RESOURCE_NOT_FOUND', f"The resource '{bucket}/"
                                                f"{name}' was not found")
        content = readArchive(data)
        if not content or len(content) % self.unit:
            raise Failure('INVALID_IMAGE_TAR', 'The size of disk.raw must '
                                               'be a multiple of 1 GB.')
        self.contents[path] = content
        size = max(-(-len(content) // GIB),
                   int(self.resources[path].get('diskSizeGb', 0)))
        self.resources[path].update(
            status='READY', diskSizeGb=str(size),
            archiveSizeBytes=str(len(data)))

    def _copy(self, path):
        image = self.resources[path]
        source = self.gce.unlink(image.get('sourceImage', ''))
        if source in self.contents:
            self.contents[path] = self.contents[source]
        image.update(status='READY', archiveSizeBytes='1000000')

    def _fail(self, path):
        self.resources[path]['status'] = 'FAILED'
        if not self.keeps_failed:
            self.remove(path)

    @call('DELETE', '/{name}')
    def delete(self, request, **place):
        path = self.getPath(**place)
        if self.demand(path)['status'] == 'PENDING':
            raise Refusal(400, f"The resource '{path}' is not ready",
                          'resourceNotReady')
        return self.startDelete(path, 'DELETING')

    def remove(self, path):
        self.contents.pop(path, None)
        return super().remove(path)

    @call('POST', '/{name}/deprecate')
    def deprecate(self, request, **place):
        path = self.getPath(**place)
        image = self.demand(path)
        if request.json.get('state', 'ACTIVE') == 'ACTIVE':
            image.pop('deprecated', None)
        else:
            image['deprecated'] = request.json
        return self.gce.jobs.start('images.deprecate', path)


def checkKind(given):
    """:raises Refusal: there is no such architecture, or feature."""
    for field, known, values in (
            ('architecture', ARCHITECTURES, [given.get('architecture')]),
            ('guestOsFeatures.type', FEATURES, [
                each.get('type') for each in given.get(
                    'guestOsFeatures', ())])):
        for value in values:
            if value is not None and value not in known:
                raise makeInvalid(f'resource.{field}', value,
                                  'It is none of the known ones.')


def readArchive(data):
    """
    :param bytes data: a tar archive, compressed with gzip.
    :return: the bytes of disk.raw in it.
    :raises Failure: GCE would not take it.

    Source: "Manually import boot disks" of the documentation.
    """
    try:
        unpacked = gzip.decompress(data)
        with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
            members = archive.getmembers()
            member = members[0]
            content = archive.extractfile(member).read()
    except (tarfile.TarError, zlib.error, EOFError, OSError, IndexError,
            AttributeError) as error:
        raise Failure('INVALID_IMAGE_TAR',
                      'The tar archive is not a valid image.') from error
    if unpacked[MAGIC] != GNU:
        raise Failure('INVALID_IMAGE_TAR', 'The tar archive format is not '
                      'supported. Supported formats are: GNU and OLDGNU.')
    if len(members) != 1 or member.name != 'disk.raw':
        raise Failure(
            'INVALID_IMAGE_TAR', 'The file inside the tar archive was named '
            f"''{member.name}''. It should be named ''disk.raw''.")
    return content


def makeArchive(content, name='disk.raw', format=tarfile.GNU_FORMAT):
    """:return: bytes that :func:`readArchive` reads."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w:gz', format=format) as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return data.getvalue()
