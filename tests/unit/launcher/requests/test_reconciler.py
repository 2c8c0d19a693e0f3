"""Requests that others change, or have left half way."""

import logging
import math
import time

from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import EventType
import pytest
from zuul.launcher.client import LauncherClient
from zuul.zk.vendor.states import WatchedEvent

from tests.fixtures.racks import (
    addProvider,
    addSection,
    cloud,
    finish,
    isDone,
)
from tests.fixtures.waiting import waitFor
from zuul_nodes import requestnotes
from zuul_nodes.launcher.providers import getSubject
from zuul_nodes.launcher.zookeeper import Conflict
from zuul_nodes.launcher.zookeeper.transaction import Transaction

# The first connection is nobody's, if its launcher goes.
CLOUDS = cloud('one', labels='[big]') + addSection('other') + addProvider(
    'two', '[other]', 'other')


def serve(launcher, request):
    """:return: the uuids of the request's nodes."""
    launcher.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    return request.nodes


def change(launcher, request, **attributes):
    """Have a request be as somebody left it that did not finish."""
    with launcher.context() as context:
        request.updateAttributes(context, **attributes)


def getEvents(launcher):
    """:return: of which requests the pipeline has been told the end, once
        for each time."""
    return [event.request_id
            for event in launcher.result_events['tenant']['check']]


def test_an_assignment_that_the_cache_has_missed_is_read(steps, racks):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node_id, = serve(steps, request)
    node = steps.api.getProviderNode(node_id)
    path = node.assignment.getPath()
    steps.api.nodes_cache.preCacheHook(
        WatchedEvent(EventType.DELETED, None, path, WatchedEvent.NO_ZXID),
        exists=False)
    assert node.request_id is None
    with pytest.raises(Conflict, match='is not cached yet'):
        steps.request_records.getNodes(request)
    waitFor(lambda: node.request_id == request.uuid)
    assert steps.request_records.getNodes(request) == [node]


# Why they wait, and fail

@pytest.mark.settings(request_timeout='tenant=3600')
def test_request_fails_when_it_has_waited_too_long(steps, racks):
    one = cloud('one', resource_limits='{instances: 1}')
    for tenant in ('tenant', 'patient'):
        steps.setLayout(one, tenant)
    serve(steps, steps.addRequest('big'))
    early = time.time() - 3600
    patient, young, over, soon = (
        steps.addRequest('big', tenant=tenant, request_time=start)
        for tenant, start in (
            ('patient', early - 1), ('tenant', early + 600),
            ('tenant', early - 1), ('tenant', early + 0.5)))
    for request in (over, soon):
        steps.runUntil(lambda request=request: isDone(request))
        reason = requestnotes.getReason(request)
        assert '1 instances, 1 in use, 1 needed' in reason
        assert reason.endswith('; waited 3600 seconds (request_timeout)')
    steps.run()
    assert not isDone(patient)
    assert not isDone(young)


@pytest.mark.settings(request_timeout=3600)
@pytest.mark.parametrize('labels, age, is_over', [
    # The launcher's.
    (['plain'], 3500, False),
    (['plain'], 3700, True),
    # Its own.
    (['short'], 50, False),
    (['short'], 70, True),
    (['endless'], 3700, False),
    # The shortest counts, also of providers.
    (['endless', 'plain'], 3700, True),
    (['plain', 'short'], 70, True),
    (['several'], 70, True),
])
def test_labels_have_times_of_their_own(steps, racks, labels, age, is_over):
    text = cloud('one', 'two', labels='[plain, short, endless, several]')
    text = text.replace('label: {name: big', 'label: {name: plain')
    text = text.replace(
        'label: {name: other', 'label: {name: short, request-timeout: 60')
    text += '''
- label: {name: endless, image: debian, flavor: small, request-timeout: 0}
- label: {name: several, image: debian, flavor: small, request-timeout: 7200}
'''
    text = text.replace('several]', (
        '{name: several, request-timeout: 60}]'), 1)
    steps.setLayout(text)
    for name in ('one', 'two'):
        steps.planner.pause(
            getSubject(steps.getProvider(name)), math.inf, 'full')
    request = steps.addRequest(*labels, request_time=time.time() - age)
    if is_over:
        steps.runUntil(lambda: isDone(request))
        assert '(request_timeout)' in requestnotes.getReason(request)
    else:
        steps.waitForReason(request)
        steps.run()
        assert not isDone(request)


def test_record_of_a_failed_request_says_why(steps):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('huge')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert requestnotes.getReason(request) == (
        'No provider can serve it. Label huge: no provider of tenant tenant '
        'has it')


