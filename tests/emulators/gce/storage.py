"""Cloud Storage: buckets, and objects in them.

Source: the JSON API, version 1.
"""

import base64
import hashlib
import json
import re
import urllib.parse
import uuid

import google_crc32c

from tests.emulators.emulation import Answer
from tests.emulators.gce.core import (
    Calls,
    Refusal,
    call,
    getPart,
    now,
)

STORAGE = '/storage/v1'
BUCKET = f'{STORAGE}/b/{{bucket}}'
UPLOADS = f'/upload{BUCKET}/o'
CONTENT_RANGE = re.compile(r'bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)')
RANGE = re.compile(r'bytes=(\d+)-(\d*)')
# How the name of a checksum is written in "X-Goog-Hash".
CHECKSUMS = {'md5': 'md5Hash', 'crc32c': 'crc32c'}


class Buckets(Calls):
    """:ivar dict resources: name -> bucket."""

    name = 'buckets'
    base = STORAGE
    path = '/b'

    def __init__(self, gce):
        super().__init__(gce)
        self.resources = {}

    def create(self, name, project, **fields):
        """:return: the new bucket."""
        self.resources[name] = {
            'kind': 'storage#bucket', 'id': name, 'name': name,
            'selfLink': f'{self.gce.url}{STORAGE}/b/{name}',
            'projectNumber': '1', 'location': 'US', 'storageClass':
            'STANDARD', 'metageneration': '1', 'timeCreated': now(),
            'updated': now(), 'project': project, **fields}
        return self.resources[name]

    def demand(self, name):
        if name not in self.resources:
            raise Refusal(404, 'The specified bucket does not exist.')
        return self.resources[name]

    @call('POST')
    def insert(self, request):
        given = request.json
        if given['name'] in self.resources:
            raise Refusal(409, 'The requested bucket name is not available.',
                          'conflict')
        return self.create(
            project=request.query.get('project', [self.gce.project])[0],
            **given)

    @call('GET', '/{bucket}')
    def get(self, request, bucket):
        return self.demand(bucket)

    @call('GET')
    def list(self, request):
        names = sorted(
            name for name, bucket in self.resources.items()
            if bucket['project'] in request.query.get('project', ()))
        part, token = getPart(request, names, self.gce.page_size)
        return {'kind': 'storage#buckets', **token,
                'items': [self.resources[name] for name in part]}

    @call('DELETE', '/{bucket}')
    def delete(self, request, bucket):
        self.demand(bucket)
        if any(key[0] == bucket for key in self.gce.objects.data):
            raise Refusal(409, 'The bucket you tried to delete is not empty.',
                          'conflict')
        del self.resources[bucket]
        return Answer(204)


