"""What becomes of nodes, from what is asked of them to their end."""

import collections
import contextlib
import socket
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (
    InMemorySpanExporter,
)
import pytest
from zuul.lib import tracing
from zuul.model import NodesetRequest, ProviderNode

from tests.fixtures.backoffs import noteBackoffs
from tests.fixtures.racks import DeleteMachine, cloud, finish, isDone
from tests.fixtures.settings import change
from tests.fixtures.shelf.shelf_maker import ShelfProvider
from zuul_nodes.launcher.zookeeper.transaction import Conflict, Transaction

State = ProviderNode.State
DAY = 86400


@pytest.fixture
def looks(steps, monkeypatch):
    """:return: a Counter of the keys that the launcher looks at."""
    looks = collections.Counter()
    handle = steps.queue.handle

    def note(key):
        looks[key] += 1
        handle(key)
    monkeypatch.setattr(steps.queue, 'handle', note)
    return looks


def options(**labels):
    """:return: configuration: what its labels say."""
    text = cloud('one')
    for name, said in labels.items():
        start = f'- label: {{name: {name}, '
        assert start in text
        text = text.replace(start, f'{start}{said}, ')
    return text


def deleteRequest(launcher, request):
    with launcher.context() as context:
        request.delete(context)


# Use and reuse


def test_used_node_is_deleted_when_it_is_given_back(
        steps, racks, executor, kazoo_client):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    own = executor.use(node)
    deleteRequest(steps, request)
    steps.run()
    # Whoever has the lock has the node, whatever becomes of the request.
    assert node.state == State.IN_USE
    assert node.uuid in racks.instances
    executor.giveBack(own)
    steps.runUntil(lambda: steps.isGone(node))
    assert racks.instances == {}
    for kind in ('nodes', 'locks'):
        assert kazoo_client.get_children(f'/zuul/nodes/{kind}') == []
    another, = steps.serve(steps.addRequest('big'))
    assert another is not node


def test_launcher_looks_once_at_each_event_of_a_node(
        steps, racks, executor, looks, monkeypatch):
    in_vain = []
    handle = steps.queue.handle

    def note(key):
        find = {'request': steps.api.getNodesetRequest,
                'node': steps.api.getProviderNode}.get(key[0])
        if find and find(key[1]) is None:
            in_vain.append(key)
        handle(key)

    def catchUp():
        assert steps.api.requests_cache.catchUp()
        assert steps.api.nodes_cache.catchUp()
    steps.setLayout(cloud('one'))
    monkeypatch.setattr(steps.queue, 'handle', note)
    looks.clear()
    request = steps.addRequest('big')
    catchUp()
    node, = steps.serve(request)
    catchUp()
    steps.run()
    assert looks[('request', request.uuid)] == 1
    assert looks[('node', node.uuid)] == 1
    own = executor.use(node)
    deleteRequest(steps, request)
    executor.giveBack(own)
    catchUp()
    steps.runUntil(lambda: steps.isGone(node))
    catchUp()
    steps.run()
    assert in_vain == []


def test_node_granted_by_another_launcher_to_unseen_request_is_kept(
        steps, racks, kazoo_client, monkeypatch, log):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    held = []
    cache = steps.api.requests_cache
    with monkeypatch.context() as behind:
        behind.setattr(cache, '_take', held.append)
        with steps.context() as context:
            request = NodesetRequest.new(
                context, tenant_name='tenant', pipeline_name='check',
                labels=['big'], state=NodesetRequest.State.FULFILLED,
                event_state=NodesetRequest.EventState.COMPLETE,
                provider_node_data=[{'uuid': node.uuid}])
        transaction = steps.session.transaction()
        transaction.createPart(
            node.assignment, request_id=request.uuid, tenant_name='tenant',
            min_request_version=0)
        steps.commitNew(transaction, [])
        steps.runUntil(
            lambda: f'request {request.uuid} is not cached yet' in log.text)
        assert steps.api.getNodesetRequest(request.uuid) is None
        assert kazoo_client.exists(node.assignment.getPath())
    # It is nothing that somebody has to see to.
    assert 'ERROR' not in {record.levelname for record in log.records}
    for event in held:
        cache._take(event)
    steps.runUntil(lambda: steps.api.getNodesetRequest(request.uuid))
    steps.node_reconciler.reconcile(node.uuid)
    assert kazoo_client.exists(node.assignment.getPath())
    assert node.request_id == request.uuid
    assert node.state == State.READY


