import configparser
import itertools
import os
import subprocess
import sys

import pytest
from zuul.zk import ZooKeeperClient
from zuul.zk.components import COMPONENT_REGISTRY

from tests.fixtures.fileserver import FileServer
from tests.fixtures.launcher import Steps
from tests.fixtures.services import Site
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.quickstart import Quickstart
from zuul_nodes.quickstart.zookeeper import ZooKeeper

_numbers = itertools.count()


@pytest.fixture
def runProgram(tmp_path):
    """Run Python code as a program of a given name.

    :return: a function of the name, the source, the arguments and what
        to change in the environment; gives the completed process.
    """
    def run(name, source, *arguments, **environ):
        program = tmp_path / name
        program.write_text(source)
        return subprocess.run(
            [sys.executable, program, *arguments],
            env={**os.environ, 'ZUUL_NODES_DISABLE': '', **environ},
            timeout=120, capture_output=True, text=True, check=False)
    return run


@pytest.fixture
def zuulNodes():
    """Run the ``zuul-nodes`` command; gives the completed process."""
    def run(*arguments, **environ):
        return subprocess.run(
            [Quickstart.program('zuul-nodes'), *arguments],
            env={**os.environ, **environ}, timeout=120,
            capture_output=True, text=True, check=False)
    return run


@pytest.fixture(scope='session')
def site_directory(tmp_path_factory):
    """Shared, for Ansible is installed in it once."""
    return tmp_path_factory.mktemp('site')


@pytest.fixture
def makeSite(site_directory):
    """:return: a function that makes and prepares a :class:`Site`."""
    sites = []

    def make(**kwargs):
        site = Site(site_directory, **kwargs)
        sites.append(site)
        site.prepare()
        return site
    yield make
    for site in sites:
        site.stop()


@pytest.fixture(scope='session')
def zookeeper(tmp_path_factory):
    """A real ZooKeeper, with TLS, for the whole session."""
    directory = tmp_path_factory.mktemp('zookeeper')
    server = ZooKeeper(directory, Certificates(directory / 'certificates'),
                       ports.freePort())
    server.start()
    yield server
    server.stop()


@pytest.fixture
def chroot(zookeeper):
    """:return: the path below which a test has ZooKeeper for itself."""
    path = f'/test-{next(_numbers)}'
    client = zookeeper.client()
    client.start()
    client.create(path)
    yield path
    client.delete(path, recursive=True)
    client.stop()
    client.close()


@pytest.fixture
def kazoo_client(zookeeper, chroot):
    """:return: a client that sees what the test's own Zuul sees."""
    client = zookeeper.client()
    client.start()
    client.chroot = chroot
    yield client
    client.stop()
    client.close()


@pytest.fixture
def zuul_conf(zookeeper, chroot):
    """:return: a ConfigParser with what connects Zuul to ZooKeeper."""
    config = configparser.ConfigParser()
    config.read_dict({'zookeeper': {
        'hosts': zookeeper.hosts + chroot,
        'tls_ca': zookeeper.certificates.ca,
        'tls_cert': zookeeper.certificates.client_cert,
        'tls_key': zookeeper.certificates.client_key,
    }})
    return config


@pytest.fixture
def zk_client(zuul_conf):
    """:return: Zuul's client, connected."""
    client = ZooKeeperClient.fromConfig(zuul_conf)
    client.connect()
    yield client
    client.disconnect()


@pytest.fixture
def file_server():
    server = FileServer()
    yield server
    server.end()


@pytest.fixture
def launchFake(zuul_conf, tmp_path):
    """:return: a function that makes a launcher with a fake cloud, which
        has the options that it gets and is in a file."""
    launchers = []

    def launch(**options):
        zuul_conf.read_dict({
            'launcher': {'temp_dir': tmp_path},
            'connection fake': {
                'driver': 'fake', 'path': str(tmp_path / 'cloud'), **options}})
        launchers.append(Steps(zuul_conf))
        return launchers[-1]

    yield launch
    for launcher in launchers:
        launcher.stop()
        launcher.join()
    COMPONENT_REGISTRY.clearRegistry()
