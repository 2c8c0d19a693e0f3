"""Calls of the API server of a cluster.

Each method is one call, or one call for each page of a list, and has a
time-out.  Results are dictionaries, because creating the library's objects
for long lists uses much processor time.
"""

import inspect
import json
import math
import threading
import time

# It imports its classes when they are first used, which takes most commands
# longer than all the rest.
from kubernetes import client
import urllib3
from zuul.driver.kubernetes import kubernetesendpoint

from zuul_nodes.drivers.kubernetes import quota
from zuul_nodes.drivers.kubernetes.errors import (
    Expired,
    Forbidden,
    Missing,
    translate,
)
from zuul_nodes.drivers.kubernetes.pods import Namespace, Pod

SYSTEM_TAG = 'zuul_system_id'
# Stands for all namespaces.
EVERYWHERE = ''
# Seconds after which a forbidden list of all pods is requested again.
FORBIDDEN = 60
# Number of lines that are read from the end of a log.
LINES = 100
# https://docs.redhat.com/en/documentation/openshift_container_platform
PROJECTS = {'group': 'project.openshift.io', 'version': 'v1'}
# Number of connections to keep, equal to the number of threads in a launcher.
CONNECTIONS = 16


class Api:
    """Calls a cluster.

    :param KubernetesConnection connection:
    :param str system_id: of this Zuul.
    :cvar abilities: none of the abilities of the driver API.
    :cvar float list_interval: minimum seconds between two lists while nodes
        wait.
    :cvar int page_size: number of items in a page of a list.
    :cvar float watch_slack: seconds that a watch may exceed its duration.
    :ivar float timeout: seconds that a call may take.
    :ivar rate_limiter: for pages of lists after the first one.
    :ivar str host: the URL of the cluster.
    :ivar bool verify_tls:
    """

    abilities = frozenset()
    list_interval = 1.0
    page_size = 500
    watch_slack = 10
    rate_limiter = None

    def __init__(self, connection, system_id, log):
        self.connection = connection
        self.log = log
        self.timeout = connection.api_timeout
        self.selector = f'{SYSTEM_TAG}={system_id}'
        # Where to look for our pods if the list of all pods is forbidden, and
        # the time, by the monotonic clock, until which it is not requested.
        self._namespaces = set()
        self._lock = threading.Lock()
        self._forbidden_until = -math.inf

    def start(self):
        """
        :raises kubernetes.config.ConfigException: the configuration does not
            name a cluster.
        """
        config = kubernetesendpoint._getConfig(
            self.connection.config_file, self.connection.context, self.log)
        config.connection_pool_maxsize = CONNECTIONS
        # Callers retry by themselves.
        config.retries = urllib3.Retry(0)
        self.host = config.host
        self.verify_tls = config.verify_ssl
        self.client = client.ApiClient(config)
        self.core = client.CoreV1Api(self.client)
        self.rbac = client.RbacAuthorizationV1Api(self.client)
        self.auth = client.AuthorizationV1Api(self.client)
        self.objects = client.CustomObjectsApi(self.client)

    def stop(self):
        self.client.close()

    def _open(self, method, *args, timeout=None, **kwargs):
        """
        :return: a response of urllib3, whose content is not read yet.
        :raises DriverError: the server has refused the request.
        :raises urllib3.exceptions.HTTPError: the server does not answer.
        """
        # Some releases of the library reject or drop unknown parameters.  Call
        # the undecorated method, so that the cluster decides about them.
        function = inspect.unwrap(method.__func__)
        try:
            # The library may log content that it reads itself, including
            # tokens.
            return function(
                method.__self__, *args, **kwargs, _preload_content=False,
                _request_timeout=timeout or self.timeout)
        except client.ApiException as error:
            raise translate(error) from None

    def _call(self, method, *args, **kwargs):
        """:return: the content of the response, bytes."""
        return self._open(method, *args, **kwargs).data

    def _get(self, method, *args, **kwargs):
        return json.loads(self._call(method, *args, **kwargs))

    def _list(self, method, *args, **kwargs):
        """:return: a list of all items."""
        return self._read(method, *args, **kwargs)[0]

    def _read(self, method, *args, **kwargs):
        """:return: a list of all items, which is read page by page, and its
            version."""
        try:
            return self._readPages(method, *args, **kwargs)
        except Expired as error:
            # https://kubernetes.io/docs/reference/using-api/api-concepts/
            # #retrieving-large-results-sets-in-chunks
            self.log.info('Reading a list again, in one page: %s', error)
            with self.rate_limiter:
                page = self._get(method, *args, **kwargs)
            return page['items'], page['metadata']['resourceVersion']

    def _readPages(self, method, *args, **kwargs):
        page = self._get(method, *args, limit=self.page_size, **kwargs)
        items = page['items']
        while token := page['metadata'].get('continue'):
            with self.rate_limiter:
                page = self._get(
                    method, *args, limit=self.page_size, _continue=token,
                    **kwargs)
            items += page['items']
        return items, page['metadata'].get('resourceVersion')

    # Namespaces, and projects, which are namespaces in OpenShift

    def createNamespace(self, name, metadata):
        body = {'apiVersion': 'v1', 'kind': 'Namespace',
                'metadata': {'name': name, **metadata}}
        return self._get(self.core.create_namespace, body)

    def createProject(self, name, metadata):
        body = {'apiVersion': 'project.openshift.io/v1',
                'kind': 'ProjectRequest',
                'metadata': {'name': name, **metadata}}
        return self._get(self.objects.create_cluster_custom_object,
                         **PROJECTS, plural='projectrequests', body=body)

    def getNamespace(self, name):
        return self._get(self.core.read_namespace, name)

    def getProject(self, name):
        return self._get(self.objects.get_cluster_custom_object,
                         **PROJECTS, plural='projects', name=name)

    def listNamespaces(self):
        return map(Namespace, self._list(self.core.list_namespace))

    def listProjects(self):
        return map(Namespace, self._list(
            self.objects.list_cluster_custom_object,
            **PROJECTS, plural='projects'))

    def deleteNamespace(self, name, uid):
        """:param str uid: of the namespace; another one of that name is not
            deleted."""
        self._call(self.core.delete_namespace, name, body=_makeOptions(uid))

    def deleteProject(self, name, uid):
        self._call(self.objects.delete_cluster_custom_object, **PROJECTS,
                   plural='projects', name=name, body=_makeOptions(uid))

    # Accounts

    def getSecret(self, namespace, name):
        return self._get(self.core.read_namespaced_secret, name, namespace)

    def createSecret(self, namespace, body):
        self._call(self.core.create_namespaced_secret, namespace, body)

    def createAccount(self, namespace, body):
        self._call(
            self.core.create_namespaced_service_account, namespace, body)

    def createToken(self, namespace, name, seconds):
        """:return: a token of a service account.
        :param int seconds: requested lifetime, which the cluster may
            change."""
        body = {'apiVersion': 'authentication.k8s.io/v1',
                'kind': 'TokenRequest',
                'spec': {'expirationSeconds': seconds}}
        return self._get(self.core.create_namespaced_service_account_token,
                         name, namespace, body)['status']['token']

    def createRole(self, namespace, body):
        self._call(self.rbac.create_namespaced_role, namespace, body)

    def createRoleBinding(self, namespace, body):
        self._call(self.rbac.create_namespaced_role_binding, namespace, body)

    def review(self, verb, resource, group='', namespace=None):
        """
        :param str namespace: or None for all.
        :return: whether Zuul has a permission.
        """
        attributes = {'verb': verb, 'resource': resource, 'group': group}
        if namespace:
            attributes['namespace'] = namespace
        body = {'apiVersion': 'authorization.k8s.io/v1',
                'kind': 'SelfSubjectAccessReview',
                'spec': {'resourceAttributes': attributes}}
        return self._get(self.auth.create_self_subject_access_review,
                         body)['status'].get('allowed', False)

    # Pods

    def createPod(self, namespace, body):
        return self._get(self.core.create_namespaced_pod, namespace, body)

    def getPod(self, namespace, name):
        return self._get(self.core.read_namespaced_pod, name, namespace)

    def deletePod(self, namespace, name, uid):
        self._call(self.core.delete_namespaced_pod, name, namespace,
                   body=_makeOptions(uid))

    def readPods(self):
        """:return: the pods of this Zuul in the whole cluster, dicts, and
            the version at which a watch can start."""
        return self._read(self.core.list_pod_for_all_namespaces,
                          label_selector=self.selector)

    def watchPods(self, version, seconds):
        """
        :return: a response of urllib3 that streams the changes of pods after
            a version, for some seconds.
        """
        return self._open(
            self.core.list_pod_for_all_namespaces, watch=True,
            label_selector=self.selector, resource_version=version,
            allow_watch_bookmarks=True, timeout_seconds=seconds,
            timeout=(self.timeout, seconds + self.watch_slack))

    def addNamespace(self, namespace):
        """Include a namespace in the search for our pods if the list of all
        pods is forbidden."""
        with self._lock:
            self._namespaces.add(namespace)

    def listInstances(self):
        """:return: yields the pods of this Zuul."""
        return map(Pod, self._listPods(label_selector=self.selector))

    def listPods(self, seen):
        """
        :param set seen: receives the namespaces whose pods were all listed, or
            :data:`EVERYWHERE`.
        :return: yields all pods that Zuul may list.
        """
        return map(Pod, self._listPods(seen))

    def _listPods(self, seen=None, **kwargs):
        seen = set() if seen is None else seen
        if time.monotonic() >= self._forbidden_until:
            try:
                yield from self._list(
                    self.core.list_pod_for_all_namespaces, **kwargs)
                seen.add(EVERYWHERE)
                return
            except Forbidden as error:
                self.log.info('Listing pods by namespace for %s seconds: %s',
                              FORBIDDEN, error)
                self._forbidden_until = time.monotonic() + FORBIDDEN
        with self._lock:
            namespaces = sorted(self._namespaces)
        for namespace in namespaces:
            try:
                with self.rate_limiter:
                    yield from self._list(
                        self.core.list_namespaced_pod, namespace, **kwargs)
                seen.add(namespace)
            except (Forbidden, Missing):
                # OpenShift forbids access to projects that do not exist.
                with self._lock:
                    self._namespaces.discard(namespace)

    def readLog(self, namespace, name, container):
        """:return: the end of the output of a container."""
        return self._call(
            self.core.read_namespaced_pod_log, name, namespace,
            container=container, tail_lines=LINES).decode(errors='replace')

    def listEvents(self, namespace, name):
        """:return: a list of the events of a pod."""
        return self._list(
            self.core.list_namespaced_event, namespace,
            field_selector=f'involvedObject.kind=Pod,'
            f'involvedObject.name={name}')

    # Other objects

    def getLimits(self, namespaces):
        """
        :return: the quotas of the namespaces, as far as Zuul may read them:
            resource -> number, see :mod:`.quota`.
        """
        limits = {}
        for namespace in namespaces:
            try:
                with self.rate_limiter:
                    quotas = list(self.listQuotas(namespace))
            except (Forbidden, Missing) as error:
                self.log.info('Unable to read quotas of namespace %s: %s',
                              namespace, error)
            else:
                limits |= quota.qualify(namespace, quota.read(quotas))
        return limits

    def listNodes(self):
        return self._list(self.core.list_node)

    def listQuotas(self, namespace):
        return self._list(self.core.list_namespaced_resource_quota, namespace)

    def listAccounts(self, namespace):
        return self._list(
            self.core.list_namespaced_service_account, namespace)

    def listPriorityClasses(self):
        scheduling = client.SchedulingV1Api(self.client)
        return self._list(scheduling.list_priority_class)

    def listRuntimeClasses(self):
        return self._list(client.NodeV1Api(self.client).list_runtime_class)


def _makeOptions(uid):
    return {'apiVersion': 'v1', 'kind': 'DeleteOptions',
            'propagationPolicy': 'Background',
            **({'preconditions': {'uid': uid}} if uid else {})}