def test_node_in_use_is_deleted_when_its_executor_dies(steps, racks, executor):
    """An executor that was killed gives nothing back."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    own = executor.use(node)
    deleteRequest(steps, request)
    steps.run()
    own.releaseLock(executor.context)
    executor.nodes.clear()
    steps.runUntil(lambda: steps.isGone(node))
    assert racks.instances == {}


def test_used_node_is_reused(steps, racks, executor):
    steps.setLayout(options(big='reuse: true'))
    first = steps.addRequest('big')
    node, = steps.serve(first)
    own = executor.use(node)
    second = steps.addRequest('other', 'big')
    other, another = steps.serve(second)
    assert node not in (other, another)
    executor.giveBack(own)
    deleteRequest(steps, first)
    steps.runUntil(lambda: node.state == State.READY and not node.request_id)
    assert steps.serve(steps.addRequest('big')) == [node]
    assert len(racks.created) == 3
    assert node.uuid in racks.instances
    # Others are not made for it.
    finish(steps, second)
    steps.runUntil(lambda: steps.isGone(other))


def test_driver_can_refuse_to_reuse_a_node(steps, racks, monkeypatch):
    monkeypatch.setattr(
        ShelfProvider, 'canReuseNode', lambda provider, node: False)
    steps.setLayout(options(big='reuse: true'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))


@pytest.mark.parametrize('change', [
    {'state': State.READY, 'request_time': time.time() - DAY},
    {'label_config_hash': 'old'}], ids=['old', 'changed'])
def test_used_node_that_is_old_or_outdated_is_not_reused(steps, racks, change):
    steps.setLayout(options(big='reuse: true, max-age: 3600'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    with steps.context() as context:
        node.updateAttributes(context, **change)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert racks.instances == {}


# What users ask for


def test_held_node_stays_until_its_hold_expires(steps, racks, executor, jump):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', 'big', 'big')
    nodes = steps.serve(request)
    for node, expiration in zip(nodes, (None, 3600, 2 * DAY), strict=True):
        own = executor.use(node)
        executor.giveBack(own, State.HOLD, comment='look at it',
                          hold_expiration=expiration)
    deleteRequest(steps, request)
    steps.runUntil(lambda: not steps.api.getNodesetRequests())
    steps.lookAt(*nodes)
    assert {node.state for node in nodes} == {State.HOLD}
    # It is nobody else's.
    assert steps.serve(steps.addRequest('big'))[0] not in nodes
    jump(DAY)
    steps.lookAt(*nodes)
    steps.runUntil(lambda: steps.isGone(nodes[1]))
    assert not steps.isGone(nodes[0])
    assert not steps.isGone(nodes[2])
    assert nodes[1].uuid not in racks.instances


def test_expired_hold_ends_without_anything_happening(steps, racks):
    steps.setLayout(cloud('one'))
    begin = time.time()
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.HOLD,
                         hold_expiration=1, state_time=begin)
    steps.runUntil(lambda: steps.isGone(node))
    assert time.time() - begin >= 1


def test_held_node_goes_when_it_is_released(steps, racks):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.HOLD)
    steps.run()
    with steps.context() as context:
        node.updateAttributes(context, state=State.USED)
    steps.runUntil(lambda: steps.isGone(node))


@pytest.mark.parametrize('next_state', [State.USED, State.OUTDATED])
def test_ready_node_goes_when_a_user_asks_for_it(steps, racks, next_state):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    with steps.context() as context:
        node.setNextState(context, next_state, 'it is odd')
    steps.runUntil(lambda: steps.isGone(node))


def test_ready_node_is_held_when_a_user_asks_for_it(
        steps, racks, kazoo_client):
    steps.setLayout(cloud('one'))
    node = steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    with steps.context() as context:
        node.setNextState(context, State.HOLD, 'it is odd')
    # The cache may hear late of the part that the test wrote.
    steps.runUntil(lambda: node.state == State.HOLD and not node.next_state)
    assert node.comment == 'it is odd'
    assert not kazoo_client.exists(node.lifecycle.getPath())
    assert not node.hasLock()
    assert steps.serve(steps.addRequest('big')) != [node]


@pytest.mark.parametrize('reuse', ['false', 'true'])
def test_node_in_use_goes_to_state_a_user_asked_for_afterwards(
        steps, racks, executor, reuse):
    steps.setLayout(options(big=f'reuse: {reuse}'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    own = executor.use(node)
    with steps.context() as context:
        node.setNextState(context, State.HOLD, 'it is odd')
    steps.runUntil(lambda: node.next_state)
    steps.lookAt(node)
    assert node.state == State.IN_USE
    executor.giveBack(own)
    deleteRequest(steps, request)
    steps.runUntil(lambda: node.state == State.HOLD)
    steps.run()
    assert node.comment == 'it is odd'
    assert node.uuid in racks.instances


# Age


def test_node_older_than_max_ready_age_is_deleted(steps, racks):
    steps.setLayout(options(big='max-ready-age: 1'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    steps.lookAt(node)
    begin = time.time()
    ready = steps.addNode(steps.getProvider('one'), 'big', state=State.READY,
                          max_ready_age=1, state_time=begin)
    steps.runUntil(lambda: steps.isGone(ready))
    assert time.time() - begin >= 1
    # Waiting for its job, it is not ready for anybody.
    steps.lookAt(node)
    assert node.state == State.READY


def test_unused_node_that_was_given_back_reaches_max_ready_age(steps, racks):
    steps.setLayout(options(big='max-ready-age: 1'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    deleteRequest(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert racks.instances == {}


@pytest.mark.parametrize('retention, kept', [(None, False), (3600, True)])
def test_node_older_than_max_age_goes_after_min_retention_time(
        steps, racks, jump, retention, kept):
    steps.setLayout(cloud('one'))
    node = steps.addNode(
        steps.getProvider('one'), 'big', state=State.READY, max_age=60,
        min_retention_time=retention)
    steps.run()
    jump(600)
    steps.lookAt(node)
    assert (node.state == State.READY) is kept
    jump(2 * 3600)
    steps.lookAt(node)
    steps.runUntil(lambda: steps.isGone(node))


def test_node_goes_when_min_retention_time_is_over(steps, racks):
    """The launcher looks at it then, without an event."""
    steps.setLayout(cloud('one'))
    begin = time.time()
    node = steps.addNode(
        steps.getProvider('one'), 'big', state=State.READY, max_age=5,
        request_time=begin - 10, min_retention_time=11)
    steps.runUntil(lambda: steps.isGone(node))
    assert time.time() - begin >= 1


AGES = 'max-age: 60, max-ready-age: 30'


@pytest.mark.parametrize('state', ['held', 'in use', 'spare', 'assigned'])
def test_node_that_stays_beyond_its_age_is_not_polled(
        steps, racks, executor, looks, jump, state):
    """Nothing but time passes."""
    steps.setLayout(options(big=(
        'slots: 2, max-ready-age: 30' if state == 'spare'
        else f'slots: 2, {AGES}' if state == 'in use' else AGES)))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    if state != 'assigned':
        own = executor.use(node)
    if state == 'held':
        executor.giveBack(own, State.HOLD)
        deleteRequest(steps, request)
        steps.runUntil(lambda: not node.is_locked)
    jump(3600)
    steps.lookAt(*steps.nodes())
    if state == 'in use':
        # What nobody has used has gone.
        steps.runUntil(lambda: len(steps.nodes()) == 2)
    steps.run()
    looks.clear()
    end = time.monotonic() + 0.3
    steps.runUntil(lambda: time.monotonic() > end)
    assert max(looks['node', each.uuid] for each in steps.nodes()) <= 2
    assert node.uuid in racks.instances or node.main_node_id
    assert node.state == {'held': State.HOLD, 'assigned': State.READY}.get(
        state, State.IN_USE)


def test_spare_slot_reaches_max_ready_age_after_the_used_one_goes(
        steps, racks, executor, jump):
    steps.setLayout(options(big='slots: 2, max-ready-age: 30'))
    request = steps.addRequest('big')
    used, = steps.serve(request)
    own = executor.use(used)
    spare, = steps.nodes(State.READY)
    jump(3600)
    steps.lookAt(spare)
    assert spare.state == State.READY
    executor.giveBack(own)
    deleteRequest(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


# Labels


def test_request_for_alias_gets_node_of_its_label(steps, racks):
    steps.setLayout(options(big='aliases: [other]'))
    provider = steps.getProvider('one')
    nodes = [steps.addNode(provider, 'big', state=state)
             for state in (State.READY, State.BUILDING)]
    for node in nodes:
        assert steps.serve(steps.addRequest('other')) == [node]
    # What is to be made is of the label itself.
    assert steps.serve(steps.addRequest('other'))[0].label == 'other'


def test_new_node_has_tags(steps, racks):
    steps.setLayout(options(
        big='tags: {job: "{job_name} of {tenant_name}", who: us}, '
            'min-ready: 1'))
    steps.runUntil(lambda: steps.nodes(State.READY))
    ready, = steps.nodes()
    fixed = {'zuul_system_id': steps.system.system_id}
    # It is not for any job.
    assert ready.tags == {
        'who': 'us', 'zuul_node_uuid': ready.uuid, **fixed}
    first, second = steps.serve(steps.addRequest(
        'big', 'big', job_name='build'))
    node = second if first is ready else first
    assert node.tags == {
        'job': 'build of tenant', 'who': 'us', 'zuul_node_uuid': node.uuid,
        **fixed}


# Slots


SLOTS = options(big='slots: 2')


def hostOf(launcher):
    host, = launcher.nodes(State.SLOT_HOST)
    return host


def test_two_requests_share_a_machine_with_slots(steps, racks):
    """The machine is deleted after both."""
    steps.setLayout(SLOTS)
    first, second = steps.addRequest('big'), steps.addRequest('big')
    nodes = steps.serve(first) + steps.serve(second)
    host = hostOf(steps)
    assert {node.main_node_id for node in nodes} == {host.uuid}
    assert sorted(node.slot for node in nodes) == [0, 1]
    assert {node.interface_ip for node in nodes} == {'127.0.0.1'}
    assert list(racks.instances) == [host.uuid]
    assert {node.quota.getResources().get('instances', 0)
            for node in nodes} == {0}
    third, = steps.serve(steps.addRequest('big'))
    assert third.main_node_id != host.uuid
    finish(steps, first)
    steps.runUntil(lambda: steps.isGone(nodes[0]))
    steps.lookAt(host)
    assert host.uuid in racks.instances
    finish(steps, second)
    steps.runUntil(lambda: steps.isGone(host, *nodes))
    assert list(racks.instances) == [third.main_node_id]


def test_nodeset_gets_slots_of_one_machine(steps, racks):
    steps.setLayout(SLOTS)
    request = steps.addRequest('big', 'big')
    nodes = steps.serve(request)
    assert nodes[0] is not nodes[1]
    assert list(racks.instances) == [hostOf(steps).uuid]
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_unused_slots_go_when_their_machine_is_too_old(steps, racks, jump):
    """But not while a job uses another slot of the machine."""
    steps.setLayout(options(big='slots: 2, max-age: 60'))
    request = steps.addRequest('big')
    used, = steps.serve(request)
    with steps.context() as context:
        used.updateAttributes(context, state=State.IN_USE)
    spare, = steps.nodes(State.READY)
    jump(3600)
    steps.lookAt(used, spare, hostOf(steps))
    assert used.state == State.IN_USE
    assert racks.deleted == []
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_old_ready_slot_stays_beside_a_used_one(steps, racks, jump):
    """The machine stays anyway, so the slot can serve a request."""
    steps.setLayout(options(big='slots: 2, max-ready-age: 60'))
    used, = steps.serve(steps.addRequest('big'))
    with steps.context() as context:
        used.updateAttributes(context, state=State.IN_USE)
    spare, = steps.nodes(State.READY)
    jump(3600)
    steps.lookAt(used, spare, hostOf(steps))
    assert steps.serve(steps.addRequest('big')) == [spare]
    assert len(racks.instances) == 1


def test_request_goes_to_next_machine_when_one_with_slots_fails(steps, racks):
    """All slots fail with their machine."""
    text = cloud('one', 'two', launch_attempts=1)
    steps.setLayout(text.replace('name: big,', 'name: big, slots: 2,'))
    racks.errors['one'] = [RuntimeError('it does not boot')]
    request = steps.addRequest('big', 'big')
    nodes = steps.serve(request)
    assert {node.provider.rsplit('/', 1)[-1] for node in nodes} == {'two'}
    steps.runUntil(lambda: len(steps.nodes()) == 3)
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_used_slots_are_reused(steps, racks):
    steps.setLayout(options(big='slots: 2, reuse: true'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: node.state == State.READY and not node.request_id)
    requests = [steps.addRequest('big') for _ in range(2)]
    assert node in [each for request in requests
                    for each in steps.serve(request)]
    assert racks.created == ['one']


# The end


@pytest.fixture
def attempts(steps):
    """:return: a list of the attempts that deletions have had, before
        each pause."""
    return noteBackoffs(steps.state_machines)


def test_failed_deletion_is_retried(steps, racks, attempts, log):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    racks.delete_errors['one'] = [ConnectionError('down')] * 3
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert attempts == [0, 1, 2]
    assert racks.deleted == [node.uuid] * 4
    assert racks.instances == {}
    assert f'Unable to delete node {node}, trying again in' in log.text


def test_deletion_that_can_not_begin_is_retried(
        steps, racks, attempts, monkeypatch):
    good = ShelfProvider.getDeleteStateMachine
    errors = [KeyError('network')] * 2

    def getDeleteStateMachine(*args):
        if errors:
            raise errors.pop()
        return good(*args)
    monkeypatch.setattr(
        ShelfProvider, 'getDeleteStateMachine', getDeleteStateMachine)
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert attempts == [0, 1]
    assert racks.instances == {}


@pytest.mark.settings(delete_timeout=0.2)
def test_record_goes_when_deletion_never_succeeds(
        steps, racks, attempts, monkeypatch, log):
    """The clean-up deletes what is left in the cloud."""
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    racks.delete_errors['one'] = ConnectionError('down')
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert f'Unable to delete node {node}: down' in log.text
    assert list(racks.instances) == [node.uuid]


@pytest.mark.settings(delete_timeout=0.2)
def test_record_goes_when_deletion_can_never_begin(
        steps, racks, attempts, monkeypatch, log):
    monkeypatch.setattr(
        ShelfProvider, 'getDeleteStateMachine',
        lambda provider, node, log: {}['network'])
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert f"Unable to delete node {node}: 'network'" in log.text
    assert list(racks.instances) == [node.uuid]


def test_deletion_is_resumed_from_its_recorded_state(
        steps, racks, attempts, monkeypatch):
    """Not from a state that could not be written."""
    states = []
    good = DeleteMachine.__init__, DeleteMachine.advance

    def init(machine, racks, provider, node):
        good[0](machine, racks, provider, node)
        states.append((node.delete_state, node.attributes))

    def advance(machine):
        if len(states) > 2:
            return good[1](machine)
        machine.state = 'deleting'
        machine.node.attributes = {'key': b'no text'}
    monkeypatch.setattr(DeleteMachine, '__init__', init)
    monkeypatch.setattr(DeleteMachine, 'advance', advance)
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert states == [({}, {})] * 3
    assert attempts == [0, 1]


def test_record_goes_when_deletion_can_never_be_recorded(
        steps, racks, monkeypatch, log):
    attempts = noteBackoffs(
        steps.state_machines, lambda: len(attempts) == 3 and change(
            steps.state_machines, delete_timeout=0))
    monkeypatch.setattr(DeleteMachine, 'advance',
                        lambda machine: setattr(machine, 'state', 'deleting'))
    monkeypatch.setattr(DeleteMachine, 'toDict',
                        lambda machine: {'state': b'no text'})
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert attempts == [0, 1, 2]
    assert 'not JSON serializable' in log.text
    assert list(racks.instances) == [node.uuid]


def test_unexpected_error_is_retried_with_back_off(steps, racks, monkeypatch):
    """The launcher does not look at the node before a pause is over."""
    looks = []
    attempts = noteBackoffs(steps.node_steps)
    created = steps.node_launch._endStep

    def fail(*args):
        looks.append(len(attempts))
        if len(looks) <= 5:
            raise ValueError('unexpected')
        created(*args)
    monkeypatch.setattr(steps.node_launch, '_endStep', fail)
    steps.setLayout(cloud('one'))
    node, = steps.serve(steps.addRequest('big'))
    assert attempts == list(range(5))
    assert looks[:6] == list(range(6))
    assert not steps.node_steps.backoff.getLeft(node.uuid)


@pytest.mark.settings(delete_timeout=0.2)
def test_request_fails_when_neither_launch_nor_deletion_succeeds(
        steps, racks, attempts, monkeypatch, log):
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = RuntimeError('it does not boot')
    racks.delete_errors['one'] = ConnectionError('down')
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    node, = steps.nodes()
    assert request.nodes == [node.uuid]
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    assert f'Unable to delete node {node}: down' in log.text


def test_failing_deletions_do_not_delay_other_requests(steps, racks):
    steps.setLayout(cloud('one'))
    requests = [steps.addRequest('big') for _ in range(5)]
    for request in requests:
        steps.serve(request)
    racks.delete_errors['one'] = [ConnectionError('down')] * 5
    for request in requests:
        finish(steps, request)
    steps.runUntil(lambda: len(racks.deleted) >= 5)
    steps.serve(steps.addRequest('big'))


# Host keys


@pytest.fixture
def closed_port(zuul_conf):
    """A machine that can't be connected to; to be asked for before the
    launcher is made."""
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(('127.0.0.1', 0))
        port = listener.getsockname()[1]
    return port


def test_node_that_does_not_answer_within_boot_timeout_fails(
        steps, racks, closed_port, log):
    text = cloud('one', launch_attempts=2).replace(
        'host-key-checking: false', 'boot-timeout: 1')
    steps.setLayout(text)
    for connection in steps.connections.connections.values():
        if connection.connection_name == 'rack':
            connection.connection_config['port'] = closed_port
    begin = time.monotonic()
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert time.monotonic() - begin >= 2
    assert racks.created == ['one', 'one']
    assert 'Timeout' in log.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


# Traces


@pytest.fixture
def spans(monkeypatch):
    """:return: a function that returns the spans that have ended."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, '_TRACER_PROVIDER', provider)
    return exporter.get_finished_spans


