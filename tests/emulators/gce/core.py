"""What the parts of the emulated GCE have in common.

A collection of the API, such as "instances", is a class with a method for
each call, marked with :func:`call` and called as the API calls it.  It keeps
its resources as the API shows them, for the test to look at and to change.
"""

import base64
import dataclasses
import datetime
import itertools
import re
import urllib.parse

from tests.emulators import emulation
from tests.emulators.emulation import Answer
from tests.emulators.gce.filters import InvalidFilter, makeFilter

COMPUTE = '/compute/v1'
# What the API says for a status of HTTP, if there is nothing special.
REASONS = {400: 'invalid', 401: 'authError', 403: 'forbidden',
           404: 'notFound', 409: 'alreadyExists', 412: 'conditionNotMet',
           429: 'rateLimitExceeded', 500: 'internalError',
           503: 'backendError'}
# Only what the front end of the API answers has it.
STATUSES = {401: 'UNAUTHENTICATED', 429: 'RESOURCE_EXHAUSTED',
            503: 'UNAVAILABLE'}
USAGE_LIMITS = frozenset({'quotaExceeded', 'rateLimitExceeded'})
# Characters.
DESCRIPTION_LIMIT = 2048
NEWEST_FIRST = 'creationTimestamp desc'
NAME = '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'

_ids = itertools.count(4_000_000_000_000_000_001)


class Refusal(emulation.Refusal):
    """
    :param str reason: as the API has it; by default that of the status.
    """

    def __init__(self, status, message, reason=None):
        super().__init__(status, message)
        self.reason = reason or REASONS.get(status, 'internalError')

    def toAnswer(self):
        error = {'code': self.status, 'message': self.message, 'errors': [{
            'message': self.message, 'reason': self.reason,
            'domain': ('usageLimits' if self.reason in USAGE_LIMITS
                       else 'global')}]}
        if self.status in STATUSES:
            error['status'] = STATUSES[self.status]
        return Answer(self.status, {'error': error})


def checkDescription(given):
    """:raises Refusal: it is too long."""
    size = len(given.get('description', ''))
    if size > DESCRIPTION_LIMIT:
        raise Refusal(
            413, "Value for field 'resource.description' is too large: "
                 f'maximum size {DESCRIPTION_LIMIT} character(s); actual '
                 f'size {size}.', 'fieldSizeTooLarge')


def makeInvalid(field, value, why):
    """:return: a :class:`Refusal` of what a call has been given."""
    return Refusal(400, f"Invalid value for field '{field}': '{value}'. "
                        f'{why}')


