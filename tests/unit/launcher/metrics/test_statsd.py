"""Metrics: Zuul's names and values, and some more."""

import math
import time

import pytest
from zuul.exceptions import LaunchKeyscanException, QuotaException
from zuul.launcher import server as zuuls
from zuul.model import (
    ImageUpload,
    NodesetRequest,
    ProviderNode,
    QuotaInformation,
)

from tests.fixtures.cloud import StatsServer
from tests.fixtures.launcher import TIMEOUT, Started
from tests.fixtures.racks import cloud
from tests.fixtures.shelf.shelf_maker import ShelfProvider, ShelfProviderNode
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.metrics import Gauges, Stats
from zuul_nodes.launcher.planner import Reason

State = ProviderNode.State
ELECTION = '/zuul/launcher/stats-election'
LAYOUT = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: big.one, image: debian, flavor: small, max-nodes: 9}
- label: {name: little, image: debian, flavor: small}
- section:
    name: rack
    connection: rack
    images: [debian]
    flavors: [small]
- provider:
    name: main
    section: rack
    resource-limits: {instances: 5}
    labels:
      - {name: big.one, host-key-checking: false}
- provider:
    name: spare
    section: rack
    labels:
      - {name: little, host-key-checking: false}
'''
PROVIDER = 'zuul.provider.example_com%2Fnodes_main'
LABEL = f'{PROVIDER}.label.big_one'


@pytest.fixture
def keeper(stats_server, makeKeeper):
    return makeKeeper('one.example.com', LAYOUT)


@pytest.fixture
def provider(keeper):
    return keeper.tenant_providers['tenant'][0]


@pytest.fixture
def addNode(keeper, provider):
    def add(state, cores=0, **kwargs):
        return keeper.addNode(**({
            'state': state, 'provider': provider.canonical_name,
            'label': 'big.one',
            'quota': QuotaInformation(instances=1, cores=cores)} | kwargs))
    return add


def getMetrics(lines):
    """:return: name -> value and kind; each is there once."""
    metrics = dict(line.split(':') for line in lines)
    assert len(metrics) == len(lines)
    return metrics


@pytest.fixture
def report(keeper, stats_server):
    stats = keeper.makeGauges()

    def report():
        stats.report()
        return getMetrics(stats_server.receiveAll(keeper.statsd))
    return report


def fill(keeper, addNode):
    for state in (State.READY, State.READY, State.FAILED, State.IN_USE):
        addNode(state, cores=2)
    addNode(State.BUILDING, provider='gone', label='gone')
    for state in (NodesetRequest.State.REQUESTED,
                  NodesetRequest.State.TEST_HOLD):
        NodesetRequest.new(keeper.context(), state=state,
                           tenant_name='tenant', pipeline_name='check',
                           labels=[])
    waitFor(lambda: len(keeper.api.requests_cache.getItems()) == 2)
    for state in (ImageUpload.State.READY, ImageUpload.State.FAILED):
        for endpoint in ('rack/rack', 'other/other'):
            keeper.addUpload(canonical_name='nodes/debian.12',
                             endpoint_name=endpoint, _state=state)


def test_gauges(keeper, addNode, report):
    fill(keeper, addNode)
    metrics = report()
    for name, value in {
            'zuul.nodes.state.ready': 2,
            'zuul.nodes.state.building': 1,
            'zuul.nodes.state.tempfailed': 0,
            f'{PROVIDER}.limit.instances': 5,
            # What has failed does not count.
            f'{PROVIDER}.usage.instances': 3,
            f'{PROVIDER}.usage.cores': 6,
            f'{PROVIDER}.nodes.state.in-use': 1,
            f'{LABEL}.nodes.state.failed': 1,
            'zuul.label.example_com%2Fnodes_big_one.max_nodes': 9,
            'zuul.nodeset_requests.state.requested': 1,
            'zuul.nodeset_requests.state.test-hold': 0,
            'zuul.image.nodes_debian_12.upload.rack_rack.state.ready': 1,
            'zuul.image.nodes_debian_12.upload.rack_rack.state.pending': 0,
            'zuul.uploads.state.ready': 2,
            'zuul.uploads.state.deleting': 0,
            'zuul.images.unneeded': 3}.items():
        assert metrics[name] == f'{value}|g'


def test_gauges_are_those_of_zuuls_launcher(
        keeper, addNode, report, stats_server):
    fill(keeper, addNode)
    keeper.getEndpointLimits = lambda provider: provider.getEndpointLimits()
    zuuls.Launcher._runStats(keeper)
    theirs = getMetrics(stats_server.receiveAll(keeper.statsd))
    assert len(theirs) > 80
    ours = report()
    assert {name: ours.get(name) for name in theirs} == theirs
    # Zuul's do not come back to zero.
    assert ours.keys() - theirs.keys() == {'zuul.images.unneeded', *(
        f'zuul.uploads.state.{state}' for state in (
            'deleting', 'pending', 'uploading'))}


def test_gauge_of_unused_label_becomes_zero(keeper, addNode, report):
    node = addNode(State.READY, cores=2)
    assert report()[f'{PROVIDER}.usage.cores'] == '2|g'
    keeper.removeNode(node)
    assert report()[f'{PROVIDER}.usage.cores'] == '0|g'


def test_labels_of_all_tenants(keeper, addNode, report):
    addNode(State.READY, label='huge')
    keeper.setLayout(LAYOUT.replace('big.one', 'huge'), 'second')
    metrics = report()
    assert metrics[f'{PROVIDER}.label.huge.nodes.state.ready'] == '1|g'
    assert metrics[f'{LABEL}.nodes.state.ready'] == '0|g'


def test_limits_of_the_section(keeper, report):
    keeper.setLayout(LAYOUT, own={'big.one': {'section': {
        'name': 'rack', 'limits': {'instances': 3, 'cores': 7}}}})
    metrics = report()
    assert metrics[f'{PROVIDER}.limit.instances'] == '3|g'
    assert metrics[f'{PROVIDER}.limit.cores'] == '7|g'


@pytest.mark.parametrize('limits', [
    QuotaInformation(default=math.inf, instances=math.inf, cores=math.inf),
    QuotaInformation(default=math.inf, instances=math.nan),
])
def test_limit_that_is_no_number_is_not_reported(report, monkeypatch, limits):
    monkeypatch.setattr(ShelfProvider, 'getEndpointLimits',
                        lambda self: limits)
    values = report().values()
    assert {value.removesuffix('|g').isdigit() for value in values} == {True}


def test_gauge_that_can_not_be_computed_is_left_out(
        keeper, addNode, report, monkeypatch, caplog):
    def getEndpointLimits(self):
        if self.name == 'main':
            raise LookupError('no limits today')
        return QuotaInformation(default=math.inf, instances=4)
    monkeypatch.setattr(ShelfProvider, 'getEndpointLimits',
                        getEndpointLimits)
    addNode(State.READY, cores='many')
    keeper.addUpload(canonical_name=None, endpoint_name=None,
                     _state='unheard of')
    monkeypatch.setattr(keeper.api.requests_cache, 'getItems', None)
    metrics = report()
    assert f'{PROVIDER}.limit.instances' not in metrics
    assert metrics[f'{PROVIDER}.nodes.state.ready'] == '1|g'
    assert metrics['zuul.provider.example_com%2Fnodes_spare.limit.instances'
                   ] == '4|g'
    assert metrics['zuul.uploads.state.ready'] == '0|g'
    assert 'no limits today' in caplog.text


# Launches

def launch(state, **kwargs):
    node = ShelfProviderNode()
    node._set(state=state, label='big.one', state_time=1003.5,
              create_state={'start_time': 1000.0}, **kwargs)
    return node


def test_launch(keeper, provider, stats_server):
    stats = Stats(keeper.statsd)
    stats.reportLaunch(launch(State.READY, az='az-1'), provider)
    lines = stats_server.receiveAll(keeper.statsd)
    assert sorted(lines) == sorted(
        line for key in (
            'zuul.nodes.launch.ready',
            f'{PROVIDER}.nodes.launch.ready',
            f'{PROVIDER}.az.az-1.launch.ready',
            f'{PROVIDER}.image.debian.launch.ready',
            f'{LABEL}.launch.ready')
        for line in (f'{key}:1|c', f'{key}:3500.000000|ms'))


def test_launch_metrics_are_those_of_zuuls_launcher(
        keeper, provider, stats_server):
    node = launch(State.READY)
    node._set(create_state_machine=provider.getCreateStateMachine(
        node, None, None))
    keeper._getProviderForNode = lambda node: provider
    zuuls.Launcher._reportLaunchStats(keeper, node)
    theirs = stats_server.receiveAll(keeper.statsd)
    Stats(keeper.statsd).reportLaunch(node, provider)
    assert stats_server.receiveAll(keeper.statsd) == theirs


@pytest.mark.parametrize('error, key', [
    (LaunchKeyscanException('no key'), 'error.keyscan'),
    (QuotaException('full'), 'error.quota'),
    (ValueError('what?'), 'error.unknown'),
    ('temporary', 'error.temporary'),
])
def test_failed_launch(keeper, provider, stats_server, error, key):
    # Nobody knows when it began.
    node = launch(State.FAILED)
    node._set(create_state={})
    Stats(keeper.statsd).reportLaunch(node, provider, error)
    lines = stats_server.receiveAll(keeper.statsd)
    assert set(lines) == {
        f'{name}.launch.{result}:1|c' for result in ('failed', key)
        for name in ('zuul.nodes', f'{PROVIDER}.nodes', LABEL,
                     f'{PROVIDER}.image.debian')}


def test_error_in_launch_metrics_is_logged(keeper, stats_server, caplog):
    stats = Stats(keeper.statsd)
    stats.reportLaunch(None, None)
    stats.reportRequest(None)
    assert 'Unable to report the launch' in caplog.text
    assert 'Unable to report the end' in caplog.text
    stats.reportLaunch(launch(State.READY), None)
    assert stats_server.receiveAll(keeper.statsd) == [
        'zuul.nodes.launch.ready:1|c',
        'zuul.nodes.launch.ready:3500.000000|ms']


# The rest

@pytest.mark.parametrize('age, milliseconds', [(90, 90_000), (-5, 0)])
def test_end_of_a_request(keeper, stats_server, age, milliseconds):
    """Its time is never negative, as when clocks differ."""
    request = NodesetRequest()
    request._set(state=NodesetRequest.State.FAILED, tenant_name='a.b',
                 request_time=time.time() - age)
    Stats(keeper.statsd).reportRequest(request)
    counter, timer = stats_server.receiveAll(keeper.statsd)
    key = 'zuul.nodeset_requests.end.a_b.failed'
    assert counter == f'{key}:1|c'
    name, value = timer.removesuffix('|ms').split(':')
    assert name == key
    assert milliseconds <= float(value) < milliseconds + 60_000


def test_timers(keeper, stats_server):
    stats = Stats(keeper.statsd)
    upload = keeper.addUpload(
        canonical_name='nodes/debian', endpoint_name='rack/rack')
    with stats.timeUpload(upload):
        stats.reportHandler(0.25)
    handler, upload = stats_server.receiveAll(keeper.statsd)
    assert handler == 'zuul.launcher.run_handler:250.000000|ms'
    name, value = upload.split(':')
    assert name == 'zuul.image.nodes_debian.upload.rack_rack.duration'
    assert value.endswith('|ms')


def test_own_gauges(keeper, stats_server):
    Gauges(keeper.statsd, None, None, None, None, {
        'waiting_requests': lambda: 1 / 0,
        'work_queue': keeper.queue.length}).reportOwn()
    assert stats_server.receiveAll(keeper.statsd) == [
        'zuul.launcher.server.one_example_com.work_queue:7|g']


def receiveUntil(stats_server, name):
    while not any(line.startswith(name) for line in stats_server.receive()):
        pass


@pytest.fixture
def start():
    started = []

    def start(keeper):
        stats = keeper.makeGauges(0.02)
        started.append(stats)
        stats.start()
        return stats
    yield start
    for stats in started:
        stats.stop()
        stats.join()


def test_elected_launcher_reports_gauges(
        zuul_conf, makeKeeper, start, kazoo_client):
    servers = []
    stats = []
    try:
        for number, name in enumerate(('one', 'two')):
            servers.append(StatsServer(zuul_conf))
            stats.append(start(makeKeeper(name, LAYOUT)))
            waitFor(lambda number=number:
                     kazoo_client.exists(ELECTION)
                     and len(kazoo_client.get_children(ELECTION))
                     == number + 1)
        receiveUntil(servers[0], 'zuul.nodes.state.ready')
        # Of itself, the other one tells, too.
        assert servers[1].receive() == [
            'zuul.launcher.server.two.work_queue:7|g']
        for _ in range(20):
            assert 'server.two' in servers[1].receive()[0]
        stats[0].stop()
        stats[0].join()
        receiveUntil(servers[1], 'zuul.nodes.state.ready')
    finally:
        for each in stats:
            each.stop()
            each.join()
        for server in servers:
            server.end()


def test_end_without_having_been_elected(stats_server, makeKeeper, start):
    start(makeKeeper('one', LAYOUT))
    receiveUntil(stats_server, 'zuul.nodes.state.ready')
    other = start(makeKeeper('two', LAYOUT))
    other.stop()
    other.join()
    assert not any(thread.is_alive() for thread in other._threads)


def test_without_statsd(makeKeeper, start, kazoo_client):
    keeper = makeKeeper('one', LAYOUT)
    assert keeper.statsd is None
    gauges = start(keeper)
    gauges.report()
    gauges.reportOwn()
    stats = Stats(keeper.statsd)
    stats.reportHandler(1)
    stats.reportLaunch(None, None)
    stats.reportRequest(None)
    with stats.timeUpload(None):
        pass
    # One that could tell nothing must not be elected.
    assert not kazoo_client.exists(ELECTION)


# All together

@pytest.fixture
def started(stats_server, racks, zuul_conf, tmp_path):
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launcher = Started(zuul_conf, 'one.example.com')
    yield launcher
    launcher.end()


def test_launcher_reports_all_metrics(started, stats_server, racks):
    racks.errors['one', 'other'] = RuntimeError('no such flavor')
    started.writeLayout(cloud('one'))
    started.addRequest('big')
    started.addRequest('other')
    missing = {
        'zuul.launcher.run_handler',
        *(f'zuul.launcher.server.one_example_com.{name}' for name in (
            'work_queue', 'queue_age', 'planner_lag', 'endpoint_calls',
            'stuck_pools', 'withdrawals', 'waiting_requests',
            *(f'waiting.{reason}' for reason in Reason))),
        'zuul.nodes.launch.error.unknown',
        'zuul.nodes.launch.failed',
        'zuul.nodeset_requests.end.tenant.failed',
        'zuul.nodeset_requests.end.tenant.fulfilled',
        'zuul.nodes.launch.ready',
        'zuul.nodes.state.ready',
        'zuul.provider.example_com%2Fnodes_one.nodes.launch.ready',
    }
    end = time.monotonic() + TIMEOUT
    while missing:
        assert time.monotonic() < end, missing
        missing -= {line.split(':')[0] for line in stats_server.receive()}
