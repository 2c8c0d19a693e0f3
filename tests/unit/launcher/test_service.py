"""The launcher in real schedulers, and as a process of its own."""

import json
import subprocess
import zlib

from kazoo.exceptions import NoNodeError
import psutil
import pytest
import requests

from tests.fixtures.packages import writePackage
from tests.fixtures.programs import getRefusal
from tests.fixtures.traces import receiving
from zuul_nodes.quickstart import ports

pytestmark = [pytest.mark.services, pytest.mark.seconds(90)]

TIMEOUT = 180
SPARE_NODES = 12
# A time-out that no node has but of a changed label.
CHANGED = 77


def waitForBuilding(site, *processes):
    """All nodes are begun, some by each of these processes."""
    def shared():
        seen = [site.nodesSeenBy(name) for name in processes]
        return all(seen) and len(set().union(*seen)) == SPARE_NODES + 1
    site.services.waitFor(shared, 'the nodes are not shared', TIMEOUT,
                          processes[0])
    assert 'ready' not in site.nodeStates()


def startLauncher(site, name='launcher'):
    """Start ``zuul-nodes launcher``."""
    site.services.start(name, [
        site.program('zuul-nodes'), 'launcher', '-f', '-d',
        '-c', site.zuul_conf])


def waitForReadyNodes(site):
    site.services.waitFor(
        lambda: site.nodeStates() == ['ready'] * (SPARE_NODES + 1),
        'not all nodes are ready', TIMEOUT, 'scheduler')


def makeSiteThatWasServed(makeSite):
    """:return: a site whose scheduler has ended; the rest still runs."""
    site = makeSite()
    site.startZooKeeper()
    site.startZuul()
    site.waitForZuul()
    site.end('scheduler')
    site.services.waitFor(lambda: site.launchers() == {},
                          'the launcher stays registered', TIMEOUT, 'web')
    return site


@pytest.mark.parametrize('kill', [False, True], ids=['stop', 'kill -9'])
def test_one_of_two_schedulers_ends_while_nodes_build(makeSite, kill):
    site = makeSite(schedulers=2)
    site.startZooKeeper()
    site.startZuul()
    site.waitForZuul()
    assert len(site.launchers()) == 2
    # Nothing listens on the nodes yet, so none of them gets ready.
    site.addSpareNodes(SPARE_NODES)
    waitForBuilding(site, 'scheduler', 'scheduler2')
    revision = site.push()
    # A scheduler of Zuul 14.3 that is told to end may forget what it read
    # last of a pipeline until its next event.  Here there is none before the
    # node is ready.
    site.services.waitFor(
        lambda: site.api.get('tenant/quickstart/nodeset-requests'),
        'the job does not ask for a node', TIMEOUT, 'scheduler')

    ended = site.end('scheduler2', kill)
    if not kill:
        assert ended.logged('Stopped launcher')
    site.services.waitFor(lambda: len(site.launchers()) == 1,
                          'the other launcher stays', TIMEOUT, 'scheduler')

    site.startNode()
    # The job has waited for its node; the node the launcher of the other
    # scheduler may have begun to build.
    assert site.waitForBuild(revision)['result'] == 'SUCCESS'
    waitForReadyNodes(site)


def test_scheduler_and_separate_launcher_share_the_work(makeSite):
    site = makeSite()
    site.startZooKeeper()
    site.startZuul()
    startLauncher(site)
    site.waitForZuul()
    site.waitForComponents('launcher', 2, 'launcher')
    assert len(site.launchers()) == 2
    site.addSpareNodes(SPARE_NODES)
    waitForBuilding(site, 'scheduler', 'launcher')
    site.startNode()
    waitForReadyNodes(site)


@pytest.fixture
def receiver():
    with receiving() as receiver:
        yield receiver


