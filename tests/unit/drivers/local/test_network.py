"""Nodes without a network, which Zuul reaches all the same."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys

import pytest

from tests.fixtures.processes import hasEnded, withChildren
from tests.fixtures.rootfs import PACKAGES, PYTHON, makeArchive
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.local.sites import TIMEOUT, ssh

NODE = '0123456789abcdef0123456789abcdef'
NAME = f'np{NODE}'
# What connects to an address, and says whether it could.
CONNECT = """
import socket, sys
family, address = eval(sys.argv[1])
sock = socket.socket(getattr(socket, family))
sock.settimeout(5)
print(sock.connect_ex(address))
"""


@pytest.fixture(scope='session')
def archive(tmp_path_factory):
    return makeArchive(
        tmp_path_factory.mktemp('network') / 'root.tar', PACKAGES + PYTHON)


@pytest.fixture
def makeNetworkSite(makeSite, options):
    def makeNetworkSite(network='none'):
        options['network'] = network
        return makeSite()
    return makeNetworkSite


@pytest.fixture
def isolated(makeNetworkSite):
    return makeNetworkSite()


@pytest.fixture
def listeners():
    """:return: families and addresses of the machine where something
        listens that only its network namespace keeps apart."""
    found = []
    with contextlib.ExitStack() as stack:
        for family, address in (
                ('AF_INET', ('127.0.0.1', 0)), ('AF_INET', ('0.0.0.0', 0)),
                ('AF_INET6', ('::1', 0)),
                ('AF_UNIX', f'\0zuul-nodes-{os.getpid()}')):
            sock = stack.enter_context(
                socket.socket(getattr(socket, family)))
            try:
                sock.bind(address)
            except OSError:
                # A machine without IPv6.
                assert family == 'AF_INET6'
                continue
            sock.listen()
            name = sock.getsockname()
            found.append((family, name.decode() if isinstance(
                name, bytes) else name))
        yield found


def run(key, instance, command):
    result = ssh(key, instance, command)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def connect(key, instance, listeners):
    """:return: whether a job could connect to each."""
    return [run(key, instance, 'python3 -c {} {}'.format(
        *map(quote, (CONNECT, repr(listener))))) == '0'
        for listener in listeners]


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def test_a_job_cannot_connect_to_the_machine(isolated, key, listeners):
    instance = isolated.create(isolated.makeNode(NODE))
    assert run(key, instance, 'id -un') == 'zuul'
    assert connect(key, instance, listeners) == [False] * len(listeners)
    # There is nothing but loopback.
    assert [line.split(':')[0].strip() for line in run(
        key, instance, 'cat /proc/net/dev').splitlines()[2:]] == ['lo']
    assert run(key, instance, 'cat /proc/net/route').count('\n') == 0


def test_by_default_a_job_can(makeSite, key, listeners):
    site = makeSite()
    instance = site.create(site.makeNode(NODE))
    assert connect(key, instance, listeners) == [True] * len(listeners)


def test_nodes_cannot_connect_to_each_other(isolated, key):
    first = isolated.create(isolated.makeNode(NODE))
    second = isolated.create(isolated.makeNode('1' * 32))
    addresses = [('AF_INET', ('127.0.0.1', instance.connection_port))
                 for instance in (first, second)]
    # To its own sshd, each can.
    assert connect(key, first, addresses) == [True, False]
    assert connect(key, second, addresses) == [False, True]


def test_much_goes_through_in_both_directions(isolated, key):
    instance = isolated.create(isolated.makeNode(NODE))
    size = 20 << 20
    assert run(key, instance, f'head -c {size} /dev/zero | tee /file | '
               'sha256sum').split()[0] == hashlib.sha256(
                   bytes(size)).hexdigest()
    back = subprocess.run(
        ['ssh', '-F', 'none', '-i', key, '-p', str(instance.connection_port),
         '-o', f'UserKnownHostsFile={key.with_name("known_hosts")}',
         '-o', 'BatchMode=yes', 'zuul@127.0.0.1', 'cat; cat /file'],
        input=bytes(size), capture_output=True, timeout=TIMEOUT, check=True)
    assert back.stdout == bytes(2 * size)


def test_who_hangs_up_leaves_nothing(isolated):
    """Neither a connection nor a process of sshd's."""
    instance = isolated.create(isolated.makeNode(NODE))

    def count():
        return len(withChildren(isolated.getProcesses(NAME)))

    before = count()
    clients = [socket.create_connection(
        ('127.0.0.1', instance.connection_port), TIMEOUT) for _ in range(3)]
    for client in clients:
        assert client.recv(4) == b'SSH-'
    assert count() > before
    # One says good-bye, one is reset.
    clients[0].close()
    clients[1].setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    clients[1].close()
    clients[2].shutdown(socket.SHUT_WR)
    waitFor(lambda: count() == before)
    assert clients[2].recv(1 << 12).endswith(b'\n')
    clients[2].close()


