"""Volumes, version 3: volumes with what is in them, and their snapshots."""

from tests.emulators.emulation import Answer, Refusal
from tests.emulators.openstack.core import Service, newID, now, route


class Cinder(Service):
    """
    :ivar dict volumes: id -> volume.
    :ivar dict snapshots: id -> snapshot of a volume.
    :ivar dict data: id of a volume or a snapshot -> bytes.
    :ivar dict limits: how many, and of how many GB together; -1 for no
        limit.
    :ivar int polls: how often something new is looked at before it can be
        used; None for always.
    """

    type = 'block-storage'
    path = '/volume'
    version = '/v3'

    def __init__(self, cloud):
        super().__init__(cloud)
        self.volumes = {}
        self.snapshots = {}
        self.data = {}
        self.limits = {'volumes': -1, 'gigabytes': -1}
        self.polls = 0
        self._polls = {}

    def formatError(self, refusal):
        return {'error': {'code': refusal.status,
                          'message': refusal.message}}

    @route('GET', '', public=True)
    @route('GET', '/v3', public=True)
    def getVersions(self, request):
        return {'versions': [{
            'id': 'v3.0', 'status': 'CURRENT', 'version': '3.70',
            'min_version': '3.0', 'links': [
                {'rel': 'self', 'href': f'{self.url}/'}]}]}

    @route('GET', '/v3/limits')
    def getLimits(self, request):
        return {'limits': {'rate': [], 'absolute': {
            'maxTotalVolumes': self.limits['volumes'],
            'maxTotalVolumeGigabytes': self.limits['gigabytes'],
            'totalVolumesUsed': len(self.volumes),
            'totalGigabytesUsed': self._getSize()}}}

    def _getSize(self):
        return sum(volume['size'] for volume in self.volumes.values())

    @route('GET', '/v3/types')
    def listTypes(self, request):
        return self.page(request, [{
            'id': f'id-of-{name}', 'name': name, 'is_public': True,
            'description': None, 'extra_specs': {}}
            for name in ('standard', 'fast')], 'volume_types')

    def _list(self, request, things, key):
        things = [self._poll(thing) for thing in list(things.values())]
        for name, values in request.filters.items():
            if name in ('name', 'status'):
                things = [thing for thing in things if thing[name] in values]
        return self.page(request, things, key)

    def _poll(self, thing):
        """:return: the thing, after the time that this takes."""
        polls = self._polls.get(thing['id'])
        if polls:
            self._polls[thing['id']] -= 1
        elif polls == 0 and thing['status'] == 'creating':
            thing['status'] = 'available'
            del self._polls[thing['id']]
        return thing

    def _get(self, things, thing_id):
        if thing_id not in things:
            raise Refusal(404, f'{thing_id} could not be found.')
        return self._poll(things[thing_id])

    # Volumes

    @route('GET', '/v3/volumes')
    @route('GET', '/v3/volumes/detail')
    def listVolumes(self, request):
        return self._list(request, self.volumes, 'volumes')

    @route('GET', '/v3/volumes/{volume_id}')
    def getVolume(self, request, volume_id):
        return {'volume': self._get(self.volumes, volume_id)}

    @route('POST', '/v3/volumes')
    def createVolume(self, request):
        given = request.json['volume']
        _check(given)
        data = b''
        if snapshot_id := given.get('snapshot_id'):
            snapshot = self._get(self.snapshots, snapshot_id)
            if snapshot['status'] != 'available':
                raise Refusal(400, f'Snapshot {snapshot_id} is not available')
            data = self.data[snapshot_id]
            source = self.volumes.get(snapshot['volume_id'], {})
            given = {**given, 'bootable': source.get('bootable', 'false')}
        return Answer(202, {'volume': self.addVolume(data, **given)})

    def addVolume(self, data, size, **attributes):
        """:return: a new volume.  :raises Refusal: it is one too many."""
        for name, used, wanted in (('volumes', len(self.volumes), 1),
                                   ('gigabytes', self._getSize(), size)):
            limit = self.limits[name]
            if limit != -1 and used + wanted > limit:
                raise Refusal(
                    413, f'VolumeLimitExceeded: {name} exceed the quota of '
                         f'{limit}.')
        volume_id = newID()
        self.volumes[volume_id] = {
            'id': volume_id, 'name': '', 'size': size, 'status': 'creating',
            'attachments': [], 'bootable': 'false', 'created_at': now(),
            'volume_type': 'fast', 'multiattach': False, 'encrypted': False,
            'snapshot_id': None, 'description': None, **attributes,
            'metadata': dict(attributes.get('metadata') or {})}
        self.data[volume_id] = data
        self._polls[volume_id] = self.polls
        return self.volumes[volume_id]

    def attach(self, volume_id, server_id):
        self.volumes[volume_id].update(status='in-use', attachments=[
            {'id': volume_id, 'volume_id': volume_id, 'device': '/dev/vda',
             'attachment_id': newID(), 'server_id': server_id}])

    def detach(self, volume_id, delete):
        """What Nova does to a volume of a server that goes."""
        if delete:
            self.volumes.pop(volume_id, None)
        elif volume_id in self.volumes:
            self.volumes[volume_id].update(
                status='available', attachments=[])

    @route('DELETE', '/v3/volumes/{volume_id}')
    def deleteVolume(self, request, volume_id):
        volume = self._get(self.volumes, volume_id)
        if volume['attachments'] or volume['status'] in (
                'in-use', 'uploading', 'creating'):
            raise Refusal(400, f'Invalid volume: Volume status must be '
                               f'available or error, but is '
                               f'{volume["status"]}.')
        if any(each['volume_id'] == volume_id
               for each in self.snapshots.values()):
            raise Refusal(400, 'Invalid volume: Volume has snapshots.')
        del self.volumes[volume_id]
        return Answer(202)

    @route('POST', '/v3/volumes/{volume_id}/metadata')
    def addMetadata(self, request, volume_id):
        volume = self._get(self.volumes, volume_id)
        _check(request.json)
        volume['metadata'].update(request.json['metadata'])
        return {'metadata': volume['metadata']}

    @route('POST', '/v3/volumes/{volume_id}/action')
    def act(self, request, volume_id):
        volume = self._get(self.volumes, volume_id)
        (action, options), = request.json.items()
        if action == 'os-set_image_metadata':
            volume.setdefault('volume_image_metadata', {}).update(
                options['metadata'])
            return {'metadata': volume['volume_image_metadata']}
        if action == 'os-volume_upload_image':
            return Answer(202, self._upload(request, volume, options))
        raise Refusal(400, f'There is no such action: {action}')

    def _upload(self, request, volume, options):
        if volume['status'] != 'available':
            raise Refusal(400, f'Invalid volume: Volume status must be '
                               f'available, but is {volume["status"]}.')
        image = self.cloud.glance.addImage(
            request.project_id, self.data[volume['id']],
            name=options['image_name'], disk_format=options['disk_format'],
            container_format=options['container_format'],
            **volume.get('volume_image_metadata', {}))
        return {'os-volume_upload_image': {
            'id': volume['id'], 'image_id': image['id'],
            'image_name': options['image_name'], 'status': 'uploading'}}

    # Snapshots

    @route('GET', '/v3/snapshots')
    @route('GET', '/v3/snapshots/detail')
    def listSnapshots(self, request):
        return self._list(request, self.snapshots, 'snapshots')

    @route('GET', '/v3/snapshots/{snapshot_id}')
    def getSnapshot(self, request, snapshot_id):
        return {'snapshot': self._get(self.snapshots, snapshot_id)}

    @route('POST', '/v3/snapshots')
    def createSnapshot(self, request):
        given = request.json['snapshot']
        _check(given)
        volume = self._get(self.volumes, given['volume_id'])
        if volume['status'] == 'in-use' and not given.get('force'):
            raise Refusal(400, 'Invalid volume: Volume is in-use.')
        snapshot_id = newID()
        self.snapshots[snapshot_id] = {
            'id': snapshot_id, 'name': given.get('name'),
            'volume_id': volume['id'], 'size': volume['size'],
            'status': 'creating', 'metadata': given.get('metadata') or {},
            'created_at': now()}
        self.data[snapshot_id] = self.data[volume['id']]
        self._polls[snapshot_id] = self.polls
        return Answer(202, {'snapshot': self.snapshots[snapshot_id]})

    @route('DELETE', '/v3/snapshots/{snapshot_id}')
    def deleteSnapshot(self, request, snapshot_id):
        self._get(self.snapshots, snapshot_id)
        del self.snapshots[snapshot_id]
        return Answer(202)


def _check(given):
    """:raises Refusal: a name or metadata is too long."""
    metadata = given.get('metadata') or {}
    if len(given.get('name') or '') > 255 or any(
            not 0 < len(key) <= 255 or len(value) > 255
            for key, value in metadata.items()):
        raise Refusal(400, 'Invalid input for field/attribute metadata.')
