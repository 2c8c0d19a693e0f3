"""Providers at a cluster."""

import configparser
import logging
import pathlib

from kubernetes.client import RbacAuthorizationV1Api

from tests.fixtures.layout import makeLayout
from tests.fixtures.waiting import waitFor
from zuul_nodes.drivers.kubernetes import KubernetesDriver

EXAMPLES = pathlib.Path(__file__).parents[4] / 'doc/source/examples'
EXAMPLE = (EXAMPLES / 'kubernetes.yaml').read_text()
SHARED = 'kind: pod, namespace: ci'
LAYOUT = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label: {{name: node, image: debian, flavor: small}}
- section:
    name: cluster
    connection: cluster
    images:
      - {{name: debian, {image}}}
    flavors: [{{name: small}}]
- provider:
    name: cluster
    section: cluster
    labels:
      - {{name: node, {label}}}
'''


def write(label='kind: pod', image='image-id: debian'):
    """:return: a configuration with one label, "node"."""
    return LAYOUT.format(label=label, image=image)


def getConnection(**changes):
    """:return: the connection of the example, or one with other options."""
    config = configparser.ConfigParser()
    config.read(EXAMPLES / 'kubernetes.conf')
    return KubernetesDriver().getConnection('cluster', {
        **config['connection cluster'], **changes})


def load(text, connection=None, zk_client=None):
    """:return: the provider of a configuration, as a tenant writes it."""
    connection = connection or getConnection()
    layout = makeLayout(text)
    provider_config, = layout.provider_configs.values()
    return connection.driver.getProvider(
        zk_client, connection, 'tenant', provider_config.canonical_name,
        provider_config.flattenConfig(layout, {'cluster': connection}),
        'system')


class Site:
    """What a launcher has of the driver.

    :param Emulator cluster:
    :param str label: attributes of the label "node".
    :param str image: attributes of its image.
    :param dict options: of the connection.
    """

    log = logging.getLogger('zuul.Launcher')

    def __init__(self, zk_client, cluster, label, image, options):
        self.cluster = cluster
        self.connection = KubernetesDriver().getConnection('cluster', options)
        self.connection.driver.steps_have_threads = True
        self.provider = load(write(label, image), self.connection, zk_client)
        self.label = self.provider.labels['node']
        self.endpoint = self.provider.getEndpoint()
        self.endpoint.listing.interval = 0.02
        self.endpoint.pods.pause = 0.02
        self.endpoint.start()
        self.endpoint.postConfig(self.provider)

    def end(self):
        self.connection.driver.stop()

    def makeNode(self):
        """:return: a record, in whose name calls can be made."""
        node = self.connection.driver.getProviderNodeClass()()
        node._set(
            label='node', _active_context=self,
            tags=self.provider.getNodeTags('system', self.label, node.uuid),
            quota=self.provider.getQuotaForLabel(self.label))
        return node

    def getCreation(self, node):
        """:return: the machine, as a launcher has it that takes over."""
        return self.provider.getCreateStateMachine(node, None, self.log)

    def create(self, node):
        """Take steps until there are no more.

        :return: the machine.
        """
        machine = self.getCreation(node)
        self.advance(node, machine)
        return machine

    def advance(self, node, machine):
        """Take steps as long as it gets on, at a cluster that is quick."""
        state = None
        self.endpoint.pods.start()
        while machine.state != state and not machine.complete:
            state = machine.state
            self.refresh()
            machine.advance()
            node._set(create_state=machine.toDict())

    def refresh(self):
        """Wait until the cluster is done, and what it has done is known."""
        self.cluster.settle()
        pods = self.endpoint.pods
        version = self.cluster.getPodVersion(self._isOurs)
        waitFor(lambda: not pods.is_watching
                or int(pods.version or -1) >= version,
                lambda: f'{pods.version} is known, and not {version}')

    def _isOurs(self, pod):
        return (pod['metadata'].get('labels') or {}).get(
            'zuul_system_id') == 'system'

    def delete(self, node):
        """Take steps until there is nothing more to do."""
        machine = self.provider.getDeleteStateMachine(node, self.log)
        waitFor(lambda: machine.advance() or machine.complete)
        self.cluster.settle()


def addPod(core, name, resources=None, place='ci'):
    core.create_namespaced_pod(place, {
        'metadata': {'name': name}, 'spec': {'containers': [
            {'name': 'a', 'image': 'a', 'resources': resources or {}}]}})


def allow(cluster, *rules):
    """Let the user "launcher" do something in the namespace "ci".

    :param rules: each has groups, resources and verbs.
    """
    rbac = RbacAuthorizationV1Api(cluster.client)
    rbac.create_namespaced_role('ci', {
        'metadata': {'name': 'launcher'}, 'rules': [
            {'apiGroups': groups, 'resources': resources, 'verbs': verbs}
            for groups, resources, verbs in rules]})
    rbac.create_namespaced_role_binding('ci', {
        'metadata': {'name': 'launcher'},
        'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'Role',
                    'name': 'launcher'},
        'subjects': [{'kind': 'User', 'name': 'launcher'}]})
