"""When the layouts of all tenants count as read."""

import json
import threading
import types

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.model import NodesetRequest, ProviderNode
from zuul.zk.locks import tenant_write_lock

from tests.fixtures.backoffs import noteBackoffs
from tests.fixtures.launcher import TIMEOUT, makeProviders
from tests.fixtures.racks import cloud, isDone
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint
from tests.fixtures.staticlayouts import oneStaticNode, readyNode
from tests.fixtures.waiting import waitFor
from zuul_nodes import imagelayouts
from zuul_nodes.launcher.providers.layouts import Layouts
from zuul_nodes.providerrecords import OWN_PART

RequestState = NodesetRequest.State
State = ProviderNode.State


def test_layout_that_was_read_before_a_tenant_went_is_used(
        steps, racks, monkeypatch):
    """The update has failed after it had read one of two tenants."""
    layouts = steps.layouts
    names = {'tenant', 'another'}
    for name in names:
        steps.writeLayout(cloud('one'), name)
    waitFor(lambda: names <= set(layouts.tenant_states))
    read = []
    update = layouts._updateTenant

    def updateOne(name):
        if read:
            raise ConnectionLoss
        read.append(name)
        return update(name)
    with monkeypatch.context() as context, pytest.raises(ConnectionLoss):
        context.setattr(layouts, '_updateTenant', updateOne)
        layouts.update()
    first, = read
    gone, = names - {first}
    del layouts.tenant_states[gone]
    steps.runUntil(lambda: gone not in layouts.tenant_states
                   and layouts.isUpToDate())
    request = steps.addRequest('big', tenant=first)
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


@pytest.fixture
def late(steps, monkeypatch):
    """Have a tenant, "late", whose layout no watch has told of yet."""
    steps.setLayout(cloud('one'))
    steps.run()
    monkeypatch.setattr(steps.layouts.watch, 'isComplete', lambda: False)
    monkeypatch.setattr(steps.layouts.watch, 'changed', lambda: None)
    steps.layouts.tenant_states._callback = lambda: None
    steps.writeLayout(cloud('two'), 'late')
    assert steps.layouts.isUpToDate()


def test_request_is_here_before_its_layout(steps, racks, late):
    request = steps.addRequest('big', tenant='late')
    assert steps.servedBy(request) == ['two']


@pytest.mark.parametrize('tenant', [None, 'late'])
def test_node_is_here_before_its_layout(steps, racks, late, tenant):
    """Another launcher has made its record, for a tenant or to be ready."""
    provider, = makeProviders(
        steps.connections, cloud('two'), 'late', zk_client=steps.zk_client)
    node = steps.addNode(provider, 'big', state=ProviderNode.State.BUILDING)
    with steps.context() as context:
        node.assign(context, None, tenant)
    steps.runUntil(lambda: node.state not in (
        node.State.REQUESTED, node.State.BUILDING))
    assert node.state == node.State.READY


def test_layouts_are_up_to_date_when_update_ends_during_the_question(
        steps, monkeypatch):
    """The update ends before it sees the mark that a caller waits."""
    def putOff(layouts, value):
        layouts.update()
    steps.run()
    steps.layouts._noteChange()
    monkeypatch.setattr(
        Layouts, 'put_off', property(lambda layouts: False, putOff),
        raising=False)
    assert steps.layouts.isUpToDate()


def test_planner_gets_new_scope_before_layouts_count_as_read(
        steps, monkeypatch):
    """No request fails because of the former layout."""
    before = steps.layouts._read
    known = []
    setScope = steps.layouts.adopt

    def note(scope):
        known.append(steps.layouts._read)
        setScope(scope)
    monkeypatch.setattr(steps.layouts, 'adopt', note)
    steps.setLayout(cloud('one'))
    assert known == [before]
    assert steps.planner.scope is steps.layouts.scope


def test_launcher_tells_that_it_runs_after_connection_loss(steps, monkeypatch):
    """It registers static nodes, too, though it had no connection when the
    layouts had been read."""
    component = steps.component_info
    component.state = component.STOPPED
    client = component.kazoo_client
    errors = [ConnectionLoss()]

    def write(path, data):
        if errors:
            raise errors.pop()
        return client.set(path, data)
    monkeypatch.setattr(component, 'client', types.SimpleNamespace(
        client=types.SimpleNamespace(set=write)))
    steps.writeLayout(oneStaticNode())
    readyNode(steps)
    assert not errors
    content, _ = client.get(component.path)
    assert json.loads(content)['state'] == component.RUNNING


