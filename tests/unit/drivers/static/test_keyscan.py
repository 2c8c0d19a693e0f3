"""Host keys that are known are the ones that a machine has to show."""

import subprocess
import time
import types

import pytest
from zuul.exceptions import LaunchKeyscanException
from zuul.launcher import server
from zuul.model import ProviderNode

from tests.fixtures.hostkeys import HostKey
from tests.fixtures.sshservers import SSHServer
from tests.fixtures.staticnodes import (
    RecordingLauncher,
    makeConfig,
    makeProvider,
)
from zuul_nodes.launcher.nodes.hostkeys import getFingerprint, selectHostKeys

State = ProviderNode.State
NODE = {'name': '127.0.0.1', 'label': 'desk'}


@pytest.fixture(scope='module')
def keys(tmp_path_factory):
    directory = tmp_path_factory.mktemp('keys')
    return types.SimpleNamespace(**{
        name: HostKey(directory / name, key_type) for name, key_type in (
            ('ed25519', 'ed25519'), ('ecdsa', 'ecdsa'), ('rsa', 'rsa'),
            ('wrong', 'ed25519'))})


@pytest.fixture
def makeLauncher(keys):
    """:return: a function that makes a launcher whose scans find keys of
        two types, and a node with a given ``host-key``."""
    def make(host_key, **attributes):
        entry = {**NODE, **attributes}
        if host_key is not None:
            entry['host-key'] = host_key
        launcher = RecordingLauncher(makeProvider(makeConfig(entry)))
        launcher.shown_keys = [keys.rsa.recorded, keys.rsa.recorded,
                               keys.ed25519.recorded]
        node, = launcher.register()
        return launcher, node
    return make


def change(launcher, host_key):
    launcher.provider = makeProvider(
        makeConfig({**NODE, 'host-key': host_key} if host_key else NODE))


@pytest.mark.parametrize('form', [
    '{}', 'host {}', '[192.0.2.1]:22 {}', '{} root@node one',
    'host {} comment ssh-rsa AAAA'])
def test_select(keys, form):
    found = [keys.rsa.recorded, keys.ed25519.recorded, keys.rsa.recorded]
    for key in (keys.rsa, keys.ed25519):
        assert selectHostKeys(
            [form.format(key.recorded)], found) == [key.recorded]
    assert selectHostKeys(
        [keys.wrong.line, keys.rsa.line], found) == [keys.rsa.recorded]


@pytest.mark.parametrize('expected', [
    'wrong', '', 'no key', 'AAAA', 'ssh-rsa AAAA', 'ssh-rsa'])
def test_select_none(keys, expected):
    if expected == 'wrong':
        expected = keys.wrong.line
    for found in ([], [keys.ed25519.recorded, '', 'no key']):
        with pytest.raises(LaunchKeyscanException):
            selectHostKeys([expected], found)


def test_the_type_counts(keys):
    data = keys.ed25519.recorded.split()[1]
    with pytest.raises(LaunchKeyscanException):
        selectHostKeys([f'ssh-rsa {data}'], [keys.ed25519.recorded])


def test_fingerprint(keys):
    for key in vars(keys).values():
        assert getFingerprint(key.line) == (
            f'{key.recorded.split()[0]} {key.fingerprint}')
    assert getFingerprint('no key').endswith('(no valid key)')
    assert getFingerprint('ssh-rsa AAAA1').endswith('(no valid key)')


def test_the_right_key(makeLauncher, keys):
    launcher, node = makeLauncher(keys.ed25519.line)
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.ed25519.recorded]
    assert launcher.provider.canReuseNode(node)


def test_one_of_several(makeLauncher, keys):
    launcher, node = makeLauncher([
        f'127.0.0.1 {keys.ecdsa.recorded}\n127.0.0.1 {keys.rsa.recorded}\n',
        keys.wrong.line])
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.rsa.recorded]
    assert launcher.provider.canReuseNode(node)


def test_a_wrong_key(makeLauncher, keys, caplog):
    launcher, node = makeLauncher(keys.wrong.line)
    assert launcher.process(node) == State.FAILED
    assert node.host_keys == [keys.wrong.recorded]
    assert (
        f'Not using node {node.uuid} at 127.0.0.1 port 22 of provider '
        f'example.com%2Fnodes/desks: expected the host key '
        f'ssh-ed25519 {keys.wrong.fingerprint}; found '
        f'ssh-rsa {keys.rsa.fingerprint}, '
        f'ssh-ed25519 {keys.ed25519.fingerprint}') in caplog.messages


def test_node_comes_back_when_its_configured_key_is_corrected(
        makeLauncher, keys):
    launcher, node = makeLauncher(keys.wrong.line)
    launcher.process(node)
    change(launcher, keys.rsa.line)
    node = launcher.restart(node)
    launcher.process(node)
    node.delete_state_machine.start_time -= 301
    assert launcher.process(node) == State.REBUILDING
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.rsa.recorded]


def test_no_key_is_found(makeLauncher, keys, caplog):
    launcher, node = makeLauncher(keys.ed25519.line)
    launcher.shown_keys = []
    assert launcher.process(node) == State.FAILED
    assert 'found none' in caplog.text


