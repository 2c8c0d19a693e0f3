"""Many machines are scanned at once, as soon as they answer."""

import collections
import contextlib
import errno
import gc
import os
import pathlib
import queue
import socket
import threading
import time
import types

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.exceptions import ConnectionTimeoutException
from zuul.launcher import server

from tests.fixtures.keyscans import LOG, Scanner, makeNode
from tests.fixtures.sshservers import LOOPBACK
from zuul_nodes.launcher.nodes import hostkeyscan
from zuul_nodes.launcher.nodes.hostkeyscan import HostKeyScanner, needsScan
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.process import waitFor


@pytest.mark.parametrize('connection_type', ['ssh', 'network_cli'])
def test_scan_finds_all_host_keys(scanner, sshd, connection_type):
    scan = scanner.add('node', makeNode(
        sshd.port, connection_type=connection_type), LOG)
    assert scan.host_key_checking
    assert scan.gather_hostkeys
    assert scanner.next() == ('node', scan)
    assert set(scan.result()) == sshd.keys
    assert scanner.length() == 0


def test_scanner_finds_host_keys_of_many_nodes(scanner, sshd):
    scans = {key: scanner.add(key, makeNode(sshd.port), LOG)
             for key in range(20)}
    assert dict(scanner.next() for _ in scans) == scans
    for scan in scans.values():
        assert set(scan.result()) == sshd.keys


@pytest.mark.parametrize('attributes', [
    {'interface_ip': 'localhost'},
    # Only an IPv4 address of itself.
    {'interface_ip': '::ffff:127.0.0.1'},
])
def test_scan_accepts_names_and_mapped_addresses(
        scanner, sshd, attributes, monkeypatch):
    lookup = socket.getaddrinfo
    monkeypatch.setattr(
        socket, 'getaddrinfo', lambda host, port, *args, **kwargs: lookup(
            host, port, 0 if ':' in host else socket.AF_INET,
            socket.SOCK_STREAM))
    scan = scanner.add('node', makeNode(sshd.port, **attributes), LOG)
    scanner.next()
    assert set(scan.result()) == sshd.keys


def test_scan_connects_over_ipv6(scanner, listen):
    try:
        listener = listen(family=socket.AF_INET6, address='::1')
    except OSError:
        pytest.skip('needs IPv6')
    scan = scanner.add('node', makeNode(
        listener.port, interface_ip='::1', connection_type='winrm'), LOG)
    scanner.next()
    assert scan.result() == []


def test_scan_without_ssh_needs_a_connection_only(scanner, listen):
    listener = listen()
    scan = scanner.add(
        'node', makeNode(listener.port, connection_type='winrm'), LOG)
    assert not scan.gather_hostkeys
    scanner.next()
    assert scan.result() == []
    listener.accept()
    assert listener.isLeft()
    assert listener.isQuiet()


@pytest.mark.parametrize('attributes', [
    {'host_key_checking': False}, {'host_key_checking': None},
    {'connection_port': None}, {'connection_port': 0},
    {'interface_ip': None}, {'interface_ip': ''}])
def test_node_without_check_or_address_is_not_scanned(
        scanner, connects, attributes):
    node = makeNode(22, **attributes)
    assert not needsScan(node)
    scan = scanner.add('node', node, LOG)
    scanner.next()
    assert scan.result() == []
    assert not connects


def test_node_with_check_and_address_needs_a_scan():
    assert needsScan(makeNode(22))
    assert needsScan(makeNode(5986, connection_type='winrm'))
    node = StaticProviderNode()
    node._set(host_key_checking=True, interface_ip='192.0.2.1')
    assert needsScan(node)


def test_scan_is_retried_when_its_connection_is_refused(
        scanner, connects, sshd, listen, monkeypatch):
    scanner.retry = 0.1
    port = ports.freePort()
    scan = scanner.add('node', makeNode(port, connection_type='winrm'), LOG)
    waitFor(lambda: len(connects) > 2, 'it is tried again', 30)
    assert not scan.complete
    listen(port)
    scanner.next()
    assert scan.result() == []
    # Between two attempts there is nothing to do.
    assert len(scanner.timeouts) < 4 * len(connects)