def test_spans_of_a_request_and_its_nodes_are_exported(steps, racks, spans):
    steps.setLayout(cloud('one'))
    root = trace.get_tracer('zuul').start_span('NodesetRequest')
    request = steps.addRequest(
        'big', span_info=tracing.getSpanInfo(root), job_name='build')
    node, = steps.serve(request)
    finish(steps, request)
    steps.runUntil(lambda: steps.isGone(node))
    steps.run()
    by_name = {span.name: span for span in spans()}
    assert by_name.keys() == {
        'NodesetRequestProcessing', 'ProviderNode', 'ProviderNodeCreate',
        'ProviderNodeDelete'}
    assert len(spans()) == 4
    processing, whole, create, delete = (by_name[name] for name in (
        'NodesetRequestProcessing', 'ProviderNode', 'ProviderNodeCreate',
        'ProviderNodeDelete'))
    root_id = root.get_span_context().span_id
    assert processing.parent.span_id == root_id
    assert whole.parent.span_id == processing.context.span_id
    assert create.parent.span_id == whole.context.span_id
    assert delete.parent.span_id == whole.context.span_id
    assert {span.context.trace_id for span in spans()} == {
        root.get_span_context().trace_id}
    assert processing.attributes['state'] == 'fulfilled'
    assert processing.attributes['job'] == 'build'
    assert whole.attributes['uuid'] == node.uuid
    assert create.attributes['label'] == 'big'
    assert (whole.start_time <= create.start_time <= create.end_time
            <= delete.start_time <= whole.end_time)


