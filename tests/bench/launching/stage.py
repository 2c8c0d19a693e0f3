"""Where one launcher is measured: layouts, requests, and the launcher."""

import configparser
import contextlib
import itertools
import json
import threading
import time
import uuid

from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import EventType
from zuul.launcher.client import LauncherClient
from zuul.model import (
    Node,
    NodeSet,
    NodesetRequest,
    ProviderNode,
    QuotaInformation,
)
from zuul.zk.components import COMPONENT_REGISTRY, SchedulerComponent
from zuul.zk.layout import LayoutProvidersStore, LayoutState, LayoutStateStore
from zuul.zk.locks import tenant_write_lock
from zuul.zk.zkobject import ZKContext

from tests.bench.launching import cloud
from tests.bench.launching.layouts import LABEL
from tests.bench.launching.process import makeProcess
from tests.bench.launching.records import Records
from tests.fixtures.layout import makeLayout
from zuul_nodes.launcher.zookeeper import ImprovedClient, dispatch
from zuul_nodes.quickstart.failure import Failure

TENANT = 'tenant'
PIPELINE = 'check'
REQUESTS_ROOT = f'{NodesetRequest.ROOT}/{NodesetRequest.REQUESTS_PATH}'
NODES_ROOT = f'{ProviderNode.ROOT}/{ProviderNode.NODES_PATH}'
# What the server allows at most with its ticks of 2 s.
SESSION_TIMEOUT = 40
# How long nothing may happen for a launcher to be called idle: Zuul's has a
# round a second, and makes one more than it needs.
QUIET_TIME = 2.5
State = NodesetRequest.State
_numbers = itertools.count()


