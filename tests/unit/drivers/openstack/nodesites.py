"""The configuration of the guide at the emulated cloud, as the launcher has
it, and nodes that are made step by step."""

import itertools
import pathlib
import types

from zuul.model import ProviderNode

from tests.fixtures.layout import makeLayout
from tests.fixtures.waiting import finish
from zuul_nodes.drivers import forNode, getZones, turnZones
from zuul_nodes.drivers.openstack import OpenstackDriver

EXAMPLES = pathlib.Path(__file__).parents[4] / 'doc/source/examples'
LAYOUT = (EXAMPLES / 'openstack.yaml').read_text()
# In which no machine waits any more.
PATIENCE = 20
_numbers = itertools.count()


def change(old, new):
    """:return: what a tenant writes, otherwise."""
    assert old in LAYOUT
    return LAYOUT.replace(old, new)


def furnish(cloud):
    """Have in the cloud what the configuration names."""
    cloud.nova.zones[:] = ['east', 'west']
    cloud.nova.addGroup('apart')
    cloud.nova.keypairs['zuul'] = {'name': 'zuul'}
    # Two ports of a server could get a floating IP.
    lab = cloud.neutron.addNetwork('lab', '127.3.0.0/16')
    cloud.neutron.getSubnet(lab)['gateway_ip'] = None
    addImage(cloud, 'old', '2023-01-01T00:00:00Z')
    addImage(cloud, 'new', '2024-01-01T00:00:00Z')
    addImage(cloud, 'newest', '2025-01-01T00:00:00Z', status='queued')


def addImage(cloud, image_id, created_at, **attributes):
    cloud.glance.images[image_id] = {
        'id': image_id, 'name': 'debian-12', 'status': 'active',
        'visibility': 'public', 'created_at': created_at,
        'updated_at': created_at, 'tags': [], 'min_disk': 2, 'min_ram': 0,
        'disk_format': 'qcow2', 'container_format': 'bare', 'owner': 'us',
        'protected': False, 'os_hidden': False, **attributes}


class NodeSite:
    """
    :param OpenStack emulator:
    :param str text: what a tenant writes.
    :param options: of the connection.
    """

    def __init__(self, zk_client, emulator, text=LAYOUT, **options):
        self.cloud = emulator
        self.driver = OpenstackDriver()
        # As the launcher has it.
        self.driver.steps_have_threads = True
        self.connection = self.driver.getConnection('openstack', {
            'cloud': 'emulator', 'rate': '1000', **options})
        layout = makeLayout(text)
        config, = layout.provider_configs.values()
        self.provider = self.driver.getProvider(
            zk_client, self.connection, 'tenant', config.canonical_name,
            config.flattenConfig(layout, {'openstack': self.connection}),
            'system')
        self.endpoint = self.provider.getEndpoint()
        self.endpoint.start()
        self.adapter = self.endpoint.adapter
        self.lookups = self.endpoint.lookups

    def end(self):
        self.driver.stop()

    def makeNode(self, label='debian', **attributes):
        """:return: the record of a new node, which nobody writes."""
        node = self.driver.getProviderNodeClass()()
        uuid = f'{next(_numbers):032x}'
        node._set(**{
            'uuid': uuid, 'label': label,
            'assignment': types.SimpleNamespace(
                request_id='request-1', getZKVersion=lambda: 1),
            'request_time': 1.0, 'provider': self.provider.canonical_name,
            'state': ProviderNode.State.BUILDING, 'create_state': {},
            'tags': {'zuul_system_id': 'system', 'zuul_node_uuid': uuid},
            '_active_context': types.SimpleNamespace(), **attributes})
        return node

    def makeMachine(self, node):
        """:return: what makes a node, as a launcher begins or goes on."""
        zones = turnZones(getZones(self.provider.labels[node.label]),
                          node.request_time)
        provider = forNode(
            self.provider, node.label, zones[0] if zones else '')
        return provider.getCreateStateMachine(node, None, self.endpoint.log)

    def create(self, node, machine=None):
        """Have a node made.  :return: the machine.
        :raises Exception: it will not be."""
        machine = machine or self.makeMachine(node)
        finish(machine, node, 'create_state', PATIENCE)
        return machine

    def delete(self, node):
        """Have a node removed, of which only the record is known."""
        machine = self.provider.getDeleteStateMachine(
            node, self.endpoint.log)
        finish(machine, node, 'delete_state', PATIENCE)

    @property
    def servers(self):
        return list(self.cloud.nova.servers.values())

    def getLeft(self):
        """:return: ids of all that there is."""
        neutron = self.cloud.neutron
        return [*self.cloud.nova.servers, *self.cloud.cinder.volumes,
                *neutron.ports, *neutron.floatingips]
