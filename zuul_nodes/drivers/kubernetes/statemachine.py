"""The lives of pods and namespaces.

A machine says in its state what it is about to do.  All names follow from
the id of the node, so whatever was done already is done once more, and the
answer is that it is there.
"""

import dataclasses
import time

from zuul.driver.kubernetes.kubernetesmodel import KubernetesInstance
from zuul.provider import statemachine

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
)
from zuul_nodes.drivers.kubernetes.metadata import getTags, makeMetadata
from zuul_nodes.drivers.kubernetes.podspec import (
    USER,
    makePod,
    makeSpec,
)

NODE_TAG = 'zuul_node_uuid'
# Seconds in which a new namespace has to have its service account, and a
# new project its rights, and in which a secret has to have its token.
SETTLING = 30
TOKEN_PATIENCE = 10


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a node is.

    :ivar str namespace:
    :ivar str pod: its name; None if the node is the namespace.
    :ivar bool is_own: whether the namespace is there for the node alone.
    """

    namespace: str
    pod: str | None
    is_own: bool

    @property
    def thing(self):
        """What there would be of the node if there were only one call."""
        return 'namespace' if self.is_own else 'pod'


def findPlace(node, label):
    """
    :param ProviderNode node:
    :param label: its label, or None if there is no such any more.
    :return: its :class:`Place`; as recorded, if it is.
    """
    if place := node.create_state.get('place'):
        return Place(**place)
    if namespace := node.kubernetes_namespace_id:
        # Zuul's own driver has made it.
        return Place(namespace, node.kubernetes_connection.get('pod'), True)
    # As Zuul's own driver has it.
    name = f'np{node.uuid[:13]}'
    shared = getattr(label, 'namespace', None)
    has_pod = getattr(label, 'kind', 'pod') == 'pod'
    return Place(shared or name, name if has_pod else None, not shared)


class Pending(Exception):
    """A call has not come to its end; come again."""


class _Machine(statemachine.StateMachine):
    """
    :param KubernetesProvider provider: that makes the node.
    :param ProviderNode node:
    :param dict state: as recorded.
    """

    def __init__(self, provider, node, log, state):
        super().__init__(state)
        self.log = log
        self.provider = provider
        self.endpoint = provider.getEndpoint()
        self.node = node
        self.label = provider.labels.get(node.label)
        self.place = findPlace(node, self.label)
        self.uses_projects = self.endpoint.connection.use_openshift_projects
        # Of what the node is gone with: its namespace, or its pod.
        self.uid = node.create_state.get('uid')
        # Calls that need not be made again.
        self._done = {}
        # By the monotonic clock: when the step was begun.
        self._begun = None

    def _call(self, name, *args):
        """
        :return: what a call to the cluster returns.
        :raises Pending: it has not come to its end, or nobody waits for
            this step any more: what it makes now might stay.
        """
        if not self.node._active_context:
            raise Pending
        task = self.endpoint.calls.perform(self.node.uuid, name, *args)
        if task is None:
            raise Pending
        return task.getResult()

    def _once(self, name, *args, key=None):
        """The same, and afterwards what it has returned.

        :param str key: what tells it from others of the name.
        """
        if (name, key) not in self._done:
            self._done[name, key] = self._call(name, *args)
        return self._done[name, key]

    def _ensure(self, name, *args, key=None):
        """The same of what makes something; it may be there already."""
        try:
            return self._once(name, *args, key=key)
        except Exists:
            return self._done.setdefault((name, key), None)

    def _begin(self):
        if self._begun is None:
            # In what is listed from now on, there is the pod.
            self.endpoint.adapter.watch(self.place.namespace)
            self._begun = time.monotonic()

    def _findPod(self):
        """
        :return: the pod of this node, or None.
        :raises Pending: there is no list that is as new as the step.
        """
        pods = self.endpoint.listing.get(self._begun)
        if pods is None:
            raise Pending
        return next((pod for pod in pods if (pod.namespace, pod.name) == (
            self.place.namespace, self.place.pod)), None)

    def _read(self):
        """:return: the namespace or the pod that is this node's, as the
            API server has it.
        :raises Missing: there is none of this node."""
        place = self.place
        if not place.is_own:
            found = self._call('getPod', place.namespace, place.pod)
        else:
            found = self._call('getProject' if self.uses_projects
                               else 'getNamespace', place.namespace)
        if getTags(found).get(NODE_TAG) != self.node.uuid:
            raise Missing(f'The {place.thing} {found["metadata"]["name"]} '
                          'is not of this node')
        return found


class KubernetesCreateStateMachine(_Machine):
    """Makes a namespace, or a pod, or both."""

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log, node.create_state)
        steps = [('making the account', self._makeAccount),
                 ('waiting for the token', self._getToken)]
        if self.place.is_own:
            steps.insert(0, ('making the namespace', self._makeNamespace))
        if self.place.pod:
            # The account of a pod among others goes with the pod.
            steps.insert(2 if self.place.is_own else 0,
                         ('making the pod', self._makePod))
            steps.append(('waiting for the pod', self._waitForPod))
        self.steps = dict(steps)
        # By the monotonic clock: since when the scheduler has no place for
        # the pod.
        self._unplaced = None

    def toDict(self):
        return super().toDict() | {
            'place': dataclasses.asdict(self.place), 'uid': self.uid}

    def advance(self):
        """
        :raises DriverError: there will be no node.
        """
        if self.state == self.COMPLETE:
            self.complete = True
            return
        names = list(self.steps)
        if self.state not in names:
            # Also if Zuul's own driver has begun it.
            self.state = names[0]
            return
        self._begin()
        try:
            if not self.steps[self.state]():
                return
        except Pending:
            return
        self._begun = None
        following = names[names.index(self.state) + 1:]
        self.state = following[0] if following else self.COMPLETE
        self.complete = not following

    def _isPatient(self, seconds):
        return time.monotonic() < self._begun + seconds

    def _makeNamespace(self):
        self.uid = self._make(
            'createProject' if self.uses_projects else 'createNamespace',
            self.place.namespace, makeMetadata(self.node.tags))
        self.node.kubernetes_namespace_id = self.place.namespace
        return True

    def _makePod(self):
        image = self.provider.images[self.label.image]
        try:
            uid = self._make(
                'createPod', self.place.namespace, makePod(
                    self.place.pod, self.label, image, self.node.tags))
        except Unready:
            if self._isPatient(SETTLING):
                return False
            raise
        if not self.place.is_own:
            self.uid = uid
        return True

    def _make(self, name, *args):
        """:return: the uid of what is there then."""
        try:
            made = self._call(name, *args)
        except Exists as error:
            # By us, unless somebody else has the name.
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
            # Rights in a project come a moment after it.
            if self.uses_projects and self._isPatient(SETTLING):
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
            if self._isPatient(TOKEN_PATIENCE):
                return False
            self.log.info('The cluster puts no token into secret %s of '
                          'namespace %s: asking for one that expires',
                          name, place.namespace)
            found = self._call('createToken', place.namespace, name,
                               TOKEN_LIFETIME), self.endpoint.certificate
        token, certificate = found
        # This is what executors know of the node.
        connection = {
            'user': name, 'token': token, 'host': self.endpoint.adapter.host,
            'skiptls': not self.endpoint.adapter.verify_tls,
            'namespace': place.namespace, 'pod': place.pod,
            'containers': self._getContainers()}
        if not connection['skiptls'] and certificate:
            connection['ca_crt'] = certificate
        self.node.kubernetes_connection = connection
        if not place.pod:
            instance = KubernetesInstance(
                'namespace', place.namespace, self.node.tags,
                self.provider.getQuotaForLabel(self.label))
            # It has no other address.
            instance.interface_ip = place.namespace
            self.node.updateFromInstance(instance)
        return True

    def _getContainers(self):
        if not self.place.pod:
            return None
        return [container['name'] for container
                in makeSpec(self.label)['containers']]

    def _waitForPod(self):
        pod = self._findPod()
        if pod is None:
            self._explainAbsence()
        pod.check()
        self._checkPlaced(pod)
        if not pod.ready:
            return False
        # What is reckoned with stays so; a cluster may have defaults.
        pod.quota = self.provider.getQuotaForLabel(self.label)
        self.node.updateFromInstance(pod)
        return True

    def _explainAbsence(self):
        right = 'list', 'pods', '', self.place.namespace
        # In what is ours, we may do all as long as it is there.
        if self.place.is_own or self._call('review', *right):
            raise DriverError(f'Pod {self.place.pod} has vanished')
        raise Forbidden(describeRight(*right))

    def _checkPlaced(self, pod):
        if not pod.obstacle:
            self._unplaced = None
            return
        self._unplaced = self._unplaced or time.monotonic()
        if time.monotonic() >= self._unplaced + self.label.boot_timeout:
            raise CapacityError(
                f'The cluster has had no place for pod {pod.name} for '
                f'{self.label.boot_timeout} seconds: {pod.obstacle}')


class KubernetesDeleteStateMachine(_Machine):
    """Has the cluster remove what there is of a node.

    It takes its time, or more than that: what hangs in it holds up nobody.
    But as long as a quota that others have, too, counts a pod, it counts here.
    """

    REMOVING = 'removing'
    ENDING = 'waiting for the end of the pod'
    CREATING = ('createNamespace', 'createProject', 'createPod',
                'createAccount', 'createSecret', 'createRole',
                'createRoleBinding', 'createToken')

    def __init__(self, provider, node, log):
        super().__init__(provider, node, log, node.delete_state)

    def advance(self):
        try:
            if self.state == self.START:
                self._waitForCalls()
            elif self.state == self.REMOVING:
                self._remove()
                self.state = (self.COMPLETE if self.place.is_own
                              else self.ENDING)
            elif self.state == self.ENDING and self._hasEnded():
                self.state = self.COMPLETE
        except Pending:
            return
        self.complete = self.state == self.COMPLETE

    def _waitForCalls(self):
        calls = self.endpoint.calls
        # What is asked for now might be made behind our back.
        if all(calls.isIdle(self.node.uuid, name) for name in self.CREATING):
            calls.forget(self.node.uuid)
            self.state = self.REMOVING

    def _hasEnded(self):
        self._begin()
        pod = self._findPod()
        # Another one may have the name.
        return (pod is None or not pod.deleted
                or time.monotonic() > self._begun + pod.patience)

    def _remove(self):
        place = self.place
        try:
            # Whoever has made it may not have lived to tell.
            uid = self.uid or self._read()['metadata'].get('uid')
            if not place.is_own:
                self._once('deletePod', place.namespace, place.pod, uid)
            else:
                self._once('deleteProject' if self.uses_projects
                           else 'deleteNamespace', place.namespace, uid)
        except (Missing, Forbidden) as error:
            # OpenShift does not tell what projects there are not.
            if isinstance(error, Forbidden) and not (
                    place.is_own and self.uses_projects):
                raise
            self.log.debug('There is no %s of node %s any more',
                           place.thing, self.node.uuid)
        except Exists as error:
            # It goes already, or it is another one of that name.
            self.log.info('Node %s: %s', self.node.uuid, error)
