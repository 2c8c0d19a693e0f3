"""What nobody should have written, and what has gone: it concerns no
others, is told to people, and leaves nothing behind."""

import math
import time
import uuid

import pytest
from zuul.lib.connections import ConnectionRegistry
from zuul.model import NodesetRequest, ProviderNode, QuotaInformation
from zuul.web import NodesetRequestConverter

from tests.fixtures.launcher import CONNECTIONS, makeProviders
from tests.fixtures.planning import getReservations
from tests.fixtures.racks import cloud, finish, isDone, randomText
from tests.fixtures.shelf.shelf_maker import ShelfDriver, ShelfProvider
from tests.fixtures.staticlayouts import oneStaticNode
from zuul_nodes import candidates, labelproblems
from zuul_nodes.configloader.flattening.validation import Validation
from zuul_nodes.configloader.objects import attributes
from zuul_nodes.drivers import PermanentError
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

State = ProviderNode.State
DAY = 86400


def end(launcher, racks):
    """All requests are done with: nothing is left, nor remembered."""
    launcher.endAll(racks)
    runUntilForgotten(launcher)


def runUntilForgotten(launcher):
    planner = launcher.planner
    launcher.runUntil(lambda: launcher.queue.isIdle() and not (
        planner.waiting.requests or planner.capacity.claims
        or getReservations(planner) or launcher.node_index.assigned))


def deleteTenant(launcher, tenant='tenant'):
    """What a scheduler does with a tenant that the configuration has no
    more."""
    del launcher.layouts.tenant_states[tenant]
    launcher.runUntil(lambda: tenant not in launcher.tenant_providers)


def waitFor(launcher, log, text):
    launcher.runUntil(lambda: text in log.text)


# Labels


def test_request_for_unknown_label_fails(steps, racks, log):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', 'bigger')
    steps.fail(request)
    assert ('Label bigger: no provider of tenant tenant has it'
            in log.text)
    assert racks.created == []
    end(steps, racks)


def test_request_fails_with_the_error_of_the_provider_it_needs(
        steps, racks, log):
    steps.setLayout(cloud('one'))
    labelproblems.publish(steps.zk_client.client, 'tenant', {
        'bigger': 'The provider "two" has no section'})
    steps.fail(steps.addRequest('big', 'bigger'))
    assert ('no provider of tenant tenant has it. The provider "two" has no '
            'section' in log.text)


def test_request_for_label_of_another_tenant_fails(steps, racks, log):
    steps.setLayout(cloud('one', labels='[other]'))
    steps.setLayout(cloud('two'), 'another')
    steps.fail(steps.addRequest('big'))
    assert 'Label big: no provider of tenant tenant has it' in log.text
    assert racks.created == []


def test_request_of_unknown_tenant_fails(steps, racks, log):
    steps.setLayout(cloud('one'))
    steps.fail(steps.addRequest('big', tenant='nobody'))
    assert 'no provider of tenant nobody has it' in log.text


def test_waiting_request_fails_when_its_label_is_removed(steps, racks, log):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first, second, third = (
        steps.addRequest(label) for label in ('other', 'big', 'other'))
    steps.serve(first)
    assert 'provider one has 1 instances, 1 in use' in (
        steps.waitForReason(second))
    steps.setLayout(cloud(
        'one', labels='[other]', resource_limits='{instances: 1}'))
    steps.fail(second)
    assert 'Label big: no provider of tenant tenant has it' in log.text
    # Of no concern to the one behind it.
    finish(steps, first)
    steps.serve(third)
    end(steps, racks)


