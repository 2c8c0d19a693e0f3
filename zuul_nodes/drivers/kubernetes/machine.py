"""The base of the state machines that create and delete nodes."""

import time

from zuul.provider import statemachine

from zuul_nodes.drivers.kubernetes.errors import Exists, Missing
from zuul_nodes.drivers.kubernetes.metadata import NODE_TAG, getTags
from zuul_nodes.drivers.kubernetes.place import findPlace


class Pending(Exception):
    """A call has not ended; the step has to be repeated later."""


class KubernetesStateMachine(statemachine.StateMachine):
    """Calls the cluster for a node.

    :param KubernetesProvider provider: that launches the node.
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
        # Of the object whose deletion ends the node: its namespace or its pod.
        self.uid = node.create_state.get('uid')
        # Results of calls that are made once.
        self._done = {}
        # Start time of the step, by the monotonic clock.
        self._begun = None

    def _call(self, name, *args):
        """
        :return: the result of a call to the cluster.
        :raises Pending: the call has not ended, or the step was given up and
            must not create anything.
        """
        if not self.node._active_context:
            raise Pending
        task = self.endpoint.calls.perform(self.node.uuid, name, *args)
        if task is None:
            raise Pending
        return task.result()

    def _once(self, name, *args, key=None):
        """Make a call once, and return the same result afterwards.

        :param str key: distinguishes calls of the same method.
        """
        if (name, key) not in self._done:
            self._done[name, key] = self._call(name, *args)
        return self._done[name, key]

    def _ensure(self, name, *args, key=None):
        """Make a call once that creates an object, which may exist already."""
        try:
            return self._once(name, *args, key=key)
        except Exists:
            return self._done.setdefault((name, key), None)

    def _begin(self):
        if self._begun is None:
            # Later lists contain the pod.
            self.endpoint.adapter.addNamespace(self.place.namespace)
            if self.place.pod:
                self.endpoint.pods.start()
            self._begun = time.monotonic()

    def _findPod(self):
        """
        :return: the pod of this node, or None.
        :raises Pending: the pods are not known yet.
        """
        is_known, pod = self.endpoint.pods.find(
            self._begun, self.place.namespace, self.place.pod)
        if not is_known:
            raise Pending
        return pod

    def _read(self):
        """:return: the namespace or the pod of this node, as the API server
            returns it.
        :raises Missing: it does not exist, or belongs to another node."""
        place = self.place
        if not place.is_own:
            found = self._call('getPod', place.namespace, place.pod)
        else:
            found = self._call('getProject' if self.uses_projects
                               else 'getNamespace', place.namespace)
        if getTags(found).get(NODE_TAG) != self.node.uuid:
            raise Missing(f'The {place.thing} {found["metadata"]["name"]} '
                          'belongs to another node')
        return found
