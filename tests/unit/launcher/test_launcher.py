"""The launcher as a component, with a real ZooKeeper."""

import os
import socket
import threading

import pytest
from zuul.lib.connections import ConnectionRegistry
from zuul.zk.components import COMPONENT_REGISTRY

from zuul_nodes.launcher import Launcher
from zuul_nodes.launcher.launcher import getName, withoutProcessOptions


@pytest.fixture
def config(zuul_conf, tmp_path):
    zuul_conf.read_dict({
        'launcher': {
            'command_socket': tmp_path / 'launcher.socket',
            'temp_dir': tmp_path,
            # Nothing may listen there: it is not a port.
            'prometheus_port': '-1',
        },
        'tracing': {'enabled': 'true', 'protocol': 'no such protocol'},
    })
    return zuul_conf


@pytest.fixture
def launcher(config):
    connections = ConnectionRegistry()
    connections.configure(config, providers=True)
    launcher = Launcher(config, connections)
    yield launcher
    COMPONENT_REGISTRY.clearRegistry()


def test_life(launcher, kazoo_client, tmp_path):
    before = set(threading.enumerate())
    launcher.start()
    path, = kazoo_client.get_children('/zuul/components/launcher')
    assert path.startswith(f'{socket.getfqdn()}-{os.getpid()}')
    # No scheduler has written a layout.
    assert launcher.component_info.state != 'running'
    # What a process has once, its process has.
    assert not (tmp_path / 'launcher.socket').exists()
    assert launcher.monitoring_server.httpd is None
    launcher.stop()
    launcher.join()
    assert kazoo_client.get_children('/zuul/components/launcher') == []
    left = {thread for thread in set(threading.enumerate()) - before
            if not thread.daemon}
    assert left == set()


def test_name_is_configurable(config):
    config['launcher']['hostname'] = 'west-1'
    assert getName(config) == 'west-1'


def test_the_configuration_of_others_stays(config):
    assert not withoutProcessOptions(config).has_section('tracing')
    assert config.has_section('tracing')
    assert config['launcher']['prometheus_port'] == '-1'