@pytest.mark.settings(drift_grace=0)
def test_locked_tenant_does_not_delay_others_when_launcher_starts(
        steps, racks):
    """The nodes of the locked tenant stay."""
    text = cloud('one')
    provider, = makeProviders(
        steps.connections, text, zk_client=steps.zk_client)
    ready = steps.addNode(provider, 'big', state=ProviderNode.State.READY)
    building = steps.addNode(
        provider, 'big', state=ProviderNode.State.BUILDING)
    request = steps.addRequest('big')
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(text)
        steps.setLayout(cloud('two'), 'another')
        steps.serve(steps.addRequest('other', tenant='another'))
        failed = steps.addRequest('huge', tenant='another')
        steps.runUntil(lambda: isDone(failed))
        # There is nothing left to be done.
        steps.run()
        assert request.state == request.State.REQUESTED
        assert ready.state == ProviderNode.State.READY
        assert building.state == ProviderNode.State.BUILDING
        assert not steps.layouts.isKnown()
    assert steps.serve(request) == [ready]
    steps.runUntil(lambda: building.state == ProviderNode.State.READY)
    assert steps.layouts.isKnown()


def test_locked_tenant_keeps_its_former_layout(
        steps, racks, monkeypatch, log):
    steps.setLayout(cloud('one'))
    with tenant_write_lock(steps.zk_client, 'tenant'):
        request = steps.addRequest('big')
        steps.writeLayout(cloud('one', labels='[other]'))
        steps.runUntil(lambda: not steps.layouts.isKnown('tenant'))
        steps.serve(request)
        failed = noteBackoffs(steps.layout_changes)
        steps.runUntil(lambda: failed)
    steps.runUntil(steps.layouts.isKnown)
    assert set(steps.getProvider('one').labels) == {'other'}
    assert log.text.count('Unable to read the layout of tenant tenant') == 1


def test_request_of_locked_tenant_fails_when_the_tenant_goes(
        steps, racks, log):
    request = steps.addRequest('big')
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(cloud('one'))
        steps.runUntil(lambda: steps.scope.unread)
        steps.run()
        assert request.state == request.State.REQUESTED
        del steps.layouts.tenant_states['tenant']
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED


# A request and the layout that it is from

def take(launcher, request):
    """Have a launcher look at a request, and at nothing else."""
    launcher.request_reconciler.reconcile(request.uuid)


def changed(number, **more):
    return cloud('one', **more).replace(
        'name: big,', f'name: big, boot-timeout: {number},')


def test_request_gets_nothing_of_a_layout_that_is_older_than_it(steps, racks):
    """The launcher may hear of the request first."""
    steps.setLayout(changed(5))
    old = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    steps.writeLayout(changed(6))
    request = steps.addRequest('big')
    take(steps, request)
    assert request.state == RequestState.REQUESTED
    node, = steps.serve(request)
    assert node is not old
    label = steps.getProvider('one').labels['big']
    assert (label.boot_timeout, node.label_config_hash) == (
        6, label.config_hash)


def test_request_costs_no_read_of_its_layout(steps, racks, monkeypatch):
    """Whether it can be served or has to wait."""
    steps.setLayout(changed(5))
    steps.run()
    read, get = [], type(steps.layouts.tenant_states).__getitem__

    def note(store, name):
        read.append(name)
        return get(store, name)
    requests = [steps.addRequest('big') for _ in range(3)]
    with monkeypatch.context() as context:
        context.setattr(
            type(steps.layouts.tenant_states), '__getitem__', note)
        for request in requests:
            take(steps, request)
    assert not read


def test_request_that_is_older_than_a_layout_does_not_wait_for_it(
        steps, racks):
    steps.setLayout(changed(5))
    ready = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    request = steps.addRequest('big')
    steps.writeLayout(changed(6))
    take(steps, request)
    assert request.state == RequestState.FULFILLED
    assert request.nodes == [ready.uuid]


