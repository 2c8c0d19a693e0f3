"""A machine that is known is asked for one of its host keys."""

import pytest

from tests.unit.launcher import test_keyscan
from tests.unit.launcher.test_keyscan import LOG, makeNode
from zuul_nodes.launcher.keyscan import Check

__all__ = ['connects', 'keys', 'makeScanner', 'scanner', 'sshd']

connects = test_keyscan.connects
makeScanner = test_keyscan.makeScanner
scanner = test_keyscan.scanner
sshd = test_keyscan.sshd


@pytest.fixture
def keys(sshd):
    """:return: type -> the host key of that type."""
    return {key.split()[0]: key for key in sshd.keys}


def check(scanner, sshd, *known):
    """:return: the keys that are found."""
    scan = scanner.add('node', makeNode(sshd.port, host_keys=list(known)),
                       LOG, Check)
    assert scanner.next() == ('node', scan)
    return scan.result()


def test_all_are_known(scanner, connects, sshd):
    key, = check(scanner, sshd, *sshd.keys)
    assert key in sshd.keys
    assert len(connects) == 1


@pytest.mark.parametrize('key_type', [
    'ssh-ed25519', 'ecdsa-sha2-nistp256', 'ssh-rsa'])
def test_one_is_known(scanner, connects, sshd, keys, key_type):
    """The machine may show another one first."""
    assert check(scanner, sshd, keys[key_type])[-1] == keys[key_type]
    assert len(connects) <= 2


def test_none_is_known(scanner, connects, sshd):
    key, = check(scanner, sshd)
    assert key in sshd.keys
    assert len(connects) == 1


@pytest.mark.parametrize('key_type, number', [
    ('ssh-ed25519', 1), ('ecdsa-sha2-nistp256', 2), ('ssh-dss', 1)])
def test_another_is_known(scanner, connects, sshd, keys, key_type, number):
    """Also one of a type that it does not have."""
    found = check(scanner, sshd, f'{key_type} AAAA')
    assert found
    assert set(found) <= sshd.keys
    assert len(connects) == number
