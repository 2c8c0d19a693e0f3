"""What is the same, wherever the launcher asks: nodes, pauses, accounts."""

import types

import pytest
from zuul.model import ProviderNode

from tests.fixtures import launcher as launchers
from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    World,
    makeNode,
)
from tests.fixtures.racks import cloud, finish, isDone
from zuul_nodes import nodenotes
from zuul_nodes.drivers import CapacityError
from zuul_nodes.launcher.planner.planner import Grant
from zuul_nodes.launcher.providers import (
    Scope,
    getIdentity,
    getSubject,
    isMadeFrom,
)

State = ProviderNode.State

TEXT = cloud('one')
OTHER_PROJECT = '# The images are of another project.\n'
# What differs in a second definition -> that.  Zuul's hash of the label is the
# same but for the last one.
OTHERS = {
    'image': TEXT + OTHER_PROJECT,
    'connection': cloud('one', connection='other'),
    'label': TEXT.replace('name: big,', 'name: big, boot-timeout: 7,'),
}


@pytest.fixture(autouse=True)
def projects(monkeypatch):
    """Images of layouts with a comment are of another project."""
    flatten = launchers._flatten

    def replaced(connections, text):
        found = flatten(connections, text)
        for _, config in found if OTHER_PROJECT in text else ():
            for image in config['images']:
                image['project_canonical_name'] = 'example.com/other'
        return found
    monkeypatch.setattr(launchers, '_flatten', replaced)


@pytest.fixture(params=OTHERS)
def other(request):
    """:return: a definition of the same names, with other nodes."""
    return OTHERS[request.param]


def withMinReady(text, number=1):
    return text.replace('name: big,', f'name: big, min-ready: {number},')


def getReady(launcher):
    return [node for node in launcher.nodes(State.READY)
            if not node.request_id]


def isMadeAs(launcher, node, tenant):
    """:return: whether a node is what that tenant's label says."""
    provider = launcher.getProvider('one', tenant)
    return launcher.scope.isFor(node, provider) and (
        node.connection_name == provider.connection_name)


def test_request_gets_an_idle_node_of_its_own_definition_only(
        steps, racks, other):
    steps.setLayout(withMinReady(TEXT), 'a')
    steps.runUntil(lambda: getReady(steps))
    idle, = getReady(steps)
    steps.setLayout(other, 'b')
    _, nodes = steps.serveNew('big', tenant='b')
    assert nodes[0].uuid != idle.uuid
    assert isMadeAs(steps, nodes[0], 'b')
    steps.setLayout(TEXT, 'c')
    _, nodes = steps.serveNew('big', tenant='c')
    assert nodes[0].uuid == idle.uuid


def test_node_that_is_being_launched_is_as_idle_ones(steps, racks, other):
    racks.slow.add('one')
    steps.setLayout(withMinReady(TEXT), 'a')
    steps.runUntil(lambda: racks.instances)
    launched, = steps.nodes()
    steps.setLayout(other, 'b')
    request = steps.addRequest('big', tenant='b')
    steps.runUntil(lambda: request.nodes)
    assert request.nodes != [launched.uuid]
    racks.slow.clear()
    assert isMadeAs(steps, steps.serve(request)[0], 'b')


@pytest.mark.settings(drift_grace=0)
def test_merged_change_replaces_nodes_of_another_identity(
        steps, racks, other):
    steps.setLayout(withMinReady(TEXT))
    steps.runUntil(lambda: getReady(steps))
    old, = getReady(steps)
    steps.setLayout(withMinReady(other))
    _, nodes = steps.serveNew('big')
    assert isMadeAs(steps, nodes[0], 'tenant')
    steps.runUntil(lambda: steps.isGone(old) and getReady(steps))
    assert isMadeAs(steps, *getReady(steps), 'tenant')


def test_nodes_of_another_identity_do_not_count_for_min_ready(
        steps, racks, other):
    steps.setLayout(withMinReady(TEXT), 'a')
    steps.runUntil(lambda: getReady(steps))
    steps.setLayout(withMinReady(TEXT), 'same')
    steps.run()
    assert len(steps.nodes()) == 1
    steps.setLayout(withMinReady(other), 'b')
    steps.runUntil(lambda: len(getReady(steps)) == 2)
    assert {each for node in getReady(steps) for each in ('a', 'b')
            if isMadeAs(steps, node, each)} == {'a', 'b'}


