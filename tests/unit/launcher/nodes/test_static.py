"""Static nodes come back with what is said of them now."""

import pytest
from zuul.model import ProviderNode
from zuul.zk.locks import tenant_write_lock

from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.racks import isDone
from tests.fixtures.staticlayouts import (
    giveBack,
    oneStaticNode,
    readyNode,
    use,
)
from zuul_nodes.drivers.static.node import StaticNodeConfig
from zuul_nodes.launcher.nodes import static
from zuul_nodes.launcher.providers.identity import isCurrent

State = ProviderNode.State


def setAddress(text, address):
    """:return: a layout whose node has this address, or with no node."""
    if address:
        return text.replace('127.0.0.1', address)
    before, _, after = text.partition('    nodes:\n')
    return f'{before}    nodes: []\n- provider:{after.split("- provider:")[1]}'


@pytest.mark.parametrize('change', [
    {'timeout': 20}, {'label': 'other'}, {'aliases': '[other]'},
    {'python': '/opt/python'}], ids=lambda change: next(iter(change)))
def test_launcher_updates_ready_static_node_when_its_entry_changes(
        steps, change):
    steps.setLayout(oneStaticNode())
    before = readyNode(steps)
    steps.setLayout(oneStaticNode(**change))
    provider = steps.getProvider('desk')
    steps.runUntil(lambda: any(
        isCurrent(node, provider) for node in steps.nodes(State.READY)))
    after = readyNode(steps)
    assert after.uuid == before.uuid
    assert after.python_path == change.get('python', 'auto')
    label = provider.labels[change.get('label', 'big')]
    assert after.label == label.name
    assert after.boot_timeout == label.boot_timeout


def test_launcher_keeps_static_node_whose_entry_has_not_changed(steps):
    steps.setLayout(oneStaticNode(aliases='[other]'))
    before = readyNode(steps)
    steps.setLayout(oneStaticNode(aliases='[other]'))
    steps.run()
    assert readyNode(steps) is before


@pytest.mark.parametrize('slots', [1, 2])
def test_launcher_registers_static_node_whose_driver_tells_no_slots(
        steps, monkeypatch, slots):
    """Zuul's own driver does not; the label has their number."""
    inherit = StaticNodeConfig.inheritFromLabel

    def inheritFromLabel(entry, label):
        inherit(entry, label)
        del entry.slots
    monkeypatch.setattr(
        StaticNodeConfig, 'inheritFromLabel', inheritFromLabel)
    steps.setLayout(oneStaticNode(slots=slots))
    steps.runUntil(lambda: steps.nodes(State.READY))
    machine, = (node for node in steps.nodes() if not node.main_node_id)
    assert len(machine.subnodes) == (slots if slots > 1 else 0)


def test_launcher_updates_used_static_node_when_it_is_given_back(steps):
    steps.setLayout(oneStaticNode())
    readyNode(steps)
    node = use(steps, 'big')
    steps.setLayout(oneStaticNode(label='other'))
    steps.run()
    assert [each.uuid for each in steps.nodes()] == [node.uuid]
    giveBack(steps, node)
    steps.runUntil(lambda: [each.label for each in steps.nodes(State.READY)]
                   == ['other'])


def test_used_static_node_gets_its_new_label_when_the_old_one_is_gone(steps):
    steps.setLayout(oneStaticNode())
    readyNode(steps)
    node = use(steps, 'big')
    steps.setLayout(oneStaticNode(label='other').replace(
        'name: big', 'name: new'))
    giveBack(steps, node)
    steps.runUntil(lambda: [each.label for each in steps.nodes(State.READY)]
                   == ['other'])


@pytest.mark.parametrize('change', [
    {'timeout': 20}, {'python': '/opt/python'}],
    ids=lambda change: next(iter(change)))
def test_launcher_updates_and_adds_slots_of_static_node(steps, change):
    steps.setLayout(oneStaticNode(slots=2))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    steps.setLayout(oneStaticNode(slots=3, **change))
    steps.runUntil(lambda: [
        (node.boot_timeout, node.python_path)
        for node in steps.nodes(State.READY)] == [(
            change.get('timeout', 10), change.get('python', 'auto'))] * 3)
    host, = steps.nodes(State.SLOT_HOST)
    assert len(host.subnodes) == 3


def test_launcher_registers_deleted_static_node_again(steps, monkeypatch):
    """It does not look at all the other static nodes for that."""
    steps.setLayout(oneStaticNode())
    before = readyNode(steps)
    # Whatever the layout was the reason for is done.
    steps.run()
    monkeypatch.setitem(steps.handlers, 'static', pytest.fail)
    with steps.context() as context:
        before.delete(context)
    steps.runUntil(lambda: steps.nodes() not in ([], [before]))
    after = readyNode(steps)
    assert after.uuid == before.uuid


def test_launcher_deletes_static_nodes_of_removed_section(steps):
    steps.setLayout(oneStaticNode())
    readyNode(steps)
    steps.setLayout('[]')
    steps.runUntil(lambda: steps.nodes() == [])
    steps.setLayout(oneStaticNode())
    readyNode(steps)


