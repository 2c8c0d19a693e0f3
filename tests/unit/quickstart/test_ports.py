import random
import socket
import subprocess
import sys

import pytest

from zuul_nodes.exceptions import UserError
from zuul_nodes.quickstart import ports


def test_a_port_with_a_listener_is_not_free():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        assert not ports.isFree(port)
        assert ports.freePort(port) != port
    assert ports.isFree(port)


def test_a_listener_on_all_addresses_counts():
    with socket.create_server(('', 0)) as listener:
        assert not ports.isFree(listener.getsockname()[1])


def test_the_preferred_port_is_taken_if_free():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
    assert ports.freePort(port) == port


def test_a_port_is_found_once():
    """Also while nothing listens there: a service may begin later."""
    found = ports.freePorts(3)
    # As pytest-randomly does before each test.
    random.seed(1)
    with pytest.raises(UserError, match=f'no free port from {found[0]}'):
        ports.freePorts(1, range(found[0], found[0] + 1))
    assert ports.isFree(found[0])


def test_a_port_that_another_process_has_found_is_free_when_that_has_ended():
    other = subprocess.Popen(
        [sys.executable, '-c', 'from zuul_nodes.quickstart import ports\n'
         'print(ports.freePort(), flush=True)\ninput()'],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with other:
        port = int(other.stdout.readline())
        with pytest.raises(UserError):
            ports.freePorts(1, range(port, port + 1))
        other.kill()
    assert ports.freePort(port) == port


def test_no_port_is_left():
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(UserError, match=f'no free port from {port}'):
            ports.freePorts(1, range(port, port + 1))