def test_idle_nodes_of_another_identity_do_not_fill_max_nodes(
        steps, racks, other):
    steps.setLayout(withMinReady(TEXT, 3), 'a')
    steps.runUntil(lambda: len(getReady(steps)) == 3)
    for tenant, text in (('b', other), ('same', TEXT)):
        steps.setLayout(
            text.replace('name: big,', 'name: big, max-nodes: 2,'), tenant)
        for _ in range(2):
            steps.serveNew('big', tenant=tenant)
        request = steps.addRequest('big', tenant=tenant)
        assert 'label big has 2 nodes, 2 in use' in steps.waitForReason(
            request)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_failures_pause_no_label_of_another_identity(steps, racks, other):
    steps.setLayout(TEXT, 'a')
    steps.setLayout(TEXT, 'same')
    steps.setLayout(other, 'b')
    racks.errors['one', 'big'] = CapacityError('no host is large enough')
    failed = steps.addRequest('big', tenant='a')
    assert 'is paused' in steps.waitForReason(failed)
    same = steps.addRequest('big', tenant='same')
    assert 'is paused' in steps.waitForReason(same)
    racks.errors.clear()
    steps.serveNew('big', tenant='b')
    assert not isDone(failed)
    assert not isDone(same)


@pytest.mark.settings(
    min_ready_first_backoff=1000, min_ready_longest_backoff=1000)
def test_failed_min_ready_nodes_delay_none_of_another_identity(
        steps, racks, other):
    racks.errors['one', 'big'] = [RuntimeError('broken')]
    steps.setLayout(withMinReady(TEXT), 'a')
    steps.runUntil(lambda: len(racks.created) == 1 and not steps.nodes())
    steps.setLayout(withMinReady(other), 'b')
    steps.runUntil(lambda: getReady(steps))
    assert isMadeAs(steps, *getReady(steps), 'b')


def test_provider_at_another_account_has_limits_of_its_own(steps, racks):
    limits = {'resource_limits': '{instances: 1}'}
    steps.setLayout(cloud('one', **limits), 'a')
    steps.setLayout(cloud('one', connection='other', **limits), 'b')
    steps.serveNew('big', tenant='b')
    steps.serveNew('big', tenant='a')
    steps.setLayout(cloud('one', **limits), 'same')
    request = steps.addRequest('big', tenant='same')
    assert 'provider one has 1 instances, 1 in use' in steps.waitForReason(
        request)


def test_section_that_tenants_resolve_differently_has_separate_accounts(
        steps, racks):
    def own(name, limit):
        section = {'name': name, 'limits': {'instances': limit}}
        return {label: {'section': section} for label in ('big', 'other')}
    steps.setLayout(TEXT, 'a', own('a/rack', 2))
    steps.setLayout(TEXT, 'b', own('b/rack', 100))
    steps.setLayout(TEXT, 'same', own('a/rack', 2))
    for _ in range(5):
        steps.serveNew('big', tenant='b')
    steps.serveNew('big', tenant='a')
    steps.serveNew('big', tenant='same')
    request = steps.addRequest('other', tenant='a')
    assert 'section rack has 2 instances, 2 in use' in steps.waitForReason(
        request)


def test_node_stays_what_it_was_launched_as_while_its_tenants_change(
        steps, racks):
    """It is idle in the end, and not as the label of its tenant says now."""
    steps.setLayout(TEXT, 'a')
    racks.slow.add('one')
    request = steps.addRequest('big', tenant='a')
    steps.runUntil(lambda: racks.instances)
    steps.setLayout(OTHERS['image'], 'a')
    steps.setLayout(OTHERS['image'], 'b')
    steps.setLayout(TEXT, 'same')
    finish(steps, request)
    racks.slow.clear()
    steps.runUntil(lambda: getReady(steps))
    node, = getReady(steps)
    assert isMadeAs(steps, node, 'same')
    assert not isMadeAs(steps, node, 'b')


def test_launch_that_has_not_begun_is_planned_again_after_a_change(
        steps, racks, other):
    """The node would not be what its record says."""
    steps.setLayout(TEXT)
    launch = steps.handlers['node']
    steps.handlers['node'] = lambda node_id: None
    request = steps.addRequest('big')
    steps.runUntil(lambda: request.nodes)
    old, = request.nodes
    steps.setLayout(other)
    steps.handlers['node'] = launch
    steps.queue.add(('node', old))
    node, = steps.serve(request)
    assert node.uuid != old
    assert isMadeAs(steps, node, 'tenant')
    assert len(racks.created) == 1


