"""A cloud that costs nothing, whose nodes take as long as one wants.

``creation-time`` of the connection is how many seconds a node takes, and
``call-time`` how many it takes to ask the cloud whether it is there.  The
cloud remembers an instance where the launcher remembers it: in the record
of the node.  So it survives the launcher, and is the same to all of them.
"""

import time

from zuul.lib.connections import ConnectionRegistry
from zuul.model import ProviderNode
from zuul.provider import statemachine

from tests.fixtures.shelf.shelf_maker import (
    ShelfDriver,
    ShelfInstance,
    ShelfProvider,
)
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

CONNECTION = 'cloud'


class CloudProviderNode(ProviderNode, subclass_id='bench'):
    pass


class CloudCreateStateMachine(statemachine.StateMachine):
    CREATING = 'creating'

    def __init__(self, node, config):
        super().__init__(node.create_state)
        self.ready_time = node.create_state.get('ready_time')
        self.node = node
        self.config = config

    def advance(self):
        if self.state == self.START:
            self.ready_time = time.time() + float(
                self.config['creation-time'])
            self.state = self.CREATING
        if call_time := float(self.config.get('call-time', 0)):
            time.sleep(call_time)
        if time.time() < self.ready_time:
            return None
        instance = ShelfInstance(self.config)
        self.node.updateFromInstance(instance)
        self.state = self.COMPLETE
        self.complete = True
        return instance

    def toDict(self):
        return super().toDict() | {'ready_time': self.ready_time}


class CloudProvider(ShelfProvider, subclass_id='bench'):

    def getCreateStateMachine(self, node, image_external_id, log):
        return CloudCreateStateMachine(
            node, self.connection.connection_config)


class CloudDriver(ShelfDriver):
    name = 'bench'

    def getProvider(self, zk_client, connection, tenant_name,
                    canonical_name, provider_config, system_id):
        return CloudProvider(self, zk_client, connection, tenant_name,
                             canonical_name, provider_config, system_id)

    def getProviderClass(self):
        return CloudProvider

    def getProviderNodeClass(self):
        return CloudProviderNode


def makeSection(creation_time, call_time=0):
    """:return: what is added to zuul.conf, a dict."""
    return {f'connection {CONNECTION}': {
        'driver': CloudDriver.name, 'host': '127.0.0.1', 'port': '22',
        'username': 'zuul', 'creation-time': str(creation_time),
        'call-time': str(call_time)},
        'connection null': {'driver': 'static', 'hosts': '127.0.0.1'}}


def makeRegistry(config):
    """:return: a ConnectionRegistry: static nodes, and the cloud."""
    connections = ConnectionRegistry()
    registry.wrapConfigure(
        ConnectionRegistry.configure,
        Extensions({'static': StaticDriver, CloudDriver.name: CloudDriver},
                   {}, {}))(connections, config, providers=True)
    return connections