def test_scan_is_retried_when_there_is_no_route(
        scanner, connects, listen, monkeypatch):
    scanner.retry = 0.1

    class Socket(server.NodescanRequest._socket_class):
        def connect(self, address):
            if len(connects) < 2:
                connects.append(address)
                raise OSError(errno.ENETUNREACH, 'Network is unreachable')
            super().connect(address)

    monkeypatch.setattr(server.NodescanRequest, '_socket_class', Socket)
    scan = scanner.add(
        'node', makeNode(listen().port, connection_type='winrm'), LOG)
    scanner.next()
    assert scan.result() == []
    assert len(connects) == 3


def test_scan_fails_after_boot_timeout(scanner, connects, listen, monkeypatch):
    scanner.retry = 0.1
    silent, full = listen(), listen()
    # The queue of what it is to accept has one place.
    full.socket.listen(0)
    with socket.create_connection((LOOPBACK, full.port)):
        for port in (ports.freePort(), silent.port, full.port):
            start = time.monotonic()
            scan = scanner.add('node', makeNode(port, boot_timeout=0.5), LOG)
            scanner.next()
            assert time.monotonic() - start >= 0.5
            with pytest.raises(
                    ConnectionTimeoutException,
                    match=f'Timeout connecting to 127.0.0.1 on port {port}'):
                scan.result()
    silent.accept()
    assert silent.isLeft()
    assert scanner.length() == 0


def test_scan_connects_again_when_an_attempt_takes_too_long(
        scanner, connects, listen, monkeypatch):
    """A packet may be lost where a new connection gets through."""
    full = listen()
    full.socket.listen(0)
    with socket.create_connection((LOOPBACK, full.port)):
        scanner.add('node', makeNode(full.port), LOG)
        waitFor(lambda: scanner.timeouts[-1] and scanner.timeouts[-1] > 9,
                'it waits for the connection', 30)
        assert len(connects) == 1
        clock = types.SimpleNamespace(
            monotonic=lambda monotonic=time.monotonic: monotonic() + 10,
            time=time.time)
        for module in (hostkeyscan, server):
            monkeypatch.setattr(module, 'time', clock)
        scanner._sockets.wake()
        waitFor(lambda: len(connects) > 1, 'it is tried again', 30)


def test_scan_fails_when_its_machine_goes_away_again(
        scanner, connects, sshd, listen, monkeypatch):
    """A first answer does not lead to a hot loop, nor to a scan without
    end."""
    listener = listen()
    scan = scanner.add('node', makeNode(listener.port, boot_timeout=1.5), LOG)
    listener.accept()
    listener.socket.close()
    forward(listener.connections[0], sshd.port)
    scanner.next()
    with pytest.raises(ConnectionTimeoutException):
        scan.result()
    assert 1 < len(connects) < 6
    assert len(scanner.timeouts) < 30


def test_scan_goes_on_when_its_machine_comes_back(
        scanner, connects, sshd, listen, monkeypatch):
    scanner.retry = 0.1
    listener = listen()
    scan = scanner.add('node', makeNode(listener.port), LOG)
    listener.accept()
    listener.socket.close()
    forward(listener.connections[0], sshd.port)
    waitFor(lambda: len(connects) > 3, 'it is tried again', 30)
    listener = listen(listener.port)
    while not scan.complete:
        with contextlib.suppress(TimeoutError):
            listener.socket.settimeout(0.1)
            listener.accept()
            forward(listener.connections[-1], sshd.port)
    assert set(scan.result()) == sshd.keys


def forward(connection, port):
    """Connect a connection to a port, both ways."""
    target = socket.create_connection((LOOPBACK, port))
    for source, sink in ((connection, target), (target, connection)):
        threading.Thread(target=copy, args=(source, sink)).start()


