"""The state machine that creates pods and namespaces.

Its state is the step that comes next.  All names derive from the id of the
node, so a repeated step finds the objects of the first attempt.
"""

import dataclasses
import time

from zuul.driver.kubernetes.kubernetesmodel import KubernetesInstance

from zuul_nodes.drivers import CapacityError, DriverError
from zuul_nodes.drivers.kubernetes.access import (
    TOKEN_LIFETIME,
    Access,
    copySecret,
    readToken,
)
from zuul_nodes.drivers.kubernetes.errors import (
    Exists,
    Forbidden,
    Missing,
    Unready,
    describeRight,
    makeError,
)
from zuul_nodes.drivers.kubernetes.machine import (
    KubernetesStateMachine,
    Pending,
)
from zuul_nodes.drivers.kubernetes.meanings import Speaker, getRow
from zuul_nodes.drivers.kubernetes.metadata import NODE_TAG, makeMetadata
from zuul_nodes.drivers.kubernetes.place import findContainer, getContainers
from zuul_nodes.drivers.kubernetes.pods import Pod, Removed
from zuul_nodes.drivers.kubernetes.podspec import USER, makePod

# Seconds for which a call is repeated that the server refuses for a moment,
# until a new project has its permissions; and seconds until a secret has its
# token.
SETTLING = 30
TOKEN_TIMEOUT = 10