@pytest.mark.parametrize('left', ['127.0.0.2', None])
@pytest.mark.parametrize('slots', [1, 2])
def test_launcher_keeps_granted_static_node_whose_entry_was_removed(
        steps, left, slots):
    """The executor has not locked the node yet, and can do so."""
    steps.setLayout(oneStaticNode(slots=slots))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == slots)
    before = {each.uuid for each in steps.nodes()}
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    node = steps.api.getProviderNode(request.nodes[0])
    steps.setLayout(setAddress(oneStaticNode(slots=slots), left))
    steps.run()
    assert node.state == State.READY
    assert not node.is_locked
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: not before & {
        each.uuid for each in steps.nodes()})
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == (
        slots if left else 0))


def test_launcher_keeps_static_node_granted_while_its_entry_is_removed(
        steps, monkeypatch):
    """The watch has not told of the grant yet."""
    steps.setLayout(oneStaticNode())
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    monkeypatch.setattr(
        static, '_isFree', lambda node: node.state == State.READY)
    steps.setLayout(setAddress(oneStaticNode(), None))
    steps.run()
    assert [node.state for node in steps.nodes()] == [State.READY]


def test_provider_of_another_tenant_removes_no_static_node(steps):
    """Both providers have the same name."""
    steps.setLayout(oneStaticNode(), 'first')
    readyNode(steps)
    steps.setLayout(setAddress(oneStaticNode(), '127.0.0.2'), 'second')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    steps.setLayout(oneStaticNode(), 'first')
    steps.run()
    assert len(steps.nodes(State.READY)) == 2


def test_failed_static_node_of_deleted_request_becomes_ready_again(steps):
    """Zuul does not unassign the node from the request."""
    steps.setLayout(oneStaticNode())
    readyNode(steps)
    node = use(steps, 'big')
    # The five minutes that the driver waits are over.
    giveBack(steps, node, State.FAILED,
             delete_state={'state': 'start', 'start_time': 0})
    steps.runUntil(lambda: [not each.request_id for each
                            in steps.nodes(State.READY)] == [True])


def test_launcher_keeps_static_nodes_of_unreadable_provider(steps):
    """It does not know which static nodes the provider has."""
    steps.setLayout(oneStaticNode(), 'first')
    readyNode(steps)
    steps.setLayout(setAddress(oneStaticNode(), '127.0.0.2'), 'second')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    name = steps.getProvider('desk', 'second').canonical_name
    steps.writeLayout(setAddress(oneStaticNode(), '127.0.0.2'), 'second')
    path = f'/zuul/tenant/second/provider/{name}/config'
    client = steps.zk_client.client
    for shard in client.get_children(path):
        client.set(f'{path}/{shard}', b'garbage')
    steps.runUntil(lambda: not steps.tenant_providers['second'])
    steps.run()
    assert len(steps.nodes(State.READY)) == 2
    # When it can be read, it has that node no more.
    steps.setLayout(oneStaticNode(), 'second')
    steps.runUntil(lambda: len(steps.nodes()) == 1)


def test_launcher_keeps_static_nodes_of_unreadable_tenant(steps):
    """It registers those of other tenants meanwhile."""
    steps.setLayout(oneStaticNode(), 'first')
    steps.setLayout(setAddress(oneStaticNode(), '127.0.0.2'), 'second')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    # As for a launcher that has not read it before.
    del steps.layouts._providers['second'], steps.layouts.states['second']
    with tenant_write_lock(steps.zk_client, 'second'):
        steps.setLayout(setAddress(oneStaticNode(), '127.0.0.3'), 'first')
        steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
        steps.run()
        assert len(steps.nodes(State.READY)) == 3
    steps.runUntil(lambda: len(steps.nodes()) == 2)


@pytest.mark.settings(first_backoff=0.01, longest_backoff=0.01)
def test_launcher_registers_other_static_nodes_when_one_fails(
        steps, monkeypatch):
    """It removes those whose entries are gone, too."""
    make = steps.new_records.makeStaticNode
    broken = []

    def makeStaticNode(provider, entry):
        if entry.name in broken:
            raise ValueError(entry.name)
        return make(provider, entry)
    monkeypatch.setattr(steps.new_records, 'makeStaticNode', makeStaticNode)
    steps.setLayout(oneStaticNode())
    readyNode(steps)
    broken.append('127.0.0.2')
    entry = """
      - name: 127.0.0.{}
        connection-port: 22
        username: zuul
        label: big
"""
    text = setAddress(oneStaticNode(), '127.0.0.4')
    steps.setLayout(text.replace('    nodes:\n', (
        '    nodes:' + entry.format(2) + entry.format(3).lstrip('\n'))))

    def getAddresses():
        return {node.interface_ip for node in steps.nodes(State.READY)}
    steps.runUntil(lambda: getAddresses() == {'127.0.0.3', '127.0.0.4'})
    broken.clear()
    steps.runUntil(lambda: len(getAddresses()) == 3)


def test_entry_of_a_driver_decides_whether_its_static_node_is_current(
        zuul_conf):
    provider, = makeProviders(makeRegistry(zuul_conf), oneStaticNode())
    node_id, entry = next(iter(provider.nodes.items()))
    node = provider.driver.getProviderNodeClass()()
    node._set(uuid=node_id, label='big',
              label_config_hash=provider.labels['big'].config_hash)
    for current in (True, False):
        entry.isCurrent = lambda node, current=current: current
        assert isCurrent(node, provider) == current


