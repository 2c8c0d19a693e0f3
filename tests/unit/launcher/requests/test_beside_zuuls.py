"""Our launcher and Zuul's own side by side, as during a roll-out.

Each is a process of its own, and both know the same drivers.
"""

import collections
import configparser
import contextlib
import os
import sys

import pytest
from zuul.lib import tracing
from zuul.model import NodesetRequest, ProviderNode

from tests.bench.launcher import LAUNCHERS
from tests.bench.launching.process import getClass
from tests.fixtures import crash_process, inventory
from tests.fixtures.cloud import getRunning
from tests.fixtures.crash import NODE_LOCKS, World
from zuul_nodes import plugin

State = ProviderNode.State

pytestmark = pytest.mark.crash

CLOUD = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: big, image: debian, flavor: small}
- label: {name: again, image: debian, flavor: small, reuse: true}
- section:
    name: rack
    connection: rack
    images: [debian]
    flavors: [small]
    label-defaults: {host-key-checking: false}
- provider:
    name: one
    section: rack
    resource-limits: {instances: 10}
    labels: [big]
- provider:
    name: two
    section: rack
    resource-limits: {instances: 9}
    labels: [big]
'''
ROOM = 19
# Nodes of a label that are to be ready, and are used again.
READY = 3
WITH_READY = f'''
- provider:
    name: three
    section: rack
    labels:
      - {{name: again, min-ready: {READY}}}
