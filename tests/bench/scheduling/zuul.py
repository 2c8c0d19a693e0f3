"""A scheduler in a place of its own in ZooKeeper, and what it needs."""

import collections
import configparser
import contextlib
import json
import os
import pathlib

import psutil
from zuul.model import ProviderNode
from zuul.zk import ZooKeeperClient
from zuul.zk.layout import LayoutStateStore

from tests.bench.launching import cloud
from tests.bench.launching.layouts import makeCloudText
from tests.bench.launching.stage import NODES_ROOT, SESSION_TIMEOUT
from tests.bench.scheduling.events import Events
from tests.bench.scheduling.repository import (
    CONFIG,
    PROJECT,
    TENANT,
    TENANTS,
    makeRepository,
)
from tests.fixtures.packages import writePackage
from zuul_nodes.quickstart.failure import Failure
from zuul_nodes.quickstart.process import Process
from zuul_nodes.quickstart.quickstart import Quickstart

ROOT = pathlib.Path(__file__).parents[3]
# Longer than anything takes here, and how long the cloud is asked whether
# a node is there yet, in seconds.
CREATION_TIME = 3600
CALL_TIME = 0.001
STOP_TIMEOUT = 30
# There when the tenant is loaded.
LAYOUT = f'{LayoutStateStore.layout_root}/{TENANT}'


class Zuul:
    """
    :param Server server: the ZooKeeper.
    :param str name: of the place there, and of the directory.
    :param Path directory: in which it is made.
    :param bool embedded: whether there is a launcher in the scheduler.
    :param int count: how many nodes the launcher is to begin.
    :ivar Events events: that the scheduler gets.
    """

    def __init__(self, server, name, directory, embedded, count):
        self.server = server
        self.name = name
        self.directory = directory / name
        self.embedded = embedded
        self.count = count
        self.zk_client = ZooKeeperClient(
            f'{server.hosts}/{name}', timeout=SESSION_TIMEOUT,
            tls_cert=str(server.certificates.client_cert),
            tls_key=str(server.certificates.client_key),
            tls_ca=str(server.certificates.ca))

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._write()
            self.server.makeRoot(self.name)
            self.zk_client.connect()
            stack.callback(self.zk_client.disconnect)
            self.events = Events(self)
            self.scheduler = self._makeProcess('scheduler')
            self.merger = self._makeProcess('merger')
            stack.callback(self.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *args):
        return self._stack.__exit__(*args)

    def _write(self):
        repositories = self.directory / 'repositories'
        makeRepository(repositories / PROJECT, {
            'zuul.yaml': CONFIG + makeCloudText(min_ready=self.count)})
        (self.directory / 'tenants.yaml').write_text(TENANTS)
        # The driver, as any package brings one.
        writePackage(self.directory / 'packages', 'bench', entry_points={
            'zuul.drivers': {cloud.CloudDriver.name:
                             f'{cloud.__name__}:CloudDriver'}})
        certificates = self.server.certificates
        config = configparser.ConfigParser()
        config.read_dict({
            'zookeeper': {
                'hosts': f'{self.server.hosts}/{self.name}',
                'session_timeout': SESSION_TIMEOUT,
                'tls_ca': certificates.ca,
                'tls_cert': certificates.client_cert,
                'tls_key': certificates.client_key},
            'database': {'dburi': f'sqlite:///{self.directory}/zuul.sqlite'},
            'keystore': {'password': 'bench'},
            'scheduler': self._makeSockets('scheduler') | {
                'tenant_config': self.directory / 'tenants.yaml'},
            'launcher': self._makeSockets('launcher') | {
                'embedded': self.embedded, 'temp_dir': self.directory},
            'merger': self._makeSockets('merger') | {
                'git_dir': self.directory / 'merger'},
            # Only what the bench does is to happen.
            'connection git': {
                'driver': 'git', 'baseurl': repositories.as_uri(),
                'poll_delay': CREATION_TIME},
            **cloud.makeSection(CREATION_TIME, CALL_TIME)})
        with (self.directory / 'zuul.conf').open('w') as stream:
            config.write(stream)

    def _makeSockets(self, component):
        return {'command_socket': self.directory / f'{component}.socket',
                'pidfile': self.directory / f'{component}.pid'}

    def _makeProcess(self, component):
        path = os.pathsep.join(filter(None, (
            str(ROOT), str(self.directory / 'packages'),
            os.environ.get('PYTHONPATH'))))
        return Process(
            f'{self.name}-{component}',
            [Quickstart.program(f'zuul-{component}'), '-f', '-c',
             self.directory / 'zuul.conf'],
            self.directory / f'{component}.log',
            {**os.environ, 'PYTHONPATH': path})

    def stop(self):
        self.resume()
        for process in (self.scheduler, self.merger):
            process.stop(STOP_TIMEOUT)

    def suspend(self):
        """Let the scheduler do nothing, for less than its session lasts."""
        psutil.Process(self.scheduler.pid).suspend()

    def resume(self):
        if self.scheduler.alive:
            psutil.Process(self.scheduler.pid).resume()

    def getCPU(self):
        """:return: the seconds that the scheduler's process has used."""
        times = psutil.Process(self.scheduler.pid).cpu_times()
        return times.user + times.system

    def start(self, timeout):
        """Returns when there is only the scheduler, with its tenant loaded,
        and the launcher in it, if there is one, has begun the nodes."""
        self.merger.start()
        self.scheduler.start()
        self.scheduler.waitFor(
            lambda: self.zk_client.client.exists(LAYOUT),
            'the tenant is not loaded', timeout)
        self.merger.stop(STOP_TIMEOUT)
        self.scheduler.waitFor(
            lambda: self._countNodes() == self._getExpected(),
            'the nodes are not building', timeout)

    def checkNodes(self):
        """:raises Failure: not all of them are building."""
        self.scheduler.checkAlive()
        if (found := self._countNodes()) != self._getExpected():
            raise Failure(f'the nodes are not all building: {dict(found)}',
                          self.scheduler.log_file)

    def _getExpected(self):
        return {'building': self.count} if self.embedded else {}

    def _countNodes(self):
        client = self.zk_client.client
        if not client.exists(NODES_ROOT):
            return {}
        results = [client.get_async(f'{NODES_ROOT}/{node_id}')
                   for node_id in client.get_children(NODES_ROOT)]
        return collections.Counter(
            json.loads(ProviderNode._decompressData(result.get()[0])[1])[
                'state'] for result in results)
