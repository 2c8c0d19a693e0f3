"""What the parts of the emulated Azure have in common.

A service is a class with a method for each call, marked with
:func:`route`.  A collection keeps its resources as the API shows them, for
the test to look at and to change.
"""

import re
import urllib.parse

from tests.emulators import emulation
from tests.emulators.emulation import Answer

# Links have this address, as Azure's have, whatever the emulator's is.
MANAGEMENT = 'https://management.azure.com'
SUBSCRIPTION = '/subscriptions/{subscription}'
GROUP = SUBSCRIPTION + '/resourceGroups/{group}'
# What the API says for a status of HTTP, if there is nothing special.
CODES = {400: 'BadRequest', 401: 'AuthenticationFailed',
         403: 'AuthorizationFailed', 404: 'NotFound', 409: 'Conflict',
         429: 'TooManyRequests', 500: 'InternalServerError',
         503: 'ServiceUnavailable'}
# https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources
FORBIDDEN_IN_TAGS = re.compile(r'[<>%&\\?/\x00-\x1f\x7f]')
RESERVED_TAGS = ('microsoft', 'azure', 'windows')
MOST_TAGS = 50
LONGEST_TAG = 512
LONGEST_TAG_VALUE = 256


class Refusal(emulation.Refusal):
    """
    :param str code: as the API has it; by default that of the status.
    """

    def __init__(self, status, message, code=None):
        super().__init__(status, message)
        self.code = code or CODES.get(status, 'InternalServerError')

    def toAnswer(self):
        return Answer(self.status, {'error': {
            'code': self.code, 'message': self.message}})


