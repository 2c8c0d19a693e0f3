"""The objects of the emulated API server, and what has happened to them."""

import copy
import dataclasses
import datetime
import json
import threading
import uuid

from tests.emulators.emulation import Refusal

REASONS = {
    400: 'BadRequest', 401: 'Unauthorized', 403: 'Forbidden',
    404: 'NotFound', 405: 'MethodNotAllowed', 409: 'Conflict',
    410: 'Expired', 422: 'Invalid', 429: 'TooManyRequests',
    500: 'InternalError', 503: 'ServiceUnavailable',
    504: 'Timeout'}


def refuse(status, message, reason=None, **details):
    """:return: a :class:`Refusal`, as API servers put it."""
    return Refusal(status, json.dumps(makeStatus(
        status, message, reason, **details)))


def makeStatus(status, message, reason=None, **details):
    return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {},
            'status': 'Failure', 'message': message,
            'reason': reason or REASONS.get(status, ''), 'details': details,
            'code': status}


def now():
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')


@dataclasses.dataclass
class Event:
    """:ivar dict before: the object as it was; None if it was not."""

    version: int
    kind: str
    resource: str
    thing: dict
    before: dict | None


class Store:
    """
    :ivar Condition changed: notified of each event, and holds the lock.
    :ivar list events: since the log was cut the last time.
    :ivar removed: is called with the resource and what is gone.
    """

    def __init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.version = 0
        self.first_version = 0
        self.events = []
        self.removed = lambda resource, thing: None
        self._things = {}

    def bookmark(self):
        """Tell those who watch how far they are."""
        with self.changed:
            self.version += 1
            self.events.append(Event(
                self.version, 'BOOKMARK', None, None, None))
            self.changed.notify_all()

    def compact(self):
        """Forget what has happened: who asks for it has to list again."""
        with self.changed:
            self.events.clear()
            self.first_version = self.version

    def find(self, resource, namespace, name):
        """:raises Refusal: there is none."""
        thing = self.get(resource, namespace, name)
        if thing is None:
            raise refuse(404, f'{resource} "{name}" not found', name=name,
                         kind=resource)
        return thing

    def get(self, resource, namespace, name):
        return self._things.get((resource, namespace, name))

    def list(self, resource, namespace=None):
        return [thing for (kind, place, _), thing
                in sorted(self._things.items(),
                          key=lambda item: (item[0][1] or '', item[0][2]))
                if kind == resource and namespace in (None, place)]

    def keys(self):
        """:return: (resource, namespace or None, name) of all that is
            there, a set."""
        with self.changed:
            return set(self._things)

    def listIn(self, namespace):
        """:return: (resource, object) of all that is in a namespace, or,
            with None, in the whole cluster."""
        return [(kind, thing) for (kind, place, _), thing
                in list(self._things.items()) if place == namespace]

    def add(self, resource, namespace, thing):
        """:return: the same.
        :raises Refusal: there is one of that name."""
        meta = thing['metadata']
        key = resource, namespace, meta['name']
        if key in self._things:
            raise refuse(
                409, f'{resource} "{meta["name"]}" already exists',
                'AlreadyExists', name=meta['name'], kind=resource)
        if namespace:
            meta['namespace'] = namespace
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=now())
        self._put('ADDED', key, thing, None)
        return thing

    def replace(self, resource, thing):
        """:return: the object as it is then; without its finalizers, it may
            be gone."""
        meta = thing['metadata']
        key = resource, meta.get('namespace'), meta['name']
        self._put('MODIFIED', key, thing, self._things[key])
        if meta.get('deletionTimestamp') and not meta.get('finalizers') and (
                resource not in ('namespaces', 'pods')):
            self.remove(resource, thing)
        return thing

    def remove(self, resource, thing):
        meta = thing['metadata']
        key = resource, meta.get('namespace'), meta['name']
        self._put('DELETED', key, thing, thing)
        self.removed(resource, thing)

    def delete(self, resource, thing, grace=None):
        """Begin with the end of an object.

        :param int grace: seconds that a pod gets.
        """
        meta = thing['metadata']
        if meta.get('finalizers') or (
                resource == 'pods' and _isAtWork(thing) and grace != 0):
            if not meta.get('deletionTimestamp'):
                thing = copy.deepcopy(thing)
                thing['metadata'].update(
                    deletionTimestamp=now(),
                    deletionGracePeriodSeconds=thing['spec'].get(
                        'terminationGracePeriodSeconds', 30)
                    if resource == 'pods' and grace is None else grace or 0)
                self.replace(resource, thing)
        elif (resource, meta.get('namespace'), meta['name']) in self._things:
            self.remove(resource, thing)

    def _put(self, event, key, thing, before):
        with self.changed:
            self.version += 1
            thing['metadata']['resourceVersion'] = str(self.version)
            if event == 'DELETED':
                del self._things[key]
            else:
                self._things[key] = thing
            self.events.append(Event(
                self.version, event, key[0], copy.deepcopy(thing), before))
            self.changed.notify_all()


def _isAtWork(pod):
    return bool(pod['spec'].get('nodeName')) and (
        pod['status'].get('phase') not in ('Succeeded', 'Failed'))