def test_separate_launcher_alone(makeSite, receiver):
    site = makeSite(embedded=False)
    site.configure(
        'tracing', enabled='true', protocol='http/protobuf',
        endpoint=f'http://127.0.0.1:{receiver.server_port}/v1/traces')
    monitoring_port = ports.freePort()
    site.configure('launcher', prometheus_addr='127.0.0.1',
                   prometheus_port=monitoring_port)
    site.startZooKeeper()
    site.startNode()
    site.startZuul()
    site.waitForZuul()
    assert site.launchers() == {}
    assert site.services.processes['scheduler'].logged(
        r'Not running component launcher in the scheduler: '
        r'\[launcher\] embedded = false')
    startLauncher(site)
    site.waitForComponents('launcher', 1, 'launcher')
    health = requests.get(
        f'http://127.0.0.1:{monitoring_port}/health/ready', timeout=TIMEOUT)
    assert health.status_code == 200
    site.waitForNode()
    assert site.waitForBuild(site.push())['result'] == 'SUCCESS'

    # By its command socket, as Zuul's own.
    process = site.services.processes.pop('launcher')
    site.services.start('stop', [
        site.program('zuul-nodes'), 'launcher', 'stop',
        '-c', site.zuul_conf])
    site.services.processes.pop('stop').finish(TIMEOUT)
    process.finish(TIMEOUT)
    site.services.waitFor(lambda: site.launchers() == {},
                          'the launcher stays registered', TIMEOUT,
                          'scheduler')

    # The launcher's part is in the same trace as the scheduler's.
    path = site.services.waitFor(
        lambda: receiver.getPath('NodesetRequestProcessing'),
        'the trace is not whole', TIMEOUT, 'scheduler')
    assert path[-3:] == [
        'BuildSet', 'NodesetRequest', 'NodesetRequestProcessing']


def test_commands_that_run_no_launcher(makeSite, tmp_path):
    site = makeSiteThatWasServed(makeSite)

    validate = site.services.start('validate', [
        site.program('zuul-scheduler'), '-f', '-d', '-c', site.zuul_conf,
        '--validate-tenants'])
    site.services.processes.pop('validate').finish(TIMEOUT)
    assert validate.logged('Starting scheduler')
    assert not validate.logged('Starting component launcher')

    # A Zuul that is too new, and nothing in zuul.conf tells of the plugin.
    site.configure('launcher', embedded='false')
    site.unconfigure('connection null')
    writePackage(tmp_path, 'zuul', '15.0.0')
    for command in ('zuul-scheduler', 'zuul-web', 'zuul-launcher'):
        result = subprocess.run(
            [site.program(command), '-f', '-c', site.zuul_conf],
            env=site.services.environment | {'PYTHONPATH': str(tmp_path)},
            capture_output=True, text=True, check=False, timeout=TIMEOUT)
        line = getRefusal(result)
        assert ('provider local of tenant quickstart has the connection '
                'null, which zuul.conf does not have') in line


LOG_CONFIG = '''
version: 1
disable_existing_loggers: false
handlers:
  file:
    class: logging.FileHandler
    filename: {path}
root:
  level: DEBUG
  handlers: [file]
'''


def test_scheduler_as_a_daemon(makeSite, tmp_path):
    """It ends on SIGTERM, and its launcher in order."""
    site = makeSiteThatWasServed(makeSite)

    log, log_config = tmp_path / 'daemon.log', tmp_path / 'logging.yaml'
    log_config.write_text(LOG_CONFIG.format(path=log))
    site.configure('scheduler', log_config=log_config)
    subprocess.run([site.program('zuul-scheduler'), '-c', site.zuul_conf],
                   env=site.services.environment, check=True, timeout=TIMEOUT)
    site.waitForComponents('launcher', 1, 'web')
    pidfile = site.settings.sockets / 'scheduler.pid'
    daemon = psutil.Process(int(pidfile.read_text()))
    daemon.terminate()
    daemon.wait(TIMEOUT)
    assert 'Stopped launcher' in log.read_text()
    assert not pidfile.exists()


def readNodes(client):
    """:return: the records of all nodes, from ZooKeeper."""
    path = '/zuul/nodes/nodes'
    try:
        # The name of the class, and a zero byte, come first.
        return [json.loads(zlib.decompress(
                    client.get(f'{path}/{node}')[0].partition(b'\0')[2]))
                for node in client.get_children(path)]
    except NoNodeError:
        # One was removed meanwhile.
        return []


def test_a_changed_label_retires_its_ready_node(makeSite, request):
    """The static node comes back as it is defined now."""
    site = makeSite()
    site.startZooKeeper()
    client = site.zookeeper.client()
    client.start()
    request.addfinalizer(client.stop)
    site.startNode()
    site.startZuul()
    site.waitForZuul()
    site.waitForNode()
    before, = readNodes(client)
    assert before['boot_timeout'] != CHANGED

    site.pushNodes(site.nodes_file.read_text().replace(
        'host-key-checking: true',
        f'host-key-checking: true\n        boot-timeout: {CHANGED}'))
    site.services.waitFor(
        lambda: [(node['boot_timeout'], node['state'])
                 for node in readNodes(client)] == [(CHANGED, 'ready')],
        'the node does not come back', TIMEOUT, 'scheduler')
    after, = readNodes(client)
    assert after['uuid'] == before['uuid']
    assert site.waitForBuild(site.push())['result'] == 'SUCCESS'
