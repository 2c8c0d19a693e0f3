"""A cluster, as all providers of a connection share it."""

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
    """
    :param KubernetesInstance thing: as it was listed.
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
    """Zuul's endpoint, whose calls end in time and are counted.

    :ivar str certificate: of the cluster, as base64, or None.
    :ivar PodWatch pods: those of this Zuul.
    :ivar frozenset namespaces: those that are there already, in which nodes
        are among others.
    """

    def __init__(self, zk_client, driver, connection, system_id):
        super().__init__(zk_client, driver, connection, system_id)
        self.namespaces = frozenset()
        # Namespace and name -> pod, as it was listed last; the namespaces of
        # which that is all; and whether all namespaces were listed.
        self._listed = {}
        self._seen = set()
        self._sees_namespaces = False
        self.setAdapter(Api(connection, system_id, self.log))
        # Launchers see by this that rates are kept to already.
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
        """:return: yields all namespaces and pods that can be seen."""
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
        :return: whether the last list of instances would have what there is
            of it; not all may be listed.
        """
        place = findPlace(node, None)
        return (place.is_own and self._sees_namespaces) or (
            bool(place.pod) and self._seesPods(place.namespace))

    def findProblem(self, node):
        """The namespace of a node may be well, and its pod be gone.

        :param ProviderNode node: that is ready.
        :return: in words, why it can't be used, by the last list of
            instances; None if it can, or if that is not known.
        """
        place = findPlace(node, None)
        if not (place.pod and self._seesPods(place.namespace)):
            return None
        pod = self._listed.get((place.namespace, place.pod))
        return pod.problem if pod else 'the cluster has no pod of it'

    def listResources(self, providers):
        """:return: yields the namespaces, and the pods of ours that are in
            a namespace with others."""
        kind = (KubernetesResource.ResourceType.PROJECT
                if self.connection.use_openshift_projects
                else KubernetesResource.ResourceType.NAMESPACE)
        own = set()
        for namespace in self._listNamespaces():
            if NODE_TAG in namespace.metadata:
                own.add(namespace.name)
            # It can't be asked for twice.
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
        # A namespace may have been refused for a while.
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
            # There are pods in namespaces that others have made.
            return []
        self._sees_namespaces = True
        return found
