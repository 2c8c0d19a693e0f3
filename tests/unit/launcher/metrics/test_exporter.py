"""Metrics for Prometheus: the same as those for statsd."""

import configparser
import time
import types
import urllib.request

import prometheus_client
from prometheus_client.parser import text_string_to_metric_families
import pytest
from zuul.lib.monitoring import MonitoringServer
from zuul.lib.statsd import get_statsd

from tests.fixtures.cloud import Clock
from tests.fixtures.launcher import TIMEOUT, Started
from tests.fixtures.racks import cloud
from zuul_nodes.launcher.metrics import Client, makeExporter
from zuul_nodes.launcher.metrics.exporter import Exporter
from zuul_nodes.launcher.metrics.names import METRICS

READY = 'zuul.provider.example_com%2Fnodes_main.label.big_one.launch.ready'
LABELS = {'provider': 'example_com%2Fnodes_main', 'label': 'big_one',
          'result': 'ready'}


def read(registry):
    """:return: (name, labels) of each time series -> its value."""
    text = prometheus_client.generate_latest(registry).decode()
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def exporter(request, clock):
    exporter = Exporter('one.example.com', clock)
    exporter.start()
    request.addfinalizer(exporter.stop)
    return exporter


@pytest.fixture
def client(exporter):
    return Client(None, exporter)


def get(name, **labels):
    return prometheus_client.REGISTRY.get_sample_value(name, labels)


def test_gauge_has_the_last_value(client):
    for value in (3, 1):
        client.gauge('zuul.nodes.state.in-use', value)
    assert get('zuul_nodes_state', state='in-use') == 1


def test_name_of_the_machine_is_a_label(client):
    client.gauge('zuul.launcher.server.{hostname}.work_queue', 7)
    assert get('zuul_launcher_server_work_queue',
               hostname='one_example_com') == 7


def test_counter_counts(client):
    client.incr(READY)
    client.incr(READY, 2)
    name = 'zuul_provider_label_launch_events_total'
    assert get(name, **LABELS) == 3
    assert get('zuul_provider_nodes_launch_events_total',
               **LABELS) is None


def test_timer_is_a_histogram_in_seconds(client):
    for milliseconds in (250, 70_000):
        client.timing(READY, milliseconds)
    name = 'zuul_provider_label_launch_seconds'
    assert get(f'{name}_count', **LABELS) == 2
    assert get(f'{name}_sum', **LABELS) == 70.25
    assert [get(f'{name}_bucket', le=le, **LABELS)
            for le in ('0.2', '1.0', '60.0', '120.0', '+Inf')] == [
                0, 1, 1, 2, 2]


def test_failures_have_their_kinds(client):
    client.incr('zuul.nodes.launch.error.quota')
    assert get('zuul_nodes_launch_error_events_total', kind='quota') == 1


def test_time_of_a_block_counts_if_it_fails(client):
    with pytest.raises(ValueError), client.timer('zuul.launcher.run_handler'):
        raise ValueError
    assert get('zuul_launcher_run_handler_seconds_count') == 1


def test_gauge_that_is_not_reported_again_ends(client, clock):
    """Of others, the last value holds."""
    def report():
        client.gauge('zuul.provider_endpoint.east.leaked.instance', 1)
        client.gauge('zuul.launcher.server.{hostname}.upload_workers', 1)
        client.incr('zuul.nodes.launch.ready')
        client.gauge('zuul.provider.gone.usage.cores', 4)

    def getValues():
        return (
            get('zuul_provider_usage', provider='gone', resource='cores'),
            get('zuul_provider_endpoint_leaked', endpoint='east',
                type='instance'),
            get('zuul_launcher_server_upload_workers',
                hostname='one_example_com'),
            get('zuul_nodes_launch_events_total', result='ready'))
    report()
    clock.now += 100
    assert getValues() == (4, 1, 1, 1)
    report()
    clock.now += 100
    assert getValues() == (4, 1, 1, 2)
    clock.now += 100
    assert getValues() == (None, 1, 1, 2)
    clock.now += 1800
    assert getValues() == (None, None, 1, 2)
    report()
    assert getValues() == (4, 1, 1, 3)


def test_unknown_name_is_left_out(client, exporter):
    before = read(exporter)
    client.gauge('zuul.nodes.stat.ready', 1)
    client.incr('zuul.nodes.state.ready')
    assert read(exporter) == before