def test_request_waits_for_its_own_tenant_only(steps, racks):
    steps.setLayout(changed(5))
    steps.setLayout(changed(5), 'another')
    steps.writeLayout(changed(6), 'another')
    request = steps.addRequest('big')
    take(steps, request)
    assert request.state == RequestState.ACCEPTED


def test_request_does_not_wait_for_the_layout_of_a_tenant_that_is_gone(
        steps, racks):
    steps.setLayout(changed(5))
    del steps.layouts.tenant_states['tenant']
    request = steps.addRequest('big')
    take(steps, request)
    assert request.state == RequestState.ACCEPTED


def test_request_waits_while_its_layout_can_not_be_read(
        steps, racks):
    """Nothing is busy meanwhile."""
    steps.setLayout(changed(5))
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(changed(6))
        request = steps.addRequest('big')
        steps.runUntil(lambda: 'tenant' in steps.scope.unread)
        take(steps, request)
        assert request.state == RequestState.REQUESTED
    steps.serve(request)


@pytest.mark.parametrize('is_complete', [False, True])
def test_request_waits_while_a_scheduler_writes_the_providers(
        steps, racks, is_complete):
    """It has deleted those of the former layout, and a launcher starts."""
    steps.setLayout(cloud('one'))
    layouts = steps.layouts
    imagelayouts.publish(
        steps.zk_client.client, 'tenant', imagelayouts.ImageLayout(
            layouts.states['tenant'].uuid if is_complete else 'new', {}, {}))
    layouts.providers_store.clear('tenant')
    del layouts.states['tenant']
    layouts._noteChange()
    steps.runUntilRead()
    assert not steps.tenant_providers['tenant']
    request = steps.addRequest('big')
    if is_complete:
        # The tenant has no providers.
        steps.runUntil(lambda: isDone(request))
        assert request.state == RequestState.FAILED
        return
    steps.run()
    assert not isDone(request)
    steps.setLayout(cloud('one'))
    steps.serve(request)


def test_requests_that_waited_for_their_layout_are_served_by_age(
        steps, racks, monkeypatch):
    """Whichever of them the launcher looks at first."""
    steps.setLayout(changed(5, resource_limits='{instances: 1}'))
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(changed(6, resource_limits='{instances: 1}'))
        older, younger = steps.addRequest('big'), steps.addRequest('big')
        steps.runUntil(lambda: 'tenant' in steps.scope.unread)
        for request in (older, younger):
            take(steps, request)
            assert request.state == RequestState.REQUESTED
    monkeypatch.setitem(steps.handlers, 'request', lambda _: None)
    steps.runUntil(lambda: not steps.scope.unread and all(
        map(steps.planner.blockers.isAsked, steps.tenant_providers['tenant'])))
    steps.run()
    take(steps, younger)
    assert younger.state == RequestState.REQUESTED
    take(steps, older)
    assert older.state == RequestState.ACCEPTED


def test_provider_with_the_same_record_stays_what_it_is(steps):
    steps.setLayout(cloud('one', 'two'))
    one, two = (steps.getProvider(name) for name in ('one', 'two'))
    # What only schedulers read makes no difference.
    steps.setLayout(cloud('one', 'two', launch_attempts=2).replace(
        'launch-attempts: 2', '', 1), own={
            'big': {'priority': 1, OWN_PART: {'x': 'y'}}})
    assert steps.getProvider('one') is one
    assert steps.getProvider('two') is not two
    assert steps.getProvider('two').launch_attempts == 2


def test_new_layout_with_the_same_providers_costs_launches_nothing(
        steps, racks, monkeypatch):
    """Though the cloud does not answer any more what it has been asked."""
    steps.setLayout(cloud('one'))
    asked, answered = [], threading.Event()

    def refresh(endpoint, update):
        asked.append(endpoint)
        assert answered.wait(TIMEOUT)
    monkeypatch.setattr(ShelfEndpoint, 'refreshQuotaLimits', refresh)
    try:
        steps.readLayout(cloud('one'))
        steps.serveNew('big')
        # A layout that is another one has to be asked about.
        steps.readLayout(cloud('one', resource_limits='{instances: 5}'))
        request = steps.addRequest('big')
        steps.runUntil(lambda: asked)
        assert not isDone(request)
    finally:
        answered.set()
    steps.serve(request)