# Records that do not say all

def makeOld(launcher, tenant):
    """:return: a ready node that an older release has made for a tenant."""
    return launcher.addNode(
        launcher.getProvider('one', tenant), 'big', state=State.READY)


def test_node_of_an_older_release_is_for_whoever_it_certainly_fits(
        steps, racks):
    steps.setLayout(TEXT, 'a')
    steps.setLayout(OTHERS['connection'], 'b')
    steps.setLayout(OTHERS['label'], 'c')
    for tenant in 'abc':
        old = makeOld(steps, tenant)
        _, nodes = steps.serveNew('big', tenant=tenant)
        assert nodes == [old]


@pytest.mark.settings(drift_grace=0)
def test_node_of_an_older_release_goes_where_it_may_fit_two(steps, racks):
    steps.setLayout(TEXT, 'a')
    steps.setLayout(OTHERS['image'], 'b')
    old = makeOld(steps, 'a')
    for tenant in 'ab':
        _, nodes = steps.serveNew('big', tenant=tenant)
        assert isMadeAs(steps, nodes[0], tenant)
        assert nodes != [old]
    steps.runUntil(lambda: steps.isGone(old))


@pytest.mark.parametrize('notes', [
    'text', [], {}, {'made_of': None}, {'made_of': ['x']}, {'tenant': 5},
    {'made_of': '2:other'}])
def test_odd_notes_are_none(notes):
    node = types.SimpleNamespace(zuul_nodes=notes)
    assert nodenotes.getMadeOf(node) is None
    assert nodenotes.getTenant(node) is None


# What an identity consists of

def makeProvider(**kwargs):
    config = kwargs.pop('config', {})
    image = kwargs.pop('image', 'project/debian')
    provider = Provider('a', Label('big', **kwargs.pop('label', {})), **kwargs)
    provider.config = config
    provider.images['debian'].canonical_name = image
    return provider


@pytest.mark.parametrize('change', [
    {'image': 'other/debian'},
    {'connection': 'other'},
    {'endpoint': Endpoint('west')},
    {'label': {'config_hash': 'other'}},
    {'config': {'region': 'west'}},
    {'config': {'resource-group': 'other'}},
    {'config': {'use-internal-ip': True}},
])
def test_what_makes_another_identity(change):
    one, other = makeProvider(tenant='x'), makeProvider(**change)
    assert getIdentity(one, 'big') != getIdentity(other, 'big')
    assert not isMadeFrom(getIdentity(one, 'big'), other)
    assert getSubject(one, 'big') != getSubject(other, 'big')


@pytest.mark.parametrize('change', [
    {'tenant': 'other'},
    {'limits': {'instances': 5}},
    {'attempts': 7},
    {'priority': 5},
    {'section': {'name': 'other/section', 'limits': {}}},
    {'config': {'resource-limits': {'instances': 5}}},
    {'config': {'launch-timeout': 5, 'launch-attempts': 2}},
    {'config': {'label-defaults': {'boot-timeout': 5}, 'labels': [{}]}},
])
def test_what_makes_no_other_identity(change):
    one, other = makeProvider(), makeProvider(**change)
    assert getIdentity(one, 'big') == getIdentity(other, 'big')
    assert getSubject(one, 'big') == getSubject(other, 'big')


def test_endpoint_that_is_not_known_yet_is_asked_for_again():
    provider = makeProvider()
    endpoint, provider.endpoint = provider.endpoint, None
    scope = Scope({'tenant': [provider]})
    node = makeNode(makeProvider(), 'big')
    assert not scope.isFor(node, provider)
    provider.endpoint = endpoint
    assert scope.isFor(node, provider)


def test_many_tenants_cost_a_node_nothing():
    """Only its own is asked."""
    label = Label('big')
    providers = [Provider('a', label, tenant=f'tenant{number}')
                 for number in range(300)]
    world = World(*providers)
    _, grant = world.request('big', tenant='tenant7')
    assert isinstance(grant, Grant)
    node = next(iter(world.nodes.values()))
    scope = world.planner.scope
    asked = []
    scope._getMakers = asked.append
    node._set(**nodenotes.make(
        getIdentity(providers[7], 'big').made_of, 'tenant7'))
    world.planner.updateNode(node)
    assert scope.getOwner(node) == 'tenant7'
    assert asked == []
