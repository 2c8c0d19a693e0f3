"""A site with the local driver, without ZooKeeper.

Run as a program, it begins with a node and stays at "copying" or "booting",
for somebody to kill it: ``sites.py CONFIGURATION NODE POINT``.
"""

import json
import logging
import subprocess
import sys
import threading
import types
from unittest import mock

from zuul import provider
from zuul.zk.zkobject import LocalZKContext

from tests.fixtures.waiting import waitFor
from zuul_nodes.drivers.local import LocalDriver, sandbox
from zuul_nodes.drivers.local.entries import Entries

TIMEOUT = 30
INTERNAL = {'project_canonical_name': 'example.com/nodes',
            'config_hash': 'hash'}
TAGS = {'zuul_system_id': 'system'}


class Site:
    """What a launcher has of the driver; another one is another launcher.

    :param dict options: of the connection.
    :param image: attributes of the image.
    """

    def __init__(self, options, **image):
        self.log = logging.getLogger('zuul.Site')
        self.directory = options['directory']
        self.driver = LocalDriver()
        connection = self.driver.getConnection('local', options)
        self.provider = self.driver.getProvider(
            None, connection, 'tenant', 'example.com%2Fnodes/here',
            makeConfig(**image), 'system')
        # That is in ZooKeeper.
        with mock.patch.object(provider, 'QuotaCache'):
            self.endpoint = self.provider.getEndpoint()
        self.endpoint.start()
        self.adapter = self.endpoint.adapter
        self.images = self.adapter.images

    def end(self):
        self.driver.stop()

    def getProcesses(self, name):
        """:return: the processes with the mark of a node."""
        return sandbox.find()[self._getMark(name)]

    def kill(self, name):
        """Kill a node; returns when its processes have ended."""
        sandbox.kill(self._getMark(name))

    def _getMark(self, name):
        return Entries(f'{self.directory}/nodes', None).getMark(name)

    def makeNode(self, uuid, **attributes):
        """:return: a node's record, as it is read from ZooKeeper."""
        node = self.driver.getProviderNodeClass()()
        node._set(**{
            'uuid': uuid, 'label': 'small', 'tags': {
                **TAGS, 'zuul_node_uuid': uuid}} | attributes)
        return node

    def finish(self, machine):
        """Take all steps of a machine.

        :return: what the last one gives.
        """
        results = []

        def isComplete():
            results.append(self.advance(machine))
            return machine.complete

        waitFor(isComplete)
        return results[-1]

    def advance(self, machine):
        with machine.node.activeContext(LocalZKContext(self.log)):
            return machine.advance()

    def create(self, node, external_id=None):
        machine = self.provider.getCreateStateMachine(
            node, external_id, self.log)
        instance = self.finish(machine)
        node._set(create_state=machine.toDict())
        return instance

    def delete(self, node):
        self.finish(self.provider.getDeleteStateMachine(node, self.log))

    def snapshot(self, node):
        """:return: the URL of the image."""
        node._set(snapshot=types.SimpleNamespace(
            snapshot_state={}, tags=dict(TAGS, zuul_expiration='1')))
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


def main(configuration, uuid, point):
    site = Site(**json.loads(configuration))
    reached = threading.Event()
    machines = site.adapter.machines

    def stay(*args):
        reached.set()
        sys.stdin.read()

    def boot(*args):
        machines._start(*args)
        stay()

    if point == 'copying':
        site.images.copyTo = stay
    else:
        machines._boot = boot
    machine = site.provider.getCreateStateMachine(
        site.makeNode(uuid), None, site.log)
    while machine.state != machine.BOOTING or not reached.is_set():
        site.advance(machine)
    print(json.dumps(machine.toDict()), flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main(*sys.argv[1:])
