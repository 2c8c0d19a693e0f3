"""The launcher as a component, with a real ZooKeeper."""

import os
import socket
import threading
import types

import pytest
from zuul.lib.connections import ConnectionRegistry

from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher import Launcher
from zuul_nodes.launcher.launcher import makeName
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.zookeeper import ZooKeeper


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
def findThreads(zookeeper):
    """:return: a function that finds the threads of a test's launchers.

    In the same process, other tests may have left some that wait for a
    driver.
    """
    before = set(threading.enumerate())
    return lambda: [thread for thread in threading.enumerate()
                    if thread not in before
                    and thread.name.startswith('Launcher')]


@pytest.fixture
def launcher(config):
    connections = ConnectionRegistry()
    connections.configure(config, providers=True)
    return Launcher(config, connections)


def test_life(launcher, kazoo_client, tmp_path):
    before = set(threading.enumerate())
    launcher.start()
    path, = kazoo_client.get_children('/zuul/components/launcher')
    assert path.startswith(f'{socket.getfqdn()}-')
    # No scheduler has written a layout.
    assert launcher.component_info.state != 'running'
    # What a process has once, its process has.
    assert not (tmp_path / 'launcher.socket').exists()
    launcher.stop()
    launcher.join()
    assert kazoo_client.get_children('/zuul/components/launcher') == []
    left = {thread for thread in set(threading.enumerate()) - before
            if not thread.daemon}
    assert left == set()


def test_names_differ():
    assert makeName() != makeName()


def test_two_on_one_host(config, launcher, tmp_path):
    """Neither removes what the other has downloaded."""
    download = os.path.join(launcher.own_temp_directory.path, 'image')
    open(download, 'w').close()
    connections = ConnectionRegistry()
    connections.configure(config, providers=True)
    other = Launcher(config, connections)
    for each in (launcher, other):
        each.start()
        assert os.path.exists(download)
    for each in (other, launcher):
        each.stop()
        each.join()
    assert not os.path.exists(download)


@pytest.mark.settings(stop_timeout=0.1)
def test_a_driver_that_hangs_does_not_hold_up_a_stop(launcher, monkeypatch):
    launcher.start()
    begun, may_end = threading.Barrier(3), threading.Event()

    def hang():
        begun.wait(10)
        ended.append(may_end.wait(30))
    later, ended = [], []
    connection = types.SimpleNamespace(connection_name='null')
    endpoint = types.SimpleNamespace(
        canonical_name='null/null', connection=connection, started=True)
    launcher.pools.submit(endpoint, hang, lambda *args: None, 'Hanging')
    launcher.images.uploads.upload_threads.submit('null/null', hang)
    begun.wait(10)
    launcher.pools.submit(endpoint, lambda: later.append(1),
                          lambda *args: None, 'Later')
    launcher.stop()
    launcher.join()
    assert ended == []
    may_end.set()


@pytest.fixture
def lonely(config, zookeeper, tmp_path):
    """:return: a launcher, and the ZooKeeper that only it uses."""
    server = ZooKeeper(tmp_path / 'zookeeper', zookeeper.certificates,
                       ports.freePort(), is_durable=False)
    server.start()
    config['zookeeper']['hosts'] = server.hosts
    connections = ConnectionRegistry()
    connections.configure(config, providers=True)
    launcher = Launcher(config, connections)
    yield launcher, server
    server.stop()


@pytest.mark.settings(stop_timeout=0.1)
@pytest.mark.parametrize('begun', [False, True])
def test_stop_without_zookeeper(findThreads, lonely, monkeypatch, begun):
    """It may go before the stop, or when that has begun."""
    launcher, server = lonely
    client = launcher.zk_client.client
    launcher.start()
    if begun:
        launcher.stop()
    server.stop()
    waitFor(lambda: launcher.zk_client.suspended or launcher.zk_client.lost)
    if not begun:
        # It is not going to get an answer.
        launcher.queue.add(('lock', (
            '/zuul/nodes/nodes/gone', '/zuul/nodes/locks/gone')))
        waitFor(lambda: not launcher.queue.isIdle())

    def end():
        if not begun:
            launcher.stop()
        launcher.join()
    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    ending.join(30)
    assert not ending.is_alive()
    assert client.client_state == 'CLOSED'
    # Otherwise Python would wait for it at its exit.
    assert not client.handler.running
    # It has waited for them only for "stop_timeout".
    waitFor(lambda: not findThreads())
