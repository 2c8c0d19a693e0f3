"""Hosts with several addresses, and name servers in trouble."""

import socket
import threading
import time

import pytest
from zuul.exceptions import ConnectionTimeoutException

from tests.fixtures.keyscans import LOG, makeNode
from tests.fixtures.names import AGAIN, NAME, UNKNOWN
from tests.fixtures.sshservers import LOOPBACK
from zuul_nodes.drivers.api.bounds import BoundError
from zuul_nodes.launcher.nodes.scanrequests import Check
from zuul_nodes.launcher.providers.lookups import Lookups
from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.process import waitFor

# Nothing listens there, at any port that a test takes.
DEAD = ['127.0.0.2', '::1']


@pytest.fixture
def scanner(makeScanner):
    return makeScanner(retry=0.05)


def scan(scanner, port, *request_class, **attributes):
    """:return: the result of a scan of the host with the name."""
    scanner.add('node', makeNode(port, **{
        'interface_ip': NAME, 'connection_type': 'winrm', **attributes}),
        LOG, *request_class)
    return scanner.next()[1].result()


@pytest.mark.parametrize('addresses', [
    [*DEAD, LOOPBACK], [LOOPBACK, *DEAD]])
def test_each_address_has_its_turn(scanner, names, listen, addresses):
    names.say(addresses)
    assert scan(scanner, listen().port, boot_timeout=10) == []


@pytest.mark.parametrize('request_class', [(), (Check,)])
def test_host_keys_are_read_at_the_address_that_answers(
        scanner, names, sshd, request_class):
    names.say([*DEAD, LOOPBACK])
    keys = scan(scanner, sshd.port, *request_class, connection_type='ssh',
                host_keys=[])
    assert keys
    assert set(keys) <= sshd.keys


def test_addresses_are_tried_again_after_a_pause(
        scanner, names, connects, listen):
    names.say([*DEAD, LOOPBACK])
    port = ports.freePort()
    scanner.add('node', makeNode(
        port, interface_ip=NAME, connection_type='winrm'), LOG)
    waitFor(lambda: len(connects) > 6, 'each is tried again', 30)
    assert [host for host, *_ in connects[:6]] == [*DEAD, LOOPBACK] * 2
    listen(port)
    assert scanner.next()[1].result() == []


def test_an_address_that_swallows_all_leaves_time_for_others(
        scanner, names, listen):
    """Also of the few seconds that a liveness check has."""
    full = listen(address='127.0.0.3')
    # The queue of what it is to accept has one place.
    full.socket.listen(0)
    names.say(['127.0.0.3', LOOPBACK])
    with socket.create_connection(('127.0.0.3', full.port)):
        listen(full.port)
        assert scan(scanner, full.port, boot_timeout=4) == []


@pytest.mark.parametrize('error', [
    AGAIN, UNKNOWN, OSError(5, 'Input/output error')])
def test_a_name_is_looked_up_again(scanner, names, listen, error):
    names.say(error, error, [LOOPBACK])
    assert scan(scanner, listen().port) == []
    assert len(names.asked) == 3


@pytest.mark.parametrize('error', [AGAIN, UNKNOWN])
def test_a_name_without_address_is_an_error_after_boot_timeout(
        scanner, names, error):
    names.say(error)
    start = time.monotonic()
    with pytest.raises(ConnectionTimeoutException, match=(
            f'^Timeout connecting to {NAME} on port 22: {error.strerror}$')):
        scan(scanner, 22, boot_timeout=0.5)
    assert time.monotonic() - start >= 0.5
    assert len(names.asked) > 2


def test_a_name_that_cannot_be_one_is_an_error_at_once(scanner, connects):
    with pytest.raises(UnicodeError):
        scan(scanner, 22, interface_ip='a..b')
    assert not connects


@pytest.fixture
def hanging(names):
    """:return: an Event that a look-up of the name waits for; then it has
        the address of this machine."""
    answered = threading.Event()

    def answer():
        assert answered.wait(30)
        return [LOOPBACK]
    names.say(answer)
    yield answered
    answered.set()


def countLookups():
    return sum(thread.name == f'Lookup-{NAME}'
               for thread in threading.enumerate())


def test_a_look_up_has_a_timeout_of_its_own(makeScanner, hanging, listen):
    """A scan that waits for a name gives its turn to others."""
    scanner = makeScanner(max_active=1, names=Lookups(timeout=0.1))
    port = listen().port
    scanner.add('slow', makeNode(
        port, interface_ip=NAME, connection_type='winrm'), LOG)
    scanner.add('node', makeNode(port, connection_type='winrm'), LOG)
    assert scanner.next()[0] == 'node'
    hanging.set()
    key, slow = scanner.next()
    assert (key, slow.result()) == ('slow', [])


def test_a_name_that_hangs_has_one_thread(makeScanner, hanging):
    scanner = makeScanner(names=Lookups(timeout=0.05))
    for key in range(3):
        scanner.add(key, makeNode(22, interface_ip=NAME, boot_timeout=0.5),
                    LOG)
    for _ in range(3):
        with pytest.raises(ConnectionTimeoutException, match=(
                r'no answer from a name server in 0\.05 seconds')):
            scanner.next()[1].result()
    assert countLookups() == 1
    hanging.set()
    waitFor(lambda: not countLookups(), 'its thread ends', 10)


def refuse(address):
    """:return: a function that refuses one address, for a scanner."""
    def checkAddress(node, found):
        if found == address:
            raise BoundError(f'{found} is refused')
    return checkAddress


@pytest.mark.parametrize('addresses', [
    ['127.0.0.2', LOOPBACK], [LOOPBACK, '127.0.0.2']])
def test_an_address_out_of_bounds_is_never_connected_to(
        makeScanner, names, connects, listen, addresses):
    listener = listen(address='127.0.0.2')
    names.say(addresses)
    scanner = makeScanner(checkAddress=refuse('127.0.0.2'))
    scanner.add('node', makeNode(
        listener.port, interface_ip=NAME, connection_type='winrm'), LOG)
    waitFor(lambda: len(connects) > 2, 'it is tried again', 30)
    listen(listener.port)
    assert scanner.next()[1].result() == []
    assert {host for host, *_ in connects} == {LOOPBACK}
    assert listener.isQuiet()


def test_a_host_out_of_bounds_is_an_error(makeScanner, names, connects):
    names.say(['127.0.0.2'])
    scanner = makeScanner(checkAddress=refuse('127.0.0.2'))
    with pytest.raises(BoundError, match=r'127\.0\.0\.2 is refused'):
        scan(scanner, 22)
    assert not connects


def test_an_error_of_the_name_server_is_no_verdict_on_bounds(
        makeScanner, names, listen):
    names.say(AGAIN, [LOOPBACK])
    scanner = makeScanner(checkAddress=refuse('127.0.0.2'))
    assert scan(scanner, listen().port) == []


def test_look_up_has_each_address_once(names):
    names.say([LOOPBACK, '127.0.0.2', LOOPBACK])
    assert Lookups().find(NAME).result(timeout=10) == [
        (socket.AF_INET, (LOOPBACK, 0)), (socket.AF_INET, ('127.0.0.2', 0))]
