"""What clients see of the objects: one, lists by the page, and watches."""

import collections.abc
import copy
import json
import time
import uuid

from tests.emulators import emulation
from tests.emulators.kubernetes import admission, selection
from tests.emulators.kubernetes.store import makeStatus, refuse


class Handler(emulation.Handler):
    """It sends the events of a watch as they come."""

    def send(self, answer):
        if not isinstance(answer.data, collections.abc.Iterator):
            super().send(answer)
            return
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        try:
            for event in answer.data:
                line = json.dumps(event).encode() + b'\n'
                self.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))
            self.wfile.write(b'0\r\n\r\n')
        except OSError:
            self.close_connection = True
            raise


class Server(emulation.Server):
    handler_class = Handler


class View:
    """
    :param Store store:
    """

    def __init__(self, store):
        self._store = store
        self._pages = {}
        self._ended = False
        # How often all watches have been cut.
        self._cuts = 0

    def end(self):
        """Let all watches end."""
        with self._store.changed:
            self._ended = True
            self._store.changed.notify_all()

    def cut(self):
        """Break all watches off."""
        with self._store.changed:
            self._cuts += 1
            self._store.changed.notify_all()

    def show(self, resource, thing):
        if resource.name == 'resourcequotas':
            thing = {**thing, 'status': admission.measureQuota(
                self._store, thing)}
        return {'kind': resource.kind, 'apiVersion': resource.version,
                **{key: value for key, value in thing.items()
                   if key not in ('kind', 'apiVersion')}}

    def list(self, query, resource, namespace):
        token, = query.get('continue', [None])
        if token:
            version, found = self._pages.pop(token, (-1, ()))
            if int(version) < self._store.first_version:
                raise refuse(410, 'The provided continue parameter is too '
                             'old to display a consistent list result.')
        else:
            matches = selection.makeFilter(query)
            version = str(self._store.version)
            found = [self.show(resource, thing) for thing
                     in self._store.list(resource.stored, namespace)
                     if matches(thing)]
        limit = int(query.get('limit', ['0'])[0]) or len(found)
        metadata = {'resourceVersion': version}
        if found[limit:]:
            metadata['continue'] = uuid.uuid4().hex
            metadata['remainingItemCount'] = len(found[limit:])
            self._pages[metadata['continue']] = version, found[limit:]
        return {'kind': f'{resource.kind}List',
                'apiVersion': resource.version, 'metadata': metadata,
                'items': copy.deepcopy(found[:limit])}

    def watch(self, query, resource, namespace):
        """:return: yields events, until its time is over.
        :raises ConnectionError: it is cut."""
        matches = selection.makeFilter(query)
        bookmarks = query.get('allowWatchBookmarks', ['false'])[0] in (
            'true', 'True', '1')
        end = time.monotonic() + float(
            query.get('timeoutSeconds', ['1800'])[0])
        version, = query.get('resourceVersion', ['0'])
        version, cuts = int(version), self._cuts
        with self._store.changed:
            if 0 < version < self._store.first_version:
                yield {'type': 'ERROR', 'object': makeStatus(
                    410, f'too old resource version: {version} '
                    f'({self._store.first_version})')}
                return
            present = [] if version else self._store.list(
                resource.stored, namespace)
            version = version or self._store.version
            present = [copy.deepcopy(each) for each in present
                       if matches(each)]
        for thing in present:
            yield {'type': 'ADDED', 'object': self.show(resource, thing)}
        while not self._ended:
            with self._store.changed:
                news = [event for event in self._store.events
                        if event.version > version]
                if not news and not self._store.changed.wait(
                        max(0, end - time.monotonic())):
                    break
            if self._cuts > cuts:
                raise ConnectionError
            for event in news:
                version = event.version
                if event.kind == 'BOOKMARK':
                    if bookmarks:
                        yield _makeBookmark(resource, version)
                elif event.resource == resource.stored and namespace in (
                        None, event.thing['metadata'].get('namespace')) and (
                        kind := selection.see(event, matches)):
                    yield {'type': kind,
                           'object': self.show(resource, event.thing)}
        if bookmarks and not self._ended:
            # As the API server does shortly before the end.
            yield _makeBookmark(resource, version)


def _makeBookmark(resource, version):
    return {'type': 'BOOKMARK', 'object': {
        'kind': resource.kind, 'apiVersion': resource.version,
        'metadata': {'resourceVersion': str(version)}}}
