"""A machine that is known is asked for one of its host keys."""

import pytest

from tests.fixtures.keyscans import LOG, makeNode
from zuul_nodes.launcher.nodes.scanrequests import Check


@pytest.fixture
def keys_by_type(sshd):
    """:return: type -> the host key of that type."""
    return {key.split()[0]: key for key in sshd.keys}


def check(scanner, sshd, *known):
    """:return: the keys that are found."""
    scan = scanner.add('node', makeNode(sshd.port, host_keys=list(known)),
                       LOG, Check)
    assert scanner.next() == ('node', scan)
    return scan.result()


def test_check_takes_any_host_key_that_is_known(scanner, connects, sshd):
    key, = check(scanner, sshd, *sshd.keys)
    assert key in sshd.keys
    assert len(connects) == 1


@pytest.mark.parametrize('key_type', [
    'ssh-ed25519', 'ecdsa-sha2-nistp256', 'ssh-rsa'])
def test_check_asks_for_the_host_key_that_is_known(
        scanner, connects, sshd, keys_by_type, key_type):
    """The machine may show another one first."""
    assert check(scanner, sshd, keys_by_type[key_type])[-1] == (
        keys_by_type[key_type])
    assert len(connects) <= 2


def test_check_takes_any_host_key_when_none_is_known(scanner, connects, sshd):
    key, = check(scanner, sshd)
    assert key in sshd.keys
    assert len(connects) == 1


@pytest.mark.parametrize('key_type, number', [
    ('ssh-ed25519', 1), ('ecdsa-sha2-nistp256', 2), ('ssh-dss', 1)])
def test_check_finds_other_host_keys_than_the_known_one(
        scanner, connects, sshd, key_type, number):
    """Also if the machine has no host key of the known type."""
    found = check(scanner, sshd, f'{key_type} AAAA')
    assert found
    assert set(found) <= sshd.keys
    assert len(connects) == number
