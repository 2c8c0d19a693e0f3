"""A complete Zuul except for the cloud: ZooKeeper, a launcher, and the
scheduler and the executor that use it."""

import builtins
import collections
from collections.abc import Callable
import configparser
import itertools
import os
import pathlib
import threading
import time
from typing import NoReturn, TypeVar
import uuid

from kazoo.exceptions import NoNodeError
import pytest
from zuul.driver import Driver as ZuulDriver
from zuul.launcher.client import LauncherClient
from zuul.model import (
    ImageBuildArtifact,
    ImageUpload,
    Node,
    NodeSet,
    NodesetRequest,
    ProviderNode,
)
from zuul.provider import BaseProvider
from zuul.zk import ZooKeeperClient
from zuul.zk.components import COMPONENT_REGISTRY
from zuul.zk.layout import (
    LayoutProvidersStore,
    LayoutState,
    LayoutStateStore,
)
from zuul.zk.system import ZuulSystem
from zuul.zk.zkobject import ZKContext

from zuul_nodes import imagelayouts
from zuul_nodes.drivers import Driver
from zuul_nodes.imageevents import EventKind
from zuul_nodes.quickstart.zookeeper import ZooKeeper
from zuul_nodes.testing.cloud import Cloud
from zuul_nodes.testing.faults import CALL_TIMEOUT, Journal
from zuul_nodes.testing.launcher import Options
from zuul_nodes.testing.layout import makeConnections, makeProviders
from zuul_nodes.testing.patience import Patience
from zuul_nodes.testing.process import LauncherProcess

TENANT = 'tenant'
CONNECTION = 'cloud'
# Time-out in seconds for everything that a launcher does, see
# :mod:`zuul_nodes.testing.patience`, and seconds between two checks.
PATIENCE = 30
PAUSE = 0.02
# The call that the clean-up makes in each round, and the number of rounds
# after which a missing call is not expected any more.
ROUND = 'listInstances'
ENOUGH = 5
PATHS = {
    'node': f'{ProviderNode.ROOT}/{ProviderNode.NODES_PATH}',
    'request': f'{NodesetRequest.ROOT}/{NodesetRequest.REQUESTS_PATH}',
    'image upload': f'{ImageUpload.ROOT}/{ImageUpload.UPLOADS_PATH}',
    'image artifact':
        f'{ImageBuildArtifact.ROOT}/{ImageBuildArtifact.IMAGES_PATH}',
}
_numbers = itertools.count()
Result = TypeVar('Result')


