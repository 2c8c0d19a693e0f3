"""A cluster, shared by all providers of a connection."""

import base64
import contextlib
import enum
import pathlib

from zuul.driver.kubernetes import kubernetesendpoint, kubernetesmodel
from zuul.model import QuotaInformation

from zuul_nodes.drivers import extension
from zuul_nodes.drivers.kubernetes import quota
from zuul_nodes.drivers.kubernetes.api import EVERYWHERE, Api
from zuul_nodes.drivers.kubernetes.errors import Exists, Forbidden, Missing
from zuul_nodes.drivers.kubernetes.metadata import NODE_TAG
from zuul_nodes.drivers.kubernetes.place import findPlace
from zuul_nodes.drivers.kubernetes.podwatch import PodWatch


class KubernetesResource(kubernetesmodel.KubernetesResource):
    """A namespace or a pod that can leak.

    :param KubernetesInstance thing: an item of a list.
    """

    ResourceType = enum.StrEnum('ResourceType', {
        **{each.name: each.value
           for each in kubernetesmodel.KubernetesResource.ResourceType},
        'POD': 'pod'})

    def __init__(self, thing, type, id):
        super().__init__(thing.metadata, type, id)
        self.thing = thing


class KubernetesEndpoint(extension.EndpointWithAdapter,
                         kubernetesendpoint.KubernetesProviderEndpoint):
    """Zuul's endpoint, with time-outs and metrics of calls.

    :ivar str certificate: of the cluster, as base64, or None.
    :ivar PodWatch pods: the pods of this Zuul.
    :ivar frozenset namespaces: existing namespaces that nodes share with
        others.
    """

    def __init__(self, zk_client, driver, connection, system_id):
        super().__init__(zk_client, driver, connection, system_id)
        self.namespaces = frozenset()
        # (namespace, name) -> pod in the last list; the namespaces whose pods
        # were all listed; and whether all namespaces were listed.
        self._listed = {}
        self._seen = set()
        self._sees_namespaces = False
        self.setAdapter(Api(connection, system_id, self.log))
        # The launcher limits the rate only of endpoints without this.
        self.rate_limiter = self.calls.rate_limiter
        self.adapter.rate_limiter = self.rate_limiter
        self.pods = PodWatch(self.calls, self.listing, self.log)

    def startEndpoint(self):
        self.adapter.start()

    def stopEndpoint(self):
        self.pods.stop()
        super().stopEndpoint()
        self.adapter.stop()

    @property
    def certificate(self):
        path = self.adapter.client.configuration.ssl_ca_cert
        return base64.b64encode(
            pathlib.Path(path).read_bytes()).decode() if path else None

    def postConfig(self, provider):
        self.namespaces |= {
            label.namespace for label in provider.labels.values()
            if label.namespace}

    def refreshQuotaLimits(self, update):
        if self.quota_cache.hasLimits() and not update:
            return False
        self.quota_cache.setLimits(QuotaInformation(
            **self.calls.call('getLimits', sorted(self.namespaces))))
        return True

    def listInstances(self):
        """:return: yields all namespaces and pods that Zuul may list."""
        self._addNamespaces()
        seen = set()
        pods = self.calls.call('listPods', seen)
        self._listed = {(pod.namespace, pod.name): pod for pod in pods}
        self._seen = seen
        yield from self._listNamespaces()
        for pod in pods:
            if pod.namespace in self.namespaces:
                pod.quota.add(QuotaInformation(**quota.qualify(
                    pod.namespace, quota.measure(
                        pod.data['spec'], not pod.uses_resources))))
            if pod.quota.getResources():
                yield pod

    def isListed(self, node):
        """
        :param ProviderNode node: that is ready.
        :return: whether the last list of instances would contain the node's
            instance; the list may be incomplete.
        """
        place = findPlace(node, None)
        return (place.is_own and self._sees_namespaces) or (
            bool(place.pod) and self._seesPods(place.namespace))

    def findProblem(self, node):
        """Find problems of a pod whose namespace has none.

        :param ProviderNode node: that is ready.
        :return: why the node cannot be used, by the last list of instances;
            None if it can, or if this is unknown.
        """
        place = findPlace(node, None)
        if not (place.pod and self._seesPods(place.namespace)):
            return None
        pod = self._listed.get((place.namespace, place.pod))
        return pod.problem if pod else 'its pod does not exist'

    def listResources(self, providers):
        """:return: yields the namespaces, and our pods in shared namespaces.
        """
        kind = (KubernetesResource.ResourceType.PROJECT
                if self.connection.use_openshift_projects
                else KubernetesResource.ResourceType.NAMESPACE)
        own = set()
        for namespace in self._listNamespaces():
            if NODE_TAG in namespace.metadata:
                own.add(namespace.name)
            # A repeated deletion would fail.
            if not namespace.deleted:
                yield KubernetesResource(namespace, kind, namespace.name)
        self._addNamespaces()
        for pod in self.listing.getNow():
            if pod.namespace not in own and not pod.deleted:
                yield KubernetesResource(
                    pod, KubernetesResource.ResourceType.POD,
                    f'{pod.namespace}/{pod.name}')

    def deleteResource(self, resource):
        self.log.info('Deleting leaked %s: %s', resource.type, resource.id)
        types, thing = resource.ResourceType, resource.thing
        with contextlib.suppress(Missing, Exists):
            if resource.type == types.POD:
                self.calls.call(
                    'deletePod', thing.namespace, thing.name, thing.uid)
            else:
                self.calls.call(
                    'deleteProject' if resource.type == types.PROJECT
                    else 'deleteNamespace', thing.name, thing.uid)

    def getResourceTypes(self):
        return KubernetesResource.ResourceType

    def _addNamespaces(self):
        # The adapter forgets a namespace that was forbidden for a while.
        for namespace in self.namespaces:
            self.adapter.addNamespace(namespace)

    def _seesPods(self, namespace):
        return not self._seen.isdisjoint((EVERYWHERE, namespace))

    def _listNamespaces(self):
        self._sees_namespaces = False
        try:
            found = self.calls.call(
                'listProjects' if self.connection.use_openshift_projects
                else 'listNamespaces')
        except Forbidden:
            # Zuul may still use pods in existing namespaces.
            return []
        self._sees_namespaces = True
        return found
