"""The API server of Kubernetes, as far as nodes need it, emulated."""

import copy
import json
import re

from tests.emulators.emulation import Answer, Cloud, Refusal
from tests.emulators.kubernetes import admission, selection
from tests.emulators.kubernetes.access import Access
from tests.emulators.kubernetes.controllers import Controllers
from tests.emulators.kubernetes.kubelet import Kubelet
from tests.emulators.kubernetes.resources import (
    PROJECTS,
    RESOURCES,
    discover,
)
from tests.emulators.kubernetes.rights import (
    ADMINISTRATOR,
    KUBELET,
    MASTERS,
    Rights,
    makeUser,
)
from tests.emulators.kubernetes.store import Store, makeStatus, refuse
from tests.emulators.kubernetes.view import Server, View

VERBS = {'WATCH': 'watch', 'POST': 'create', 'PUT': 'update',
         'PATCH': 'patch', 'DELETE': 'delete'}


class Emulator(Cloud, Access):
    """
    :param bool openshift: whether it has projects.
    :ivar Store store: what there is.
    :ivar Rights rights: who may do what.
    :ivar Controllers controllers: what is done by itself.
    :ivar dict logs: (namespace, pod) -> what it has written, bytes.
    :ivar list log_queries: of each call for one of these: name -> values.
    :ivar list webhooks: functions that change each new pod, a dict, as
        mutating webhooks do.
    """

    def __init__(self, openshift=False):
        super().__init__()
        self.openshift = openshift
        self.resources = RESOURCES | (PROJECTS if openshift else {})
        self.store = Store()
        self.lock = self.store.changed
        self.rights = Rights(self.store)
        self.controllers = Controllers(self.store, self.rights)
        self.logs = {}
        self.log_queries = []
        self.webhooks = []
        self._view = View(self.store)
        for name in ('default', 'kube-system'):
            self._create('namespaces', None, {'metadata': {'name': name}})
        self._server = Server(self)
        self.host = self._server.url
        self.token = self.rights.makeToken(ADMINISTRATOR)
        self.client = self.makeClient()
        self.kubelet = Kubelet(self.makeClient(
            self.rights.makeToken(KUBELET)))

    def end(self):
        super().end()
        self._view.end()
        self._server.end()
        self.kubelet.end()

    def count(self, method, path):
        """:return: how many calls there were.
        :param str path: a regular expression for the whole path."""
        return sum(method == each and re.fullmatch(path, one) is not None
                   for each, one in self.calls)

    def cutWatches(self):
        """Break the connections of all watches."""
        self._view.cut()

    def settle(self):
        """Wait until the kubelet has done what there is to do."""
        while (version := self.getPodVersion()) > self.kubelet.version:
            self.kubelet.waitFor(version)

    def getPodVersion(self, matches=lambda pod: True):
        """:return: that of the newest event of a pod, 0 if it is not known
            any more.
        :param matches: says whether a pod is meant."""
        with self.store.changed:
            return max((event.version for event in self.store.events
                        if event.resource == 'pods' and matches(event.thing)),
                       default=0)

    # Calls

    def handle(self, request):
        if request.query.get('watch', ['false'])[0] in ('true', 'True', '1'):
            # So are faults, and what was called, told from those of lists.
            request.method = 'WATCH'
        request.user = self.rights.identify(request.headers)
        if request.user == KUBELET:
            return self.answer(request)
        return super().handle(request)

    def refuse(self, request, fault):
        return Answer(fault.status, makeStatus(fault.status, fault.message))

    def answer(self, request):
        try:
            with self.lock:
                answer = self._perform(request)
        except Refusal as refusal:
            return Answer(refusal.status, json.loads(refusal.message))
        return answer if isinstance(answer, Answer) else Answer(
            201 if request.method == 'POST' else 200, answer)

    def _perform(self, request):
        if request.user is None:
            raise refuse(401, 'Unauthorized')
        if (found := discover(request.path, self.resources)) is not None:
            return found
        resource, namespace, name, part = self._read(request.path)
        if resource is None:
            raise refuse(404, 'the server could not find the requested '
                         'resource')
        self._authorize(request, resource, namespace, name, part)
        if part:
            act = getattr(self, f'_{part}', None)
            if act is None:
                raise refuse(404, f'there is no {part} of {resource.name}')
            return act(request, resource, namespace, name)
        return getattr(self, f'_{request.method.lower()}')(
            request, resource, namespace, name)

    def _read(self, path):
        """:return: resource, namespace, name and subresource."""
        parts = path.strip('/').split('/')
        start = 2 if parts[0] == 'api' else 3
        version, parts = '/'.join(parts[1:start]), parts[start:]
        namespace = None
        if len(parts) > 2 and parts[0] == 'namespaces' and parts[2] not in (
                'status', 'finalize'):
            namespace, parts = parts[1], parts[2:]
        resource = self.resources.get(parts[0]) if parts else None
        if resource is None or resource.version != version:
            return None, None, None, None
        return (resource, namespace, *[*parts[1:], None, None][:2])

    def _authorize(self, request, resource, namespace, name, part):
        verb = VERBS.get(request.method) or (
            'get' if name else 'list')
        what = f'{resource.name}/{part}' if part else resource.name
        # For the right to look at one's own namespace.
        place = namespace or (
            name if resource.stored == 'namespaces' else None)
        if resource.name not in (
                'selfsubjectaccessreviews', 'projectrequests') and (
                not self.rights.allows(
                    request.user, verb, resource.group, what, place, name)):
            where = (f'in the namespace "{namespace}"' if namespace
                     else 'at the cluster scope')
            raise refuse(
                403, f'{resource.name} is forbidden: User "{request.user}" '
                f'cannot {verb} resource "{what}" in API group '
                f'"{resource.group}" {where}', kind=resource.name)

    # What all things have

    def _get(self, request, resource, namespace, name):
        if name:
            return self._view.show(resource, self.store.find(
                resource.stored, namespace, name))
        return self._view.list(request.query, resource, namespace)

    def _watch(self, request, resource, namespace, name):
        return Answer(data=self._view.watch(
            request.query, resource, namespace))

    def _post(self, request, resource, namespace, name):
        body = request.json
        if resource.name == 'selfsubjectaccessreviews':
            return self._review(request, body)
        admission.check(resource.stored, body)
        if resource.name == 'projectrequests':
            return self._requestProject(request, body)
        if namespace:
            admission.checkPlace(self.store, resource.name, namespace,
                                 body['metadata']['name'])
        return self._view.show(
            resource, self._create(resource.name, namespace, body))

    def _create(self, resource, namespace, body):
        for webhook in self.webhooks if resource == 'pods' else ():
            webhook(body)
        admission.admit(self.store, resource, namespace, body)
        thing = self.store.add(resource, namespace, body)
        self.controllers.react(resource, thing)
        return self.store.get(
            resource, namespace, thing['metadata']['name']) or thing

    def _put(self, request, resource, namespace, name):
        return self._replace(resource, namespace, name, request.json)

    def _patch(self, request, resource, namespace, name):
        before = self.store.find(resource.stored, namespace, name)
        return self._replace(
            resource, namespace, name, selection.merge(before, request.json))

    def _replace(self, resource, namespace, name, body, part=None):
        """
        :param str part: what is to change besides metadata, or None.
        """
        before = self.store.find(resource.name, namespace, name)
        given = body['metadata'].get('resourceVersion')
        if given not in (None, before['metadata']['resourceVersion']):
            raise refuse(
                409, f'Operation cannot be fulfilled on {resource.name} '
                f'"{name}": the object has been modified; please apply your '
                'changes to the latest version and try again', name=name,
                kind=resource.name)
        thing = copy.deepcopy(before)
        changing = ['labels', 'annotations', 'finalizers']
        if part:
            thing[part] = body[part]
        else:
            admission.check(resource.name, body)
            changing.append('ownerReferences')
            thing.update({key: value for key, value in body.items()
                          if key not in ('metadata', 'status')})
        for key in changing:
            thing['metadata'].pop(key, None)
            if body['metadata'].get(key):
                thing['metadata'][key] = body['metadata'][key]
        shown = self._view.show(
            resource, self.store.replace(resource.name, thing))
        if thing['metadata'].get('deletionTimestamp'):
            self.controllers.finish(namespace)
        return shown

    def _delete(self, request, resource, namespace, name):
        options = {**(request.json if request.body else {})}
        thing = self.store.find(resource.stored, namespace, name)
        uid = (options.get('preconditions') or {}).get('uid')
        if uid not in (None, thing['metadata']['uid']):
            raise refuse(
                409, f'Operation cannot be fulfilled on {resource.stored} '
                f'"{name}": Precondition failed: UID in precondition: {uid}, '
                f'UID in object meta: {thing["metadata"]["uid"]}', name=name,
                kind=resource.stored)
        grace = options.get('gracePeriodSeconds')
        if 'gracePeriodSeconds' in request.query:
            grace, = map(int, request.query['gracePeriodSeconds'])
        if resource.stored == 'namespaces':
            self.controllers.terminate(thing)
        else:
            self.store.delete(resource.name, thing, grace)
            self.controllers.finish(namespace)
        return self._view.show(resource, self.store.get(
            resource.stored, namespace, name) or thing)

    # Parts of things

    def _status(self, request, resource, namespace, name):
        body = request.json
        if request.method == 'PATCH':
            body = selection.merge(
                self.store.find(resource.name, namespace, name), body)
        return self._replace(resource, namespace, name, body, 'status')

    def _binding(self, request, resource, namespace, name):
        pod = copy.deepcopy(self.store.find('pods', namespace, name))
        if pod['spec'].get('nodeName'):
            raise refuse(
                409, f'Operation cannot be fulfilled on pods/binding '
                f'"{name}": pod {name} is already assigned to node '
                f'"{pod["spec"]["nodeName"]}"', name=name, kind='pods')
        pod['spec']['nodeName'] = request.json['target']['name']
        pod['status'] = {**pod['status'], 'conditions': [
            {'type': 'PodScheduled', 'status': 'True'}]}
        self.store.replace('pods', pod)
        return {'kind': 'Status', 'apiVersion': 'v1', 'status': 'Success',
                'metadata': {}, 'code': 201}

    def _token(self, request, resource, namespace, name):
        self.store.find('serviceaccounts', namespace, name)
        return {'kind': 'TokenRequest',
                'apiVersion': 'authentication.k8s.io/v1', 'metadata': {},
                'spec': request.json['spec'], 'status': {
                    'token': self.rights.makeToken(
                        makeUser(namespace, name)),
                    'expirationTimestamp': '2100-01-01T00:00:00Z'}}

    def _log(self, request, resource, namespace, name):
        self.store.find('pods', namespace, name)
        self.log_queries.append(request.query)
        return Answer(data=self.logs.get((namespace, name), b''))

    # What is no thing

    def _review(self, request, body):
        asked = body['spec'].get('resourceAttributes') or {}
        what = '/'.join(filter(None, (
            asked.get('resource', ''), asked.get('subresource'))))
        return {**body, 'status': {'allowed': self.rights.allows(
            request.user, asked.get('verb'), asked.get('group', ''), what,
            asked.get('namespace'), asked.get('name'))}}

    def _requestProject(self, request, body):
        """Who asks OpenShift for a project may do everything in it."""
        place = self._create('namespaces', None, {
            'metadata': body['metadata']})
        if request.user not in MASTERS:
            name = place['metadata']['name']
            self._create('roles', name, {
                'metadata': {'name': 'admin'}, 'rules': [
                    {'apiGroups': ['*'], 'resources': ['*'],
                     'verbs': ['*']}]})
            self._create('rolebindings', name, {
                'metadata': {'name': 'admin'},
                'roleRef': {'kind': 'Role', 'name': 'admin'},
                'subjects': [{'kind': 'User', 'name': request.user}]})
        return self._view.show(PROJECTS['projects'], place)