@pytest.mark.settings(reason_interval=0.02)
@pytest.mark.settings(reason_delay=0.1)
def test_new_reason_is_logged_for_the_first_requests_only(
        steps, racks, monkeypatch, caplog):
    """Even if nothing plans these requests anew."""
    caplog.set_level(logging.INFO, 'zuul')
    steps.setLayout(cloud('one', resource_limits='{instances: 2}'))
    running = steps.addRequest('big', 'big')
    serve(steps, running)
    first, second = steps.addRequest('big'), steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.length() == 2)
    steps.runUntil(lambda: f'Request {first.uuid} waits: ' in caplog.text)
    name = steps.getProvider('one').canonical_name
    subject = getSubject(steps.getProvider('one'))
    steps.planner.pause(subject, float('inf'), 'being repaired')
    steps.planner.limitsChanged([name])
    reason = (f'Request {first.uuid} waits: No provider has capacity for 1 '
              'big now. one: is paused: being repaired')
    steps.runUntil(lambda: reason in caplog.text)
    steps.request_reconciler.reconcileWaiting()
    assert caplog.text.count(reason) == 1
    # It waits for the first.
    assert (f'Request {second.uuid} waits: 1 requests with the same needs are '
            f'ahead, the first is {first.uuid}') in caplog.text
    assert f'Request {second.uuid} waits: No provider' not in caplog.text
    steps.planner.resume(subject)
    for request in (running, first, second):
        serve(steps, request)
        finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())


# That wait and have nodes


def test_waiting_request_gets_its_nodes_again(steps, racks):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', 'other')
    nodes = serve(steps, request)
    change(steps, request, state=request.State.REQUESTED)
    steps.runUntil(lambda: len(getEvents(steps)) == 2)
    assert serve(steps, request) == nodes
    assert racks.created == ['one', 'one']
    steps.endAll(racks)


def test_waiting_request_gets_another_node_for_one_that_has_gone(steps, racks):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', 'other')
    kept, lost = serve(steps, request)
    with steps.context() as context:
        steps.api.getProviderNode(lost).delete(context)
    steps.runUntil(lambda: not steps.api.getProviderNode(lost))
    change(steps, request, state=request.State.REQUESTED)
    steps.runUntil(lambda: len(getEvents(steps)) == 2)
    first, second = serve(steps, request)
    assert first == kept
    assert second != lost
    assert racks.created == ['one'] * 3
    racks.instances.pop(lost)
    steps.endAll(racks)


def test_nodes_of_waiting_request_serve_another(steps, racks):
    """One of the requests is served at once, the other when there is quota
    again."""
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    request = steps.addRequest('big')
    nodes = serve(steps, request)
    another = steps.addRequest('big', priority=-1)
    steps.runUntil(lambda: steps.planner.getReason(another.uuid))
    change(steps, request, state=request.State.REQUESTED)
    steps.runUntil(lambda: isDone(another) or isDone(request))
    first, last = sorted([another, request], key=isDone, reverse=True)
    assert first.nodes == nodes
    steps.runUntil(lambda: steps.planner.getReason(last.uuid))
    assert not any(last.nodes)
    finish(steps, first)
    assert serve(steps, last) != nodes
    steps.endAll(racks)


@pytest.mark.settings(tenant_limits='tenant=instances:1')
def test_tenant_waits_when_it_has_all_that_it_may(steps, racks):
    steps.setLayout(cloud('one'))
    first = steps.addRequest('big')
    serve(steps, first)
    second = steps.addRequest('other')
    steps.runUntilWaiting(second)
    assert 'tenant tenant has 1 instances, 1 in use, 1 needed' in (
        steps.planner.getReason(second.uuid))
    finish(steps, first)
    serve(steps, second)
    steps.endAll(racks)


@pytest.mark.parametrize('error', [
    Conflict('read too early'), ConnectionLoss()])
def test_a_request_whose_grant_cannot_be_written_is_not_overtaken(
        steps, racks, monkeypatch, error):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first, second = (steps.addRequest('big') for _ in range(2))
    send, failed = Transaction._send, []

    def fail(transaction, operations):
        if not failed and any(
                path == first.getPath() for _, (path, *_) in operations):
            failed.append(operations)
            raise error
        return send(transaction, operations)
    monkeypatch.setattr(Transaction, '_send', fail)
    steps.runUntil(lambda: failed)
    steps.runUntil(lambda: any(first.nodes) or any(second.nodes))
    assert not any(second.nodes)
    serve(steps, first)
    finish(steps, first)
    serve(steps, second)
    steps.endAll(racks)