class KubernetesCreateStateMachine(KubernetesStateMachine):
    """Creates a namespace, or a pod, or both."""

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log, node.create_state)
        steps = [('making the account', self._makeAccount),
                 ('waiting for the token', self._getToken)]
        if self.place.is_own:
            steps.insert(0, ('making the namespace', self._makeNamespace))
        if self.place.pod:
            # The account of a pod in a shared namespace is deleted with it.
            steps.insert(2 if self.place.is_own else 0,
                         ('making the pod', self._makePod))
            steps.append(('waiting for the pod', self._waitForPod))
        self.steps = dict(steps)
        # Since when the scheduler has found no machine for the pod, by the
        # monotonic clock.
        self._unplaced = None

    def toDict(self):
        return super().toDict() | {
            'place': dataclasses.asdict(self.place), 'uid': self.uid}

    def advance(self):
        """
        :raises DriverError: the launch has failed.
        """
        if self.state == self.COMPLETE:
            self.complete = True
            return
        names = list(self.steps)
        if self.state not in names:
            # New, or started by Zuul's own driver.
            self.state = names[0]
            return
        self._begin()
        try:
            if not self.steps[self.state]():
                return
        except Pending:
            return
        except Unready:
            if self._hasTime(SETTLING):
                return
            raise
        self._begun = None
        following = names[names.index(self.state) + 1:]
        self.state = following[0] if following else self.COMPLETE
        self.complete = not following

    def _hasTime(self, seconds):
        return time.monotonic() < self._begun + seconds

    def _makeNamespace(self):
        self.uid = self._make(
            'createProject' if self.uses_projects else 'createNamespace',
            self.place.namespace, makeMetadata(self.node.tags))
        self.node.kubernetes_namespace_id = self.place.namespace
        return True

    def _makePod(self):
        image = self.provider.images[self.label.image]
        uid = self._make(
            'createPod', self.place.namespace, makePod(
                self.place.pod, self.label, image, self.node.tags))
        if not self.place.is_own:
            self.uid = uid
        return True

    def _make(self, name, *args):
        """:return: the uid of the object, which exists then."""
        try:
            made = self._call(name, *args)
        except Exists as error:
            # We have created it, unless another object has the name.
            try:
                made = self._read()
            except Missing as missing:
                raise DriverError(f'{missing}: {error}') from None
            if made['metadata'].get('deletionTimestamp'):
                raise DriverError(
                    f'The {self.place.thing} '
                    f'{made["metadata"]["name"]} is being deleted') from None
        return made['metadata'].get('uid')

    def _makeAccount(self):
        place = self.place
        owner = None if place.is_own else {'metadata': {'uid': self.uid}}
        access = self.access = Access(place.namespace, place.pod, owner)
        try:
            self._ensure(
                'createAccount', place.namespace, access.makeAccount())
        except Forbidden:
            # The permissions in a project follow a moment later.
            if self.uses_projects and self._hasTime(SETTLING):
                return False
            raise
        self._ensure('createSecret', place.namespace, access.makeSecret())
        self._ensure('createRole', place.namespace, access.makeRole())
        self._ensure('createRoleBinding', place.namespace,
                     access.makeRoleBinding())
        if place.is_own:
            for each in self.label.image_pull_secrets:
                secret = self._once('getSecret', each['namespace'],
                                    each['name'], key=each['name'])
                self._ensure('createSecret', place.namespace,
                             copySecret(secret), key=each['name'])
        return True

    def _getToken(self):
        place = self.place
        name = USER if place.is_own else place.pod
        found = readToken(self._call('getSecret', place.namespace, name))
        if found is None:
            if self._hasTime(TOKEN_TIMEOUT):
                return False
            self.log.info('The cluster has added no token to secret %s of '
                          'namespace %s: requesting a token that expires',
                          name, place.namespace)
            found = self._call('createToken', place.namespace, name,
                               TOKEN_LIFETIME), self.endpoint.certificate
        token, certificate = found
        # Executors connect to the node with these values.
        connection = {
            'user': name, 'token': token, 'host': self.endpoint.adapter.host,
            'skiptls': not self.endpoint.adapter.verify_tls,
            'namespace': place.namespace, 'pod': place.pod,
            'containers': (
                getContainers(self.label) if place.pod else None)}
        if not connection['skiptls'] and certificate:
            connection['ca_crt'] = certificate
        self.node.kubernetes_connection = connection
        if not place.pod:
            instance = KubernetesInstance(
                'namespace', place.namespace, self.node.tags,
                self.provider.getQuotaForLabel(self.label))
            # The node has no other address.
            instance.interface_ip = place.namespace
            self.node.updateFromInstance(instance)
        return True

    def _waitForPod(self):
        try:
            pod = self._findPod() or self._readPod()
            pod.check()
        except Removed as error:
            raise self._findReason(error) from None
        self._checkPlaced(pod)
        if not pod.isReady(findContainer(self.node, self.label)):
            return False
        # Keep the quota of the label: a cluster may add defaults to the pod.
        pod.quota = self.provider.getQuotaForLabel(self.label)
        self.node.updateFromInstance(pod)
        return True

    def _readPod(self):
        """
        :return: the pod of this node, which no list has contained.
        :raises Removed: the pod does not exist any more.
        :raises Forbidden: Zuul may not list it.
        """
        place, calls = self.place, self._call
        try:
            pod = Pod(calls('getPod', place.namespace, place.pod))
        except Missing:
            pod = None
        if pod is None or pod.metadata.get(NODE_TAG) != self.node.uuid:
            raise Removed(f'Pod {place.pod} has vanished')
        right = 'list', 'pods', '', place.namespace
        # Zuul has all permissions in its own namespaces.
        if not place.is_own and not calls('review', *right):
            raise Forbidden(describeRight(*right))
        self.endpoint.adapter.addNamespace(place.namespace)
        return pod

    def _findReason(self, error):
        """
        :param Removed error: of the pod.
        :return: a :class:`DriverError` with the reason, if events have it.
        """
        try:
            events = self._call(
                'listEvents', self.place.namespace, self.place.pod)
        except DriverError as refusal:
            self.log.debug('Unable to read the events of pod %s: %s',
                           self.place.pod, refusal)
            return error
        for event in events:
            reason, message = event.get('reason'), event.get('message')
            if row := getRow(Speaker.EVENT, reason=reason, message=message):
                return makeError(row, f'{error}: {reason}: {message}')
        return error

    def _checkPlaced(self, pod):
        if not pod.blocker:
            self._unplaced = None
            return
        self._unplaced = self._unplaced or time.monotonic()
        if time.monotonic() >= self._unplaced + self.label.boot_timeout:
            raise CapacityError(
                f'The cluster has found no machine for pod {pod.name} for '
                f'{self.label.boot_timeout} seconds: {pod.blocker}')