def test_an_unreadable_key(makeLauncher, caplog):
    launcher, node = makeLauncher('no key')
    assert launcher.process(node) == State.FAILED
    assert '(no valid key)' in caplog.text


def test_any_key(makeLauncher):
    launcher, node = makeLauncher(None)
    assert launcher.process(node) == State.READY
    assert node.host_keys == launcher.shown_keys


def test_without_a_scan(makeLauncher, keys):
    launcher, node = makeLauncher(keys.wrong.line,
                                  **{'host-key-checking': False})
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.wrong.recorded]
    launcher.setState(node, State.USED)
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.wrong.recorded]


def test_no_ssh(makeLauncher, keys):
    launcher, node = makeLauncher(keys.wrong.line,
                                  **{'connection-type': 'winrm'})
    assert launcher.process(node) == State.READY


@pytest.mark.parametrize('host_key', ['ed25519', 'wrong'])
def test_the_launcher_is_killed(makeLauncher, keys, host_key):
    launcher, node = makeLauncher(getattr(keys, host_key).line)
    shown_keys, launcher.shown_keys = launcher.shown_keys, None
    for _ in range(2):
        assert launcher.process(node) == State.REGISTERING
        node = launcher.restart(node)
    launcher.shown_keys = shown_keys
    assert launcher.process(node) == (
        State.READY if host_key == 'ed25519' else State.FAILED)


def test_used_again(makeLauncher, keys):
    launcher, node = makeLauncher(keys.ed25519.line)
    launcher.process(node)
    launcher.setState(node, State.USED)
    assert launcher.process(launcher.restart(node)) == State.READY
    assert node.host_keys == [keys.ed25519.recorded]
    # Somebody else answers now.
    launcher.setState(node, State.USED)
    launcher.shown_keys = [keys.wrong.recorded]
    assert launcher.process(node) == State.FAILED
    assert node.host_keys == [keys.ed25519.recorded]


def test_used_again_with_any_key(makeLauncher, keys):
    launcher, node = makeLauncher(None)
    launcher.process(node)
    # The machine was installed anew.
    launcher.shown_keys = [keys.wrong.recorded]
    launcher.setState(node, State.USED)
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.wrong.recorded]
    # And now after an error.
    launcher.shown_keys = [keys.ecdsa.recorded]
    launcher.setState(node, State.OUTDATED)
    assert launcher.process(node) == State.REBUILDING
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.ecdsa.recorded]


def test_the_key_is_changed(makeLauncher, keys):
    launcher, node = makeLauncher(None)
    launcher.process(node)
    change(launcher, keys.rsa.line)
    assert not launcher.provider.canReuseNode(node)
    assert not launcher.provider.nodes[node.uuid].isCurrent(node)
    launcher.setState(node, State.USED)
    assert launcher.process(node) == State.REBUILDING
    assert launcher.process(node) == State.READY
    assert node.host_keys == [keys.rsa.recorded]
    change(launcher, keys.ed25519.line)
    assert not launcher.provider.canReuseNode(node)
    change(launcher, None)
    assert launcher.provider.canReuseNode(node)


def test_keys_that_a_cloud_knows(makeLauncher, keys):
    """What counts is the record; any driver can write it there."""
    launcher, node = makeLauncher(None)
    launcher.provider._set(nodes=[])
    node._set(state=State.BUILDING, host_keys=[keys.ed25519.line])
    assert launcher.scan(node)
    assert node.host_keys == [keys.ed25519.recorded]
    node._set(state=State.USED, nodescan_request=None)
    assert launcher.scan(node)
    launcher.shown_keys = [keys.wrong.recorded]
    for state in (State.BUILDING, State.USED):
        node._set(state=state, nodescan_request=None)
        with pytest.raises(LaunchKeyscanException):
            launcher.scan(node)
        assert node.host_keys == [keys.ed25519.recorded]


@pytest.fixture
def sshd(tmp_path):
    """A real server, with one key."""
    server = SSHServer(tmp_path / 'host')
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize('right, state', [
    (True, State.READY), (False, State.FAILED)])
def test_real_scan(sshd, keys, worker, right, state):
    key = sshd.key if right else keys.wrong
    launcher = RecordingLauncher(makeProvider(makeConfig({
        **NODE, 'connection-port': sshd.port,
        # As ssh-keyscan prints them, with comments, hosts and ports.
        'host-key': scanKeys(sshd) if right else key.line})))
    launcher.nodescan_worker = worker
    node, = launcher.register()
    deadline = time.monotonic() + 30
    while launcher.process(node) == State.REGISTERING:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert node.state == state
    assert node.host_keys == [key.recorded]


@pytest.fixture
def worker():
    worker = server.NodescanWorker()
    worker.start()
    yield worker
    worker.stop()
    worker.join()


def scanKeys(sshd):
    return subprocess.run(
        ['ssh-keyscan', '-p', str(sshd.port), '127.0.0.1'], check=True,
        capture_output=True, text=True).stdout
