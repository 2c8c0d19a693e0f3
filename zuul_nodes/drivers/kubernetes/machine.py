"""What the machines that make and remove nodes have in common."""

import time

from zuul.provider import statemachine

from zuul_nodes.drivers.kubernetes.errors import Exists, Missing
from zuul_nodes.drivers.kubernetes.metadata import NODE_TAG, getTags
from zuul_nodes.drivers.kubernetes.place import findPlace


class Pending(Exception):
    """A call has not come to its end; come again."""


class Machine(statemachine.StateMachine):
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
            self.endpoint.adapter.addNamespace(self.place.namespace)
            if self.place.pod:
                self.endpoint.pods.start()
            self._begun = time.monotonic()

    def _findPod(self):
        """
        :return: the pod of this node, or None.
        :raises Pending: it is not known yet what pods there are.
        """
        is_known, pod = self.endpoint.pods.find(
            self._begun, self.place.namespace, self.place.pod)
        if not is_known:
            raise Pending
        return pod

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