class Fault(emulation.Fault):
    """:param str reason: of the error; by default that of the status."""

    def __init__(self, *args, reason=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.reason = reason


@dataclasses.dataclass
class Request(emulation.Request):
    """:ivar tuple found: what :meth:`Calls.find` gives of it."""

    found: tuple | None = None


class Server(emulation.Server):
    request_class = Request


def call(method, path=''):
    """Mark a method as a call of the API.

    :param str method: of HTTP.
    :param str path: below that of the collection, or from "/projects" on;
        ``{name}`` is one part of it, and an argument of the method.
    """
    def mark(function):
        vars(function).setdefault('calls', []).append((method, path))
        return function
    return mark


class Calls:
    """
    :cvar str name: what the API calls it, "instances".
    :cvar str base: where the API is.
    :cvar str path: where this is in it.
    """

    name = None
    base = COMPUTE
    path = ''

    def __init__(self, gce):
        self.gce = gce
        self.routes = [
            (method, compilePath(self._getFullPath(path)), function)
            for function in (
                getattr(self, name) for name in dir(type(self))
                if hasattr(getattr(type(self), name), 'calls'))
            for method, path in function.calls]

    def _getFullPath(self, path):
        if not path.startswith('/projects'):
            path = self.path + path
        return self.base + path.replace('{collection}', self.name)

    def find(self, request):
        """:return: (kind, function, its arguments) of a call, or None."""
        for method, pattern, function in self.routes:
            found = method == request.method and pattern.fullmatch(
                request.path)
            if found:
                return (f'{self.name}.{function.__name__}', function, {
                    name: urllib.parse.unquote(value)
                    for name, value in found.groupdict().items()})
        return None


class Collection(emulation.Resources, Calls):
    """A collection of Compute Engine.

    :cvar str kind: what the API calls one of them.
    :ivar dict resources: "projects/p/zones/z/instances/name" and the like
        -> the resource.
    """

    kind = None

    def __init__(self, gce):
        super().__init__(gce)
        self._pattern = compilePath(f'{self.path[1:]}/{{name}}')

    # What there is

    def getPath(self, name, **place):
        return f'{self.path[1:]}/{{name}}'.format(name=name, **place)

    def getPlace(self, path):
        """:return: dict with ``project``, ``name``, and maybe ``zone``."""
        return self._pattern.fullmatch(path).groupdict()

    def add(self, name, fields, **place):
        """:return: the new resource."""
        path = self.getPath(name, **place)
        for scope in ('zone', 'region'):
            if scope in place:
                fields = {**fields, scope: self.gce.link(
                    f'projects/{place["project"]}/{scope}s/{place[scope]}')}
        self.resources[path] = {
            **fields, 'kind': f'compute#{self.kind}', 'id': newID(),
            'name': name, 'creationTimestamp': now(),
            'selfLink': self.gce.link(path)}
        return self.resources[path]

    def show(self, path):
        """:return: the resource, or None."""
        return self.resources.get(path)

    def look(self, path):
        """As :meth:`show`; what goes on there goes on by that."""
        self.gce.jobs.look(path)
        return self.show(path)

    def demand(self, path):
        """:raises Refusal: there is no such thing."""
        resource = self.show(path)
        if resource is None:
            raise Refusal(404, f"The resource '{path}' was not found")
        return resource

    def resolve(self, value, field, **place):
        """
        :param str value: a link, a part of it, or a name.
        :param str field: that has it, for errors.
        :param place: where a name is.
        :return: the path.
        """
        path = re.sub(r'^https?://[^/]+/compute/[^/]+/', '', value)
        if '/' not in path:
            path = self.getPath(path, **place)
        elif not path.startswith('projects/'):
            path = f'projects/{place["project"]}/{path}'
        if not self._pattern.fullmatch(path):
            raise makeInvalid(field, value, 'The URL is malformed.')
        return path

    def checkNew(self, name, **place):
        if not re.fullmatch(NAME, name):
            raise makeInvalid('resource.name', name,
                              f"Must be a match of regex '{NAME}'")
        path = self.getPath(name, **place)
        if path in self.resources:
            raise Refusal(409, f"The resource '{path}' already exists")

    # The calls that every collection has

    @call('GET', '/{name}')
    def get(self, request, **place):
        path = self.getPath(**place)
        self.look(path)
        return self.demand(path)

    @call('GET')
    def list(self, request, **place):
        token, resources = self._page(
            request, self.getPath('', **place))
        return {'kind': f'compute#{self.kind}List', 'id': request.path,
                'selfLink': self.gce.url + request.path,
                'items': list(resources.values()), **token}

    def _page(self, request, prefix):
        """:return: what tells of the next page, and path -> resource."""
        paths = sorted(path for path in list(self.resources)
                       if path.startswith(prefix))
        wanted = request.query.get('filter', [''])[0]
        try:
            matches = makeFilter(wanted)
        except InvalidFilter as error:
            raise makeInvalid('filter', wanted, 'Invalid list filter '
                                                'expression.') from error
        seen = {path: self.look(path) for path in paths}
        found = [path for path, resource in seen.items()
                 if resource is not None and matches(resource)]
        order = request.query.get('orderBy', ['name'])[0]
        if order not in ('name', NEWEST_FIRST):
            raise makeInvalid('orderBy', order, 'It is not supported.')
        if order == NEWEST_FIRST:
            found.sort(key=lambda path: int(seen[path]['id']), reverse=True)
        part, token = getPart(request, found, self.gce.page_size)
        return token, {path: seen[path] for path in part}


class ZonalCollection(Collection):
    @call('GET')
    def list(self, request, project, zone):
        if zone in self.gce.unreachable:
            raise Refusal(503, f'Zone {zone} is unreachable.')
        return super().list(request, project=project, zone=zone)

    @call('GET', '/projects/{project}/aggregated/{collection}')
    def aggregatedList(self, request, project):
        partial = request.query.get('returnPartialSuccess') == ['true']
        zones = self.gce.zones.getNames(project)
        gone = [zone for zone in zones if zone in self.gce.unreachable]
        if gone and not partial:
            raise Refusal(503, f'Zone {gone[0]} is unreachable.')
        token, resources = self._page(request, f'projects/{project}/')
        items = {f'zones/{zone}': {} for zone in zones}
        for path, resource in resources.items():
            zone = self.getPlace(path)['zone']
            if zone not in gone:
                items[f'zones/{zone}'].setdefault(
                    self.name, []).append(resource)
        for zone in gone:
            items[f'zones/{zone}']['warning'] = {
                'code': 'UNREACHABLE', 'message': f'Zone {zone} is '
                                                  'unreachable.'}
        for scope, found in items.items():
            if not found:
                found['warning'] = {
                    'code': 'NO_RESULTS_ON_PAGE',
                    'message': 'There are no results for scope '
                               f"'{scope}' on this page.",
                    'data': [{'key': 'scope', 'value': scope}]}
        return {'kind': f'compute#{self.kind}AggregatedList',
                'id': request.path, 'selfLink': self.gce.url + request.path,
                'items': items, **token, **({
                    'unreachables': [f'projects/{project}/zones/{zone}'
                                     for zone in gone]} if gone else {})}


def getPart(request, names, size):
    """
    :param list names: in the order of the list.
    :param int size: how many are sent at most.
    :return: those for the answer, and what tells of the next page.
    """
    text = request.query.get('maxResults', ['0'])[0]
    if not text.isdecimal() or int(text) > 1000:
        raise makeInvalid('maxResults', text, 'Out of range.')
    size = min(int(text) or size, size)
    token = request.query.get('pageToken', [''])[0]
    try:
        last = base64.urlsafe_b64decode(token).decode()
    except ValueError as error:
        raise makeInvalid('pageToken', token, 'Invalid page token.'
                          ) from error
    names = (names[names.index(last) + 1:] if last in names
             else [name for name in names if name > last])
    part = names[:size]
    if len(part) == len(names):
        return part, {}
    return part, {'nextPageToken': base64.urlsafe_b64encode(
        part[-1].encode()).decode()}


def compilePath(path):
    return re.compile(re.sub(r'{(\w+)}', r'(?P<\1>[^/]+)', path))


def newID():
    return str(next(_ids))


def now():
    return datetime.datetime.now(datetime.UTC).isoformat(
        timespec='milliseconds')
