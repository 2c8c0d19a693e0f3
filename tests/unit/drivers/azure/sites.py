"""A region of the emulated Azure, as the launcher has it, and nodes that are
made step by step."""

import itertools
import types

from zuul.model import ProviderNode

from tests.emulators.azure import REGION, redirect
from tests.fixtures.layout import makeLayout
from tests.fixtures.waiting import finish
from zuul_nodes.drivers import forNode, getZones, turnZones
from zuul_nodes.drivers.azure import AzureDriver
from zuul_nodes.drivers.azure.endpoint import AzureEndpoint

LAYOUT = f'''
- image: {{name: base, type: cloud}}
- image: {{name: built, type: zuul}}
- flavor: {{name: small}}
- label: {{name: small, image: base, flavor: small}}
- section:
    name: cloud
    connection: azure
    region: {REGION}
    resource-group: zuul
    images:
      - name: base
        username: zuul
        image-filter: {{name: base}}
      - name: built
        username: zuul
    flavors:
      - name: small
        vm-size: Standard_D2s_v3
        public-ipv4: true
- provider:
    name: cloud
    section: cloud
    labels:
      - name: small
        key-data: ssh-ed25519 AAAA
        subnet-reference: {{network: zuul}}
'''
IMAGE = 'image-filter: {name: base}'
SUBNET = 'subnet-reference: {network: zuul}'
# In which no machine waits any more.
PATIENCE = 20
_numbers = itertools.count(1)


class Endpoint(AzureEndpoint):
    """It talks to the emulator."""

    def _getClient(self):
        client = super()._getClient()
        redirect(client, self.connection.connection_config['endpoint_url'])
        return client


class Driver(AzureDriver):
    _endpoint_class = Endpoint


def change(old, new):
    """:return: what a tenant writes, otherwise."""
    assert old in LAYOUT
    return LAYOUT.replace(old, new)


def makeConnection(**options):
    driver = Driver()
    # As the launcher has it.
    driver.steps_have_threads = True
    return driver.getConnection('azure', {'rate': '1000', **options})


def getProvider(zk_client, connection, text=LAYOUT):
    """:return: the provider of a configuration, as a tenant writes it."""
    layout = makeLayout(text)
    config, = layout.provider_configs.values()
    return connection.driver.getProvider(
        zk_client, connection, 'tenant', config.canonical_name,
        config.flattenConfig(layout, {'azure': connection}), 'system')


class Site:
    """
    :param Azure azure: the emulator.
    :param str text: what a tenant writes.
    :param options: of the connection.
    """

    def __init__(self, zk_client, azure, text=LAYOUT, **options):
        self.azure = azure
        self.connection = makeConnection(
            endpoint_url=azure.url, **azure.credentials, **options)
        self.provider = getProvider(zk_client, self.connection, text)
        self.endpoint = self.provider.getEndpoint()
        self.endpoint.start()
        self.before = azure.list()

    def end(self):
        self.connection.driver.stop()

    def makeNode(self, **attributes):
        """:return: the record of a new node, which is nowhere written."""
        node = self.connection.driver.getProviderNodeClass()()
        uuid = f'{next(_numbers):032x}'
        node._set(**{
            'uuid': uuid, 'label': 'small',
            'assignment': types.SimpleNamespace(
                request_id='request-1', getZKVersion=lambda: 1),
            'request_time': 1.0, 'provider': self.provider.canonical_name,
            'state': ProviderNode.State.BUILDING, 'create_state': {},
            'tags': {'zuul_system_id': 'system', 'zuul_node_uuid': uuid},
            '_active_context': types.SimpleNamespace(), **attributes})
        return node

    def makeMachine(self, node, image_id=None):
        """:return: what makes a node, as a launcher begins or goes on."""
        zones = turnZones(getZones(self.provider.labels[node.label]),
                          node.request_time)
        provider = forNode(
            self.provider, node.label, zones[0] if zones else '')
        return provider.getCreateStateMachine(
            node, image_id, self.endpoint.log)

    def create(self, node, image_id=None):
        """Have a node made.  :raises Exception: it will not be."""
        finish(self.makeMachine(node, image_id), node, 'create_state',
               PATIENCE)
        return node

    def delete(self, node):
        """Have a node removed, of which only the record is known."""
        machine = self.provider.getDeleteStateMachine(
            node, self.endpoint.log)
        finish(machine, node, 'delete_state', PATIENCE)

    @property
    def left(self):
        """Ids of what is there and was not before."""
        return sorted({*self.azure.list()} - {*self.before})

    def getMachine(self):
        """:return: what the one virtual machine was asked for with."""
        given, = self.azure.vms.given.values()
        return given