def getRequestSpan(request, spans):
    """:return: the one of what a launcher did with the request."""
    span, = [span for span in spans()
             if span.name == 'NodesetRequestProcessing'
             and span.attributes['uuid'] == request.uuid]
    return span


def test_span_of_a_waiting_request_covers_its_wait(steps, racks, spans):
    steps.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first = steps.addRequest('big')
    steps.serve(first)
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    seen = time.time_ns()
    finish(steps, first)
    steps.serve(request)
    span = getRequestSpan(request, spans)
    assert span.start_time < seen < span.end_time


@pytest.mark.parametrize('is_ready', [True, False])
def test_request_whose_write_is_retried_has_one_span(
        steps, racks, spans, monkeypatch, is_ready):
    steps.setLayout(cloud('one'))
    if is_ready:
        steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    send = Transaction._send
    conflicts = []

    def conflictOnce(transaction, operations):
        if transaction._event and not conflicts:
            conflicts.append(Conflict('somebody was quicker'))
            raise conflicts[0]
        return send(transaction, operations)

    monkeypatch.setattr(Transaction, '_send', conflictOnce)
    request = steps.addRequest('big')
    steps.serve(request)
    assert conflicts
    assert getRequestSpan(request, spans).attributes['state'] == 'fulfilled'


def test_spans_of_failed_launches_have_an_error(steps, racks, spans):
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = RuntimeError('it does not boot')
    root = trace.get_tracer('zuul').start_span('NodesetRequest')
    request = steps.addRequest('big', span_info=tracing.getSpanInfo(root))
    steps.runUntil(lambda: isDone(request))
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    steps.run()
    by_name = {span.name: span for span in spans()}
    assert by_name['ProviderNodeCreate'].attributes['state'] == 'failed'
    assert by_name['NodesetRequestProcessing'].attributes[
        'state'] == 'failed'
    assert 'ProviderNode' in by_name