class Stage:
    """
    :param Server server: in which this has a place for itself.
    :param str name: the launchers' names begin with it.
    :param str class_name: the launcher's class, with its module.
    :param Path directory: for configuration and logs.
    :param float timeout: in how many seconds all must be over.
    :param str log_level: the launchers'.
    :param float creation_time: the seconds that a node takes.
    :param float session_timeout: the launchers', in seconds.
    :ivar Records requests: all requests.
    """

    def __init__(self, server, name, class_name, directory, timeout,
                 log_level, creation_time=0,
                 session_timeout=SESSION_TIMEOUT):
        self.server = server
        self.class_name = class_name
        self.timeout = timeout
        self.deadline = time.monotonic() + timeout
        self.log_level = log_level
        self.name = f'{name}-{next(_numbers)}'
        self.directory = directory / self.name
        self.directory.mkdir()
        self.processes = []
        self._providers = []
        certificates = server.certificates
        self.config = configparser.ConfigParser()
        self.config.read_dict({
            'zookeeper': {
                'hosts': f'{server.hosts}/{self.name}',
                'session_timeout': session_timeout,
                'tls_ca': certificates.ca,
                'tls_cert': certificates.client_cert,
                'tls_key': certificates.client_key},
            'launcher': {
                'command_socket': self.directory / 'launcher.socket',
                'temp_dir': self.directory},
            **cloud.makeSection(creation_time)})
        self.zk_client = ImprovedClient(
            f'{server.hosts}/{self.name}', timeout=SESSION_TIMEOUT,
            tls_cert=str(certificates.client_cert),
            tls_key=str(certificates.client_key),
            tls_ca=str(certificates.ca))

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.server.makeRoot(self.name)
            stack.callback(self.server.removeRoot, self.name)
            self.zk_client.connect()
            stack.callback(self.zk_client.disconnect)
            # What it measures has to wait for it otherwise.
            dispatch.installDispatch(self.zk_client.client)
            self._prepare()
            stack.callback(COMPONENT_REGISTRY.clearRegistry)
            stack.callback(self._stopLaunchers)
            self._stack = stack.pop_all()
        return self

    def _prepare(self):
        self.client = self.zk_client.client
        self.launcher_client = LauncherClient(
            self.zk_client, threading.Event())
        # How records are written depends on the versions of all
        # components.
        SchedulerComponent(self.zk_client, 'scheduler').register()
        COMPONENT_REGISTRY.create(self.zk_client)
        for path in (REQUESTS_ROOT, NODES_ROOT,
                     f'{NodesetRequest.ROOT}/{NodesetRequest.LOCKS_PATH}',
                     f'{ProviderNode.ROOT}/{ProviderNode.LOCKS_PATH}'):
            self.client.ensure_path(path)
        self.requests = Records(self.client, NodesetRequest, REQUESTS_ROOT)

    def _stopLaunchers(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.stop()

    def __exit__(self, *args):
        return self._stack.__exit__(*args)

    def watchNodes(self):
        """:return: :class:`Records` of all nodes."""
        return Records(self.client, ProviderNode, NODES_ROOT,
                       (EventType.CREATED, EventType.CHANGED))

    def context(self):
        return ZKContext(self.zk_client, None, None, self.launcher_client.log)

    def setLayout(self, text):
        """Write the layout of the tenant, as a scheduler does."""
        registry = cloud.makeRegistry(self.config)
        self._stack.callback(registry.stop)
        connections = registry.connections
        layout = makeLayout(text)
        for provider_config in layout.provider_configs.values():
            config = provider_config.flattenConfig(layout, connections)
            connection = connections[config['connection']]
            self._providers.append(connection.driver.getProvider(
                self.zk_client, connection, TENANT,
                provider_config.canonical_name, config, 'system'))
        with tenant_write_lock(self.zk_client, TENANT,
                               self.launcher_client.log), \
                self.context() as context:
            LayoutProvidersStore(
                self.zk_client, registry, 'system').set(
                    context, TENANT, self._providers)
            LayoutStateStore(self.zk_client, lambda: None)[TENANT] = \
                LayoutState(TENANT, 'scheduler', 0, uuid.uuid4().hex, {}, 1)

    def startLauncher(self, number=1):
        """:return: the :class:`Process` of a launcher that has loaded the
            layout."""
        config_file = self.directory / f'zuul-{number}.conf'
        with config_file.open('w') as stream:
            self.config.write(stream)
        process = makeProcess(
            self.class_name, f'{self.name}-{number}', config_file,
            self.log_level)
        self.processes.append(process)
        process.start()
        process.waitFor(
            lambda: self.getComponent(process).get('state') == 'running',
            'it loads no layout', self.deadline - time.monotonic())
        return process

    def getComponentPath(self, process):
        """:return: the path of a launcher's registration, or None."""
        root = '/zuul/components/launcher'
        try:
            for name in self.client.get_children(root):
                if name.startswith(process.name):
                    return f'{root}/{name}'
        except NoNodeError:
            pass
        return None

    def getComponent(self, process):
        """:return: what a launcher says of itself, a dict."""
        path = self.getComponentPath(process)
        return json.loads(self.client.get(path)[0]) if path else {}

    def settle(self, process, quiet_time=QUIET_TIME):
        """Wait until a launcher asks nothing of ZooKeeper any more."""
        since, last = time.monotonic(), None
        while time.monotonic() - since < quiet_time:
            operations, _ = self.server.getOperations(process.pid)
            if operations != last:
                since, last = time.monotonic(), operations
            self.check('the launcher does not come to rest')
            time.sleep(0.1)

    def check(self, what):
        """:raises Failure: a launcher has ended, or the time is over."""
        for process in self.processes:
            process.checkAlive()
        if time.monotonic() > self.deadline:
            raise Failure(f'timed out after {self.timeout:g} s: {what}',
                          self.processes[-1].log_file)

    def wait(self, records, predicate, what):
        """Wait until something is so, with records.

        :param str what: is to be so; read when it is not, in time.
        """
        with records.changed:
            while not predicate():
                self.check(f'{what}; seen were {records.describe()}')
                records.changed.wait(1)

    def waitFulfilled(self, count, state=State.FULFILLED):
        """Wait until so many requests have what they asked for.

        :param state: or that they are in another state.

        :raises Failure: one has failed instead, or the time is over.
        """
        def isDone():
            if failed := self.requests.times.get(State.FAILED):
                raise Failure(f'{len(failed)} requests failed',
                              self.processes[-1].log_file)
            return self.countRequests(state) >= count
        self.wait(self.requests, isDone,
                  f'fewer than {count} requests are {state}')

    def countRequests(self, state):
        return len(self.requests.times.get(state, ()))

    def addNodes(self, count):
        """Write the records of ready nodes."""
        provider = self._providers[0]
        label = provider.labels[LABEL]
        image = provider.images[label.image]

        def make():
            node = provider.driver.getProviderNodeClass()()
            node._set(
                state=node.State.READY, label=label.name,
                label_config_hash=label.config_hash,
                host_key_checking=label.host_key_checking,
                boot_timeout=label.boot_timeout,
                connection_name=provider.connection_name,
                connection_port=22, connection_type=image.connection_type,
                username='zuul', interface_ip='127.0.0.1',
                quota=QuotaInformation(instances=1),
                provider=provider.canonical_name,
                endpoint_name=provider.connection_name,
                tags=provider.getNodeTags('system', label, node.uuid))
            return node
        self._create(make, count)

    def addRequests(self, count):
        """Make requests for one node each, as a scheduler does.

        :return: id -> when its record was sent, by ``perf_counter``.
        """
        def make():
            request = NodesetRequest()
            request._set(tenant_name=TENANT, pipeline_name=PIPELINE,
                         labels=[LABEL], hash_key=request.uuid)
            return request
        return self._create(make, count)

    def _create(self, make, count):
        """Write records, without waiting for one before the next."""
        with self.context() as context:
            made = [make() for _ in range(count)]
            contents = [each._compressData(each.serialize(context))
                        for each in made]
        results = [self.client.create_async(each.getLockPath())
                   for each in made]
        for result in results:
            result.get()
        times = {}
        results = []
        for each, content in zip(made, contents, strict=True):
            times[each.uuid] = time.perf_counter()
            results.append(self.client.create_async(each.getPath(), content))
        for result in results:
            result.get()
        return times

    def accept(self, request_id):
        """Take the nodes of a request into use, as an executor does.

        :return: the nodeset.
        """
        request = self.launcher_client.getRequest(request_id)
        nodeset = NodeSet()
        for number, label in enumerate(request.labels):
            nodeset.addNode(Node([f'node-{number}'], label))
        self.launcher_client.acceptNodeset(request, nodeset)
        self.launcher_client.useNodeset(nodeset)
        return nodeset
