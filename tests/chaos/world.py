"""All that takes part: servers, the cloud, launchers and layouts."""

from concurrent import futures
import configparser
import contextlib
import json
import logging
import os
import pathlib
import signal
import sys
import time
import uuid

from kazoo.exceptions import KazooException, NoNodeError
from zuul.launcher.client import LauncherClient
from zuul.model import NodesetRequest, ProviderNode
from zuul.zk import ZooKeeperClient
from zuul.zk.components import COMPONENT_REGISTRY, SchedulerComponent
from zuul.zk.exceptions import LockException
from zuul.zk.layout import LayoutProvidersStore, LayoutState, LayoutStateStore
from zuul.zk.locks import TENANT_LOCK_ROOT, tenant_write_lock
from zuul.zk.system import ZuulSystem
from zuul.zk.zkobject import ZKContext

from tests.chaos import clock, driver, site
from tests.chaos.ensemble import Ensemble
from tests.chaos.proxy import Mode, Proxies, Proxy
from tests.fixtures.layout import makeLayout
from tests.fixtures.packages import writePackage
from tests.fixtures.programs import writeConf
from zuul_nodes import imagelayouts
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.process import Process, waitFor
from zuul_nodes.testing.layout import makeConnections

ROOT = pathlib.Path(__file__).parents[2]
CLOUD_HISTORY = 'cloud.jsonl'
LAUNCHERS = 3
# Seconds of the launchers' sessions, and of that of the scheduler.
SESSION_TIMEOUT = 5
LONG_SESSION_TIMEOUT = 30
TIMEOUT = 90
# What takes minutes otherwise, in seconds.
SETTINGS = {
    'cleanup_interval': 5, 'longest_backoff': 5,
    'provider_longest_backoff': 5, 'min_ready_longest_backoff': 5,
    'layout_longest_backoff': 2, 'call_timeout': 30, 'stop_timeout': 3}
REQUESTS = f'{NodesetRequest.ROOT}/{NodesetRequest.REQUESTS_PATH}'
REQUEST_LOCKS = f'{NodesetRequest.ROOT}/{NodesetRequest.LOCKS_PATH}'
NODES = f'{ProviderNode.ROOT}/{ProviderNode.NODES_PATH}'
NODE_LOCKS = f'{ProviderNode.ROOT}/{ProviderNode.LOCKS_PATH}'
log = logging.getLogger('chaos')


class LauncherProcess(Process):
    """A process of ``zuul-nodes launcher``, behind a proxy.

    :param str name: of its files.
    :param Path directory: for its files.
    :param Proxy proxy: for its connections to ZooKeeper.
    :param ConfigParser config: what all launchers have.
    :param dict environment: in which the driver is installed.
    :ivar Path clock: the file that sets its clock.
    """

    def __init__(self, name, directory, proxy, config, environment):
        self.proxy = proxy
        self.clock = directory / f'{name}.clock'
        own = configparser.ConfigParser(interpolation=None)
        own.read_dict(config)
        own.read_dict({
            'zookeeper': {'hosts': proxy.hosts},
            'launcher': {'command_socket': directory / f'{name}.socket',
                         'pidfile': directory / f'{name}.pid'}})
        super().__init__(name, [
            pathlib.Path(sys.executable).with_name('zuul-nodes'), 'launcher',
            '-f', '-d', '-c', writeConf(own, directory / f'{name}.conf')],
            directory / f'{name}.log',
            {**environment, clock.VARIABLE: str(self.clock)})


    def setClock(self, offset):
        """:param float offset: seconds by which its clock is wrong."""
        self.clock.write_text(f'{offset}\n')