class Site:
    """
    :param zookeeper: a running server.
    :param directory: for files.
    :param driver_class: of the driver.
    :param cloud: the value of the fixture ``cloud``.
    :param uploading: see :func:`zuul_nodes.testing.launcher.run`.
    :ivar given: whether nodes are existing machines.
    :ivar provider: the configured provider, after :meth:`start`.
    """

    def __init__(self, zookeeper: ZooKeeper, directory: pathlib.Path,
                 driver_class: type[ZuulDriver], cloud: Cloud,
                 uploading: bool = False) -> None:
        self.zookeeper = zookeeper
        self.directory = directory
        self.cloud = cloud
        self.journal = Journal(directory)
        self.given: bool = getattr(driver_class, 'nodes_are_given', False)
        self.options = self._makeOptions(driver_class)
        self.launcher = LauncherProcess(
            self.options, driver_class, directory,
            uploading and issubclass(driver_class, Driver))
        config = configparser.ConfigParser(interpolation=None)
        config.read_dict(self.options)
        self.zk_client = ZooKeeperClient.fromConfig(config)
        self.zk_client.connect()
        COMPONENT_REGISTRY.clearRegistry()
        COMPONENT_REGISTRY.create(self.zk_client)
        self.client = LauncherClient(self.zk_client, threading.Event())
        self.connections = makeConnections(config, driver_class)
        self.system_id = ZuulSystem(self.zk_client).system_id
        self.before = self.list()
        self.provider: BaseProvider
        # The plan whose fault killed the last launcher that was replaced.
        self._replaced: int | None = None

    def _makeOptions(self, driver_class: type[ZuulDriver]) -> Options:
        root = f'/conformance-{next(_numbers)}'
        client = self.zookeeper.client()
        client.start()
        client.create(root)
        client.stop()
        client.close()
        certificates = self.zookeeper.certificates
        options: Options = {
            'zookeeper': {
                'hosts': self.zookeeper.hosts + root,
                'tls_ca': str(certificates.ca),
                'tls_cert': str(certificates.client_cert),
                'tls_key': str(certificates.client_key)},
            'launcher': {'temp_dir': str(self.directory / 'temp'),
                         'image_sources': '127.0.0.1',
                         'call_timeout': str(CALL_TIMEOUT)},
            f'connection {CONNECTION}': {'driver': driver_class.name}}
        if issubclass(driver_class, Driver):
            # Calls that exceed the launcher's time-out have to exceed that of
            # the driver as well.
            options[f'connection {CONNECTION}']['api_timeout'] = '1'
        options[f'connection {CONNECTION}'] |= {
            key: str(value) for key, value in self.cloud.connection.items()}
        return options

    def end(self) -> None:
        """Stop everything; may be called again."""
        if self.zk_client.client is None:
            return
        self.launcher.kill()
        self.connections.stop()
        COMPONENT_REGISTRY.clearRegistry()
        self.zk_client.disconnect()

    # The scheduler

    def start(self, text: str | None = None) -> None:
        """Write a layout, and start a launcher.

        :param text: replaces the cloud's configuration.
        """
        providers = self.makeProviders(text)
        self.provider = providers[0]
        layout_uuid = uuid.uuid4().hex
        # No job deletes the files of images.
        imagelayouts.publish(
            self.zk_client.client, TENANT, imagelayouts.ImageLayout(
                layout_uuid, {kind: [] for kind in EventKind}, {}))
        with self.context() as context:
            LayoutProvidersStore(
                self.zk_client, self.connections, self.system_id).set(
                    context, TENANT, providers)
        LayoutStateStore(self.zk_client, lambda: None)[TENANT] = LayoutState(
            TENANT, 'scheduler', 0, layout_uuid, {}, 1)
        self.launcher.start()

    def makeProviders(self, text: str | None = None) -> list[BaseProvider]:
        return makeProviders(
            self.connections, text or self.cloud.configuration,
            self.zk_client, self.system_id)

    def restart(self) -> None:
        """Kill the launcher, and start another one."""
        self.launcher.kill()
        self.launcher.start()

    def context(self) -> ZKContext:
        return ZKContext(self.zk_client, None, None, self.client.log)

    def request(self, *labels: str) -> str:
        """:return: the id of a new request for nodes."""
        with self.context() as context:
            return NodesetRequest.new(
                context, tenant_name=TENANT, pipeline_name='check',
                labels=list(labels)).uuid

    def getServed(self, request_id: str) -> NodesetRequest:
        """Wait until a request is fulfilled or has failed.

        :return: the request.
        """
        return self.waitFor(
            lambda: self._getDone(request_id),
            f'request {request_id} is neither fulfilled nor failed')

    def _getDone(self, request_id: str) -> NodesetRequest | None:
        request = self.client.getRequest(request_id)
        done = (request.state in request.FINAL_STATES
                and request.event_state == request.EventState.COMPLETE)
        return request if done else None

    def getFulfilled(
            self,
            request_id: str) -> tuple[NodesetRequest, list[ProviderNode]]:
        """Wait for the nodes of a request.

        :return: the request, and a list of its nodes.
        """
        request = self.getServed(request_id)
        if request.state != request.State.FULFILLED:
            self.fail(f'the request has {request.state}: '
                      f'{request.provider_node_data}')
        nodes = [self.client.getProviderNode(node_id)
                 for node_id in request.nodes]
        for node in nodes:
            if node.state != node.State.READY:
                self.fail(f'a node of a fulfilled request is '
                          f'{node.state}')
        return request, nodes

    def cancel(self, request_id: str) -> None:
        self.client.deleteRequest(self.client.getRequest(request_id))

    # The executor

    def begin(self, request: NodesetRequest) -> NodeSet:
        """:return: the nodeset of a request, in use."""
        nodeset = NodeSet()
        for number, label in enumerate(request.labels):
            nodeset.addNode(Node([f'node-{number}'], label))
        self.client.acceptNodeset(request, nodeset)
        self.client.useNodeset(nodeset)
        return nodeset

    def use(self, request: NodesetRequest) -> None:
        """Use the nodes of a request, and return them."""
        self.client.returnNodeset(self.begin(request))

    # Resources

    def list(self) -> collections.Counter[str]:
        """:return: a Counter of the resources in the cloud."""
        return collections.Counter(map(str, self.cloud.list()))

    def getNew(self) -> builtins.list[str]:
        """:return: resources in the cloud that are new since the beginning."""
        return sorted((self.list() - self.before).elements())

    def getRecords(self, kind: str) -> builtins.list[str]:
        """:return: ids of the records of a kind."""
        try:
            return [name for name in self.zk_client.client.get_children(
                PATHS[kind]) if name != '_sync']
        except NoNodeError:
            return []

    def getNodes(self) -> builtins.list[ProviderNode]:
        found = []
        for node_id in self.getRecords('node'):
            try:
                found.append(self.client.getProviderNode(node_id))
            except NoNodeError:
                continue
        return found

    def getUsed(self) -> builtins.list[str]:
        """:return: existing machines that are not ready for the next request.
        """
        return [str(node) for node in self.getNodes()
                if node.state != node.State.READY or node.request_id]

    # Waiting

    def waitFor(self, predicate: Callable[[], Result | None],
                what: str | Callable[[], str]) -> Result:
        """Wait for a condition, and replace launchers that faults kill.

        :param predicate: returns the result, or a false value until then.
        :param what: error message when the time is over, or a function that
            returns it.
        """
        patience = self._makePatience()
        while not (result := predicate()):
            if self._hasReplacedLauncher():
                patience = self._makePatience()
            if patience.isOver():
                self.fail(what() if callable(what) else what)
            time.sleep(PAUSE)
        return result

    def stop(self) -> int | None:
        """Tell the launcher to stop, and wait until it has ended.

        :return: its exit status.
        """
        self.launcher.stop()
        patience = self._makePatience()
        while self.launcher.alive:
            if patience.isOver():
                self.fail('the launcher does not end')
            time.sleep(PAUSE)
        return self.launcher.status

    def _makePatience(self) -> Patience:
        # An emulated cloud runs in this process.
        return Patience(PATIENCE, lambda: [
            self.launcher.pid, self.zookeeper.process.pid, os.getpid()])

    def _hasReplacedLauncher(self) -> bool:
        # Without a process, a scenario has killed it.
        if self.launcher.alive or self.launcher.pid is None:
            return False
        number = self.journal.readDeath()
        if number == self._replaced:
            self.fail('the launcher has ended')
        self._replaced = number
        self.restart()
        return True

    def waitFault(self) -> None:
        """Wait for the end of the fault, unless its call is not made.

        A driver may make a call once for all nodes, or only if the cloud is
        slow.
        """
        number, fault = self.journal.readPlan()
        if fault is None:
            return
        before = self.journal.getCalls()[ROUND]

        def isOver() -> bool:
            if not self.journal.isBegun():
                return self.journal.getCalls()[ROUND] > before + ENOUGH
            return self.journal.isOver() and (
                not fault.kills or self._replaced == number)
        self.waitFor(isOver, f'there is no end of {fault}')

    def rest(self) -> None:
        """Wait until everything new is deleted, and existing machines are
        ready again."""
        def getLeft() -> dict[str, builtins.list[str]]:
            return {kind: ids for kind in PATHS if (
                ids := self.getUsed() if self.given and kind == 'node'
                else self.getRecords(kind))}
        self.waitFor(
            lambda: not (self.getNew() or getLeft()),
            lambda: 'not everything is deleted in the end: '
            f'in the cloud: {self.getNew() or "nothing"}; '
            f'in ZooKeeper: {getLeft() or "nothing"}')
        if lost := self.before - self.list():
            self.fail(f'{sorted(lost)} of others was deleted')

    def waitForNumber(self, number: int) -> None:
        """Wait until there is a number of new resources in the cloud."""
        self.waitFor(
            lambda: len(self.getNew()) == number,
            lambda: f'there should be {number} new resources in the cloud, as '
            f'without a fault: {self.getNew()}')

    def fail(self, what: str) -> NoReturn:
        """End the test with an error.

        :param what: the problem.
        """
        _, fault = self.journal.readPlan()
        lines = [what]
        if fault:
            lines.append(f'Injected: {fault}')
        lines += [f'Node: {node}, {node.comment}'
                  for node in self.getNodes()]
        failures = collections.Counter(
            f'{entry["failed"]} has raised {entry["error"]}'
            for entry in self.journal.read(everything=True)
            if 'failed' in entry)
        lines += [f'{failure} ({number} times)'
                  for failure, number in failures.items()]
        lines += ['The log of the launcher:', *self.launcher.getTrouble()]
        pytest.fail('\n'.join(lines), pytrace=False)
