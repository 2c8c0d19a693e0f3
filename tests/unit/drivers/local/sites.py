"""A site with the local driver, without ZooKeeper.

Run as a program, it begins with a node and stays there, for somebody to
kill it: ``sites.py CONFIGURATION NODE STEPS``.
"""

import json
import logging
import subprocess
import sys
import threading
import time
import types

from zuul.zk.zkobject import LocalZKContext

from zuul_nodes.drivers.local import LocalDriver
from zuul_nodes.drivers.local.endpoint import LocalEndpoint
from zuul_nodes.drivers.local.model import LocalProviderNode

TIMEOUT = 30
INTERNAL = {'project_canonical_name': 'example.com/nodes',
            'config_hash': 'hash'}
TAGS = {'zuul_system_id': 'system'}


class Endpoint(LocalEndpoint):
    """Without Zuul's cache of quotas, which is in ZooKeeper."""

    def __init__(self, driver, connection):
        self.driver = driver
        self.connection = connection
        self.start_lock = threading.Lock()
        self.started = self.stopped = False


class Site:
    """What a launcher has of the driver; another one is another launcher.

    :param dict options: of the connection.
    :param image: attributes of the image.
    """

    def __init__(self, options, **image):
        self.log = logging.getLogger('zuul.Site')
        self.driver = LocalDriver()
        connection = self.driver.getConnection('local', options)
        self.endpoint = Endpoint(self.driver, connection)
        self.driver.endpoints['local'] = self.endpoint
        self.endpoint.start()
        self.images = self.endpoint.images
        self.machines = self.endpoint.machines
        self.provider = self.driver.getProvider(
            None, connection, 'tenant', 'example.com%2Fnodes/here',
            makeConfig(**image), 'system')

    def end(self):
        self.driver.stop()

    def makeNode(self, uuid, **attributes):
        """:return: a node's record, as it is read from ZooKeeper."""
        node = LocalProviderNode()
        node._set(**{
            'uuid': uuid, 'label': 'small', 'tags': {
                **TAGS, 'zuul_node_uuid': uuid}} | attributes)
        return node

    def finish(self, machine):
        """Take all steps of a machine.

        :return: what the last one gives.
        """
        end = time.monotonic() + TIMEOUT
        while not machine.complete:
            result = self.advance(machine)
            assert time.monotonic() < end, machine.state
            time.sleep(0.01)
        return result

    def advance(self, machine):
        with machine.node.activeContext(LocalZKContext(self.log)):
            return machine.advance()

    def create(self, node, external_id=None):
        return self.finish(self.provider.getCreateStateMachine(
            node, external_id, self.log))

    def delete(self, node):
        self.finish(self.provider.getDeleteStateMachine(node, self.log))

    def snapshot(self, node, state=None):
        """
        :param dict state: what is recorded of it.
        :return: the URL of the image.
        """
        node._set(snapshot=types.SimpleNamespace(
            snapshot_state=state or {}, tags=dict(TAGS, zuul_expiration='1')))
        return self.finish(
            self.provider.getSnapshotStateMachine(node, self.log))


def makeConfig(**image):
    """:return: a flat configuration, as it gets into ZooKeeper."""
    return {
        'name': 'here', 'section': 'house', 'connection': 'local',
        'images': [{'name': 'debian', 'type': 'cloud', 'branch': 'main',
                    'zuul_config_hash': None, **INTERNAL,
                    **{key.replace('_', '-'): value
                       for key, value in image.items()}}],
        'flavors': [{'name': 'any', **INTERNAL}],
        'labels': [{'name': 'small', 'image': 'debian', 'flavor': 'any',
                    'min-ready': None, 'max-nodes': None, **INTERNAL}],
    }


def ssh(key, instance, command, *options):
    """:return: the completed process of a command in a node."""
    host_key, = instance.host_keys
    known_hosts = key.with_name('known_hosts')
    address = f'[{instance.interface_ip}]:{instance.connection_port}'
    known_hosts.write_text(f'{address} {host_key}\n')
    return subprocess.run(
        ['ssh', '-F', 'none', '-i', key, '-p', str(instance.connection_port),
         '-o', f'UserKnownHostsFile={known_hosts}',
         '-o', 'StrictHostKeyChecking=yes', '-o', 'BatchMode=yes', *options,
         f'{instance.username}@{instance.interface_ip}', command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=TIMEOUT, check=False)


def main(configuration, uuid, steps):
    site = Site(**json.loads(configuration))
    node = site.makeNode(uuid)
    machine = site.provider.getCreateStateMachine(node, None, site.log)
    while machine.state != steps:
        site.advance(machine)
    print(json.dumps(machine.toDict()), flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main(*sys.argv[1:])
