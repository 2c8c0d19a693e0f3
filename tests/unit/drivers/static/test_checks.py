"""Static nodes are asked whether they are what the configuration says."""

import socket

import pytest

from tests.fixtures.hostkeys import HostKey
from tests.fixtures.names import AGAIN, NAME
from tests.fixtures.sshservers import SSHServer
from tests.fixtures.staticnodes import makeConfig, makeProvider
from zuul_nodes.drivers.static import checks
from zuul_nodes.quickstart import ports


@pytest.fixture
def host(tmp_path):
    """:return: a real sshd, and its key."""
    server = SSHServer(tmp_path / 'host')
    server.start()
    yield server
    server.stop()


def ask(*nodes, **image):
    """:return: (subject, name) -> what is wrong."""
    provider = makeProvider(makeConfig(*nodes, **image))
    return {(check.subject, check.name): check.ask()
            for check in provider.getChecks()}


def entry(port, **attributes):
    return {'name': '127.0.0.1', 'label': 'desk', 'connection-port': port,
            **attributes}


def askOne(port, **attributes):
    """:return: what is wrong with the machine."""
    found = ask(entry(port, **attributes))
    assert found.pop(('entries', '127.0.0.1')) == ''
    (key, said), = found.items()
    assert key == ('machine', f'127.0.0.1 port {port}')
    return said


def test_nothing_is_wrong(host):
    assert askOne(host.port) == ''


def test_one_of_its_keys_is_enough(host, tmp_path):
    other = HostKey(tmp_path / 'other', 'ecdsa')
    assert askOne(host.port, **{
        'host-key': [other.line, host.key.line]}) == ''


def test_another_key(host, tmp_path):
    other = HostKey(tmp_path / 'other')
    said = askOne(host.port, **{'host-key': other.line})
    assert said.startswith(
        'The machine presents other host keys than "host-key" lists: '
        f'ssh-ed25519 {host.key.fingerprint}. ')


@pytest.mark.parametrize('line', [
    'ssh-dss AAAAB3NzaC1kc3MAAAAC', None])
def test_no_key_of_the_type(host, tmp_path, line):
    line = line or HostKey(tmp_path / 'other', 'rsa').line
    said = askOne(host.port, **{'host-key': line})
    assert said.startswith('The machine does not present a host key of the '
                           f'type {line.split()[0]}: ')


def test_nobody_listens():
    port = ports.freePort()
    assert f'Unable to connect to 127.0.0.1 on port {port}: ' in askOne(port)


def test_check_fails_when_no_ssh_server_listens(monkeypatch):
    monkeypatch.setattr(checks, 'TIMEOUT', 0.2)
    with socket.create_server(('127.0.0.1', 0)) as server:
        port = server.getsockname()[1]
        assert askOne(port).startswith(
            'The machine does not present any host key: ')
        # That is all that is asked of others.
        for connection_type in ('winrm', 'psrp', 'netconf'):
            assert askOne(port, **{'connection-type': connection_type}) == ''


@pytest.mark.parametrize('addresses', [
    # "hosts" has 127.0.0.1 and nothing else.
    ['127.0.0.2', '127.0.0.1'], ['127.0.0.1', '127.0.0.2']])
def test_each_address_of_a_name_is_tried(names, host, addresses):
    names.say(addresses)
    assert set(ask(entry(host.port, name=NAME)).values()) == {''}


def test_check_says_what_the_name_server_says(names):
    names.say(AGAIN)
    said, = filter(None, ask(entry(22, name=NAME)).values())
    assert said.startswith(f'Unable to connect to {NAME} on port 22: ')
    assert AGAIN.strerror in said


def test_check_names_the_bound_when_no_address_is_within(names):
    names.say(['127.0.0.2', '127.0.0.3'])
    said, = filter(None, ask(entry(22, name=NAME)).values())
    assert said.startswith(
        f'Unable to connect: the node "{NAME}", at the address 127.0.0.2, ')


def test_node_without_port_is_not_asked():
    assert ask(entry(1, **{'connection-type': 'local'})) == {
        ('entries', '127.0.0.1'): ''}


def test_node_without_host_key_checking_is_not_asked():
    assert ask(entry(1, **{'host-key-checking': False})) == {
        ('entries', '127.0.0.1'): ''}


def test_duplicates():
    found = ask(entry(1, **{'host-key-checking': False}),
                entry(1, **{'host-key-checking': False}),
                entry(2, **{'host-key-checking': False}))
    assert found['entries', '127.0.0.1'].startswith(
        '3 entries have this address, but only 2 of them can be used')
