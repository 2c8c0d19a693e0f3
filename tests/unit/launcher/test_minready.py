"""What counts as ready, and what has to be made."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.launcher import makeProviders, makeRegistry
from zuul_nodes.launcher.minready import findMissing

State = ProviderNode.State

CLOUD = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label: {{name: big, image: debian, flavor: small, min-ready: {min_ready}}}
- section:
    name: {name}
    connection: rack
    images: [debian]
    flavors: [small]
- provider:
    name: {name}
    section: {name}
    labels:
      - name: big
        boot-timeout: {timeout}
        host-key-checking: false
'''
STATIC = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: big, image: debian, flavor: small, min-ready: 2}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [small]
    nodes:
      - {name: 127.0.0.1, connection-port: 22, username: zuul, label: big}
- provider: {name: desk, section: desk, labels: [big]}
'''


def cloud(name='rack', timeout=10, min_ready=2):
    return CLOUD.format(name=name, timeout=timeout, min_ready=min_ready)


def ready(launcher):
    """:return: how many nodes are ready for anybody."""
    return sum(not node.request_id for node in launcher.nodes(State.READY))


def test_made_once(steps):
    steps.setLayout(cloud())
    steps.runUntil(lambda: ready(steps) == 2)
    steps.run()
    assert len(steps.nodes()) == 2


def test_each_tenant_has_its_own(steps):
    steps.setLayout(cloud('a'), 'first')
    steps.setLayout(cloud('b'), 'second')
    steps.runUntil(lambda: ready(steps) == 4)


def test_a_changed_label_is_made_anew(steps, no_grace):
    steps.setLayout(cloud(timeout=10))
    steps.runUntil(lambda: ready(steps) == 2)
    steps.setLayout(cloud(timeout=20))
    steps.runUntil(lambda: [node.boot_timeout for node in
                            steps.nodes(State.READY)] == [20, 20])
    steps.runUntil(lambda: len(steps.nodes()) == 2)


@pytest.mark.parametrize('state, missing', [
    (State.REQUESTED, 1), (State.BUILDING, 1), (State.READY, 1),
    (State.FAILED, 1), (State.OUTDATED, 2), (State.HOLD, 2)])
def test_states(zuul_conf, state, missing):
    provider, = makeProviders(makeRegistry(zuul_conf), cloud())
    node = makeNode(provider, state)
    assert count({'tenant': [provider]}, [node]) == missing


def test_what_a_tenant_can_not_have_does_not_count(zuul_conf):
    connections = makeRegistry(zuul_conf)
    tenants = {name: makeProviders(connections, cloud(provider), name)
               for name, provider in (('first', 'a'), ('second', 'b'))}
    node = makeNode(tenants['first'][0], State.READY)
    other, = tenants['second']
    assert node.label_config_hash == other.labels['big'].config_hash
    # One is missing in one tenant, two in the other.
    assert count(tenants, [node]) == 3


def test_two_tenants_share_what_both_can_have(zuul_conf):
    connections = makeRegistry(zuul_conf)
    tenants = {name: makeProviders(connections, cloud(), name)
               for name in ('first', 'second')}
    assert count(tenants, []) == 2


def test_what_was_changed_does_not_count(zuul_conf):
    connections = makeRegistry(zuul_conf)
    old, = makeProviders(connections, cloud('a', 10))
    providers = [*makeProviders(connections, cloud('a', 20)),
                 *makeProviders(connections, cloud('b', 10))]
    # That another provider has a label like the old one is no help.
    assert count({'tenant': providers}, [makeNode(old, State.READY)]) == 2


def test_static_nodes_count_but_are_not_made(zuul_conf):
    connections = makeRegistry(zuul_conf)
    static = makeProviders(connections, STATIC)
    assert count({'tenant': static}, []) == 0
    providers = [*static, *makeProviders(connections, cloud())]
    found = list(findMissing({'tenant': providers}, [], lambda name: True))
    assert {provider.name for _, provider in found} == {'rack'}


@pytest.mark.parametrize('numbers', [(1, 5), (5, 1)])
def test_the_highest_number_of_a_tenants_providers(zuul_conf, numbers):
    connections = makeRegistry(zuul_conf)
    providers = [provider for name, number in zip('ab', numbers, strict=True)
                 for provider in makeProviders(
                     connections, cloud(name, min_ready=number))]
    assert count({'tenant': providers}, []) == 5


def test_labels_of_other_launchers(zuul_conf):
    providers = makeProviders(makeRegistry(zuul_conf), cloud())
    assert not list(findMissing({'tenant': providers}, [],
                                lambda name: False))


def makeNode(provider, state):
    node = provider.driver.getProviderNodeClass()()
    node._set(label='big', state=state, provider=provider.canonical_name,
              label_config_hash=provider.labels['big'].config_hash)
    return node


def count(tenant_providers, nodes):
    return len(list(findMissing(tenant_providers, nodes, lambda name: True)))


def test_no_more_than_there_is_room_for(steps):
    """A node that was granted nothing stands back behind all others."""
    steps.setLayout(cloud(min_ready=2) + '    resource-limits: {instances: 1}')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1)
    steps.run()
    assert sorted(node.state for node in steps.nodes()) == [
        State.READY, State.REQUESTED]
    with steps.context() as context:
        ready, = steps.nodes(State.READY)
        ready.delete(context)
    steps.runUntil(lambda: ready not in steps.nodes(State.READY)
                   and len(steps.nodes(State.READY)) == 1)