def test_a_request_whose_grant_is_lost_with_the_connection_is_not_overtaken(
        steps, racks, monkeypatch):
    """The caches read what may have been written, before the launcher gives
    it up."""
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first, second = (steps.addRequest('big') for _ in range(2))
    send, delete, failed = Transaction._send, steps.session.delete, []

    def fail(transaction, operations):
        if not failed and any(
                path == first.getPath() for _, (path, *_) in operations):
            failed.append(operations)
            steps.session.own_writes.clear()
            raise ConnectionLoss
        return send(transaction, operations)

    def deleteLate(*args):
        assert steps.api.nodes_cache.waitForSync(60)
        delete(*args)
    monkeypatch.setattr(Transaction, '_send', fail)
    monkeypatch.setattr(steps.session, 'delete', deleteLate)
    steps.runUntil(lambda: failed)
    steps.runUntil(lambda: any(first.nodes) or any(second.nodes))
    assert not any(second.nodes)
    serve(steps, first)
    finish(steps, first)
    serve(steps, second)
    steps.endAll(racks)


# That have ended, and nobody was told


@pytest.mark.parametrize('label, state', [
    ('big', 'fulfilled'), ('unknown', 'failed')])
def test_pipeline_is_told_of_request_whose_event_is_pending(
        steps, racks, label, state):
    """It is told once."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest(label)
    steps.runUntil(lambda: isDone(request))
    assert request.state == state
    nodes = request.nodes
    told = [request.uuid]
    for _ in range(2):
        assert getEvents(steps) == told
        # With all said and done, nothing is said again.
        steps.queue.add(('request', request.uuid))
        steps.run()
        assert getEvents(steps) == told
        told.append(request.uuid)
        change(steps, request, event_state=request.EventState.PENDING)
        steps.runUntil(lambda: isDone(request))
    assert getEvents(steps) == told
    assert (request.state, request.nodes) == (state, nodes)
    steps.endAll(racks)


# That are being served by launchers which go


@pytest.fixture
def accepted(several, racks):
    """:return: a function that makes two launchers, of which one makes
        nodes for a request of the other and goes; gives the other and the
        request."""
    def accept(timeout):
        maker = several.add('maker', connection_filter='rack')
        planner = several.add('planner', connection_filter='other',
                              unhandled_timeout=str(timeout))
        several.setLayout(CLOUDS)
        racks.slow.add('one')
        request = several.addRequest(planner, 'big', 'other')
        several.runUntil(lambda: 'one' in racks.instances.values()
                         and request.state == request.State.ACCEPTED)
        several.remove(maker)
        return planner, request
    return accept


@pytest.mark.crash
def test_accepted_request_fails_when_no_launcher_handles_its_connection(
        several, racks, accepted, caplog):
    caplog.set_level(logging.INFO, 'zuul')
    planner, request = accepted(0.3)
    several.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert ('no running launcher handles connection rack; waited 0.3 seconds'
            in caplog.text)
    assert getEvents(planner) == [request.uuid]
    # What is left of its node goes when there is somebody.
    several.finish(request)
    several.runUntil(lambda: list(racks.instances.values()) == ['one'])
    several.add('next', connection_filter='rack')
    several.endAll(racks)


@pytest.mark.crash
def test_accepted_request_is_served_when_its_connection_is_handled(
        several, racks, accepted):
    planner, request = accepted(1000)
    unhandled = planner.request_waits.unhandled
    several.runUntil(lambda: request.uuid in unhandled)
    several.add('next', connection_filter='rack')
    several.runUntil(lambda: request.uuid not in unhandled)
    assert request.state == request.State.ACCEPTED
    racks.slow.clear()
    several.serve(request)
    assert sorted(racks.created) == ['one', 'two']
    several.endAll(racks)


def test_scheduler_raises_priority_of_waiting_request(steps, racks):
    """It writes a record beside that of the request."""
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    used = steps.addRequest('big')
    serve(steps, used)
    first, second = (steps.addRequest('big') for _ in range(2))
    steps.runUntil(lambda: all(
        steps.planner.getReason(each.uuid) for each in (first, second)))
    client = LauncherClient(steps.zk_client, None)
    for request, priority in ((first, 2), (second, 1)):
        client.reviseRequest(client.getRequest(request.uuid), priority)
    steps.runUntil(lambda: (
        first.relative_priority, second.relative_priority) == (2, 1))
    finish(steps, used)
    serve(steps, second)
    assert first.state == first.State.REQUESTED
    finish(steps, second)
    serve(steps, first)
