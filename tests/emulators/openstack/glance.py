"""Images, version 2: uploads, imports, members."""

import hashlib

import requests

from tests.emulators.emulation import Answer, Refusal
from tests.emulators.openstack.core import (
    REGION,
    Service,
    hasLong,
    newID,
    now,
    route,
)

DISK_FORMATS = frozenset({
    'ami', 'ari', 'aki', 'vhd', 'vhdx', 'vmdk', 'raw', 'qcow2', 'vdi', 'iso',
    'ploop'})
# What every image has.
OF_EVERY_IMAGE = frozenset({
    'id', 'status', 'visibility', 'owner', 'protected', 'tags', 'min_disk',
    'min_ram', 'size', 'virtual_size', 'checksum', 'os_hash_algo',
    'os_hash_value', 'disk_format', 'container_format', 'name', 'os_hidden',
    'created_at', 'updated_at', 'self', 'file', 'schema'})


class Glance(Service):
    """
    :ivar dict images: id -> image, with ``status`` and properties.
    :ivar dict data: id -> the bytes of an image.
    :ivar dict members: id of an image -> id of a project -> member.
    :ivar list tasks: of the imports, the latest last.
    :ivar list methods: by which images can be imported.
    :ivar int import_polls: how often an image that is imported is looked at
        before it is active; None for always.
    :ivar str failed_status: of an image whose import has failed.  It stays
        "importing" if the download has failed, in some releases.
    :ivar dict regions: name -> the Glance that is there, for
        ``glance-download``.
    :ivar int limit: how many images a page has.
    """

    type = 'image'
    path = '/image'
    version = ''

    def __init__(self, cloud):
        super().__init__(cloud)
        self.images = {}
        self.data = {}
        self.members = {}
        self.tasks = []
        self.methods = ['glance-direct', 'web-download']
        self.import_polls = 1
        self.failed_status = 'queued'
        self.regions = {REGION: self}
        self.limit = 25
        self._staged = {}
        self._imports = {}

    def formatError(self, refusal):
        return (f'<html><head><title>{refusal.status}</title></head><body>'
                f'{refusal.message}</body></html>').encode()

    def linkNext(self, key, path):
        return {'next': path.removeprefix(self.path)}

    @route('GET', '', public=True)
    @route('GET', '/versions', public=True)
    def getVersions(self, request):
        return Answer(300, {'versions': [
            {'id': 'v2.17', 'status': 'CURRENT', 'links': [
                {'rel': 'self', 'href': f'{self.url}/v2/'}]}]})

    @route('GET', '/v2/images')
    def listImages(self, request):
        images = [self._poll(image) for image in self.images.values()
                  if self._isVisible(image, request)]
        filters = request.filters
        # Of those that are hidden, nothing is said unless one asks.
        hidden = filters.pop('os_hidden', ['false'])[0].lower() == 'true'
        images = [image for image in images if image['os_hidden'] == hidden]
        for name, values in filters.items():
            if name not in ('member_status', 'visibility'):
                images = [image for image in images
                          if str(image.get(name)) in values]
        page = self.page(request, images, 'images', self.limit)
        return {**page, 'schema': '/v2/schemas/images'}

    def _isVisible(self, image, request):
        member = self.members.get(image['id'], {}).get(request.project_id)
        return (image['owner'] == request.project_id
                or image['visibility'] == 'public'
                or (member is not None and member['status'] == 'accepted'))

    @route('POST', '/v2/images')
    def createImage(self, request):
        given = request.json
        image_id = given.get('id', newID())
        if given.get('disk_format', 'raw') not in DISK_FORMATS:
            raise Refusal(400, f"Provided object does not match schema "
                               f"'image': '{given['disk_format']}' is not "
                               f"one of {list(DISK_FORMATS)}")
        for key, value in given.items():
            if hasLong(key) or (isinstance(value, str) and hasLong(value)):
                raise Refusal(400, "Params can't contain 4 byte unicode")
            if len(key) > 255:
                raise Refusal(400, f"'{key}' is too long")
        if len(given.get('name') or '') > 255:
            raise Refusal(400, "Provided object does not match schema "
                               f"'image': '{given['name']}' is too long")
        for name in ('os_hidden', 'protected'):
            if not isinstance(given.get(name, False), bool):
                raise Refusal(400, f'{given[name]!r} is not of type '
                                   f"'boolean', for {name}")
        self._add(request.project_id, image_id, **given)
        return Answer(201, self.images[image_id], {
            'Location': f'{self.url}/v2/images/{image_id}',
            'OpenStack-image-import-methods': ','.join(self.methods)})

    def _add(self, project_id, image_id, **given):
        self.images[image_id] = {
            'id': image_id, 'status': 'queued', 'visibility': 'shared',
            'owner': project_id, 'protected': False, 'tags': [],
            'min_disk': 0, 'min_ram': 0, 'size': None, 'virtual_size': None,
            'checksum': None, 'os_hash_algo': None, 'os_hash_value': None,
            'disk_format': None, 'container_format': None, 'name': None,
            'os_hidden': False, 'created_at': now(), 'updated_at': now(),
            'self': f'/v2/images/{image_id}',
            'file': f'/v2/images/{image_id}/file',
            'schema': '/v2/schemas/image', **given}

    def addImage(self, project_id, data, **given):
        """Other services make images, too.

        :return: the image, which has that data when it is active.
        """
        image_id = newID()
        self._add(project_id, image_id, **given)
        self.images[image_id].update(status='saving', visibility='private')
        self._staged[image_id] = data
        self._imports[image_id] = [
            self.import_polls, {'name': 'glance-direct'}, {}]
        return self.images[image_id]

    def getProperties(self, image_id):
        """:return: what an image has that is not of every image."""
        return {name: value for name, value in self.images[image_id].items()
                if name not in OF_EVERY_IMAGE}

    def _get(self, request, image_id):
        image = self.images.get(image_id)
        # A member looks at it before it accepts it.
        if image is None or not (
                self._isVisible(image, request)
                or request.project_id in self.members.get(image_id, ())):
            raise Refusal(404, f'No image found with ID {image_id}')
        return self._poll(image)

    def _getOwn(self, request, image_id):
        image = self._get(request, image_id)
        if image['owner'] != request.project_id:
            raise Refusal(403, 'You are not permitted to do that.')
        return image

    @route('GET', '/v2/images/{image_id}')
    def getImage(self, request, image_id):
        return self._get(request, image_id)

    @route('PATCH', '/v2/images/{image_id}')
    def changeImage(self, request, image_id):
        image = self._getOwn(request, image_id)
        for change in request.json:
            name = change['path'].removeprefix('/')
            if change['op'] == 'remove':
                image.pop(name, None)
            else:
                image[name] = change['value']
        return image

    @route('DELETE', '/v2/images/{image_id}')
    def deleteImage(self, request, image_id):
        image = self._getOwn(request, image_id)
        if image['protected']:
            raise Refusal(403, f'Image {image_id} is protected and cannot '
                               f'be deleted.')
        for known in (self.images, self.data, self.members, self._staged,
                      self._imports):
            known.pop(image_id, None)
        return Answer(204)

    @route('PUT', '/v2/images/{image_id}/file')
    def upload(self, request, image_id):
        image = self._getOwn(request, image_id)
        if image['status'] != 'queued':
            raise Refusal(409, f'Image status transition from '
                               f'{image["status"]} to saving is not allowed')
        if not (image['disk_format'] and image['container_format']):
            raise Refusal(400, 'Properties disk_format, container_format '
                               'must be set prior to saving data.')
        self._store(image, request.body)
        return Answer(204)

    def _store(self, image, data):
        self.data[image['id']] = data
        image.update(
            status='active', size=len(data), updated_at=now(),
            checksum=hashlib.md5(data).hexdigest(), os_hash_algo='sha512',
            os_hash_value=hashlib.sha512(data).hexdigest())

    @route('GET', '/v2/images/{image_id}/file')
    def download(self, request, image_id):
        return self.data.get(self._get(request, image_id)['id'],
                             Answer(204))

    @route('GET', '/v2/info/import')
    def getImport(self, request):
        return {'import-methods': {
            'description': 'Import methods available.', 'type': 'array',
            'value': self.methods}}

    @route('GET', '/v2/info/stores')
    def getStores(self, request):
        return {'stores': [{'id': 'file', 'default': 'true'}]}

    @route('PUT', '/v2/images/{image_id}/stage')
    def stage(self, request, image_id):
        self._getOwn(request, image_id)['status'] = 'uploading'
        self._staged[image_id] = request.body
        return Answer(204)

    @route('POST', '/v2/images/{image_id}/import')
    def importImage(self, request, image_id):
        image = self._getOwn(request, image_id)
        method = request.json['method']
        if method['name'] not in self.methods:
            raise Refusal(400, f"Unknown import method name "
                               f"'{method['name']}'.")
        expected = ('uploading' if method['name'] == 'glance-direct'
                    else 'queued')
        if image['status'] != expected:
            raise Refusal(409, f'Image needs to be in {expected} state to '
                               f'use {method["name"]} method')
        image['status'] = 'importing'
        task = {'id': newID(), 'type': 'api_image_import',
                'status': 'processing', 'message': '', 'image_id': image_id,
                'input': {'image_id': image_id, 'import_req': request.json},
                'created_at': now(), 'updated_at': now()}
        self.tasks.append(task)
        self._imports[image_id] = [self.import_polls, method, task]
        return Answer(202)

    def _poll(self, image):
        """:return: the image, after the time that this takes."""
        job = self._imports.get(image['id'])
        if job is None:
            return image
        if job[0] is None:
            return image
        if job[0] > 0:
            job[0] -= 1
            return image
        _, method, task = self._imports.pop(image['id'])
        try:
            if method['name'] == 'glance-direct':
                data = self._staged.pop(image['id'])
            elif method['name'] == 'glance-download':
                data = self.regions[method['glance_region']].data[
                    method['glance_image_id']]
            else:
                response = requests.get(method['uri'], timeout=10)
                response.raise_for_status()
                data = response.content
        except (requests.RequestException, KeyError) as error:
            image['status'] = self.failed_status
            task.update(status='failure', message=str(error))
        else:
            self._store(image, data)
            task.update(status='success')
        return image

    @route('GET', '/v2/images/{image_id}/tasks')
    def listTasksOfImage(self, request, image_id):
        self._get(request, image_id)
        return {'tasks': [task for task in self.tasks
                          if task['image_id'] == image_id]}

    @route('GET', '/v2/tasks')
    def listTasks(self, request):
        return {'tasks': self.tasks}

    @route('POST', '/v2/images/{image_id}/members')
    def addMember(self, request, image_id):
        image = self._getOwn(request, image_id)
        if image['visibility'] != 'shared':
            raise Refusal(403, 'Only shared images have members.')
        project_id = request.json['member']
        member = {'image_id': image_id, 'member_id': project_id,
                  'status': 'pending', 'created_at': now(),
                  'updated_at': now(), 'schema': '/v2/schemas/member'}
        self.members.setdefault(image_id, {})[project_id] = member
        return member

    @route('GET', '/v2/images/{image_id}/members')
    def listMembers(self, request, image_id):
        self._get(request, image_id)
        return {'members': list(self.members.get(image_id, {}).values())}

    def _getMember(self, request, image_id, project_id):
        self._get(request, image_id)
        member = self.members.get(image_id, {}).get(project_id)
        if member is None:
            raise Refusal(404, f'{project_id} not found in the member list')
        return member

    @route('GET', '/v2/images/{image_id}/members/{project_id}')
    def getMember(self, request, image_id, project_id):
        return self._getMember(request, image_id, project_id)

    @route('PUT', '/v2/images/{image_id}/members/{project_id}')
    def updateMember(self, request, image_id, project_id):
        member = self._getMember(request, image_id, project_id)
        if project_id != request.project_id:
            raise Refusal(403, 'Only the member itself may do that.')
        member.update(status=request.json['status'], updated_at=now())
        return member

    @route('DELETE', '/v2/images/{image_id}/members/{project_id}')
    def deleteMember(self, request, image_id, project_id):
        self._getOwn(request, image_id)
        self._getMember(request, image_id, project_id)
        del self.members[image_id][project_id]
        return Answer(204)