class Objects(Calls):
    """
    :ivar dict resources: (bucket, name) -> object.
    :ivar dict data: (bucket, name) -> bytes.
    :ivar dict uploads: id -> resumable upload; ``resource`` if it has ended.
    """

    name = 'objects'
    base = ''

    def __init__(self, gce):
        super().__init__(gce)
        self.resources = {}
        self.data = {}
        self.uploads = {}
        self._generation = 0

    def create(self, bucket, name, data, **fields):
        """
        :param fields: what a client tells of it; checksums have to be right.
        :return: the new object.
        """
        self.gce.buckets.demand(bucket)
        checksums = makeChecksums(data)
        for key, value in checksums.items():
            if fields.get(key, value) != value:
                raise Refusal(400, f'Provided {key} "{fields[key]}" doesn\'t '
                                   f'match calculated {key} "{value}".')
        self._generation += 1
        generation = str(self._generation)
        link = f'{STORAGE}/b/{bucket}/o/{urllib.parse.quote(name, safe="")}'
        self.resources[bucket, name] = {
            'contentType': 'application/octet-stream', **fields, **checksums,
            'kind': 'storage#object', 'name': name, 'bucket': bucket,
            'id': f'{bucket}/{name}/{generation}', 'size': str(len(data)),
            'generation': generation, 'metageneration': '1',
            'etag': f'{generation}/1', 'storageClass': 'STANDARD',
            'selfLink': self.gce.url + link, 'timeCreated': now(),
            'updated': now(),
            'mediaLink': f'{self.gce.url}/download{link}?generation='
                         f'{generation}&alt=media'}
        self.data[bucket, name] = data
        return self.resources[bucket, name]

    def _demand(self, request, bucket, name):
        self.gce.buckets.demand(bucket)
        if (bucket, name) not in self.resources:
            raise Refusal(404, f'No such object: {bucket}/{name}')
        self._checkConditions(request, bucket, name)
        found = self.resources[bucket, name]
        wanted = request.query.get('generation')
        if wanted and wanted != [found['generation']]:
            raise Refusal(404, f'No such object: {bucket}/{name}')
        return found

    def _checkConditions(self, request, bucket, name):
        resource = self.resources.get((bucket, name), {'generation': '0'})
        wanted = request.query.get('ifGenerationMatch')
        if wanted and wanted != [resource['generation']]:
            raise Refusal(412, 'At least one of the pre-conditions you '
                               'specified did not hold.')

    # What there is

    @call('GET', f'{BUCKET}/o')
    def list(self, request, bucket):
        self.gce.buckets.demand(bucket)
        prefix, = request.query.get('prefix', [''])
        delimiter, = request.query.get('delimiter', [''])
        names, prefixes = [], set()
        for key in sorted(self.resources):
            name = key[1]
            if key[0] != bucket or not name.startswith(prefix):
                continue
            head, mark, _ = name[len(prefix):].partition(delimiter or '\0')
            if mark:
                prefixes.add(prefix + head + mark)
            else:
                names.append(name)
        part, token = getPart(request, names, self.gce.page_size)
        return {'kind': 'storage#objects', 'prefixes': sorted(prefixes),
                'items': [self.resources[bucket, name] for name in part],
                **token}

    @call('GET', f'{BUCKET}/o/{{name}}')
    def get(self, request, bucket, name):
        if request.query.get('alt') == ['media']:
            return self._send(request, bucket, name)
        return self._demand(request, bucket, name)

    @call('GET', f'/download{BUCKET}/o/{{name}}')
    def download(self, request, bucket, name):
        return self._send(request, bucket, name)

    def _send(self, request, bucket, name):
        resource = self._demand(request, bucket, name)
        data = self.data[bucket, name]
        headers = {
            'Content-Type': resource['contentType'],
            'ETag': resource['etag'],
            'X-Goog-Generation': resource['generation'],
            'X-Goog-Hash': ','.join(f'{name}={resource[key]}'
                                    for name, key in CHECKSUMS.items())}
        found = RANGE.fullmatch(request.headers.get('range') or '')
        if not found:
            return Answer(200, data, headers)
        first = int(found[1])
        part = data[first:int(found[2]) + 1 if found[2] else None]
        if not part:
            raise Refusal(416, 'Requested range not satisfiable',
                          'requestedRangeNotSatisfiable')
        headers['Content-Range'] = (
            f'bytes {first}-{first + len(part) - 1}/{len(data)}')
        return Answer(206, part, headers)

    # Change

    @call('PATCH', f'{BUCKET}/o/{{name}}')
    def patch(self, request, bucket, name):
        resource = self._demand(request, bucket, name)
        resource.update(request.json, updated=now(), metageneration=str(
            int(resource['metageneration']) + 1))
        return resource

    @call('DELETE', f'{BUCKET}/o/{{name}}')
    def delete(self, request, bucket, name):
        self._demand(request, bucket, name)
        del self.resources[bucket, name]
        del self.data[bucket, name]
        return Answer(204)

    @call('POST', UPLOADS)
    def insert(self, request, bucket):
        self.gce.buckets.demand(bucket)
        kind, = request.query['uploadType']
        if kind == 'media':
            fields, data = {}, request.body
        elif kind == 'multipart':
            fields, data = readMultipart(request)
        else:
            fields = json.loads(request.body or '{}')
        name = fields.pop('name', None) or request.query['name'][0]
        self._checkConditions(request, bucket, name)
        if kind == 'resumable':
            return self._startUpload(request, bucket, name, fields)
        return self.create(bucket, name, data, **fields)

    def _startUpload(self, request, bucket, name, fields):
        kind = request.headers.get('x-upload-content-type')
        if kind:
            fields.setdefault('contentType', kind)
        upload_id = uuid.uuid4().hex
        self.uploads[upload_id] = {
            'bucket': bucket, 'name': name, 'fields': fields,
            'data': bytearray()}
        location = UPLOADS.format(bucket=bucket)
        return Answer(200, b'', {
            'X-GUploader-UploadID': upload_id,
            'Location': f'{self.gce.url}{location}?uploadType=resumable'
                        f'&upload_id={upload_id}'})

    @call('PUT', UPLOADS)
    def upload(self, request, bucket):
        """A part of a resumable upload, or the question how far it is."""
        upload = self.uploads.get(request.query['upload_id'][0])
        if upload is None:
            raise Refusal(410, 'There is no such upload.', 'gone')
        if 'resource' in upload:
            # The answer to the last part was lost.
            return upload['resource']
        found = CONTENT_RANGE.fullmatch(
            request.headers.get('content-range') or f'bytes 0-0/'
            f'{len(request.body)}')
        if not found:
            raise Refusal(400, 'Failed to parse Content-Range header.')
        data = upload['data']
        if request.body:
            first = int(found[1])
            if first > len(data):
                raise Refusal(400, f'Expected byte {len(data)}.')
            data[first:] = request.body
        if found[3] == '*' or len(data) < int(found[3]):
            headers = {'Range': f'bytes=0-{len(data) - 1}'} if data else {}
            return Answer(308, b'', headers)
        return self._endUpload(request, upload)

    def _endUpload(self, request, upload):
        fields = dict(upload['fields'])
        for checksum in filter(None, (
                request.headers.get('x-goog-hash') or '').split(',')):
            name, _, value = checksum.partition('=')
            fields[CHECKSUMS[name]] = value
        upload['resource'] = self.create(
            upload['bucket'], upload['name'], bytes(upload['data']), **fields)
        return upload['resource']

    @call('DELETE', UPLOADS)
    def cancel(self, request, bucket):
        self.uploads.pop(request.query['upload_id'][0], None)
        return Answer(499)


def makeChecksums(data):
    """:return: ``md5Hash`` and ``crc32c`` of bytes."""
    crc32c = google_crc32c.Checksum(data).digest()
    return {'md5Hash': base64.b64encode(hashlib.md5(data).digest()).decode(),
            'crc32c': base64.b64encode(crc32c).decode()}


def readMultipart(request):
    """:return: dict of what is told of the object, and its bytes."""
    boundary = request.headers.get_param('boundary')
    mark = b'--' + boundary.encode()
    _, first, rest = request.body.split(mark, 2)
    second = rest.rpartition(b'\r\n' + mark + b'--')[0]
    fields = json.loads(first.partition(b'\r\n\r\n')[2])
    head, _, data = second.partition(b'\r\n\r\n')
    kind = re.search(rb'content-type:\s*([^\r\n]+)', head, re.IGNORECASE)
    if kind:
        fields.setdefault('contentType', kind[1].decode())
    return fields, data