class Fault(emulation.Fault):
    """
    :param str code: of the error; by default that of the status.
    :param str option: that calls have in their query; others go well.
    """

    def __init__(self, *args, code=None, option=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.code = code
        self.option = option

    def matches(self, request):
        return super().matches(request) and (
            self.option is None or self.option in request.query)


def route(method, path):
    """Mark a method of a service as the one for these calls.

    :param str path: ``{name}`` is one part of it, and an argument of the
        method; ``{collection}`` is where the collection is.
    """
    def mark(function):
        vars(function).setdefault('routes', []).append((method, path))
        return function
    return mark


class Service:
    """
    :cvar bool guarded: calls need a token and a version.
    :cvar str collection: part of the paths.
    """

    guarded = True
    collection = ''

    def __init__(self, azure):
        self.azure = azure
        self._routes = [
            (method, _compile(path.replace(
                '{collection}', self.collection)), getattr(self, name))
            for name in dir(type(self))
            for method, path in getattr(
                getattr(type(self), name), 'routes', ())]

    def find(self, request):
        """:return: a function and its arguments, or None."""
        for method, pattern, function in self._routes:
            found = method == request.method and pattern.fullmatch(
                request.path)
            if found:
                return function, found.groupdict()
        return None

    def page(self, request, items):
        """
        :param dict items: key -> what a list has.
        :return: a part of the list, with a link to the next one.
        """
        last, = request.query.get('$skiptoken', [''])
        keys = [key for key in sorted(items) if key > last]
        part = keys[:self.azure.page_size]
        page = {'value': [items[key] for key in part]}
        if len(part) < len(keys):
            version, = request.query['api-version']
            options = {name: values[0] for name, values
                       in request.query.items() if name != 'api-version'}
            page['nextLink'] = link(
                request.path, version,
                **options | {'$skiptoken': part[-1]})
        return page


def _compile(path):
    return re.compile(re.sub(r'{(\w+)}', r'(?P<\1>[^/]+)', path),
                      re.IGNORECASE)


class Collection(emulation.Resources, Service):
    """Resources of one type, in resource groups.

    :cvar str collection: where they are below their provider, with it:
        "Microsoft.Compute/disks".
    :cvar int longest: characters of a name.
    :ivar dict resources: id in lower case -> resource.
    """

    ITEM = GROUP + '/providers/{collection}/{name}'
    longest = 80

    def __init__(self, azure):
        super().__init__(azure)
        self.type = re.sub(r'/{\w+}', '', self.collection)
        self.kind = self.type.rpartition('/')[2]

    def getID(self, group, name, **place):
        return self.ITEM.replace('{collection}', self.collection).format(
            subscription=self.azure.subscription, group=group, name=name,
            **place)

    def get(self, resource_id):
        """:return: the resource, or None."""
        return self.resources.get(resource_id.lower())

    def checkName(self, name):
        """:raises Refusal: nothing here can have that name."""
        if len(name) > self.longest or not re.fullmatch(
                r'[A-Za-z0-9]([\w.-]*\w)?', name, re.ASCII):
            raise Refusal(
                400, f"The entity name '{name}' is invalid according to its "
                     r'validation rule: ^[^_\W][\w-._]{0,'
                     f'{self.longest - 1}' r'}(?<![-.])$.',
                'InvalidParameter')

    def demand(self, resource_id):
        """:raises Refusal: there is no such thing."""
        resource = self.get(resource_id)
        if resource is None:
            raise Refusal(
                404, f"The Resource '{self.type}/"
                     f"{resource_id.rpartition('/')[2]}' under resource "
                     f"group '{getGroup(resource_id)}' was not found. For "
                     'more details please go to '
                     'https://aka.ms/ARMResourceNotFoundFix',
                'ResourceNotFound')
        return resource

    def make(self, resource_id, given, state='Succeeded'):
        """
        :param dict given: of a call: location, tags, properties.
        :return: a resource, which is not there yet.
        """
        return {
            'id': resource_id, 'name': resource_id.rpartition('/')[2],
            'type': self.type, 'location': given.get('location'),
            'tags': dict(given.get('tags') or {}),
            'properties': {**given.get('properties', {}),
                           'provisioningState': state}}

    def store(self, resource):
        """Have it be there.  :return: the resource."""
        self.resources[resource['id'].lower()] = resource
        return resource

    def remove(self, resource_id):
        """It is gone, and what goes with it."""
        self.resources.pop(resource_id.lower(), None)

    # What subclasses have of their own

    def fill(self, resource):
        """Complete a new resource, that has what was asked for, and that
        nobody sees yet.

        :raises Refusal: it can not be made.
        """

    def complete(self, resource):
        """What it was asked for is done.  :return: the resource."""
        return resource

    def checkFree(self, resource):
        """:raises Refusal: it can not be deleted now."""

    def checkChange(self, resource, given):
        """
        :param dict given: what it is asked for again.
        :raises Refusal: it can't become that.
        """

    # The calls that every collection has

    @route('GET', SUBSCRIPTION + '/providers/{collection}')
    @route('GET', GROUP + '/providers/{collection}')
    def callList(self, request, **place):
        scope, _, collection = request.path.lower().partition('/providers/')
        keys = [key for key in self.resources if key.startswith(f'{scope}/')
                and f'/providers/{collection}/' in key]
        for key in keys:
            self.azure.operations.look(key)
        return self.page(request, {
            key: self.resources[key] for key in keys
            if key in self.resources})

    @route('GET', ITEM)
    def callGet(self, request, **place):
        self.azure.operations.look(request.path)
        return self.demand(request.path)

    @route('PUT', ITEM)
    def callPut(self, request, group, name, **place):
        given = request.json
        self.azure.groups.demand(group)
        self.checkName(name)
        _checkLocation(given)
        checkTags(given.get('tags'))
        resource = self.get(request.path)
        if resource is None:
            resource = self.make(request.path, given, 'Creating')
            self.fill(resource)
            self.store(resource)
            status = 201
        else:
            self._update(resource, given)
            status = 200
        operation = self.azure.operations.start(
            f'{self.kind}.create', resource, lambda: self.complete(resource))
        return Answer(status, resource, operation.headers)

    def _update(self, resource, given):
        if resource['properties']['provisioningState'] == 'Deleting':
            raise Refusal(
                409, f"Operation 'put' is not allowed on '{resource['name']}' "
                     'since it is marked for deletion. You can only retry '
                     'the Delete operation (or wait for an ongoing one to '
                     'complete).', 'OperationNotAllowed')
        if resource['location'] != given['location']:
            raise Refusal(
                409, f"The resource '{resource['name']}' already exists in "
                     f"location '{resource['location']}'. A resource with "
                     'the same name cannot be created in location '
                     f"'{given['location']}'.", 'InvalidResourceLocation')
        self.checkChange(resource, given)
        resource['tags'] = dict(given.get('tags') or {})

    @route('DELETE', ITEM)
    def callDelete(self, request, **place):
        resource = self.get(request.path)
        if resource is None:
            return Answer(204)
        self.checkFree(resource)
        kind = f'{self.kind}.delete'
        operation = self.azure.operations.getRunning(kind, resource)
        if operation is None:
            self.azure.operations.preempt(resource)
            resource['properties']['provisioningState'] = 'Deleting'
            operation = self.azure.operations.start(
                kind, resource, lambda: self.remove(request.path))
        return Answer(202, headers=operation.headers)


def getGroup(resource_id):
    return resource_id.split('/')[4]


def _checkLocation(given):
    if not given.get('location'):
        raise Refusal(400, 'The location property is required for this '
                           'definition.', 'LocationRequired')


def checkTags(tags):
    """:raises Refusal: Azure takes no such tags."""
    tags = tags or {}
    if wrong := [name for name in tags if FORBIDDEN_IN_TAGS.search(name)]:
        raise Refusal(400, f"The tag names '{', '.join(wrong)}' have "
                           "reserved characters '<,>,%,&,\\,?,/' or control "
                           'characters.', 'InvalidTagNameCharacters')
    if len(tags) > MOST_TAGS:
        raise Refusal(400, f'There are {len(tags)} tags; {MOST_TAGS} are '
                           'allowed.')
    # Azure does not mind the case.
    if len({name.lower() for name in tags}) < len(tags):
        raise Refusal(400, 'A tag is there twice.')
    for name, value in tags.items():
        if not 0 < len(name) <= LONGEST_TAG or len(value) > LONGEST_TAG_VALUE:
            raise Refusal(400, f"The tag '{name}' or its value is too long.")
        if name.lower().startswith(RESERVED_TAGS) or name != name.strip():
            raise Refusal(400, f"The name of the tag '{name}' is reserved.")


def link(path, version, **query):
    """:return: an address as Azure's answers have them."""
    return f'{MANAGEMENT}{path}?' + urllib.parse.urlencode(
        {'api-version': version, **query})