class World:
    """
    :param Path directory: for all that is written; empty.
    :param str seed: for the chance of the cloud.
    :ivar list launchers: the processes.
    :ivar LauncherClient client: as a scheduler has it.
    """

    def __init__(self, directory, seed):
        self.directory = directory
        self.ensemble = Ensemble(directory)
        self.cloud_port = ports.freePort()
        environment = self._makeEnvironment()
        self.cloud = Process('cloud', [
            sys.executable, '-m', 'tests.chaos.cloud', self.cloud_port,
            json.dumps(site.REGIONS), directory / CLOUD_HISTORY, seed],
            directory / 'cloud.log', environment)
        self.config = self._makeConfig()
        self.launchers = [
            LauncherProcess(f'launcher-{number}', directory,
                            Proxy(self.ensemble), self.config, environment)
            for number in range(1, LAUNCHERS + 1)]
        self.proxies = Proxies([each.proxy for each in self.launchers])
        # One after the other, as schedulers do for a tenant.
        self.publisher = futures.ThreadPoolExecutor(1)
        self._stack = contextlib.ExitStack()

    def _makeEnvironment(self):
        packages = self.directory / 'packages'
        writePackage(packages, 'chaos', entry_points={'zuul.drivers': {
            'chaos': f'{driver.__name__}:{driver.ChaosDriver.__name__}'}})
        return {**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, (
            str(packages), str(ROOT), os.environ.get('PYTHONPATH'))))}

    def _makeConfig(self):
        certificates = self.ensemble.certificates
        config = configparser.ConfigParser(interpolation=None)
        config.read_dict({
            'zookeeper': {
                'hosts': self.ensemble.hosts,
                'session_timeout': SESSION_TIMEOUT,
                'tls_ca': certificates.ca,
                'tls_cert': certificates.client_cert,
                'tls_key': certificates.client_key},
            'launcher': {'temp_dir': self.directory, **SETTINGS},
            **{f'connection {name}': {
                'driver': 'chaos', 'port': self.cloud_port,
                'options': json.dumps(options),
                'api_timeout': driver.cloud.CALL_TIMEOUT}
               for name, options in site.REGIONS.items()}})
        return config

    def __enter__(self):
        with self._stack:
            self._stack.callback(self.ensemble.stop)
            self.ensemble.start()
            self._stack.callback(self.cloud.stop)
            self.cloud.start()
            self._stack.callback(self.proxies.stop)
            self.proxies.start()
            self._connect()
            self._stack.callback(self.publisher.shutdown)
            for tenant in site.TENANTS:
                self.publish(tenant)
            self._stack.callback(self._stopLaunchers)
            for launcher in self.launchers:
                launcher.start()
            self.waitForLaunchers()
            self._stack = self._stack.pop_all()
        return self

    def _connect(self):
        certificates = self.ensemble.certificates
        self.zk_client = ZooKeeperClient(
            self.ensemble.hosts, timeout=LONG_SESSION_TIMEOUT,
            tls_cert=str(certificates.client_cert),
            tls_key=str(certificates.client_key),
            tls_ca=str(certificates.ca))
        self.zk_client.connect()
        self._stack.callback(self.zk_client.disconnect)
        COMPONENT_REGISTRY.create(self.zk_client)
        self._stack.callback(COMPONENT_REGISTRY.clearRegistry)
        SchedulerComponent(self.zk_client, 'scheduler').register()
        self.kazoo = self.zk_client.client
        # Until there is a leader again.
        self.kazoo.retry.max_tries = -1
        for path in (REQUESTS, REQUEST_LOCKS, NODES, NODE_LOCKS):
            self.kazoo.ensure_path(path)
        self.system_id = ZuulSystem(self.zk_client).system_id
        self.client = LauncherClient(self.zk_client, None)
        self.registry = makeConnections(
            self.config, driver.ChaosDriver, StaticDriver)
        self._stack.callback(self.registry.stop)
        self.layouts = LayoutStateStore(self.zk_client, lambda: None)

    def _stopLaunchers(self):
        for launcher in self.launchers:
            if launcher.alive:
                self.signal(launcher, signal.SIGCONT)
                launcher.terminate()
        for launcher in self.launchers:
            launcher.stop(timeout=60)

    def __exit__(self, *args):
        return self._stack.__exit__(*args)

    def context(self):
        return ZKContext(self.zk_client, None, None, log)

    # Launchers, servers and the cloud

    def signal(self, process, number):
        os.kill(process.pid, number)

    def waitForLaunchers(self):
        """Wait until as many launchers as there are work."""
        waitFor(lambda: sum(
            each.state == each.RUNNING
            for each in COMPONENT_REGISTRY.registry.all('launcher'))
            == LAUNCHERS, 'not all launchers are running', TIMEOUT,
            [self.cloud, *self.launchers], self.launchers[0].log_file)

    def setFaults(self, region, **faults):
        """Have the cloud fail, as :mod:`.cloud` describes."""
        driver.call(self.cloud_port, region, 'faults', TIMEOUT, **faults)

    def mend(self):
        """End all faults, and wait until everything works again."""
        for member in self.ensemble.members:
            if member.process.alive:
                self.signal(member.process, signal.SIGCONT)
            else:
                member.start()
        for region in site.REGIONS:
            self.setFaults(region)
        for launcher in self.launchers:
            self.proxies.setMode(launcher.proxy, Mode.WORKING)
            launcher.setClock(0)
            if launcher.alive:
                self.signal(launcher, signal.SIGCONT)
            else:
                launcher.start()
        self.ensemble.wait()
        self.ensemble.restore()
        for tenant in site.TENANTS:
            self.publishSoon(tenant).result(2 * TIMEOUT)
        self.waitForLaunchers()

    # Layouts

    def publishSoon(self, tenant, **options):
        """As :meth:`publish`, and do not wait for ZooKeeper."""
        return self.publisher.submit(self._publishAtLast, tenant, **options)

    def _publishAtLast(self, tenant, **options):
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                self.publish(tenant, **options)
                return
            except (KazooException, LockException) as error:
                log.info('The layout of %s is not published: %r', tenant,
                         error)
                if time.monotonic() > end:
                    raise
                time.sleep(1)

    def publish(self, tenant, **options):
        """Write the layout of a tenant, as a scheduler does.

        :param options: as of :func:`site.makeLayout`.
        """
        layout = makeLayout(site.makeLayout(**options))
        connections = self.registry.connections
        providers = []
        for each in layout.provider_configs.values():
            config = each.flattenConfig(layout, connections)
            connection = connections[config['connection']]
            providers.append(connection.driver.getProvider(
                self.zk_client, connection, tenant, each.canonical_name,
                config, self.system_id))
        self._forgetLock(tenant)
        layout_uuid = uuid.uuid4().hex
        with tenant_write_lock(self.zk_client, tenant, log, blocking=False), \
                self.context() as context:
            imagelayouts.publish(
                self.zk_client.client, tenant,
                imagelayouts.ImageLayout(layout_uuid, {}, {}))
            LayoutProvidersStore(
                self.zk_client, self.registry, self.system_id).set(
                    context, tenant, providers)
            self.layouts[tenant] = LayoutState(
                tenant, 'scheduler', 0, layout_uuid, {}, 1)

    def _forgetLock(self, tenant):
        """Delete contenders for the lock of a tenant that this session has.

        If kazoo's lock loses the answer, and asks a server that is behind, it
        becomes a contender twice, and waits for itself.
        """
        client = self.zk_client.client
        root = f'{TENANT_LOCK_ROOT}/{tenant}'
        with contextlib.suppress(NoNodeError):
            for name in client.get_children(root):
                path = f'{root}/{name}'
                stat = client.exists(path)
                if stat and stat.ephemeralOwner == client.client_id[0]:
                    client.delete(path)

    # What there is

    def readInstances(self):
        """:return: id -> instance, of all regions."""
        return {key: each for region in site.REGIONS for key, each
                in driver.call(self.cloud_port, region, 'list').items()}

    def settle(self):
        """Wait until nothing is left but unassigned ready nodes.

        :return: a list of what is left besides, after a long time.
        """
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                left = self._findLeft()
            except NoNodeError as error:
                left = [f'something that is being deleted: {error!r}']
            if not left or time.monotonic() > end:
                return left
            time.sleep(1)

    def _findLeft(self):
        nodes, instances = self._list(NODES), self.readInstances()
        owners = [each['tags']['zuul_node_uuid']
                  for each in instances.values()]
        left = [f'an instance of node {owner}, which has no record'
                for owner in owners if owner not in nodes]
        for node_id in nodes:
            if owners.count(node_id) != 1:
                left.append(f'node {node_id} with {owners.count(node_id)} '
                            'instances')
            node = self.client.getProviderNode(node_id)
            if node.state != node.State.READY or node.request_id:
                left.append(f'{node} of request {node.request_id}')
        left += [f'request {name}' for name in self._list(REQUESTS)]
        for records, locks in ((nodes, NODE_LOCKS), ((), REQUEST_LOCKS)):
            left += [f'lock {locks}/{name}' for name in self._list(locks)
                     if name not in records or self._list(f'{locks}/{name}')]
        return left

    def _list(self, path):
        return [name for name in self.kazoo.get_children(path)
                if name != '_sync']
