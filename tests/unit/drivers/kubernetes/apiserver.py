"""What a cluster does for the tests of its driver: HTTP, and some state.

Controllers and kubelets are quick here: all is done when a call is answered,
unless a test wants it otherwise.
"""

import base64
import json
import threading
import uuid

from tests.fixtures.emulation import Answer, Fault, Refusal, Server

TOKEN = 'kubernetes.io/service-account-token'
NOW = '2026-01-01T00:00:00Z'


def tell(status, message):
    return Refusal(status, json.dumps(
        {'kind': 'Status', 'code': status, 'message': message}))


class ApiServer:
    """
    :ivar dict things: (resource, namespace or None, name) -> object.
    :ivar list calls: (method, resource, namespace, name) that came.
    :ivar set forbidden: (method, resource) that nobody may do in the whole
        cluster.
    :ivar dict pod_status: that new pods get.
    :ivar bool fills_secrets: whether tokens are put into secrets.
    """

    def __init__(self):
        self.lock = threading.RLock()
        self.things = {}
        self.calls = []
        self.forbidden = set()
        self.fills_secrets = True
        self.pod_status = {
            'phase': 'Running', 'podIP': '192.0.2.1',
            'containerStatuses': [{'name': 'node', 'state': {'running': {}}}]}
        self._faults = []
        self._server = Server(self)
        self.url = self._server.url

    def end(self):
        for fault in self._faults:
            fault.release()
        self._server.end()

    def inject(self, *args, **kwargs):
        """:return: the :class:`Fault`, which counts from now on."""
        fault = Fault(*args, **kwargs)
        self._faults.append(fault)
        return fault

    def writeConfig(self, path):
        """:return: the path of a kubeconfig with the context "ci"."""
        path.write_text(json.dumps({
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'ci',
            'clusters': [{'name': 'ci', 'cluster': {'server': self.url}}],
            'users': [{'name': 'ci', 'user': {'token': 'launcher-secret'}}],
            'contexts': [{'name': 'ci', 'context': {
                'cluster': 'ci', 'user': 'ci'}}]}))
        return str(path)

    def add(self, resource, name, namespace=None, **attributes):
        """:return: a new object, as somebody else makes it."""
        thing = {'metadata': {
            'name': name, 'namespace': namespace, 'uid': uuid.uuid4().hex,
            'creationTimestamp': NOW,
            **attributes.pop('metadata', {})}, **attributes}
        with self.lock:
            self.things[resource, namespace, name] = thing
        return thing

    def names(self, resource, namespace=None):
        with self.lock:
            return sorted(name for kind, place, name in self.things
                          if (kind, place) == (resource, namespace))

    def count(self, method, resource):
        with self.lock:
            return sum(call[:2] == (method, resource) for call in self.calls)

    def handle(self, request):
        fault = next((fault for fault in self._faults
                      if fault.matches(request)), None)
        try:
            if fault is None:
                return self._perform(request)
            fault.times -= 1
            fault.wait()
            if fault.acts:
                self._perform(request)
            if fault.status is None:
                return None
            raise tell(fault.status, fault.message)
        except Refusal as refusal:
            return Answer(refusal.status, refusal.message.encode())

    def _perform(self, request):
        resource, namespace, name, part = self._read(request.path)
        with self.lock:
            self.calls.append((request.method, resource, namespace, name))
            if (request.method, resource) in self.forbidden and not namespace:
                raise tell(403, f'{resource} is forbidden: User "ci" cannot '
                           'do that at the cluster scope')
            act = getattr(self, f'_{part or request.method.lower()}')
            return act(resource, namespace, name, request)

    def _read(self, path):
        """:return: resource, namespace, name and subresource."""
        parts = path.strip('/').split('/')
        parts = parts[{'api': 2, 'apis': 3}.get(parts[0], 0):]
        namespace = None
        if parts[0] == 'namespaces' and len(parts) > 2:
            namespace, parts = parts[1], parts[2:]
        return (parts[0], namespace, *[*parts[1:], None, None][:2])

    def _get(self, resource, namespace, name, request):
        if resource == 'version':
            return Answer(200, {'major': '1'})
        resource = {'projects': 'namespaces'}.get(resource, resource)
        if name:
            return Answer(200, self._find(resource, namespace, name))
        key, _, value = request.query.get('labelSelector', [''])[0].partition(
            '=')
        found = [thing for (kind, place, _), thing in self.things.items()
                 if kind == resource and namespace in (None, place)
                 and (not key or (thing['metadata'].get('labels') or {}).get(
                     key) == value)]
        size = int(request.query.get('limit', [len(found) or 1])[0])
        begin = int(request.query.get('continue', ['0'])[0])
        more = {'continue': str(begin + size)} if begin + size < len(
            found) else {}
        return Answer(200, {'metadata': more,
                            'items': found[begin:begin + size]})

    def _find(self, resource, namespace, name):
        try:
            return self.things[resource, namespace, name]
        except KeyError:
            raise tell(404, f'{resource} "{name}" not found') from None

    def _post(self, resource, namespace, name, request):
        body = request.json
        if resource == 'selfsubjectaccessreviews':
            attributes = body['spec']['resourceAttributes']
            method = {'create': 'POST', 'delete': 'DELETE'}.get(
                attributes['verb'], 'GET')
            return Answer(201, {'status': {'allowed': (
                method, attributes['resource']) not in self.forbidden}})
        resource = {'projectrequests': 'namespaces'}.get(resource, resource)
        name = body['metadata'].pop('name')
        if namespace:
            self._find('namespaces', None, namespace)
        if (resource, namespace, name) in self.things:
            raise tell(409, f'{resource} "{name}" already exists')
        if resource == 'secrets' and body['type'] == TOKEN and (
                self.fills_secrets):
            body['data'] = {
                'token': base64.b64encode(f'token-{name}'.encode()).decode(),
                'ca.crt': base64.b64encode(b'certificate').decode()}
        if resource == 'pods':
            body['status'] = self.pod_status
            body['spec']['nodeName'] = 'machine'
        return Answer(201, self.add(resource, name, namespace, **body))

    def _delete(self, resource, namespace, name, request):
        resource = {'projects': 'namespaces'}.get(resource, resource)
        uid = self._find(resource, namespace, name)['metadata']['uid']
        wanted = request.json.get('preconditions', {}).get('uid', uid)
        if wanted != uid:
            raise tell(409, 'the UID in the precondition is another one')
        self.remove(resource, namespace, name)
        return Answer(200, {})

    def remove(self, resource, namespace, name):
        """Of what belongs to it, nothing is left."""
        uid = self.things.pop(
            (resource, namespace, name))['metadata']['uid']
        for key, thing in list(self.things.items()):
            if (resource == 'namespaces' and key[1] == name) or any(
                    owner['uid'] == uid for owner
                    in thing['metadata'].get('ownerReferences', ())):
                del self.things[key]

    def _token(self, resource, namespace, name, request):
        return Answer(201, {'status': {'token': 'requested'}})

    def _log(self, resource, namespace, name, request):
        return Answer(200, b'Welcome\n')
