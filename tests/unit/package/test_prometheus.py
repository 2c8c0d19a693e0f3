"""A real Prometheus reads the metrics of launchers, and runs all queries."""

import contextlib
import itertools
import os
import subprocess
import tempfile

import prometheus_client
import pytest
import requests
import yaml

from tests.fixtures.metricnames import getSeries
from tests.fixtures.monitoring import (
    MONITORING,
    VALUES,
    expand,
    getTargets,
    readAlerts,
)
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher.metrics.exporter import Exporter
from zuul_nodes.launcher.metrics.names import METRICS, PLACEHOLDER
from zuul_nodes.quickstart import ports

pytestmark = [pytest.mark.services, pytest.mark.seconds(15)]

TIMEOUT = 60


def report(exporter):
    """Report each metric, with each value that is known of its labels."""
    for metric in METRICS:
        values = [next((VALUES[name, label] for name, _ in getSeries(metric)
                        if (name, label) in VALUES), ['some'])
                  for label in metric.labels]
        for chosen in itertools.product(*values):
            filled = iter(chosen)
            exporter.report(metric.kind, PLACEHOLDER.sub(
                lambda match, filled=filled: next(filled), metric.name), 1)


@pytest.fixture(scope='session')
def programs(request):
    """Unpack Debian's Prometheus.  If installed, it would run as a service.

    :return: the directory of its programs.
    """
    cache = request.config.cache.mkdir('prometheus')
    root = cache / 'root'
    if not root.exists():
        with tempfile.TemporaryDirectory(dir=cache) as directory:
            subprocess.run(['apt-get', 'download', 'prometheus'],
                           cwd=directory, check=True)
            package, = os.listdir(directory)
            unpacked = f'{directory}/root'
            subprocess.run(['dpkg-deb', '--extract', package, unpacked],
                           cwd=directory, check=True)
            # Another worker may have been quicker.
            with contextlib.suppress(OSError):
                os.rename(unpacked, root)
    return root / 'usr/bin'


@pytest.fixture
def exporter_port():
    """:return: the port at which all metrics are."""
    registry = prometheus_client.CollectorRegistry()
    exporter = Exporter('some')
    report(exporter)
    registry.register(exporter)
    server, thread = prometheus_client.start_http_server(
        0, '127.0.0.1', registry)
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def ask(exporter_port, programs, tmp_path):
    """Run Prometheus with the alerts.

    :return: a function of a path of its API and of parameters; gives the data.
    """
    conf = tmp_path / 'prometheus.yml'
    conf.write_text(yaml.safe_dump({
        'global': {'scrape_interval': '1s', 'evaluation_interval': '1s'},
        'rule_files': [str(MONITORING / 'alerts.yaml')],
        'scrape_configs': [{'job_name': 'zuul', 'static_configs': [
            {'targets': [f'127.0.0.1:{exporter_port}']}]}]}))
    port = ports.freePort()
    process = subprocess.Popen([
        programs / 'prometheus', f'--config.file={conf}',
        f'--storage.tsdb.path={tmp_path}/data',
        f'--web.listen-address=127.0.0.1:{port}'],
        stderr=subprocess.DEVNULL)

    def askServer(path, **parameters):
        response = requests.get(f'http://127.0.0.1:{port}/{path}',
                                params=parameters, timeout=TIMEOUT)
        response.raise_for_status()
        return response

    def isReady():
        with contextlib.suppress(requests.RequestException):
            return askServer('-/ready')
    waitFor(isReady)
    yield lambda path, **parameters: askServer(
        f'api/v1/{path}', **parameters).json()['data']
    process.terminate()
    process.wait()


def test_alerts_are_rules(programs):
    result = subprocess.run(
        [programs / 'promtool', 'check', 'rules', MONITORING / 'alerts.yaml'],
        capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert f'{len(readAlerts())} rules found' in result.stdout


def test_each_query_of_the_dashboard_has_a_result(ask):
    # The rate of a counter takes two values.
    waitFor(lambda: ask('query', query=(
        'min(count_over_time(zuul_nodes_state[1m]) > 1)'))['result'])
    empty = [target['expr'] for _, target in getTargets()
             if not ask('query', query=expand(target['expr']))['result']]
    assert empty == []


def test_each_alert_is_evaluated(ask):
    def getHealth():
        rules = {rule['name']: rule['health'] for group
                 in ask('rules')['groups'] for rule in group['rules']}
        return rules if 'unknown' not in rules.values() else None
    assert waitFor(getHealth) == {
        alert['alert']: 'ok' for alert in readAlerts()}
