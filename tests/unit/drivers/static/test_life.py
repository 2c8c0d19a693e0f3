"""The life of a static node's record, with Zuul's launcher."""

import time

import pytest
from zuul.model import ProviderNode

from tests.fixtures.staticnodes import (
    RecordingLauncher,
    makeConfig,
    makeProvider,
)

State = ProviderNode.State
NODE = {'name': '192.0.2.1', 'label': 'desk'}
FULL = {
    'name': ['desk', 'chair'], 'host': '192.0.2.1', 'username': 'admin',
    'connection-port': 2222, 'connection-type': 'ssh', 'python-path': '',
    'shell-type': 'sh', 'boot-timeout': 7, 'host-key-checking': False}
CHANGED = [{'name': 'desk', 'config_hash': 'other', 'max-ready-age': 7,
            'max-age': 70000, 'executor-zone': 'attic',
            'tags': {'floor': '5'}},
           {'name': 'chair'}]


def start(*nodes, **kwargs):
    """:return: a launcher, and its one node, ready."""
    launcher = RecordingLauncher(makeProvider(makeConfig(*nodes, **kwargs)))
    node, = launcher.register()
    assert launcher.process(node) == State.READY
    return launcher, node


def change(launcher, *nodes, **kwargs):
    launcher.provider = makeProvider(makeConfig(*nodes, **kwargs))


def renew(launcher, node, state=State.OUTDATED):
    launcher.setState(node, state)
    assert launcher.process(node) == State.REBUILDING
    assert launcher.process(node) == State.READY


def test_creation():
    launcher, node = start(FULL, labels=[{'name': 'desk'},
                                         {'name': 'chair'}])
    assert (node.interface_ip, node.username, node.connection_port,
            node.connection_type, node.python_path, node.shell_type,
            node.boot_timeout, node.host_key_checking, node.label_aliases,
            ) == ('192.0.2.1', 'admin', 2222, 'ssh', '', 'sh', 7, False,
                  ['chair'])
    assert launcher.provider.canReuseNode(node)


def test_renewed_at_once_and_by_the_configuration_of_now():
    # The name, the port and the user make the node what it is.
    entry = {**NODE, 'username': 'zuul'}
    launcher, node = start(entry)
    change(launcher, {**entry, 'python-path': '/new', 'shell-type': 'sh',
                      'aliases': ['chair'], 'boot-timeout': 7,
                      'host-key-checking': False}, labels=CHANGED)
    assert not launcher.provider.canReuseNode(node)
    renew(launcher, node)
    assert launcher.provider.canReuseNode(node)
    assert (node.label, node.label_config_hash, node.label_aliases,
            node.python_path, node.shell_type, node.boot_timeout,
            node.host_key_checking, node.max_ready_age, node.max_age,
            node.executor_zone, node.tags) == (
        'desk', 'other', ['chair'], '/new', 'sh', 7, False, 7, 70000,
        'attic', {'floor': '5', 'zuul_system_id': 'system',
                  'zuul_node_uuid': node.uuid})


def test_another_label():
    launcher, node = start(NODE)
    change(launcher, {**NODE, 'label': 'bed'}, labels=[{'name': 'bed'}])
    renew(launcher, node)
    assert node.label == 'bed'


def test_another_launcher_renews_it():
    launcher, node = start(NODE)
    change(launcher, NODE, labels=CHANGED)
    launcher.setState(node, State.OUTDATED)
    node = launcher.restart(node)
    assert launcher.process(node) == State.REBUILDING
    node = launcher.restart(node)
    change(launcher, {**NODE, 'python-path': '/new'}, labels=CHANGED)
    assert launcher.process(node) == State.READY
    assert (node.label_config_hash, node.python_path) == ('other', '/new')


def test_the_label_in_the_record_is_gone():
    launcher, node = start(NODE)
    change(launcher, {**NODE, 'label': 'bed'}, labels=[{'name': 'bed'}])
    with node.activeContext(launcher.createZKContext(None, None)):
        machine = launcher.provider.getCreateStateMachine(
            node, None, launcher.log)
    assert machine.complete
    assert node.label == 'bed'


def test_time_of_creation():
    launcher, node = start(NODE)
    node.create_state_machine.start_time -= 7000
    node = launcher.restart(node)
    renew(launcher, node)
    assert node.create_state_machine.start_time > time.time() - 60


