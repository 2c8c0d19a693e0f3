"""What becomes of a node's availability zone, from its grant on."""

import contextlib
import itertools
import time

import pytest
from zuul.model import ProviderNode

from tests.fixtures.launcher import Steps
from tests.fixtures.racks import Racks, cloud, isDone
from zuul_nodes.drivers import turnZones
from zuul_nodes.launcher.nodes.readycounts import makeSlot

State = ProviderNode.State
ZONES = ['a', 'b', 'c']


class Zoned(Racks):
    """
    :ivar list asked: the zones of the nodes that providers were asked for.
    :ivar set full: zones where no node can be made.
    """

    def __init__(self, monkeypatch):
        super().__init__(monkeypatch)
        self.asked = []
        self.full = set()

    def create(self, provider, node):
        zone = provider.labels[node.label].az
        self.asked.append(zone)
        if zone in self.full:
            raise RuntimeError(f'No valid host in {zone}')
        super().create(provider, node)


@pytest.fixture
def racks(monkeypatch):
    racks = Zoned(monkeypatch)
    yield racks
    racks.end()


@pytest.fixture
def launcher(steps, racks):
    setLayout(steps)
    return steps


@contextlib.contextmanager
def launch(config):
    """A launcher that is gone afterwards."""
    launcher = Steps(config)
    try:
        yield launcher
    finally:
        launcher.end()


def setLayout(launcher, **provider):
    launcher.setLayout(cloud('one', **provider), own={
        name: {'zones': ZONES} for name in ('big', 'other')})


def getNodes(launcher, request):
    return list(map(launcher.api.getProviderNode, request.nodes))


def accept(launcher, *labels, **kwargs):
    """:return: the nodes of a new request, as soon as they have records."""
    request = launcher.addRequest(*labels, **kwargs)
    launcher.runUntil(
        lambda: request.nodes and all(getNodes(launcher, request)))
    return getNodes(launcher, request)


def test_records_have_it_from_the_start(launcher, racks):
    racks.slow = {'one'}
    found = []
    for _ in range(20):
        nodes = accept(launcher, 'big', 'other')
        assert {node.state for node in nodes} == {State.BUILDING}
        zone, = {node.az for node in nodes}
        found += [zone, zone]
    assert set(found) == set(ZONES)
    launcher.runUntil(lambda: len(racks.asked) == len(found))
    assert sorted(racks.asked) == sorted(found)


@pytest.mark.parametrize('state', [State.READY, State.BUILDING])
def test_new_ones_join_those_that_are_there(launcher, racks, state):
    racks.slow = {'one'}
    for zone in ZONES:
        node = launcher.addNode(
            launcher.getProvider('one'), 'big', az=zone, state=state)
        nodes = accept(launcher, 'other', 'big')
        assert nodes[1].uuid == node.uuid
        assert [each.az for each in nodes] == [zone, zone]


def test_those_that_are_for_nobody(launcher):
    provider = launcher.getProvider('one')
    found = set()
    while found != set(ZONES):
        node, = launcher.new_records.makeNode(
            makeSlot(provider.labels['big'], provider), State.BUILDING)
        assert node.az in ZONES
        found.add(node.az)


def test_slots_have_that_of_their_host(launcher):
    provider = launcher.getProvider('one')
    provider.labels['big'].slots = 2
    host, *slots = launcher.new_records.makeNode(
        makeSlot(provider.labels['big'], provider), State.BUILDING)
    assert len(slots) == 2
    assert {slot.az for slot in slots} == {host.az} < set(ZONES)


def test_who_takes_over_goes_on_there(zuul_conf, tmp_path, racks):
    """Though it would choose another one itself."""
    racks.slow = {'one'}
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    with launch(zuul_conf) as first:
        setLayout(first)
        first.addNode(first.getProvider('one'), 'big', az='c')
        nodes = accept(first, 'big', 'other', 'other', request_time=next(
            each for each in itertools.count(int(time.time()))
            if turnZones(ZONES, each)[0] != 'c'))
        assert [node.az for node in nodes] == ['c', 'c', 'c']
    with launch(zuul_conf) as second:
        # It has read the layout.
        second.runUntil(lambda: second.scope.by_name)
        for node in map(second.api.getProviderNode,
                        (each.uuid for each in nodes)):
            provider = second.scope.getProviderFor(node)
            assert node.az == provider.labels[node.label].az == 'c'


def test_the_next_one_after_a_failure(launcher, racks):
    racks.full = {'a', 'b'}
    requests = [launcher.addRequest(*labels) for labels in (
        ['big'], ['big'], ['big', 'other'], ['big', 'big', 'other'])]
    launcher.runUntil(lambda: all(map(isDone, requests)))
    for request in requests:
        assert request.state == request.State.FULFILLED
    assert racks.asked.count('c') == 7


def test_no_zone_has_room(launcher, racks):
    racks.full = set(ZONES)
    request = launcher.addRequest('big')
    launcher.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert sorted(racks.asked) == ZONES
