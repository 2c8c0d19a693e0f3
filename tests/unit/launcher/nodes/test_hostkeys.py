"""What a scan has found is compared with what is known of a machine."""

import logging
import re
import types

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.exceptions import ConnectionTimeoutException, LaunchKeyscanException

from zuul_nodes.launcher.nodes.hostkeys import (
    checkHostKeys,
    getExpectedHostKeys,
)

State = StaticProviderNode.State


def makeNode(host_keys=(), **attributes):
    node = StaticProviderNode()
    node._set(uuid='node', provider='desks', interface_ip='192.0.2.1',
              host_keys=list(host_keys), **attributes)
    return node


class Scan:
    """One that has come to an end."""

    log = logging.getLogger('scan')

    def __init__(self, found, gather_hostkeys=True):
        self.found = found
        self.host_key_checking = True
        self.gather_hostkeys = gather_hostkeys

    def result(self):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


def test_expected_host_key_that_is_found_is_recorded(keys):
    first, second = keys
    scan = Scan([first.recorded, second.recorded])
    assert checkHostKeys(makeNode(), scan, [second.line]) == [second.recorded]


def test_host_key_that_is_not_expected_is_refused(keys, caplog):
    first, second = keys
    node = makeNode([first.recorded])
    with pytest.raises(LaunchKeyscanException,
                       match=re.escape(second.fingerprint)):
        checkHostKeys(node, Scan([second.recorded]), [first.line])
    assert node.host_keys == [first.recorded]
    message, = caplog.messages
    assert message == (
        'Not using node node at 192.0.2.1 port 22 of provider desks: '
        f'expected the host key ssh-ed25519 {first.fingerprint}; '
        f'found ssh-ed25519 {second.fingerprint}')


def test_any_host_key_is_recorded_when_none_is_expected(keys):
    first, second = keys
    node = makeNode([first.recorded])
    assert checkHostKeys(node, Scan([second.recorded]), []) == [
        second.recorded]
    # Nothing was shown: what the record has stays.
    assert checkHostKeys(node, Scan([]), []) == [first.recorded]


def test_scan_without_host_keys_keeps_the_recorded_ones(keys):
    node = makeNode([keys[0].recorded])
    for scan in (None, Scan([], gather_hostkeys=False)):
        assert checkHostKeys(node, scan, [keys[1].line]) == node.host_keys


@pytest.mark.parametrize('gather_hostkeys', [True, False])
@pytest.mark.parametrize('error', [
    ConnectionTimeoutException('too late'), OSError('too late')])
def test_node_that_was_not_reached_is_refused(error, gather_hostkeys, caplog):
    with pytest.raises(LaunchKeyscanException, match='too late') as raised:
        checkHostKeys(makeNode(), Scan(error, gather_hostkeys), [])
    assert raised.value.__cause__ is error
    assert 'Not using node node at 192.0.2.1 port 22' in caplog.text


@pytest.mark.parametrize('entry, state, expected', [
    # From its instance.
    (['entry'], State.BUILDING, ['record']),
    (None, State.BUILDING, ['record']),
    # To be used again: what the configuration says now counts.
    (['entry'], State.USED, ['entry']),
    ([], State.USED, []),
    # One that the configuration does not have.
    (None, State.USED, ['record']),
])
@pytest.mark.parametrize('identity', [
    {'uuid': 'machine'}, {'uuid': 'slot', 'main_node_id': 'machine'}])
def test_expected_host_keys_are_those_of_record_or_entry(
        entry, state, expected, identity):
    nodes = {} if entry is None else {
        'machine': types.SimpleNamespace(host_keys=entry)}
    node = makeNode(['record'])
    node._set(state=state, **identity)
    assert getExpectedHostKeys(
        node, types.SimpleNamespace(nodes=nodes)) == expected


def test_expected_host_keys_of_a_driver_without_entries():
    node = makeNode(['record'], state=State.USED)
    provider = types.SimpleNamespace(nodes={'node': object()})
    assert getExpectedHostKeys(node, provider) == []