def test_used_and_as_it_was():
    launcher, node = start(NODE)
    launcher.setState(node, State.USED)
    assert launcher.process(node) == State.READY


def test_used_and_changed_since():
    launcher, node = start(NODE)
    change(launcher, {**NODE, 'python-path': '/new'})
    renew(launcher, node, State.USED)
    assert node.python_path == '/new'


def test_error():
    launcher, node = start(NODE)
    # Long ago, it had another one.
    for _ in range(2):
        launcher.setState(node, State.FAILED)
        assert launcher.process(node) == State.FAILED
        machine = node.delete_state_machine
        assert machine.start_time > time.time() - 60
        machine.start_time -= 299
        assert launcher.process(node) == State.FAILED
        # Whichever launcher it is.
        node = launcher.restart(node)
        assert launcher.process(node) == State.FAILED
        node.delete_state_machine.start_time -= 2
        assert launcher.process(node) == State.REBUILDING
        assert launcher.process(node) == State.READY


def test_error_and_changed_since():
    launcher, node = start(NODE)
    launcher.setState(node, State.FAILED)
    launcher.process(node)
    change(launcher, {**NODE, 'label': 'bed'}, labels=[{'name': 'bed'}])
    node = launcher.restart(node)
    launcher.process(node)
    node.delete_state_machine.start_time -= 301
    assert launcher.process(node) == State.REBUILDING
    assert launcher.process(node) == State.READY
    assert node.label == 'bed'


def test_gone():
    launcher, node = start(NODE)
    change(launcher)
    for state in (State.FAILED, State.OUTDATED, State.DEREGISTER):
        launcher.nodes[node.uuid] = node
        launcher.setState(node, state)
        node._set(delete_state_machine=None)
        launcher.process(node)
        assert launcher.nodes == {}
    assert not launcher.provider.canReuseNode(node)


def test_age():
    launcher, node = start(
        NODE, labels=[{'name': 'desk', 'max-age': 100}])
    node._set(request_time=time.time() - 101)
    assert launcher.process(node) == State.REBUILDING
    assert launcher.process(node) == State.READY
    # It does not begin again.
    assert launcher.process(node) == State.READY


@pytest.mark.parametrize('attributes', [
    {'python-path': '/new'}, {'shell-type': 'sh'}, {'boot-timeout': 7},
    {'connection-type': 'ssh', 'host-key-checking': False},
    {'aliases': ['bed']}])
def test_what_makes_a_difference(attributes):
    launcher, node = start(NODE)
    change(launcher, NODE)
    assert launcher.provider.canReuseNode(node)
    change(launcher, NODE | attributes)
    assert not launcher.provider.canReuseNode(node)
    entry = launcher.provider.nodes[node.uuid]
    # Labels are not a matter of the entry alone.
    assert entry.isCurrent(node) is ('aliases' in attributes)


def test_slots():
    launcher = RecordingLauncher(makeProvider(makeConfig(
        NODE, labels=[{'name': 'desk', 'slots': 2}])))
    main, *slots = sorted(launcher.register(), key=lambda node:
                          node.main_node_id is not None)
    assert launcher.process(main) == State.SLOT_HOST
    assert [slot.state for slot in slots] == [State.READY] * 2
    change(launcher, {**NODE, 'username': ''}, labels=[
        {'name': 'desk', 'slots': 2}])
    # A name for the user is another node.
    assert not launcher.provider.hasNode(main)
    assert not launcher.provider.canReuseNode(slots[0])
    change(launcher, {**NODE, 'python-path': '/new'}, labels=[
        {'name': 'desk', 'slots': 2, 'config_hash': 'other'}])
    assert launcher.provider.canReuseNode(main)
    launcher.setState(slots[0], State.USED)
    assert launcher.process(slots[0]) == State.READY
    # With all of them.
    for node in (main, *slots):
        launcher.setState(node, State.OUTDATED)
    assert not launcher.provider.canReuseNode(main)
    assert launcher.process(main) == State.OUTDATED
    for slot in slots:
        assert launcher.process(slot) == State.REBUILDING
    assert launcher.process(main) == State.REBUILDING
    assert launcher.process(main) == State.SLOT_HOST
    for slot in slots:
        assert slot.state == State.READY
        assert slot.python_path == '/new'
        assert slot.label_config_hash == 'other'