def copy(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize('end', ['answer', 'timeout', 'cancel'])
def test_slow_name_lookup_does_not_delay_other_scans(
        scanner, listen, monkeypatch, end):
    lookup, answer = socket.getaddrinfo, threading.Event()

    def getaddrinfo(host, port, *args, **kwargs):
        if host == 'slow.example.com':
            answer.wait(30)
            host = LOOPBACK
        return lookup(host, port, *args, **kwargs)

    monkeypatch.setattr(socket, 'getaddrinfo', getaddrinfo)
    port = listen().port
    slow = scanner.add('slow', makeNode(
        port, interface_ip='slow.example.com', connection_type='winrm',
        boot_timeout=1 if end == 'timeout' else 60), LOG)
    scanner.add('node', makeNode(port, connection_type='winrm'), LOG)
    assert scanner.next()[0] == 'node'
    if end == 'cancel':
        scanner.cancel('slow')
        answer.set()
        scanner.add('node', makeNode(port, connection_type='winrm'), LOG)
        assert scanner.next()[0] == 'node'
        assert not slow.complete
    elif end == 'answer':
        answer.set()
        assert scanner.next() == ('slow', slow)
        assert slow.result() == []
    else:
        assert scanner.next() == ('slow', slow)
        answer.set()
        with pytest.raises(ConnectionTimeoutException):
            slow.result()
    waitFor(lambda: not any(thread.name.startswith('Lookup')
                            for thread in threading.enumerate()),
            'its thread ends', 10)


def test_scanner_connects_to_many_nodes_at_once(makeScanner, listen):
    """All connections are open at the same time."""
    scanner, listener = makeScanner(max_active=200), listen()
    for key in range(200):
        scanner.add(key, makeNode(listener.port), LOG)
    listener.accept(200)
    assert scanner.length() == 200
    for key in range(200):
        scanner.cancel(key)
    assert listener.isLeft()


def test_scanner_completes_many_scans(scanner, listen):
    listener = listen()
    for key in range(200):
        scanner.add(
            key, makeNode(listener.port, connection_type='winrm'), LOG)
    assert {scanner.next()[0] for _ in range(200)} == set(range(200))
    assert scanner.length() == 0


def test_scanner_connects_to_no_more_nodes_than_it_may(makeScanner, listen):
    scanner, listener = makeScanner(max_active=3), listen()
    for key in range(8):
        scanner.add(key, makeNode(listener.port), LOG)
    listener.accept(3)
    assert listener.isQuiet()
    # One of them is not there, another one waits for its first turn.
    for key in (0, 1, 7):
        scanner.cancel(key)
    listener.accept(2)
    assert listener.isQuiet()
    assert scanner.length() == 5
    for key in range(2, 5):
        scanner.cancel(key)
    listener.accept(2)
    assert listener.isQuiet()


def test_scans_that_get_no_answer_do_not_delay_others(
        makeScanner, connects, listen):
    """They give up their turn after each attempt."""
    scanner, listener = makeScanner(max_active=1), listen()
    for key in range(3):
        scanner.add(key, makeNode(ports.freePort()), LOG)
    for key in range(3, 6):
        scanner.add(
            key, makeNode(listener.port, connection_type='winrm'), LOG)
    assert [scanner.next()[0] for _ in range(3)] == [3, 4, 5]
    assert scanner.length() == 3
    # Each of the others had its turn, one after the other.
    first = [port for _, port in connects[:6]]
    assert len(set(first[:3])) == 3
    assert first[3:] == [listener.port] * 3


def test_wait_for_a_turn_does_not_count_against_boot_timeout(
        makeScanner, listen):
    scanner, listener = makeScanner(max_active=1), listen()
    start = time.monotonic()
    for key in range(2):
        scanner.add(key, makeNode(listener.port, boot_timeout=0.5), LOG)
    assert [scanner.next()[0] for _ in range(2)] == [0, 1]
    assert time.monotonic() - start >= 1


def test_cancelled_scan_is_never_completed(scanner, listen):
    listener = listen()
    scan = scanner.add('node', makeNode(listener.port), LOG)
    listener.accept()
    assert scanner.add('node', makeNode(listener.port), LOG) is scan
    scanner.cancel('node')
    assert scanner.length() == 0
    assert listener.isLeft()
    again = scanner.add(
        'node', makeNode(listener.port, connection_type='winrm'), LOG)
    # That of the one that was cancelled would have come before.
    assert scanner.next() == ('node', again)
    assert again is not scan
    assert not scan.complete
    scanner.cancel('node')
    scanner.cancel('unknown')


def test_scanner_sleeps_while_there_is_nothing_to_do(scanner, listen):
    listener = listen()
    scanner.add('node', makeNode(listener.port), LOG)
    listener.accept()
    waitFor(lambda: scanner.timeouts[-1] and scanner.timeouts[-1] > 50,
            'it waits for the banner', 10)
    count = len(scanner.timeouts)
    assert listener.isQuiet()
    assert len(scanner.timeouts) == count
    scanner.cancel('node')
    waitFor(lambda: scanner.timeouts[-1] is None, 'it waits', 10)
    assert count < len(scanner.timeouts) < count + 5


def test_stopped_scanner_leaves_nothing_open(listen, sshd):
    """No connection, thread, pipe or file is left."""
    listener = listen()
    free_port = ports.freePort()
    files, threads = getOpenFiles(), set(threading.enumerate())
    scanner = Scanner(max_active=5)
    scanner.start()
    scanner.add('keys', makeNode(sshd.port), LOG)
    scanner.next()
    for key in range(8):
        scanner.add(key, makeNode(listener.port), LOG)
    scanner.add('refused', makeNode(free_port), LOG)
    listener.accept(5)
    scanner.cancel(0)
    listener.accept()
    scanner.stop()
    scanner.join()
    assert listener.isLeft()
    for connection in listener.connections:
        connection.close()
    assert scanner.results.empty()
    # Late ones do no harm.
    scanner.add('late', makeNode(listener.port), LOG)
    scanner.cancel(1)
    scanner.stop()
    scanner.join()
    waitFor(lambda: set(threading.enumerate()) <= threads,
            'the threads end', 10)
    # Two ends of one pipe; it goes with the scanner.
    assert list((getOpenFiles() - files).values()) == [2]
    del scanner
    gc.collect()
    assert not getOpenFiles() - files


def getOpenFiles():
    """:return: a Counter: what is open, as the kernel names it."""
    names = collections.Counter()
    for path in pathlib.Path('/proc/self/fd').iterdir():
        # The directory itself is open only as long as it is listed.
        with contextlib.suppress(FileNotFoundError):
            names[os.readlink(path)] += 1
    return names


def test_scanner_that_was_never_started_can_be_stopped():
    scanner = Scanner()
    scanner.add('node', makeNode(22), LOG)
    scanner.stop()
    scanner.join()


def test_error_after_a_scan_does_not_stop_the_scanner(caplog, listen):
    keys = queue.Queue()

    def done(key, scan):
        keys.put(key)
        raise ValueError('what follows')

    scanner = HostKeyScanner(done)
    scanner.start()
    port = listen().port
    for key in ('first', 'second'):
        scanner.add(key, makeNode(port, connection_type='winrm'), LOG)
        assert keys.get(timeout=10) == key
    scanner.stop()
    scanner.join()
    assert 'Error after the scan of first' in caplog.text
    assert 'ValueError: what follows' in caplog.text


def test_error_in_a_scan_is_its_result(scanner, listen):
    port = listen().port
    scanner.add('bad', makeNode(port, boot_timeout=None), LOG)
    key, scan = scanner.next()
    assert key == 'bad'
    with pytest.raises(TypeError):
        scan.result()
    scanner.add('node', makeNode(port, connection_type='winrm'), LOG)
    assert scanner.next()[0] == 'node'


class Broken(hostkeyscan.Request):
    """One that can't even be given up."""

    def cleanup(self):
        raise RuntimeError('no end')


def test_error_in_the_cleanup_of_a_scan_is_its_result(scanner, listen, caplog):
    """Other scans go on."""
    listener = listen()
    scanner.add('given up', makeNode(listener.port), LOG, Broken)
    listener.accept()
    scanner.cancel('given up')
    scanner.add('done', makeNode(listener.port, connection_type='winrm'),
                LOG, Broken)
    key, scan = scanner.next()
    assert key == 'done'
    with pytest.raises(RuntimeError, match='no end'):
        scan.result()
    scanner.add('node', makeNode(listener.port, connection_type='winrm'), LOG)
    assert scanner.next()[0] == 'node'
    assert caplog.text.count('RuntimeError: no end') >= 2


@pytest.mark.parametrize('timeout', [2**31 // 1000 + 60, 10**30])
def test_scanner_accepts_absurd_boot_timeout(scanner, listen, timeout):
    """Others are scanned while one node has decades to answer."""
    listener = listen()
    scanner.add('patient', makeNode(listener.port, boot_timeout=timeout), LOG)
    listener.accept()
    waitFor(lambda: scanner.timeouts[-1] and scanner.timeouts[-1] > 50,
            'it waits for the banner', 10)
    scanner.add('node', makeNode(listener.port, connection_type='winrm'), LOG)
    assert scanner.next()[0] == 'node'
    assert scanner.length() == 1
