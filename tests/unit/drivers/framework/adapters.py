"""A cloud in a list, and a provider of nodes there."""

import contextlib
import logging
import threading

import voluptuous as vs
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.zk.zkobject import LocalZKContext

from zuul_nodes.drivers import (
    Ability,
    Adapter,
    Driver,
    Instance,
    Optional,
    Required,
    State,
)

INTERNAL = {'project_canonical_name': 'example.com/nodes',
            'config_hash': 'hash'}
CONFIG = {
    'name': 'provider', 'section': 'section', 'connection': 'list',
    'images': [{'name': 'image', 'type': 'cloud', 'branch': 'main',
                **INTERNAL}],
    'flavors': [{'name': 'flavor', **INTERNAL}],
    'labels': [{'name': 'label', 'image': 'image', 'flavor': 'flavor',
                **INTERNAL}],
}


class ListAdapter(Adapter):
    """A cloud in a list; what comes of calls is up to the test.

    :ivar list instances: that there are.
    :ivar dict errors: name of a method -> list of what it raises next; for
        None it raises nothing.
    :ivar dict lost: the same, raised after the method has acted.
    :ivar list calls: (method, argument) in order.
    """

    list_interval = 0
    zones = ()

    def start(self):
        self.instances = []
        self.errors = {}
        self.lost = {}
        self.calls = []

    def createInstance(self, spec):
        with self._call('createInstance', spec):
            self.instances.append(Instance(
                f'{spec.name}-{len(self.calls)}', State.BUILDING, spec.tags,
                az=spec.zone))
        return self.instances[-1]

    def listInstances(self):
        with self._call('listInstances'):
            return list(self.instances)

    def deleteInstance(self, instance_id):
        with self._call('deleteInstance', instance_id):
            self.instances = [each for each in self.instances
                              if each.id != instance_id]

    def listImages(self):
        return ()

    def deleteImage(self, image_id):
        """There is none."""

    def listZones(self):
        return self.zones

    @contextlib.contextmanager
    def _call(self, name, argument=None):
        self.calls.append((name, argument))
        _raiseNext(self.errors, name)
        yield
        _raiseNext(self.lost, name)

    def getCalls(self, name):
        return [argument for called, argument in self.calls if called == name]


class ZoneAdapter(ListAdapter):
    abilities = frozenset({Ability.ZONES, Ability.UNIQUE_NAMES})
    zones = ('a', 'b', 'c')


class ListDriver(Driver):
    """A cloud in a list."""

    name = 'list'
    adapter_class = ListAdapter
    connection_attributes = {
        Optional('colour', default='blue', doc='Of the list.'): str}


class ZoneDriver(Driver):
    """A cloud with zones."""

    name = 'zone'
    adapter_class = ZoneAdapter


class RegionAdapter(ListAdapter):
    """A cloud in a list, with a region and the limits of it."""

    abilities = frozenset({Ability.LIMITS, Ability.NEEDS})

    def __init__(self, connection, region):
        super().__init__(connection, region=region)

    def getLimits(self):
        return {'cores': 40}

    def getNeeds(self, spec):
        self.calls.append(('getNeeds', spec))
        return {'instances': 1, 'cores': spec.flavor.cores}


class RegionDriver(Driver):
    """A cloud of regions."""

    name = 'region'
    adapter_class = RegionAdapter
    connection_attributes = {
        Required('password', doc='Of the cloud.'): vs.All(
            str, vs.Length(min=8))}
    provider_attributes = {
        Optional('region', default='here', doc='Where it is.'): str}
    flavor_attributes = {Optional('cores', default=2, doc='How many.'): int}
    endpoint_attributes = ('region',)


class Site:
    """What a launcher has of a driver.

    :param ZooKeeperClient zk_client:
    :param dict options: of the connection.
    """

    log = logging.getLogger('zuul.Site')

    def __init__(self, zk_client, driver_class=ListDriver, name='list',
                 **options):
        self.driver = driver_class()
        self.driver.steps_have_threads = True
        self.connection = self.driver.getConnection(name, options)
        self.provider = self.driver.getProvider(
            zk_client, self.connection, 'tenant', 'example.com%2Fnodes/here',
            CONFIG, 'system')
        self.endpoint = self.provider.getEndpoint()
        self.endpoint.start()
        self.adapter = self.endpoint.adapter

    def end(self):
        self.driver.stop()

    def makeNode(self, **attributes):
        """:return: a node's record, as it is read from ZooKeeper."""
        node = StaticProviderNode()
        node._set(**{'label': 'label', 'tags': {
            'zuul_system_id': 'system', 'zuul_node_uuid': node.uuid},
            **attributes})
        return node

    def advance(self, node, machine):
        """Take a step, as launchers do."""
        with node.activeContext(LocalZKContext(self.log)):
            return machine.advance()

    def holdCreation(self, go_on):
        """Have the cloud take its time to make instances.

        :param Event go_on: until when.
        :return: an Event, which tells that it has been asked for one.
        """
        asked = threading.Event()
        create = self.adapter.createInstance

        def createInstance(spec):
            asked.set()
            assert go_on.wait(30)
            return create(spec)
        self.adapter.createInstance = createInstance
        return asked

    def boot(self, node, machine):
        """Have all instances be ready, and the node's machine see that."""
        self.advance(node, machine)
        for instance in self.adapter.instances:
            instance.state = State.READY
            instance.interface_ip = '192.0.2.1'
        return self.advance(node, machine)

    def create(self, node):
        return self.provider.getCreateStateMachine(node, None, self.log)

    def delete(self, node):
        return self.provider.getDeleteStateMachine(node, self.log)

    def record(self, node, machine):
        """:return: the node as another launcher reads it while the machine
            is at work."""
        return self.makeNode(
            uuid=node.uuid, tags=node.tags, create_state=machine.toDict(),
            request_time=node.request_time)


def _raiseNext(errors, name):
    queue = errors.get(name)
    error = queue.pop(0) if queue else None
    if error is not None:
        raise error