def test_request_gets_building_node_whose_label_is_removed(steps, racks):
    """The node was granted before."""
    steps.setLayout(cloud('one'))
    racks.slow.add('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    steps.setLayout(cloud('one', labels='[other]'))
    racks.slow.clear()
    node, = steps.serve(request)
    assert node.label == 'big'
    end(steps, racks)


def test_request_without_labels_is_served_at_once(steps, racks):
    """There is nothing to wait for."""
    steps.setLayout(cloud('one'))
    assert steps.serve(steps.addRequest()) == []
    assert steps.serve(steps.addRequest(tenant='nobody')) == []
    assert racks.created == []
    end(steps, racks)


# Tenants and connections


@pytest.mark.parametrize('others', [True, False])
def test_unused_nodes_of_deleted_tenant_go(steps, racks, others):
    """Nodes in use stay until they are given back, though there may be no
    provider at their cloud any more."""
    steps.setLayout(cloud('one'))
    if others:
        steps.setLayout(cloud('two'), 'another')
    ready = steps.addNode(steps.getProvider('one'), 'other',
                          state=State.READY)
    racks.instances[ready.uuid] = 'one'
    used = steps.addRequest('big')
    node, = steps.serve(used)
    racks.slow.add('one')
    building = steps.addRequest('big')
    steps.runUntil(lambda: len(racks.instances) == 3)
    with steps.context() as context:
        node.updateAttributes(context, state=State.IN_USE)
    deleteTenant(steps)
    steps.runUntil(lambda: ready.uuid not in racks.instances)
    steps.run()
    assert steps.api.getProviderNode(node.uuid) is node
    assert node.state == State.IN_USE
    assert node.uuid in racks.instances
    racks.slow.clear()
    # A scheduler deletes the requests of a tenant that is gone.
    finish(steps, used)
    finish(steps, building)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_waiting_request_of_deleted_tenant_fails(steps, racks):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    steps.setLayout(cloud('two'), 'another')
    request = steps.addRequest('big')
    steps.serve(request)
    waiting = steps.addRequest('big')
    steps.waitForReason(waiting)
    deleteTenant(steps)
    steps.fail(waiting)


@pytest.mark.parametrize('others', [True, False])
def test_nodes_of_moved_provider_are_deleted_where_they_were_made(
        steps, racks, monkeypatch, others):
    """None of them serves a request."""
    places = {}
    create, delete = racks.create, racks.delete

    def watchCreate(provider, node):
        places[node.uuid] = provider.connection_name
        create(provider, node)

    def watchDelete(provider, node):
        # Another cloud says that it has no such thing.
        if places[node.uuid] == provider.connection_name:
            delete(provider, node)
    monkeypatch.setattr(racks, 'create', watchCreate)
    monkeypatch.setattr(racks, 'delete', watchDelete)
    steps.setLayout(cloud('one'))
    if others:
        steps.setLayout(cloud('two'), 'another')
    used = steps.addRequest('big')
    node, = steps.serve(used)
    gone = steps.addRequest('big')
    ready, = steps.serve(gone)
    with steps.context() as context:
        gone.delete(context)
    steps.runUntil(lambda: not ready.request_id)
    steps.setLayout(cloud('one', connection='other'))
    request = steps.addRequest('big')
    moved, = steps.serve(request)
    assert places[moved.uuid] == 'other'
    steps.runUntil(lambda: ready.uuid not in racks.instances)
    assert node.uuid in racks.instances
    end(steps, racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_node_is_made_again_when_its_provider_moves(steps, racks):
    """That counts as no failed attempt."""
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.slow.add('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    former, = request.nodes
    steps.setLayout(cloud('one', launch_attempts=1, connection='other'))
    racks.slow.clear()
    node, = steps.serve(request)
    assert node.connection_name == 'other'
    entry, = request.provider_node_data
    assert not entry.get('failed_providers') and not entry.get('temporary')
    steps.runUntil(lambda: former not in racks.instances)
    end(steps, racks)


# Numbers


def letAllThrough(monkeypatch):
    """As a scheduler without this configuration loader may do."""
    monkeypatch.setattr(Validation, 'run', lambda self: None)
    monkeypatch.setattr(attributes, 'findFaults', lambda *args: ())


@pytest.mark.parametrize('limits', [
    '{instances: -1}', '{instances: 0}', '{instances: -99999999999999999}'])
def test_request_fails_when_limits_leave_no_quota(
        steps, racks, log, limits, monkeypatch):
    letAllThrough(monkeypatch)
    steps.setLayout(cloud('one', resource_limits=limits))
    request = steps.addRequest('big')
    steps.fail(request)
    assert 'provider one has 0 instances in all, 1 needed' in log.text
    assert racks.created == []


def test_provider_with_huge_limits_serves_requests(steps, racks):
    limits = f'{{instances: {2**63 - 1}}}'
    steps.setLayout(cloud('one', resource_limits=limits))
    steps.serve(steps.addRequest('big'))
    end(steps, racks)


@pytest.mark.parametrize('limit, reason', [
    (-1, 'endpoint rack has 0 instances in all, 1 needed'),
    (math.nan, 'endpoint rack has 0 instances in all, 1 needed'),
    ('many', 'limits of one are not known')])
def test_absurd_quota_of_a_cloud_concerns_no_other_provider(
        steps, racks, monkeypatch, log, limit, reason):
    """The provider makes no nodes, and requests tell why."""
    def getEndpointLimits(provider):
        return QuotaInformation(
            default=math.inf,
            **({'instances': limit} if provider.name == 'one' else {}))
    monkeypatch.setattr(
        ShelfProvider, 'getEndpointLimits', getEndpointLimits)
    steps.setLayout(cloud('one'))
    steps.setLayout(cloud('two', connection='other'), 'another')
    request = steps.addRequest('big')
    steps.serve(steps.addRequest('big', tenant='another'))
    if limit == 'many':
        assert reason in steps.waitForReason(request)
    else:
        steps.fail(request)
        assert reason in log.text
    assert racks.created == ['two']


@pytest.mark.parametrize('need', [
    {'instances': -5}, {'instances': 0}, {}, {'cores': -1, 'instances': 1}])
def test_negative_needs_of_a_label_add_no_quota(
        steps, racks, monkeypatch, need):
    monkeypatch.setattr(
        ShelfProvider, 'getQuotaForLabel', lambda provider, label:
        QuotaInformation(**need if label.name == 'other'
                         else {'instances': 1}))
    steps.setLayout(cloud('one', resource_limits='{instances: 2, cores: 0}'))
    steps.serve(steps.addRequest('other'))
    requests = [steps.addRequest('big') for _ in range(3)]
    steps.runUntil(lambda: any(map(isDone, requests)) and any(
        steps.planner.getReason(request.uuid) for request in requests))
    steps.run()
    assert 1 <= sum(map(isDone, requests)) <= 2


def test_negative_min_ready_and_max_nodes_make_no_nodes(
        steps, racks, log, monkeypatch):
    """A scheduler without this configuration loader may have let them
    through."""
    letAllThrough(monkeypatch)
    text = cloud('one').replace(
        'name: big, image: debian,',
        'name: big, image: debian, min-ready: -3, max-nodes: -1,')
    steps.setLayout(text)
    steps.run()
    assert steps.nodes() == []
    steps.fail(steps.addRequest('big'))
    assert 'label big has 0 nodes in all, 1 needed' in log.text


def test_request_for_label_with_too_many_slots_fails(
        steps, racks, log, monkeypatch):
    """A scheduler without this configuration loader may have let it
    through."""
    letAllThrough(monkeypatch)
    labels = '[{name: big, slots: 1000000, min-ready: 1}, other]'
    steps.setLayout(cloud('one', labels=labels))
    steps.fail(steps.addRequest('big'))
    assert (
        'Label big: one: one cannot determine the quota of a node: "slots" of '
        'label big are 1000000, 1000 are the most') in log.text
    steps.serve(steps.addRequest('other'))
    assert racks.created == ['one']


def test_static_node_with_too_many_slots_is_not_registered(
        steps, log, monkeypatch):
    letAllThrough(monkeypatch)
    steps.setLayout(oneStaticNode(slots=1000000))
    steps.fail(steps.addRequest('big'))
    problem = '"slots" of label big are 1000000, 1000 are the most'
    assert f'desk has not enough nodes: {problem}' in log.text
    assert 'Unable to register static node' in log.text
    assert steps.nodes() == []


def test_request_records_no_more_than_100_failed_attempts(steps, racks):
    """Each is recorded with the name of its provider."""
    racks.errors['one'] = PermanentError('no such flavor')
    steps.setLayout(cloud('one', 'two', launch_attempts=1000))
    request = steps.addRequest('big')
    steps.serve(request)
    assert racks.created == ['one', 'two']
    entry, = request.provider_node_data
    name = steps.getProvider('one').canonical_name
    # The last attempt would confirm the error.
    assert entry['failed_providers'] == [name] * 99


@pytest.mark.parametrize('options', ['', 'min-ready: 1, '])
def test_request_fails_when_its_node_record_is_too_large(
        steps, racks, log, options):
    """ZooKeeper would end the connection of the launcher that writes it."""
    options += f'tags: {{x: "{randomText(2 * 1024 * 1024)}"}},'
    steps.setLayout(cloud('two'), 'another')
    states = []
    steps.zk_client.client.add_listener(states.append)
    steps.setLayout(cloud('one').replace(
        'name: big,', f'name: big, {options}'))
    steps.fail(steps.addRequest('big'))
    assert 'bytes exceeds the limit of ZooKeeper' in log.text
    steps.serve(steps.addRequest('big', tenant='another'))
    assert states == []
    end(steps, racks)


def test_web_ui_shows_provider_that_has_refused_waiting_request(steps, racks):
    text = cloud('one', 'two', labels='[big, other]',
                 resource_limits='{instances: 1}')
    first, second = text.split('    name: two')
    tags = f'tags: {{x: "{randomText(2 * 1024 * 1024)}"}}'
    steps.setLayout(first.replace(
        'labels: [big,', f'labels: [{{name: big, {tags}}},')
        + '    name: two' + second)
    full = {}
    for _ in range(2):
        request = steps.addRequest('other')
        steps.serve(request)
        node = steps.api.getProviderNode(request.nodes[0])
        full[node.provider] = request
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    one, two = (steps.getProvider(name).canonical_name
                for name in ('one', 'two'))
    finish(steps, full[one])
    steps.runUntil(lambda: request.provider_node_data)
    entry, = NodesetRequestConverter.toDict(request)['provider_node_data']
    assert set(entry['failed_providers']) == {one}
    finish(steps, full[two])
    steps.serve(request)


# Clocks


@pytest.mark.parametrize('seconds', [DAY, -DAY])
def test_clock_jump_does_not_time_out_a_launch(steps, racks, jump, seconds):
    steps.setLayout(cloud('one', launch_timeout=3600))
    racks.slow.add('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    node, = steps.nodes()
    jump(seconds)
    attempts = racks.created[:]
    steps.queue.add(('node', node.uuid))
    steps.runUntil(lambda: node.create_state_machine)
    steps.run()
    assert node.state == State.BUILDING
    racks.slow.clear()
    assert steps.serve(request) == [node]
    assert racks.created == attempts
    end(steps, racks)


@pytest.mark.parametrize('seconds', [DAY, -DAY])
def test_clock_jump_deletes_no_used_or_held_node(steps, racks, jump, seconds):
    own = {'big': {}}
    steps.setLayout(cloud('one').replace(
        'checking: false', 'checking: false, max-age: 60, max-ready-age: 60'),
        own=own)
    request = steps.addRequest('big')
    node, = steps.serve(request)
    assert node.max_age == 60
    with steps.context() as context:
        node.updateAttributes(context, state=State.IN_USE)
    held = steps.addNode(steps.getProvider('one'), 'big', state=State.HOLD,
                         max_age=60)
    jump(seconds)
    for each in (node, held):
        steps.queue.add(('node', each.uuid))
    steps.run()
    assert {each.uuid for each in steps.nodes()} == {node.uuid, held.uuid}
    assert racks.deleted == []


def test_clock_jump_makes_ready_nodes_too_old(steps, racks, jump):
    """Requests get new nodes then."""
    steps.setLayout(cloud('one'))
    old = [steps.addNode(steps.getProvider('one'), 'big', state=State.READY,
                         max_ready_age=3600) for _ in range(2)]
    young = steps.addNode(steps.getProvider('one'), 'other',
                          state=State.READY, max_ready_age=2 * DAY)
    steps.run()
    jump(DAY)
    for each in old:
        steps.queue.add(('node', each.uuid))
    node, = steps.serve(steps.addRequest('big'))
    assert node not in old
    steps.runUntil(lambda: {each.uuid for each in steps.nodes()}
                   == {node.uuid, young.uuid})


def test_records_from_the_future_are_served(steps, racks, jump):
    """The clock was set back after they were written."""
    steps.setLayout(cloud('one'))
    ready = steps.addNode(steps.getProvider('one'), 'big', state=State.READY,
                          max_ready_age=3600, max_age=3600,
                          min_retention_time=60)
    waiting = steps.addRequest('other')
    jump(-DAY)
    steps.serve(waiting)
    assert steps.serve(steps.addRequest('big')) == [ready]
    steps.serve(steps.addRequest('big'))
    end(steps, racks)


# Records that can't be read


def garble(launcher, path):
    launcher.zk_client.client.set(path, b'\x00garbage')


@pytest.mark.parametrize('data', [
    b'garbage', b'', b'shelf\x00{}', b'shelf\x00garbage',
    b'unheard\x00{"uuid": "x"}'])
def test_unreadable_node_record_is_reported_and_kept(steps, racks, log, data):
    steps.setLayout(cloud('one'))
    node_id = uuid.uuid4().hex
    path = f'/zuul/nodes/nodes/{node_id}'
    steps.zk_client.client.create(path, data)
    steps.zk_client.client.create(f'/zuul/nodes/locks/{node_id}')
    steps.serve(steps.addRequest('big'))
    if data:
        waitFor(steps, log, 'Unable to process Notice(')
        assert node_id in log.text
    # It may be another version's, or somebody repairs it.
    assert steps.zk_client.client.get(path)[0] == data


def test_nodes_that_become_unreadable_are_not_deleted(steps, racks, log):
    """Of a ready node the record, of a used one the assignment, too."""
    steps.setLayout(cloud('one'))
    ready = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    used = steps.addRequest('other')
    node, = steps.serve(used)
    garble(steps, ready.getPath())
    garble(steps, node.getPath())
    garble(steps, node.assignment.getPath())
    waitFor(steps, log, 'Unable to process Notice(')
    assert steps.serve(steps.addRequest('other')) != [node]
    steps.run()
    assert ready.uuid not in racks.deleted
    assert node.uuid not in racks.deleted


@pytest.mark.parametrize('data', [b'garbage', b'', b'[]', b'{"labels": 7}'])
def test_unreadable_request_is_reported_and_concerns_no_other(
        steps, racks, log, data):
    steps.setLayout(cloud('one'))
    request_id = uuid.uuid4().hex
    path = f'/zuul/nodeset/requests/{request_id}'
    steps.zk_client.client.create(path, data, makepath=True)
    steps.serve(steps.addRequest('big'))
    if data:
        waitFor(steps, log, 'Unable to process Notice(')
        assert request_id in log.text
    steps.serve(steps.addRequest('big'))


@pytest.mark.parametrize('attributes', [
    {'labels': None}, {'labels': [None]}, {'labels': [7]},
    {'request_time': None}, {'priority': 'high'},
    {'provider_node_data': [{'uuid': None}]},
    {'provider_node_data': [{'uuid': 'gone'}]},
    {'provider_node_data': None},
    {'preferred_provider': 7}, {'image_names': [7]}, {'pipeline_name': None},
    {'tenant_name': None}, {'span_info': {'name': 7}}], ids=repr)
def test_request_with_invalid_attributes_concerns_no_other(
        steps, racks, attributes):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    used = steps.addRequest('big')
    steps.serve(used)
    steps.addRequest('big')
    request = NodesetRequest()
    request._set(**{'tenant_name': 'tenant', 'pipeline_name': 'check',
                    'labels': ['big'], **attributes})
    with steps.context() as context:
        request.internalCreate(context)
    steps.runUntil(lambda: steps.api.getNodesetRequest(request.uuid))
    other = steps.addRequest('big')
    steps.run()
    finish(steps, used)
    # One after the other, there is room for all of them.
    finished = [used]
    while not isDone(other):
        for each in steps.api.requests_cache.getItems():
            if isDone(each) and each not in (other, *finished):
                finish(steps, each)
                finished.append(each)
        if not steps.queue.step():
            time.sleep(0.001)
    assert other.state == other.State.FULFILLED


def test_unreadable_provider_is_reported_and_keeps_its_nodes(
        steps, racks, log):
    """Its tenant still has its other providers."""
    steps.setLayout(cloud('one', 'two'))
    provider = steps.getProvider('one')
    node = steps.addNode(provider, 'big', state=State.READY)
    steps.writeLayout(cloud('one', 'two'))
    path = f'/zuul/tenant/tenant/provider/{provider.canonical_name}/config'
    client = steps.zk_client.client
    for shard in client.get_children(path):
        client.set(f'{path}/{shard}', b'garbage')
    steps.runUntil(lambda: len(steps.tenant_providers['tenant']) == 1)
    assert f'Unable to read the provider at {path}' in log.text
    assert steps.serve(steps.addRequest('big'))[0].provider.endswith('/two')
    steps.run()
    assert node.state == State.READY


def test_request_waits_for_provider_with_unknown_driver(
        steps, racks, log, zuul_conf):
    class UnknownDriver(ShelfDriver):
        name = 'unheard'

    zuul_conf.read_dict(CONNECTIONS)
    zuul_conf.read_dict({'connection third': {
        'driver': 'unheard', 'host': '127.0.0.1', 'port': '22',
        'username': 'zuul'}})
    connections = ConnectionRegistry()
    registry.wrapConfigure(ConnectionRegistry.configure, Extensions(
        {'shelf': ShelfDriver, 'unheard': UnknownDriver}, {}, {}))(
            connections, zuul_conf, providers=True)
    providers = makeProviders(
        connections, cloud('one', connection='third'), 'strange',
        zk_client=steps.zk_client)
    steps.setLayout(cloud('two'), 'another')
    with steps.context() as context:
        steps.layouts.providers_store.set(context, 'strange', providers)
    steps.layouts.tenant_states['strange'] = (
        steps.layouts.tenant_states['another'])
    request = steps.addRequest('big', tenant='strange')
    steps.serve(steps.addRequest('big', tenant='another'))
    waitFor(steps, log, 'Unable to read the provider at '
            '/zuul/tenant/strange/provider')
    # Other launchers may know it.
    assert 'there is no connection third in its zuul.conf' in (
        steps.waitForReason(request))
    connections.stop()


@pytest.mark.parametrize('name, data', [
    ('garbage', b'{"launcher": "two", "embedded": false}'),
    ('a-0000000000', b'garbage'), ('a-0000000000', b'[]'),
    ('a-0000000000', b'{"launcher": "two"}')])
def test_unreadable_candidate_is_reported_and_ignored(
        steps, racks, log, name, data):
    steps.setLayout(cloud('one'))
    steps.zk_client.client.create(f'{candidates.ROOT}/{name}', data)
    waitFor(steps, log, 'Error playing back event')
    steps.serve(steps.addRequest('big'))


# Requests that go


def test_deleted_waiting_request_does_not_block_the_next_one(steps, racks):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    used = steps.addRequest('other')
    steps.serve(used)
    request, behind = steps.addRequest('big'), steps.addRequest('big')
    steps.waitForReason(request)
    steps.waitForReason(behind)
    with steps.context() as context:
        request.delete(context)
    finish(steps, used)
    steps.serve(behind)
    end(steps, racks)


def test_building_node_of_deleted_request_serves_another(steps, racks):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    racks.slow.add('one')
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    with steps.context() as context:
        request.delete(context)
    node, = steps.nodes()
    steps.runUntil(lambda: not node.request_id)
    another = steps.addRequest('big')
    steps.runUntil(lambda: another.nodes)
    racks.slow.clear()
    assert steps.serve(another) == [node]
    end(steps, racks)


def test_ready_node_of_deleted_request_serves_another(steps, racks):
    """No job has used the node."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: not (node.request_id or node.is_locked))
    assert steps.serve(steps.addRequest('big')) == [node]
    end(steps, racks)


@pytest.mark.parametrize('moment', ['plan', 'confirm'])
def test_request_deleted_while_it_is_granted_leaves_nothing_behind(
        steps, racks, monkeypatch, moment):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    request = steps.addRequest('big')
    good = getattr(steps.planner, moment)

    def interfere(*args):
        try:
            return good(*args)
        finally:
            steps.zk_client.client.delete(request.getPath(), recursive=True)
    monkeypatch.setattr(steps.planner, moment, interfere)
    steps.runUntil(lambda: not steps.api.getNodesetRequests())
    monkeypatch.undo()
    racks.__init__(monkeypatch)
    runUntilForgotten(steps)
    steps.serve(steps.addRequest('big'))
    end(steps, racks)


def test_failed_node_of_deleted_request_is_not_retried(steps, racks):
    steps.setLayout(cloud('one'))
    racks.hang('one')
    racks.errors['one'] = [RuntimeError('it does not boot')]
    request = steps.addRequest('big')
    steps.runUntil(lambda: racks.reached)
    with steps.context() as context:
        request.delete(context)
    racks.end()
    end(steps, racks)
    assert racks.created == ['one']
