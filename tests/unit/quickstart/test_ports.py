import socket

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
    port = ports.freePort()
    assert port in ports.FREE_PORTS
    assert ports.freePort(port) == port


def test_no_port_is_left(monkeypatch):
    with socket.create_server(('127.0.0.1', 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setattr(ports, 'FREE_PORTS', range(port, port + 1))
        with pytest.raises(UserError, match=f'no free port from {port}'):
            ports.freePort()
