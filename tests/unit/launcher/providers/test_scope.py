"""Which provider object makes a node, and who may have it."""

import pytest
from zuul.driver.static import StaticDriver as ZuulsStaticDriver
from zuul.launcher.server import ProviderNodeError
from zuul.model import ProviderNode, QuotaInformation

from zuul_nodes.drivers.fake import FakeDriver
from zuul_nodes.drivers.static import StaticDriver
from zuul_nodes.launcher.nodes.readycounts import makeSlot
from zuul_nodes.launcher.providers.scope import getZone, isGiven

State = ProviderNode.State

CLOUD = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label:
    name: big
    image: debian
    flavor: small
    aliases: {aliases}
- label: {{name: other, image: debian, flavor: small}}
- section:
    name: rack
    connection: {connection}
    images: [debian]
    flavors: [small]
- provider:
    name: rack
    section: rack
    labels:
      - name: big
        boot-timeout: {timeout}
        host-key-checking: false
      - other
'''


@pytest.mark.parametrize('driver_class, given', [
    (StaticDriver, True), (ZuulsStaticDriver, True), (FakeDriver, False)])
def test_machines_that_are_there_already_are_declared_but_by_zuuls_driver(
        driver_class, given):
    assert isGiven(driver_class()) is given


def test_a_driver_of_another_name_may_have_machines_that_are_there_already():
    class Driver(FakeDriver):
        nodes_are_given = True
    assert isGiven(Driver())


def cloud(timeout=10, aliases='[]', connection='rack'):
    """:return: configuration; by the time-out, labels differ."""
    return CLOUD.format(timeout=timeout, aliases=aliases,
                        connection=connection)


@pytest.fixture
def tenants(steps):
    """Three tenants, in one of which the provider's label differs."""
    for name, timeout in (('first', 10), ('second', 20), ('third', 10)):
        steps.setLayout(cloud(timeout), name)
    return steps


def providerOf(launcher, node, **kwargs):
    return launcher.scope.getProviderFor(node, **kwargs)


def assign(launcher, node, tenant):
    with launcher.context() as context:
        node.assign(context, request_id='request', tenant_name=tenant)


def served(launcher, *labels, **kwargs):
    """:return: the ids of the nodes that a request is given."""
    request = launcher.addRequest(*labels, **kwargs)
    launcher.runUntil(lambda: request.state == request.State.FULFILLED)
    return request.nodes


@pytest.mark.parametrize('tenant', ['first', 'second', 'third'])
def test_a_node_is_made_by_the_provider_of_its_tenant(tenants, tenant):
    node = tenants.addNode(tenants.getProvider('rack', 'first'), 'big')
    assign(tenants, node, tenant)
    assert providerOf(tenants, node) is tenants.getProvider('rack', tenant)


@pytest.mark.parametrize('tenant', ['first', 'second'])
def test_a_node_of_nobody_is_made_as_it_was_defined(tenants, tenant):
    provider = tenants.getProvider('rack', tenant)
    node = tenants.addNode(provider, 'big')
    assert providerOf(tenants, node) is provider


def test_a_node_that_nobody_defines_any_more(tenants):
    node = tenants.addNode(tenants.getProvider('rack', 'first'), 'big',
                           label_config_hash='old')
    assert providerOf(tenants, node).name == 'rack'
    assert providerOf(tenants, node, ignore_label=True).name == 'rack'


def test_a_node_of_a_tenant_that_is_gone(tenants):
    provider = tenants.getProvider('rack', 'second')
    node = tenants.addNode(provider, 'big')
    assign(tenants, node, 'gone')
    assert providerOf(tenants, node) is provider


def test_a_node_of_a_provider_that_is_gone(tenants):
    """Others that see the same cloud can delete it, but nothing else."""
    provider = tenants.getProvider('rack', 'first')
    node = tenants.addNode(provider, 'big', provider='gone')
    with pytest.raises(ProviderNodeError):
        providerOf(tenants, node)
    assert providerOf(tenants, node, ignore_label=True) is provider
    elsewhere = tenants.addNode(provider, 'big', provider='gone',
                                connection_name='other')
    with pytest.raises(ProviderNodeError):
        providerOf(tenants, elsewhere, ignore_label=True)


def test_providers_are_those_of_the_latest_layout(steps):
    steps.setLayout(cloud())
    node = steps.addNode(steps.getProvider('rack'), 'big')
    providerOf(steps, node)
    steps.setLayout(cloud())
    assert providerOf(steps, node) is steps.getProvider('rack')


@pytest.mark.parametrize('state', ProviderNode.ASSIGNABLE_STATES)
def test_a_request_gets_what_its_tenant_defines(tenants, state):
    nodes = {name: tenants.addNode(tenants.getProvider('rack', name), 'big',
                                   state=state)
             for name in ('first', 'second')}
    assert served(tenants, 'big', tenant='second') == [nodes['second'].uuid]
    assert served(tenants, 'big', tenant='third') == [nodes['first'].uuid]
    # There is no other.
    assert served(tenants, 'big', tenant='first') not in [
        [node.uuid] for node in nodes.values()]


def test_a_request_does_not_get_what_was_changed(steps):
    steps.setLayout(cloud())
    provider = steps.getProvider('rack')
    old = steps.addNode(provider, 'big', label_config_hash='old',
                        state=State.BUILDING)
    node = steps.addNode(provider, 'big', state=State.BUILDING)
    assert served(steps, 'big', 'big')[0] == node.uuid
    assert all(each.request_id is None for each in steps.nodes()
               if each.uuid == old.uuid)


def test_a_node_with_an_alias_is_matched_by_its_own_label(steps):
    steps.setLayout(cloud(aliases='[other]'))
    provider = steps.getProvider('rack')
    node = steps.addNode(provider, 'big', state=State.BUILDING)
    for label, config_hash in (
            ('big', provider.labels['other'].config_hash),
            ('gone', provider.labels['big'].config_hash)):
        steps.addNode(provider, 'big', state=State.BUILDING, label=label,
                      label_aliases=['other'], label_config_hash=config_hash)
    assert served(steps, 'other') == [node.uuid]


@pytest.mark.settings(drift_grace=0)
def test_a_ready_node_with_an_old_label_is_retired(steps):
    steps.setLayout(cloud(10))
    provider = steps.getProvider('rack')
    old = steps.addNode(provider, 'big', state=State.READY)
    kept = steps.addNode(provider, 'other', state=State.READY)
    held = steps.addNode(provider, 'big', state=State.HOLD)
    steps.run()
    assert old.state == State.READY
    steps.setLayout(cloud(20))
    steps.runUntil(lambda: {node.uuid for node in steps.nodes()}
                   == {kept.uuid, held.uuid})


def test_a_waiting_node_with_an_old_label_is_retired(steps):
    """It may wait for more than there will ever be."""
    steps.setLayout(cloud(10) + '    resource-limits: {instances: 1}\n')
    provider = steps.getProvider('rack')
    node = steps.addNode(provider, 'big', state=State.REQUESTED,
                         quota=QuotaInformation(instances=2))
    steps.run()
    assert node.state == State.REQUESTED
    steps.setLayout(cloud(20) + '    resource-limits: {instances: 1}\n')
    steps.runUntil(lambda: steps.nodes() == [])


@pytest.mark.settings(drift_grace=0)
def test_what_another_tenant_still_defines_is_kept(tenants):
    node = tenants.addNode(tenants.getProvider('rack', 'first'), 'big',
                           state=State.READY)
    tenants.setLayout(cloud(30), 'first')
    tenants.run()
    assert tenants.nodes(State.READY) == [node]
    tenants.setLayout(cloud(30), 'third')
    tenants.runUntil(lambda: tenants.nodes() == [])


@pytest.mark.settings(drift_grace=0)
def test_nothing_is_retired_by_an_old_layout(
        steps, monkeypatch):
    steps.setLayout(cloud())
    with monkeypatch.context() as context:
        context.setattr(steps.layouts, 'isUpToDate', lambda: False)
        node = steps.addNode(steps.getProvider('rack'), 'big',
                             state=State.READY, label_config_hash='newer')
        steps.run()
        assert node.state == State.READY
    steps.setLayout(cloud())
    steps.runUntil(lambda: node.state != State.READY)


def test_the_record_of_a_new_node_is_as_its_label_says(steps):
    steps.setLayout(cloud(), own={'big': {'image': {
        'username': 'somebody', 'python-path': '/opt/python',
        'shell-type': 'cmd', 'connection-type': 'winrm',
        'connection-port': 5986}}})
    for label, values in (
            ('big', ('somebody', '/opt/python', 'cmd', 'winrm', 5986)),
            ('other', (None,) * 5)):
        provider = steps.getProvider('rack')
        node, = steps.new_records.makeNode(
            makeSlot(provider.labels[label], provider), State.BUILDING)
        assert (node.username, node.python_path, node.shell_type,
                node.connection_type, node.connection_port) == values


def test_a_node_is_made_as_its_label_says(steps):
    steps.setLayout(cloud(), own={'big': {
        'provider': {'launch-timeout': 7},
        'image': {'username': 'somebody'}}})
    for label, timeout, username in (('big', 7, 'somebody'),
                                     ('other', None, None)):
        node = steps.addNode(steps.getProvider('rack'), label)
        provider = providerOf(steps, node)
        assert provider.launch_timeout == timeout
        assert provider.images['debian'].username == username
        # It is asked each second.
        assert providerOf(steps, node) is provider


def test_nodes_of_a_request_share_a_zone(steps, racks):
    zones = ['a', 'b', 'c']
    racks.slow = {'rack'}
    steps.setLayout(cloud(), own={'big': {'zones': zones}})

    def chosen(node):
        assert providerOf(steps, node).labels['big'].az == node.az
        return node.az
    found = {}
    for _ in range(20):
        request = steps.addRequest('big', 'big')
        steps.runUntil(lambda r=request: len(r.provider_node_data) == 2)
        nodes = [steps.api.getProviderNode(each) for each in request.nodes]
        zone, = {chosen(node) for node in nodes}
        found[nodes[0].uuid] = zone
    assert set(found.values()) == set(zones)
    # The request may be another one later, or none.
    with steps.context() as context:
        for node_id, zone in found.items():
            node = ProviderNode.fromZK(
                context, ProviderNode._getPath(node_id))
            node.unassign(context)
            assert chosen(node) == zone


@pytest.mark.parametrize('az', [None, '', 'gone'])
def test_a_record_without_one_of_the_zones(steps, az):
    """As older launchers and Zuul's write it."""
    steps.setLayout(cloud(), own={'big': {'zones': ['a', 'b', 'c']}})
    provider = steps.getProvider('rack')
    label = provider.labels['big']
    found = set()
    for _ in range(20):
        node = steps.addNode(provider, 'big', az=az)
        with steps.context() as context:
            again = ProviderNode.fromZK(context, node.getPath())
        assert getZone(again, label) == getZone(node, label)
        found.add(getZone(node, label))
    assert found == {'a', 'b', 'c'}