'''


def makeProcess(side, hostname, config, directory):
    """
    :param str side: whose launcher it is to be.
    :return: a :class:`Process`, not started, as of
        :func:`.crash_process.makeProcess`.
    """
    process = crash_process.makeProcess(hostname, config, directory)
    index = process.command.index(crash_process.__name__)
    process.command[index:index + 1] = [__name__, LAUNCHERS[side]]
    return process


class Beside(World):
    """A world with Zuul's launcher beside ours.

    Zuul's launcher looks at a record once more when it has its lock; it asks
    for that because of what it knew of records and of launchers before,
    which may be late.

    :ivar list logs: of Zuul's launchers.
    """

    def __init__(self, config, directory):
        self.logs = []
        super().__init__(config, directory)

    def countEvents(self):
        """But for the requests of which Zuul's launcher has told once more,
        as it found them ended by another one."""
        events = super().countEvents()
        for request_id, number in events.items():
            if number > 1:
                in_vain = self._countInVain(request_id)
                events[request_id] -= max(0, min(in_vain, number - 1))
        return events

    def _countInVain(self, request_id):
        """:return: how often Zuul's launchers have locked a request in
            which there was nothing to do any more."""
        lines = [line for log in self.logs
                 for line in log.read_text().splitlines()
                 if request_id in line]
        return sum(
            (' Got request ' in line)
            - (' Failed to lock matching request ' in line)
            - (' Marking request ' in line) for line in lines)

    def expectUnlocked(self, node_id, problem):
        """Whoever uses it waits for its lock."""
        self.runUntil(lambda: not self.list(f'{NODE_LOCKS}/{node_id}'),
                      lambda: problem)


class Sides:
    """
    :param Beside world: in which the launchers are to be.
    :param Path directory: for their logs.
    :param ExitStack stack: ends them.
    :ivar dict processes: side -> its launcher, while it lives.
    """

    def __init__(self, world, directory, stack):
        self.world = world
        self.directory = directory
        self.stack = stack
        self.processes = {}
        self.started = 0

    def start(self, *sides):
        for side in sides:
            hostname = f'{side}-{self.started}'
            self.world.config.read_dict({'launcher': {
                'command_socket': self.directory / f'{hostname}.socket'}})
            process = makeProcess(
                side, hostname, self.world.config, self.directory)
            process.start()
            self.stack.callback(process.kill)
            self.processes[side] = process
            self.started += 1
            if side == 'theirs':
                self.world.logs.append(process.log_file)
        names = {process.name for process in self.processes.values()}
        self.world.runUntil(lambda: names == {*getRunning()},
                            lambda: f'{getRunning()} run, not {names}')

    def kill(self, side):
        self.processes.pop(side).kill()

    def addRequests(self, *numbers):
        """:return: ids of new requests, for so many nodes each."""
        return [self.world.addRequest(*['big'] * number)
                for number in numbers]

    def serve(self, requests):
        """Use the nodes of each request as soon as they are there, for
        others wait for the room.

        :return: the ids of the nodes.
        """
        left = {*requests}
        given = collections.Counter()

        def findTold():
            return left & {event.request_id for event in self.world.events}
        while left:
            self.world.runUntil(findTold, self.world.describeNodes)
            for request_id in findTold():
                request = self.world.waitFulfilled(request_id)
                given.update(request.nodes)
                self.world.use(request)
                left.remove(request_id)
        assert {*given.values()} == {1}
        return {*given}

    def rest(self, **states):
        """Nothing is left over, and each request was served once."""
        self.world.rest(**states)
        assert not self.world.problems

    def findReady(self):
        return {node.uuid for node in self.world.readNodes()
                if node.state == State.READY}


@pytest.fixture
def makeSides(zuul_conf, tmp_path, monkeypatch):
    """:return: a function that makes :class:`Sides` with a layout."""
    inventory.install(monkeypatch.setattr)
    # The shortest that the server allows.
    zuul_conf.read_dict({'zookeeper': {'session_timeout': '4'}})

    def make(text):
        world = Beside(zuul_conf, tmp_path)
        stack.callback(world.end)
        world.launcher.setLayout(text)
        world.stopLaunchers()
        return Sides(world, tmp_path, stack)
    with contextlib.ExitStack() as stack:
        yield make


def test_work_is_divided(makeSides):
    """Of many requests, most wait for room.

    Zuul's launcher accepts requests for several nodes when there is room
    for one, and they keep that one while they wait.  If there were as many
    of them as there is room, they could all wait for one another for ever.
    """
    sides = makeSides(CLOUD)
    sides.start('ours', 'theirs')
    sides.serve(sides.addRequests(*(1, 2, 1, 1) * 10))
    sides.rest()
    sides.world.expectCreated(50)
    assert not sides.world.problems
    for process in sides.processes.values():
        assert process.logged('Marking request .* as fulfilled')
        assert process.logged('Building node')


@pytest.mark.seconds(80)
def test_one_dies(makeSides):
    """The other goes on with all that there is, and the next one with what
    that has made."""
    sides = makeSides(CLOUD + WITH_READY)
    sides.start('ours')
    sides.rest(ready=READY)
    for dead, alive in (('ours', 'theirs'), ('theirs', 'ours')):
        ready = sides.findReady()
        sides.start(alive)
        killWhileBuilding(sides, dead)
        takeOver(sides, ready)
        sides.rest(ready=READY)
        assert not ready & sides.findReady()


def test_begun_by_ours(makeSides):
    """Zuul's goes on where the cloud was not asked yet for what takes all
    of the room, and with a request whose nodes have failed."""
    sides = makeSides(CLOUD)
    world = sides.world
    created = world.inventory.path / 'created'
    # Whoever asks for an instance has to wait.
    os.mkfifo(created)
    sides.start('ours')
    requests = sides.addRequests(*[1] * ROOM)
    world.runUntil(lambda: len(world.readNodes()) == ROOM,
                   world.describeNodes)
    sides.kill('ours')
    assert not world.inventory.all()
    created.unlink()
    with world.context() as context:
        failed = NodesetRequest.new(
            context, tenant_name='tenant', pipeline_name='check',
            labels=['big', 'big'], provider_node_data=[
                {'uuid': None, 'failed_providers': names, 'reasons': {}}
                for names in (['example.com%2Fnodes/one'], [])])
    sides.start('theirs')
    sides.serve([*requests, failed.uuid])
    sides.rest()


def killWhileBuilding(sides, dead):
    """One dies with some nodes being made and some requests waiting; the
    other serves them all."""
    world = sides.world
    world.inventory.set('slow')
    requests = sides.addRequests(*[1] * (ROOM + 5))

    def isFull():
        # Zuul's launcher assigns a node before the request says so.  Killed
        # between that, it leaves a node that nobody needs; nor do we kill
        # it when it has told of a request and not written that it has: it
        # would be told of again.
        given = [node_id for request_id in requests
                 for node_id in world.client.getRequest(request_id).nodes]
        return (len(world.inventory.all()) >= ROOM + READY
                and {*given} >= {*world.inventory.getNodes()}
                - sides.findReady())
    world.runUntil(isFull, world.describeNodes)
    sides.kill(dead)
    world.inventory.set('slow', False)
    sides.serve(requests)


def takeOver(sides, ready):
    """Who is left gives out what is ready, has it used again, and deletes
    it.

    :param set ready: ids of nodes that another one has made.
    """
    world = sides.world
    request_id = world.addRequest(*['again'] * READY)
    assert sides.serve([request_id]) == ready
    world.runUntil(lambda: ready <= sides.findReady(), world.describeNodes)
    for node_id in ready:
        world.client.setNextNodeState(
            world.readNode(node_id), State.OUTDATED)
    world.runUntil(lambda: not ready & sides.findReady(),
                   world.describeNodes)


if __name__ == '__main__':
    # As a program, it is what a Process of makeProcess runs.
    plugin.install()
    tracing.Tracing(configparser.ConfigParser())
    crash_process.Launcher = getClass(sys.argv.pop(1))
    crash_process.main()