def test_each_metric_gets_through(client, exporter):
    """A gauge and a counter of the same name, too."""
    before = read(exporter)
    send = {'gauge': client.gauge, 'counter': client.incr,
            'timer': client.timing}
    for metric in METRICS:
        send[metric.kind](metric.name.replace('<', '').replace('>', ''), 1)
    changed = {name for (name, labels), value in read(exporter).items()
               if before.get((name, labels)) != value
               and not name.endswith('_created')}
    assert {name.removesuffix('_count') for name in changed
            if not name.endswith(('_bucket', '_sum'))} == {
                metric.prometheus_name for metric in METRICS}


def test_several_launchers_of_a_process_are_exported(client, request):
    client.gauge('zuul.nodes.state.ready', 1)
    other = Exporter('two')
    other.start()
    other.report('gauge', 'zuul.launcher.server.{hostname}.work_queue', 2)
    assert get('zuul_launcher_server_work_queue', hostname='two') == 2
    other.stop()
    assert get('zuul_launcher_server_work_queue', hostname='two') is None
    assert get('zuul_nodes_state', state='ready') == 1
    # One that has not begun.
    Exporter('three').stop()


def test_statsd_gets_the_same(exporter, stats_server, zuul_conf):
    statsd = get_statsd(zuul_conf, {'hostname': 'one.example.com'})

    def send(client):
        with client.pipeline() as pipeline:
            pipeline.gauge('zuul.nodes.state.ready', 4)
            pipeline.gauge('zuul.nodes.state.hold', 1)
        client.gauge('zuul.launcher.server.{hostname}.work_queue', 2)
        client.incr('zuul.nodes.launch.ready')
        client.timing('zuul.nodes.launch.ready', 3.5)
        with client.timer('zuul.launcher.run_handler'):
            pass
        lines = stats_server.receiveAll(statsd)
        assert 'run_handler' in lines.pop()
        return lines
    expected = send(statsd)
    assert send(Client(statsd, exporter)) == expected
    assert len(expected) == 5
    assert get('zuul_nodes_state', state='ready') == 4
    assert get('zuul_nodes_launch_seconds_count', result='ready') == 1


@pytest.mark.parametrize('section, is_embedded, is_made', [
    ('launcher', False, True), ('scheduler', True, True),
    ('launcher', True, False), ('scheduler', False, False)])
def test_process_with_a_monitoring_server_has_an_exporter(
        section, is_embedded, is_made):
    config = configparser.ConfigParser()
    config.read_dict({section: {'prometheus_port': '9091'}})
    assert bool(makeExporter(config, is_embedded, 'one')) == is_made


@pytest.fixture
def url(request, zuul_conf):
    """:return: the address of a scheduler's monitoring server."""
    zuul_conf.read_dict({'scheduler': {
        'prometheus_port': 0, 'prometheus_addr': '127.0.0.1'}})
    server = MonitoringServer(
        zuul_conf, 'scheduler', types.SimpleNamespace())
    server.start()
    request.addfinalizer(lambda: (server.stop(), server.join()))
    return f'http://127.0.0.1:{server.port}/metrics'


def test_monitoring_server_of_a_scheduler_has_the_metrics_of_its_launcher(
        url, racks, zuul_conf, tmp_path):
    """Without statsd."""
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launcher = Started(zuul_conf, 'one.example.com')
    try:
        launcher.writeLayout(cloud('one'))
        launcher.addRequest('big')
        provider = 'provider="example_com%2Fnodes_one"'
        missing = {
            'zuul_launcher_server_planner_lag{hostname="one_example_com"}',
            'zuul_launcher_run_handler_seconds_count',
            'zuul_nodes_state{state="ready"}',
            f'zuul_provider_nodes_launch_events_total{{{provider},'
            'result="ready"}',
            f'zuul_provider_label_launch_seconds_count{{label="big",'
            f'{provider},result="ready"}}'}
        end = time.monotonic() + TIMEOUT
        while missing:
            assert time.monotonic() < end, missing
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                missing -= {line.decode().rpartition(' ')[0]
                            for line in answer}
    finally:
        launcher.end()
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        assert b'zuul_nodes_state' not in answer.read()