def findForwarder(site):
    process, = (process for process in site.getProcesses(NAME)
                if process.name().startswith('python'))
    return process


def getSockets(process):
    """:return: the numbers of the sockets that a process has."""
    found = set()
    for path in pathlib.Path(f'/proc/{process.pid}/fd').iterdir():
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(path)
            if target.startswith('socket:'):
                found.add(target[len('socket:['):-1])
    return found


def test_a_node_has_no_socket_of_the_machine(isolated, key):
    """One that it has, it could connect to anything of the machine's."""
    instance = isolated.create(isolated.makeNode(NODE))
    with socket.create_connection(
            ('127.0.0.1', instance.connection_port), TIMEOUT) as client:
        assert client.recv(4) == b'SSH-'
        machine = {line.split()[9] for line in pathlib.Path(
            '/proc/self/net/tcp').read_text().splitlines()[1:]}
        forwarder = findForwarder(isolated)
        # The listening one, and that of the connection.
        assert len(getSockets(forwarder) & machine) == 2
        inner = forwarder.children(recursive=True)
        assert any(getSockets(process) for process in inner)
        for process in inner:
            assert not getSockets(process) & machine


def test_it_is_gone_with_its_forwarder(isolated):
    """A node that can't be reached is not kept."""
    isolated.create(isolated.makeNode(NODE))
    forwarder = findForwarder(isolated)
    inner = forwarder.children(recursive=True)
    assert inner
    forwarder.kill()
    waitFor(lambda: all(map(hasEnded, inner)), lambda: inner, TIMEOUT)


def test_another_launcher_finds_it(isolated, makeNetworkSite, key, directory):
    created = isolated.create(isolated.makeNode(NODE))
    isolated.end()
    # Whatever new nodes have there.
    site = makeNetworkSite('host')
    instance, = site.endpoint.listInstances()
    assert instance.connection_port == created.connection_port
    assert run(key, instance, 'id -un') == 'zuul'
    site.delete(site.makeNode(NODE))
    assert not site.getProcesses(NAME)
    assert os.listdir(directory / 'local/nodes') == []


def test_a_machine_that_does_not_allow_it(options):
    """The kernel refuses it; no node is made without isolation."""
    # In the namespace where that is so, anybody is root.
    options |= {'network': 'none', 'user': 'root'}
    program = (
        'import json, sys\n'
        'from zuul_nodes.drivers.local import LocalDriver\n'
        'connection = LocalDriver().getConnection("house", '
        'json.loads(sys.argv[1]))\n'
        'try:\n'
        '    LocalDriver.adapter_class(connection).start()\n'
        'except Exception as error:\n'
        '    print(error.failure, error)\n')
    def start(limit):
        return subprocess.run(
            [shutil.which('unshare'), '--user', '--map-root-user', 'sh', '-c',
             f'echo {limit} > /proc/sys/user/max_net_namespaces && '
             'exec "$@"', 'sh', sys.executable, '-c', program,
             json.dumps(options)],
            capture_output=True, text=True, timeout=TIMEOUT, check=True,
            env={**os.environ, 'PYTHONPATH': os.getcwd()}).stdout

    assert start(100) == ''
    said = start(0)
    assert said.startswith(
        'permanent The connection "house" has network=none in zuul.conf. ')
    assert 'does not allow nodes to have a network namespace' in said
    assert 'bwrap: ' in said
    assert not os.path.exists(options['directory'])
