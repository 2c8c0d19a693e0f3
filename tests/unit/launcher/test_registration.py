"""Static nodes come back with what is said of them now."""

import pytest
from zuul.model import ProviderNode
from zuul.zk.locks import tenant_write_lock

from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.racks import isDone
from zuul_nodes.launcher import registration, workqueue
from zuul_nodes.launcher.scope import isCurrent

State = ProviderNode.State

NODES = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: local}}
- label: {{name: big, image: debian, flavor: local}}
- label: {{name: other, image: debian, flavor: local}}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [local]
    nodes:
      - name: 127.0.0.1
        connection-port: 22
        username: zuul
        label: {label}
        aliases: {aliases}
        python-path: {python}
- provider:
    name: desk
    section: desk
    label-defaults:
      host-key-checking: false
      slots: {slots}
    labels:
      - name: big
        boot-timeout: {timeout}
      - other
'''


def desk(label='big', aliases='[]', timeout=10, slots=1, python='auto'):
    return NODES.format(label=label, aliases=aliases, timeout=timeout,
                        slots=slots, python=python)


def change(text, address):
    """:return: the desk with a machine of another address, or with none."""
    if address:
        return text.replace('127.0.0.1', address)
    before, _, after = text.partition('    nodes:\n')
    return f'{before}    nodes: []\n- provider:{after.split("- provider:")[1]}'


def readyNode(launcher):
    """:return: the node, as soon as it is ready for anybody."""
    def ready():
        return [node for node in launcher.nodes()
                if node.state == State.READY and not node.is_locked]
    launcher.runUntil(ready)
    node, = ready()
    return node


@pytest.mark.parametrize('change', [
    {'timeout': 20}, {'label': 'other'}, {'aliases': '[other]'},
    {'python': '/opt/python'}], ids=lambda change: next(iter(change)))
def test_what_has_changed_comes_back_at_once(steps, change):
    steps.setLayout(desk())
    before = readyNode(steps)
    steps.setLayout(desk(**change))
    provider = steps.getProvider('desk')
    steps.runUntil(lambda: any(
        isCurrent(node, provider) for node in steps.nodes(State.READY)))
    after = readyNode(steps)
    assert after.uuid == before.uuid
    assert after.python_path == change.get('python', 'auto')
    label = provider.labels[change.get('label', 'big')]
    assert after.label == label.name
    assert after.boot_timeout == label.boot_timeout


def test_what_has_not_changed_stays(steps):
    steps.setLayout(desk(aliases='[other]'))
    before = readyNode(steps)
    steps.setLayout(desk(aliases='[other]'))
    steps.run()
    assert readyNode(steps) is before


def test_what_is_in_use_changes_afterwards(steps):
    steps.setLayout(desk())
    readyNode(steps)
    node = use(steps, 'big')
    steps.setLayout(desk(label='other'))
    steps.run()
    assert [each.uuid for each in steps.nodes()] == [node.uuid]
    giveBack(steps, node)
    steps.runUntil(lambda: [each.label for each in steps.nodes(State.READY)]
                   == ['other'])


def test_a_used_node_whose_label_is_gone(steps):
    steps.setLayout(desk())
    readyNode(steps)
    node = use(steps, 'big')
    steps.setLayout(desk(label='other').replace('name: big', 'name: new'))
    giveBack(steps, node)
    steps.runUntil(lambda: [each.label for each in steps.nodes(State.READY)]
                   == ['other'])


@pytest.mark.parametrize('change', [
    {'timeout': 20}, {'python': '/opt/python'}],
    ids=lambda change: next(iter(change)))
def test_slots(steps, change):
    steps.setLayout(desk(slots=2))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    steps.setLayout(desk(slots=3, **change))
    steps.runUntil(lambda: [
        (node.boot_timeout, node.python_path)
        for node in steps.nodes(State.READY)] == [(
            change.get('timeout', 10), change.get('python', 'auto'))] * 3)
    host, = steps.nodes(State.SLOT_HOST)
    assert len(host.subnodes) == 3


def test_a_node_that_is_gone(steps, monkeypatch):
    """It comes back, and nobody looks at all the others for it."""
    steps.setLayout(desk())
    before = readyNode(steps)
    # Whatever the layout was the reason for is done.
    steps.run()
    monkeypatch.setitem(steps.handlers, 'static', pytest.fail)
    with steps.context() as context:
        before.delete(context)
    steps.runUntil(lambda: steps.nodes() not in ([], [before]))
    after = readyNode(steps)
    assert after.uuid == before.uuid


def test_a_section_that_is_gone(steps):
    steps.setLayout(desk())
    readyNode(steps)
    steps.setLayout('[]')
    steps.runUntil(lambda: steps.nodes() == [])
    steps.setLayout(desk())
    readyNode(steps)


@pytest.mark.parametrize('left', ['127.0.0.2', None])
@pytest.mark.parametrize('slots', [1, 2])
def test_an_entry_that_is_gone_while_its_node_is_granted(steps, left, slots):
    """Its executor, which has not locked it yet, can do so."""
    steps.setLayout(desk(slots=slots))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == slots)
    before = {each.uuid for each in steps.nodes()}
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    node = steps.api.getProviderNode(request.nodes[0])
    steps.setLayout(change(desk(slots=slots), left))
    steps.run()
    assert node.state == State.READY
    assert not node.is_locked
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: not before & {
        each.uuid for each in steps.nodes()})
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == (
        slots if left else 0))


def test_an_entry_that_is_gone_as_its_node_gets_granted(steps, monkeypatch):
    """The watch does not tell of that at once."""
    steps.setLayout(desk())
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    monkeypatch.setattr(
        registration, '_isFree', lambda node: node.state == State.READY)
    steps.setLayout(change(desk(), None))
    steps.run()
    assert [node.state for node in steps.nodes()] == [State.READY]


def test_a_node_of_one_tenant_only(steps):
    """Another tenant's provider of that name does not remove it."""
    steps.setLayout(desk(), 'first')
    readyNode(steps)
    steps.setLayout(desk().replace('127.0.0.1', '127.0.0.2'), 'second')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    steps.setLayout(desk(), 'first')
    steps.run()
    assert len(steps.nodes(State.READY)) == 2


def test_a_node_that_failed_after_it_was_used(steps):
    """Zuul does not take it from the request that is gone."""
    steps.setLayout(desk())
    readyNode(steps)
    node = use(steps, 'big')
    # The five minutes that the driver waits are over.
    giveBack(steps, node, State.FAILED,
             delete_state={'state': 'start', 'start_time': 0})
    steps.runUntil(lambda: [not each.request_id for each
                            in steps.nodes(State.READY)] == [True])


def test_a_provider_that_can_not_be_read(steps):
    """Nobody knows which nodes it has."""
    steps.setLayout(desk(), 'first')
    readyNode(steps)
    steps.setLayout(change(desk(), '127.0.0.2'), 'second')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    name = steps.getProvider('desk', 'second').canonical_name
    steps.writeLayout(change(desk(), '127.0.0.2'), 'second')
    path = f'/zuul/tenant/second/provider/{name}/config'
    client = steps.zk_client.client
    for shard in client.get_children(path):
        client.set(f'{path}/{shard}', b'garbage')
    steps.runUntil(lambda: not steps.tenant_providers['second'])
    steps.run()
    assert len(steps.nodes(State.READY)) == 2
    # When it can be read, it has that node no more.
    steps.setLayout(desk(), 'second')
    steps.runUntil(lambda: len(steps.nodes()) == 1)


def test_a_tenant_that_can_not_be_read(steps):
    """What others have is registered meanwhile, and what it may have
    stays."""
    steps.setLayout(desk(), 'first')
    steps.setLayout(change(desk(), '127.0.0.2'), 'second')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    # As for a launcher that has not read it before.
    del steps.tenant_providers['second'], steps.layouts.states['second']
    with tenant_write_lock(steps.zk_client, 'second'):
        steps.setLayout(change(desk(), '127.0.0.3'), 'first')
        steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
        steps.run()
        assert len(steps.nodes(State.READY)) == 3
    steps.runUntil(lambda: len(steps.nodes()) == 2)


def test_a_node_that_can_not_be_registered(steps, monkeypatch):
    """All others are, and those that are gone go."""
    monkeypatch.setattr(workqueue, 'getPause', lambda attempt: 0.01)
    make = steps.maker.makeStaticNode
    broken = []

    def makeStaticNode(provider, entry):
        if entry.name in broken:
            raise ValueError(entry.name)
        return make(provider, entry)
    monkeypatch.setattr(steps.maker, 'makeStaticNode', makeStaticNode)
    steps.setLayout(desk())
    readyNode(steps)
    broken.append('127.0.0.2')
    entry = """
      - name: 127.0.0.{}
        connection-port: 22
        username: zuul
        label: big
"""
    steps.setLayout(desk().replace('    nodes:\n', '    nodes:' + entry.format(
        2) + entry.format(3).lstrip('\n')).replace('127.0.0.1', '127.0.0.4'))

    def getAddresses():
        return {node.interface_ip for node in steps.nodes(State.READY)}
    steps.runUntil(lambda: getAddresses() == {'127.0.0.3', '127.0.0.4'})
    broken.clear()
    steps.runUntil(lambda: len(getAddresses()) == 3)


def test_the_entry_of_a_driver_may_say_more(zuul_conf):
    provider, = makeProviders(makeRegistry(zuul_conf), desk())
    node_id, entry = next(iter(provider.nodes.items()))
    node = provider.driver.getProviderNodeClass()()
    node._set(uuid=node_id, label='big',
              label_config_hash=provider.labels['big'].config_hash)
    for current in (True, False):
        entry.isCurrent = lambda node, current=current: current
        assert isCurrent(node, provider) == current


def use(launcher, label):
    """:return: the node that was given to a job, and is not locked."""
    request = launcher.addRequest(label)
    launcher.runUntil(lambda: request.state == request.State.FULFILLED)
    node_id, = request.nodes
    with launcher.context() as context:
        # As the executor has it.
        node = ProviderNode.fromZK(context, ProviderNode._getPath(node_id))
        assert node.acquireLock(context)
        node.updateAttributes(context, state=State.IN_USE)
    with launcher.context() as context:
        request.delete(context)
    launcher.runUntil(
        lambda: not launcher.api.getNodesetRequest(request.uuid))
    return node


def giveBack(launcher, node, state=State.USED, **kwargs):
    with launcher.context() as context:
        node.updateAttributes(context, state=state, **kwargs)
        node.releaseLock(context)
