"""Static machines of a central list that several tenants define in their own
ways."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import finish, isDone

State = ProviderNode.State

CENTRAL = '''
- image: {{name: debian, type: cloud{image}}}
- flavor: {{name: local}}
- label: {{name: {label}, image: debian, flavor: local{attributes}}}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [local]
    nodes:
      - {{name: 127.0.0.1, connection-port: 22, labels: [a, b]{node}}}
- provider:
    name: desk
    section: desk
    label-defaults: {{host-key-checking: false}}
    include-all-node-labels: true
'''


def central(label='a', attributes='', image=', username: zuul', node=''):
    return CENTRAL.format(
        label=label, attributes=attributes, image=image, node=node)


@pytest.fixture(autouse=True)
def isCentral(monkeypatch):
    """The section is another project's."""
    monkeypatch.setattr(
        'zuul_nodes.configloader.flattening.flatten.Flattening._isCentral',
        lambda self: True)


def getRecords(launcher):
    """:return: the records of machines, without slots."""
    return [node for node in launcher.nodes() if not node.main_node_id]


OTHERS = {
    'age': central(attributes=', max-ready-age: 86400'),
    'boot-timeout': central(attributes=', boot-timeout: 7'),
    'description': central(attributes=', description: other'),
    'label': central('b'),
    'alias': central(attributes=', aliases: [b]'),
    'slots': central(attributes=', slots: 2'),
    'image': central(image=', username: zuul, python-path: /opt/python'),
}


@pytest.mark.parametrize('name', OTHERS)
@pytest.mark.parametrize('is_first', [True, False])
def test_machine_serves_each_tenant_as_its_own_label_says(
        steps, name, is_first):
    layouts = {'first': central(), 'second': OTHERS[name], 'third': central()}
    if not is_first:
        layouts['first'], layouts['second'] = OTHERS[name], central()
    for tenant, text in layouts.items():
        steps.setLayout(text, tenant)
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    for tenant in ('third', 'second', 'first', 'second'):
        provider, = steps.scope.by_tenant[tenant].values()
        label = 'b' if layouts[tenant] == OTHERS['label'] else 'a'
        request, (node,) = steps.serveNew(label, tenant=tenant)
        assert steps.scope.isFor(node, provider)
        assert node.label_config_hash == provider.labels[label].config_hash
        assert node.python_path == provider.images['debian'].python_path
        finish(steps, request)


def test_only_one_of_the_definitions_has_the_machine_at_a_time(steps):
    steps.setLayout(central(), 'first')
    steps.setLayout(OTHERS['age'], 'second')
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    request, _ = steps.serveNew('a', tenant='first')
    waiting = steps.addRequest('a', tenant='second')
    assert 'no node is free' in steps.waitForReason(waiting)
    finish(steps, request)
    steps.serve(waiting)


def test_tenants_that_define_a_machine_alike_share_its_record(steps):
    for tenant in ('first', 'second', 'third'):
        steps.setLayout(central(), tenant)
    steps.runUntil(lambda: steps.nodes(State.READY))
    steps.run()
    node, = steps.nodes()
    provider = steps.getProvider('desk', 'first')
    # Zuul's own launcher knows it by the same id.
    assert list(provider.nodes) == [node.uuid]


def test_record_goes_with_its_definition(steps):
    steps.setLayout(central(), 'first')
    steps.setLayout(OTHERS['age'], 'second')
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    request, _ = steps.serveNew('a', tenant='second')
    steps.setLayout(central(), 'second')
    other = steps.addRequest('a', tenant='second')
    steps.waitForReason(other)
    assert not isDone(other)
    finish(steps, request)
    steps.serve(other)
    finish(steps, other)
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1
                   and len(steps.nodes()) == 1)


def test_first_definition_that_goes_leaves_the_machine_to_the_others(steps):
    steps.setLayout(central(), 'first')
    steps.setLayout(OTHERS['age'], 'second')
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    del steps.layouts.tenant_states['first']
    steps.runUntil(lambda: 'first' not in steps.scope.by_tenant)
    for _ in range(2):
        request, _ = steps.serveNew('a', tenant='second')
        finish(steps, request)
    steps.runUntil(lambda: len(getRecords(steps)) == 1)


def test_definition_of_another_tenant_changes_no_known_provider(steps):
    """Other threads read it."""
    steps.setLayout(central(), 'second')
    steps.runUntil(lambda: steps.nodes(State.READY))
    provider = steps.getProvider('desk', 'second')
    before = dict(provider.nodes)
    steps.setLayout(OTHERS['age'], 'first')
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    assert provider.nodes == before
    settled = steps.scope.by_tenant['second'][provider.canonical_name]
    assert settled.nodes.keys().isdisjoint(before)
    # It is the same object as long as nothing changes.
    steps.setLayout(central('b'), 'third')
    assert steps.scope.by_tenant['second'][
        provider.canonical_name] is settled


@pytest.mark.parametrize('is_read_again', [False, True])
def test_definition_has_zuuls_id_as_soon_as_it_is_the_first(
        steps, is_read_again):
    """A launcher that starts later, and knows only this definition, has the
    same one."""
    steps.setLayout(central(), 'second')
    provider = steps.getProvider('desk', 'second')
    name, ids = provider.canonical_name, provider.nodes.keys()
    steps.setLayout(OTHERS['age'], 'first')
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    assert steps.scope.by_tenant['second'][name].nodes.keys() != ids
    if is_read_again:
        steps.setLayout(central(), 'second')
    del steps.layouts.tenant_states['first']
    steps.runUntil(lambda: 'first' not in steps.scope.by_tenant)
    assert steps.scope.by_tenant['second'][name].nodes.keys() == ids


def test_launcher_asks_what_each_definition_needs(steps):
    steps.setLayout(central(), 'first')
    steps.setLayout(OTHERS['age'], 'second')
    steps.runUntil(lambda: len(getRecords(steps)) == 2)
    for (provider,) in map(dict.values, steps.scope.by_tenant.values()):
        steps.runUntil(lambda provider=provider: steps.answers.isAsked(
            provider, 'a'))


def test_machine_with_another_label_is_what_the_label_says(steps):
    """Its image is another one, too."""
    steps.setLayout(central())
    steps.runUntil(lambda: steps.nodes(State.READY))
    steps.setLayout(central('b').replace('debian', 'fedora'))
    for _ in range(2):
        request, (node,) = steps.serveNew('b')
        assert node.label == 'b'
        finish(steps, request)
