"""What the services of the emulated cloud have in common.

A service is a class with a method for each call, marked with
:func:`route`; it keeps what there is in plain dicts, as its API shows it,
for the test to look at and to change.
"""

import dataclasses
import datetime
import re
import urllib.parse
import uuid

from tests.emulators import emulation
from tests.emulators.emulation import Answer, Refusal

REGION = 'RegionOne'
# What of a query is not a filter.
PAGING = frozenset({'limit', 'marker', 'fields', 'sort', 'sort_key',
                    'sort_dir'})


@dataclasses.dataclass
class Request(emulation.Request):
    """
    :ivar dict token: who asks: ``user``, ``project``; None if that was not
        told.
    """

    token: dict | None = None

    @property
    def project_id(self):
        return self.token['project']['id']

    @property
    def filters(self):
        return {name: values for name, values in self.query.items()
                if name not in PAGING}


class Server(emulation.Server):
    request_class = Request


def route(method, path, public=False):
    """Mark a method of a service as the one for these calls.

    :param str path: below that of the service; ``{name}`` is one part of
        it, and an argument of the method.
    :param bool public: no token is needed.
    """
    pattern = re.compile(re.sub(r'{(\w+)}', r'(?P<\1>[^/]+)', path) + '/?')

    def mark(function):
        vars(function).setdefault('routes', []).append(
            (method, pattern, public))
        return function
    return mark


class Service:
    """
    :cvar str type: what the catalog calls it.
    :cvar str path: where it is, and its API's version.
    :cvar str version: the path of its API below that.
    :param cloud: has all services, and ``url``.
    """

    type = path = version = None

    def __init__(self, cloud):
        self.cloud = cloud
        # The more of a path is given, the earlier it is tried.
        self.routes = sorted((
            (*each, getattr(self, name))
            for name in dir(type(self))
            for each in getattr(getattr(type(self), name), 'routes', ())),
            key=lambda each: each[1].groups)

    @property
    def url(self):
        """What the catalog has."""
        return f'{self.cloud.url}{self.path}{self.version}'

    def answer(self, request):
        """
        :return: an :class:`Answer`.
        :raises Refusal: the call can't be done.
        """
        path = urllib.parse.unquote(request.path.removeprefix(self.path))
        allowed = set()
        for method, pattern, public, function in self.routes:
            found = pattern.fullmatch(path)
            if found and method == request.method:
                request.token = self.cloud.keystone.tokens.get(
                    request.headers.get('x-auth-token'))
                if not public and request.token is None:
                    raise Refusal(401, 'Authentication required')
                answer = function(request, **found.groupdict())
                return (answer if isinstance(answer, Answer)
                        else Answer(data=answer))
            if found:
                allowed.add(method)
        if allowed:
            raise Refusal(405, f'Only {", ".join(sorted(allowed))}')
        raise Refusal(404, 'The resource could not be found.')

    def formatError(self, refusal):
        """:return: what is sent of it, as JSON."""
        raise NotImplementedError

    def page(self, request, items, key, limit=1000):
        """:return: a part of a list, with a link to the next one."""
        limit = min(int(*request.query.get('limit', [limit])), limit)
        ids = [item['id'] for item in items]
        start = 0
        if 'marker' in request.query:
            marker, = request.query['marker']
            if marker not in ids:
                raise Refusal(400, f'marker [{marker}] not found')
            start = ids.index(marker) + 1
        part = items[start:start + limit]
        page = {key: part}
        if part and start + limit < len(items):
            query = urllib.parse.urlencode(
                {**request.query, 'limit': [limit],
                 'marker': [part[-1]['id']]}, doseq=True)
            page.update(self.linkNext(key, f'{request.path}?{query}'))
        return page

    def linkNext(self, key, path):
        return {f'{key}_links': [
            {'rel': 'next', 'href': f'{self.cloud.url}{path}'}]}


def hasLong(text):
    """:return: whether a text has a character of four bytes, for which
        databases need not have room."""
    return any(ord(character) > 0xFFFF for character in text or '')


def newID():
    return str(uuid.uuid4())


def now():
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
