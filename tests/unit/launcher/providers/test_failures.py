"""What fails is tried again where and when that is of use."""

import re
import types

import pytest
from zuul.exceptions import QuotaException
from zuul.model import NodesetRequest, ProviderNode, QuotaInformation

from tests.fixtures.backoffs import noteBackoffs
from tests.fixtures.racks import (
    CreateMachine,
    addProvider,
    cloud,
    finish,
    isDone,
    randomText,
)
from tests.fixtures.shelf.shelf_maker import ShelfDriver, ShelfProvider
from zuul_nodes import requestnotes
from zuul_nodes.drivers import CapacityError, DriverError, PermanentError
from zuul_nodes.launcher.providers import getSubject, getSubjectOf
from zuul_nodes.launcher.providers.failures import (
    Failure,
    classify,
    countFailed,
    describe,
)
from zuul_nodes.plugin import requestprojects

State = ProviderNode.State


class CloudError(Exception):
    """As libraries of clouds have them.

    :param attributes: of the error.
    """

    def __init__(self, message='it did not work', **attributes):
        super().__init__(message)
        vars(self).update(attributes)


class ConnectFailure(Exception):
    """By its name, keystoneauth's."""


def botocore(code, status=400):
    return CloudError(response={
        'Error': {'Code': code, 'Message': 'no'},
        'ResponseMetadata': {'HTTPStatusCode': status}})


def areOver(steps):
    """:return: whether requests try each provider again."""
    return all(each.is_over for each
               in steps.planner.blockers.refusals.values())


def caused(cause):
    """:return: an error that was raised from another."""
    error = RuntimeError('could not')
    error.__cause__ = cause
    return error


TEMPORARY = {
    'refused': ConnectionRefusedError('nobody there'),
    'openstack': CloudError(http_status=503),
    'aws': botocore('RequestLimitExceeded', 503),
    'kubernetes': CloudError(status=500),
}


@pytest.fixture
def impatient(zuul_conf):
    """Calls of drivers are not waited for long; to be asked for before
    the launcher is made."""
    zuul_conf.read_dict({'launcher': {'call_timeout': '0.3'}})


@pytest.mark.parametrize('error, failure', [
    (QuotaException('full'), Failure.QUOTA),
    (CloudError(failure='quota'), Failure.QUOTA),
    (CloudError(failure='permanent'), Failure.PERMANENT),
    (CloudError(failure='temporary'), Failure.TEMPORARY),
    (CloudError(failure='attempt', status=503), Failure.ATTEMPT),
    (CloudError(failure='whatever'), Failure.ATTEMPT),
    (CloudError(failure=['no', 'string']), Failure.ATTEMPT),
    (TimeoutError(), Failure.TEMPORARY),
    (ConnectionResetError(), Failure.TEMPORARY),
    (ConnectFailure(), Failure.TEMPORARY),
    (caused(ConnectionError()), Failure.TEMPORARY),
    (caused(RuntimeError()), Failure.ATTEMPT),
    (CloudError(http_status=503), Failure.TEMPORARY),
    (CloudError(status_code=429), Failure.TEMPORARY),
    (CloudError(status=500), Failure.TEMPORARY),
    (CloudError(code=599), Failure.TEMPORARY),
    (CloudError(code=600), Failure.ATTEMPT),
    (CloudError(code=40001), Failure.ATTEMPT),
    (CloudError(status=404), Failure.ATTEMPT),
    (CloudError(status=True), Failure.ATTEMPT),
    (CloudError(status='503'), Failure.ATTEMPT),
    (CloudError(response=types.SimpleNamespace(status_code=502)),
     Failure.TEMPORARY),
    (CloudError(response=types.SimpleNamespace(status_code=400)),
     Failure.ATTEMPT),
    (CloudError(response=None), Failure.ATTEMPT),
    (CloudError(response={'Error': None}), Failure.ATTEMPT),
    (CloudError(response={'ResponseMetadata': None}), Failure.ATTEMPT),
    (CloudError(response='an answer'), Failure.ATTEMPT),
    (botocore('InvalidParameterValue'), Failure.ATTEMPT),
    (botocore('AnyThing', 503), Failure.TEMPORARY),
    (RuntimeError(), Failure.ATTEMPT),
], ids=repr)
def test_classify_errors_of_clouds(error, failure):
    assert classify(error) is failure


def test_classify_errors_that_caused_each_other():
    first, second = RuntimeError(), RuntimeError()
    first.__cause__, second.__cause__ = second, first
    assert classify(first) is Failure.ATTEMPT


def test_describe_errors_in_one_line():
    assert describe(RuntimeError('it is\n  full ')) == 'it is full'
    assert describe(RuntimeError()) == 'RuntimeError'
    assert describe(KeyError('size')) == "KeyError('size')"
    assert len(describe(RuntimeError('x' * 9999))) == 500


@pytest.mark.parametrize('attempts, counts', [
    # One launcher.
    (1, [1]), (2, [1, 2]), (3, [2, 3]), (9, [8, 9]),
])
def test_permanent_failure_is_confirmed_once(attempts, counts):
    assert countPermanent(attempts, [0] * len(counts)) == counts


@pytest.mark.parametrize('attempts, untried, counts', [
    # It is the only attempt.
    (1, [2], [1]),
    # Two launchers: the second one confirms it.
    (2, [1, 0], [1, 2]), (3, [1, 0], [2, 3]), (9, [1, 0], [8, 9]),
    # Each of several confirms it.
    (2, [2, 1, 0], [1, 1, 2]),
    (3, [2, 1, 0], [1, 2, 3]),
    (3, [4, 3, 2, 1, 0], [1, 2, 2, 2, 3]),
    (9, [2, 1, 0], [7, 8, 9]),
    # One of them has gone meanwhile, or has come.
    (5, [2, 0], [3, 4]),
    (3, [1, 1, 0], [2, 2, 3]),
])
def test_permanent_failure_is_confirmed_by_each_launcher(
        attempts, untried, counts):
    assert countPermanent(attempts, untried) == counts


def countPermanent(attempts, untried):
    """
    :param list untried: how many launchers have not failed after each failure.
    :return: how many attempts have failed after each.
    """
    failed, counts = 0, []
    for number in untried:
        failed = countFailed(failed, Failure.PERMANENT, attempts, number)
        counts.append(failed)
    return counts


@pytest.mark.parametrize('untried', [0, 1, 5])
@pytest.mark.parametrize('failure', Failure)
def test_other_failures_count_whichever_launcher_had_them(failure, untried):
    if failure is not Failure.PERMANENT:
        assert countFailed(1, failure, 3, untried) == 1 + (
            failure is Failure.ATTEMPT)


@pytest.mark.settings(
    provider_first_backoff=0.02, provider_longest_backoff=0.02)
@pytest.mark.parametrize('error, number', [
    (RuntimeError('no boot'), 1), (PermanentError('no flavor'), 1),
    (ConnectionError('down'), 1), (QuotaException('full'), 0),
    (CapacityError('no host'), 0),
], ids=lambda value: type(value).__name__)
def test_record_of_a_request_says_which_launcher_has_failed(
        steps, racks, error, number):
    steps.setLayout(cloud('one'))
    racks.errors['one'] = [error]
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.nodes(*ProviderNode.FAILED_STATES))
    node, = steps.nodes(*ProviderNode.FAILED_STATES)
    assert node.create_state['launcher'] == steps.hostname
    steps.serve(request)
    name = steps.getProvider('one').canonical_name
    assert request.provider_node_data[0].get('failed_launchers', {}) == (
        {name: {steps.hostname: 1}} if number else {})


@pytest.mark.parametrize('told', [None, 'first', 'second'])
def test_launcher_that_failed_is_the_one_that_its_node_tells(
        pair, racks, told):
    """Otherwise it is the node's owner, as of the nodes of Zuul's launchers.
    """
    pair.setLayout(cloud('one'))
    racks.slow.add('one')
    request = pair.launchers[0].addRequest('big')
    pair.runUntil(lambda: racks.instances and all(
        launcher.nodes(State.BUILDING) for launcher in pair.launchers))
    owner, = (launcher for launcher in pair.launchers if any(
        map(launcher.ownership.isMyNode, launcher.nodes())))
    node, = owner.nodes()
    pair.runUntil(lambda: not owner.state_machines.isBusy(node.uuid))
    with owner.context() as context:
        node.updateAttributes(
            context, state=State.FAILED, create_state_machine=None,
            create_state={'launcher': told} if told else {})
    racks.slow.clear()
    assert pair.serve(request)[0].uuid != node.uuid
    assert request.provider_node_data[0]['failed_launchers'] == {
        node.provider: {told or owner.hostname: 1}}


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_request_waits_while_provider_has_no_quota(steps, racks, log):
    """The request tells why it waits, and is served when there is quota."""
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = [QuotaException('2 cores left,\n4 needed')] * 2
    request = steps.addRequest('big')

    def waits():
        return (request.state == request.State.REQUESTED and 'is paused'
                in (steps.planner.getReason(request.uuid) or ''))
    for _ in range(2):
        steps.runUntil(waits)
        reason = steps.planner.getReason(request.uuid)
        assert 'one: is paused: 2 cores left, 4 needed' in reason
        said = f'Request {request.uuid} waits: {reason}'
        steps.runUntil(lambda said=said: said in log.text)
        # What has failed is gone, and nothing is held meanwhile.
        steps.runUntil(lambda: not steps.nodes())
        assert not any(request.nodes)
        # The end of the pause.
        steps.planner.resume(getSubject(steps.getProvider('one')))
        steps.runUntil(lambda: not waits())
    assert steps.servedBy(request) == ['one']
    # An attempt was not used up, though there is but one.
    assert racks.created == ['one'] * 3
    assert request.provider_node_data[0]['failed_providers'] == []
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_label_without_capacity_leaves_others_alone(steps, racks):
    """Its requests wait; idle nodes of other labels stay, and requests for
    these are served."""
    steps.setLayout(cloud('one'))
    idle = [steps.addNode(steps.getProvider('one'), 'other', state=State.READY)
            for _ in range(2)]
    racks.errors['one', 'big'] = CapacityError('no host has 64 cores')
    waiting = steps.addRequest('big')
    steps.runUntil(lambda: 'no host has 64 cores' in (
        steps.planner.getReason(waiting.uuid) or ''))
    steps.run()
    for _ in range(3):
        assert steps.servedBy(steps.addRequest('other')) == ['one']
    assert {node.uuid for node in idle} <= {
        node.uuid for node in steps.nodes(State.READY)}
    assert racks.created.count('one') == 2
    racks.errors.clear()
    steps.planner.resume(
        getSubject(steps.getProvider('one'), 'big'))
    assert steps.servedBy(waiting) == ['one']
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
@pytest.mark.parametrize('others_fail', [False, True])
def test_provider_is_paused_if_a_second_label_makes_its_cloud_fail(
        steps, racks, others_fail):
    """A single label may have a cause of its own."""
    steps.setLayout(cloud('one'))
    error = ConnectionError('reset')
    racks.errors['one' if others_fail else ('one', 'big')] = error
    one = steps.getProvider('one')
    steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getPause(getSubject(one, 'big')))
    assert not steps.planner.getPause(getSubject(one))
    request = steps.addRequest('other')
    if others_fail:
        steps.runUntil(lambda: steps.planner.getPause(getSubject(one)))
    else:
        assert steps.servedBy(request) == ['one']
        assert not steps.planner.getPause(getSubject(one, 'other'))


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_deleted_node_ends_pause_for_want_of_quota(steps, racks):
    """When a node at the same cloud is deleted, the provider is tried before
    its pause is over, and paused again if that was of no use."""
    steps.setLayout(cloud('one', 'two', labels='[big]', launch_attempts=1)
                    + addProvider('three', labels='[other]', priority=3))
    racks.errors['two'] = QuotaException('full')
    used = [steps.addRequest('other') for _ in range(2)]
    for each in used:
        assert steps.servedBy(each) == ['three']
    racks.errors['one'] = [QuotaException('full')] * 2
    request = steps.addRequest('big')
    for number, each in enumerate(used, 1):
        steps.runUntil(lambda number=number: (
            racks.created.count('one') == racks.created.count('two') == number
            and 'is paused' in (
                steps.planner.getReason(request.uuid) or '')))
        finish(steps, each)
    assert steps.servedBy(request) == ['one']
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=0.1, provider_longest_backoff=0.1)
def test_pause_that_ended_early_does_not_end_the_next(steps, racks):
    """The end of the first pause comes while the second goes on."""
    steps.setLayout(cloud('one'))
    one = steps.getProvider('one')
    steps.supply.noteFailure(
        getSubject(one, 'big'), Failure.QUOTA, 'full')
    steps.planner.resume(getSubject(one))
    steps.supply.backoff.longest = 0.2
    steps.supply.noteFailure(
        getSubject(one, 'big'), Failure.QUOTA, 'full')
    steps.runUntil(lambda: not steps.planner.getPause(getSubject(one)))
    ends = []
    steps.planner.resume = ends.append
    steps.runUntil(lambda: ends)
    assert ends == [getSubject(one)]


@pytest.mark.settings(
    provider_first_backoff=0.05, provider_longest_backoff=0.05)
def test_pause_of_a_provider_ends_by_itself(steps, racks):
    steps.setLayout(cloud('one'))
    racks.errors['one'] = [QuotaException('full')] * 3
    assert steps.servedBy(steps.addRequest('big')) == ['one']
    assert racks.created == ['one'] * 4


# A launch that begins later than the time-out after a pause counts anew, so
# the time-out is long enough for a machine that is busy.
@pytest.mark.settings(
    provider_first_backoff=0.5, provider_longest_backoff=0.5,
    capacity_errors=4, capacity_timeout=1.5)
def test_request_fails_when_capacity_never_comes(steps, racks):
    """The next request is tried again, and is served if there is some."""
    steps.setLayout(cloud('one', 'two', labels='[big]'))
    racks.errors['one'] = racks.errors['two'] = CapacityError(
        'No valid host was found')
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    reason = requestnotes.getReason(request)
    for name in ('one', 'two'):
        assert racks.created.count(name) >= 4
        assert re.search(
            f'{name} is paused: [0-9]+ launches in a row, over [0-9]+ seconds '
            r'\(capacity_timeout\), have found no capacity: '
            'No valid host was found', reason)
    racks.errors.clear()
    steps.runUntil(lambda: areOver(steps))
    steps.serve(steps.addRequest('big'))
    # The other one is not known to have capacity again.
    assert len(steps.planner.blockers.refusals) == 1
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=0.05, provider_longest_backoff=0.05,
    capacity_errors=2, capacity_timeout=0.01)
@pytest.mark.parametrize('error', [
    QuotaException('full'), ConnectionError('reset')])
def test_other_failures_do_not_count_as_lack_of_capacity(
        steps, racks, error):
    steps.setLayout(cloud('one', labels='[big]'))
    racks.errors['one'] = [error] * 8
    steps.serve(steps.addRequest('big'))
    assert len(racks.created) == 9


@pytest.mark.settings(
    provider_first_backoff=0.05, provider_longest_backoff=0.05,
    capacity_errors=3, capacity_timeout=0.01)
def test_request_waits_while_nodes_have_the_capacity(steps, racks):
    steps.setLayout(cloud('one', labels='[big]'))
    first = steps.addRequest('big')
    steps.serve(first)
    racks.errors['one'] = CapacityError('No valid host was found')
    request = steps.addRequest('big')
    steps.runUntil(lambda: len(racks.created) == 10)
    assert not isDone(request)
    # The job of the first is done, and another cloud user takes its machine.
    finish(steps, first)
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert len(racks.created) >= 12


DOWN = ConnectionRefusedError('the cloud is down')
UNREACHABLE = (
    r'{} is paused: [0-9]+ launches in a row, over [0-9]+ seconds '
    r'\(unreachable_timeout\), have failed: {}')
# Requests wait during these pauses, which are as short as possible.
SHORT = {'provider_first_backoff': 0.05, 'provider_longest_backoff': 0.05}


@pytest.mark.settings(**SHORT, unreachable_timeout=0.3)
@pytest.mark.parametrize('error', TEMPORARY.values(), ids=TEMPORARY)
def test_request_fails_when_cloud_stays_down(steps, racks, error):
    """Zuul tries the alternatives of its nodeset; the next request is served
    if the cloud is back."""
    steps.setLayout(cloud('one', launch_attempts=4))
    racks.errors['one'] = error
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert len(racks.created) >= 4
    assert re.search(UNREACHABLE.format('one', re.escape(str(error))),
                     requestnotes.getReason(request))
    racks.errors.clear()
    steps.runUntil(lambda: areOver(steps))
    steps.serve(steps.addRequest('big'))
    # One failure does not continue the row.
    racks.errors['one'] = [error]
    steps.serve(steps.addRequest('big'))
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=0.05, provider_longest_backoff=1000,
    unreachable_timeout=0.3)
def test_cloud_that_is_down_fails_the_requests_of_all_tenants(steps, racks):
    """Their requests need no failures of their own."""
    for tenant in ('tenant', 'another'):
        steps.setLayout(cloud('one', launch_attempts=3), tenant)
    racks.errors['one'] = DOWN
    first = steps.addRequest('big')
    steps.runUntil(lambda: isDone(first))
    launches = len(racks.created)
    one = steps.getProvider('one')
    assert steps.planner.getPause(getSubject(one, 'big'))
    request = steps.addRequest('big', tenant='another')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert len(racks.created) == launches
    # The launcher first tries a label that has not failed.
    other = steps.addRequest('other', tenant='another')
    steps.runUntil(lambda: isDone(other))
    assert len(racks.created) == launches + 1
    # As it fails, too, the provider is down.
    reason = requestnotes.getReason(other)
    assert re.search(UNREACHABLE.format('one', DOWN), reason)
    assert getSubject(one) in steps.planner.blockers.refusals


@pytest.mark.settings(**SHORT, unreachable_timeout=1000)
def test_request_with_an_alternative_does_not_wait_for_a_cloud_that_is_down(
        steps, racks, monkeypatch):
    """Zuul then requests the alternative; others wait."""
    monkeypatch.setattr(
        NodesetRequest, 'serialize',
        requestprojects.wrapSerialize(NodesetRequest.serialize, None))
    steps.setLayout(cloud('one', launch_attempts=3))
    racks.errors['one'] = DOWN
    patient = steps.addRequest('big')
    request = steps.addRequest(
        'big', zuul_nodes={requestnotes.ALTERNATIVES: 1})
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert re.search(
        r'\d launches in a row have failed, and the nodeset has an '
        f'alternative: {DOWN}', requestnotes.getReason(request))
    assert not isDone(patient)
    racks.errors.clear()
    steps.serve(patient)


@pytest.mark.settings(**SHORT, unreachable_timeout=0)
def test_request_waits_without_limit_for_a_cloud_that_is_down(steps, racks):
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = [DOWN] * 12
    assert steps.servedBy(steps.addRequest('big')) == ['one']
    assert racks.created == ['one'] * 13


@pytest.mark.settings(**SHORT, unreachable_timeout=1000)
def test_cloud_that_comes_back_in_time_serves_the_request(steps, racks):
    steps.setLayout(cloud('one', launch_attempts=2))
    racks.errors['one'] = [DOWN] * 8
    assert steps.servedBy(steps.addRequest('big')) == ['one']


@pytest.mark.settings(**SHORT, unreachable_timeout=0.3)
@pytest.mark.parametrize('between', [
    None, QuotaException('full'), CapacityError('No valid host was found')],
    ids=['success', 'quota', 'capacity'])
def test_cloud_that_answers_now_and_then_is_not_down(steps, racks, between):
    steps.setLayout(cloud('one', launch_attempts=3))
    racks.errors['one'] = [DOWN, DOWN, between] * 3
    for _ in range(3 if between is None else 1):
        steps.serve(steps.addRequest('big'))
    assert len(racks.created) in (9, 10)


@pytest.mark.settings(
    provider_first_backoff=0.05, provider_longest_backoff=0.05,
    unreachable_timeout=0.3)
def test_label_that_fails_alone_does_not_fail_others(steps, racks):
    steps.setLayout(cloud('one', launch_attempts=2))
    racks.errors['one', 'big'] = DOWN
    request = steps.addRequest('big')
    others = 0
    while not isDone(request):
        steps.serve(steps.addRequest('other'))
        others += 1
        steps.run()
    assert request.state == request.State.FAILED
    assert others


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000,
    unreachable_timeout=1000)
def test_other_provider_serves_after_the_first_failure(steps, racks):
    """The timeout is for requests that nothing else can serve: one that has
    to wait for another provider does not fail."""
    steps.setLayout(cloud('one', 'two', resource_limits='{instances: 1}'))
    racks.errors['one'] = DOWN
    first, second = (steps.addRequest('big') for _ in range(2))
    steps.runUntil(lambda: isDone(first) or isDone(second))
    assert racks.created == ['one', 'two']
    for label_name in ('big', None):
        steps.planner.refuse(
            getSubject(steps.getProvider('one'), label_name), 'down for a day')
    done, waiting = sorted((first, second), key=isDone, reverse=True)
    steps.runUntil(lambda: 'two' in (
        steps.planner.getReason(waiting.uuid) or ''))
    finish(steps, done)
    assert steps.servedBy(waiting) == ['two']


@pytest.mark.settings(**SHORT, unreachable_timeout=0.3)
def test_nodeset_is_mixed_when_the_cloud_for_all_of_it_is_down(steps, racks):
    """Until then it waits for the provider that can serve all of it."""
    steps.setLayout(cloud('one')
                    + addProvider('two', labels='[big]', priority=2)
                    + addProvider('three', labels='[other]', priority=3))
    racks.errors['one'] = DOWN
    request = steps.addRequest('big', 'other')
    assert steps.servedBy(request) == ['two', 'three']
    assert racks.created.count('one') >= 3


def test_back_off_grows_and_is_reset_by_success(steps, racks, monkeypatch):
    steps.setLayout(cloud('one'))
    pauses = noteBackoffs(steps.supply)
    racks.errors['one'] = [QuotaException('full')] * 3
    steps.serve(steps.addRequest('big'))
    assert pauses == [0, 1, 2]
    racks.errors['one'] = [QuotaException('full')]
    steps.serve(steps.addRequest('big'))
    assert pauses == [0, 1, 2, 0]


def test_min_ready_pauses_when_a_building_node_vanishes(
        steps, racks, kazoo_client):
    """Another launcher has made the node, and deleted it when it failed."""
    steps.setLayout(cloud('one'))
    provider = steps.getProvider('one')
    node = steps.addNode(provider, 'big', state=State.BUILDING)
    assert steps.min_ready.canMake(provider.labels['big'], provider)
    kazoo_client.delete(node.getPath(), recursive=True)
    steps.runUntil(lambda: not steps.min_ready.canMake(
        provider.labels['big'], provider))
    assert steps.min_ready.canMake(provider.labels['other'], provider)


def test_min_ready_pauses_once_for_a_machine_with_slots(
        steps, racks, monkeypatch):
    paused = []
    monkeypatch.setattr(steps.min_ready_state, 'pause', paused.append)
    steps.setLayout(cloud('one').replace('name: big,', 'name: big, slots: 3,'))
    racks.slow.add('one')
    steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    host, = (node for node in steps.nodes() if node.subnodes)
    for node_id in (host.uuid, *host.subnodes):
        steps.record_events.noteRecord('node', node_id, None)
    assert paused == [
        getSubject(steps.getProvider('one'), 'big')] == [
            getSubjectOf(steps.scope.identify(host))]


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_nodes_that_fail_together_pause_provider_once(steps, racks, log):
    """The pause is no longer than for one node."""
    steps.setLayout(cloud('one', 'two'))
    racks.errors['one'] = QuotaException('full')
    requests = [steps.addRequest('big') for _ in range(5)]
    for request in requests:
        assert steps.servedBy(request) == ['two']
    assert len(re.findall(r'Pausing .* seconds: full', log.text)) == 1
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_request_goes_to_next_provider_without_quota(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    racks.errors['one'] = QuotaException('full')
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    # It is not asked again before the pause is over.
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    assert racks.created == ['one', 'two', 'two']
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
@pytest.mark.parametrize('error', TEMPORARY.values(), ids=TEMPORARY)
def test_request_goes_to_next_provider_when_cloud_does_not_answer(
        steps, racks, error):
    steps.setLayout(cloud('one', 'two', launch_attempts=1))
    racks.errors['one'] = error
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['two']
    entry, = request.provider_node_data
    name = steps.getProvider('one').canonical_name
    assert entry['temporary'] == {name: str(error)}
    assert entry['failed_providers'] == []
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=0.02, provider_longest_backoff=0.02)
def test_request_waits_while_no_cloud_answers(steps, racks):
    """When all providers have failed that way, all are tried again."""
    steps.setLayout(cloud('one', 'two', launch_attempts=1))
    racks.errors.update(
        one=[ConnectionError('down')] * 2, two=[ConnectionError('down')] * 2)
    request = steps.addRequest('big')
    steps.serve(request)
    assert sorted(racks.created[:4]) == ['one', 'one', 'two', 'two']
    assert racks.created[0] != racks.created[1]
    steps.endAll(racks)


def test_launch_is_retried_and_then_goes_to_next_provider(steps, racks):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['one'] = RuntimeError('it does not boot')
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['two']
    assert racks.created == ['one', 'one', 'two']
    entry, = request.provider_node_data
    name = steps.getProvider('one').canonical_name
    assert entry['failed_providers'] == [name, name]
    assert entry['reasons'] == {name: 'it does not boot'}
    steps.endAll(racks)


def test_request_fails_when_all_attempts_have_failed(steps, racks, log):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['one'] = RuntimeError('it does not boot')
    racks.errors['two'] = RuntimeError('no such image')
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert sorted(racks.created) == ['one', 'one', 'two', 'two']
    reason, = (record.getMessage() for record in log.records
               if record.levelname == 'ERROR'
               and f'uuid={request.uuid}' in record.getMessage())
    for part in ('Label big', 'one: gave up after 2 attempts',
                 'one: it does not boot', 'two: no such image'):
        assert part in reason
    # The pipeline is told.
    events = steps.result_events['tenant']['check']
    assert [event.request_id for event in events] == [request.uuid]
    steps.endAll(racks)


def test_nodeset_goes_to_next_provider_when_one_node_fails(steps, racks):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['one', 'big'] = [RuntimeError('it does not boot')]
    # When the first has failed, the other one need not have done so yet.
    racks.errors['one', 'other'] = RuntimeError('it does not boot')
    request = steps.addRequest('big', 'other')
    assert steps.servedBy(request) == ['two', 'two']
    name = steps.getProvider('one').canonical_name
    assert request.provider_node_data[1]['failed_providers'] == [name] * 2


def test_request_for_two_nodes_fails_when_all_attempts_have_failed(
        steps, racks):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    for name in ('one', 'two'):
        racks.errors[name] = RuntimeError('it does not boot')
    request = steps.addRequest('big', 'big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert set(racks.created) == {'one', 'two'}
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=0.02, provider_longest_backoff=0.02)
def test_temporary_error_does_not_count_as_attempt(steps, racks):
    steps.setLayout(cloud('one', launch_attempts=2))
    racks.errors['one'] = [
        RuntimeError('it does not boot'), ConnectionError('down'),
        QuotaException('full')]
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['one']
    assert len(request.provider_node_data[0]['failed_providers']) == 1


def test_permanent_error_is_confirmed_elsewhere_first(steps, racks):
    """What can serve the request at once comes before the confirmation."""
    steps.setLayout(cloud('one', 'two'))
    racks.errors['one'] = PermanentError('no such flavor')
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    assert racks.created == ['one', 'two']
    # That goes for one node; the next request may be another matter.
    steps.serve(steps.addRequest('big'))
    assert racks.created[2:] == ['one', 'two']
    steps.endAll(racks)


@pytest.mark.parametrize('attempts', [2, 3, 5])
def test_permanent_error_that_does_not_come_again_is_a_hiccup(
        steps, racks, attempts):
    steps.setLayout(cloud('one', launch_attempts=attempts))
    racks.errors['one'] = [PermanentError('no such flavor')]
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['one']
    assert racks.created == ['one', 'one']
    entry, = request.provider_node_data
    assert len(entry['failed_providers']) == attempts - 1
    steps.endAll(racks)


@pytest.mark.parametrize('attempts, errors', [
    # One attempt is what the tenant has asked for.
    (1, [PermanentError('no such flavor')]),
    (2, [PermanentError('no such flavor')] * 2),
    (5, [PermanentError('no such flavor')] * 2),
    (5, [RuntimeError('no boot'), *[PermanentError('no such flavor')] * 2]),
    (2, [RuntimeError('no boot'), PermanentError('no such flavor')]),
    (3, [DriverError('no such flavor')] * 3),
])
def test_request_fails_when_an_error_is_confirmed(
        steps, racks, attempts, errors):
    steps.setLayout(cloud('one', launch_attempts=attempts))
    racks.errors['one'] = list(errors)
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert racks.created == ['one'] * len(errors)
    reason = requestnotes.getReason(request)
    assert f'one: gave up after {attempts} attempts; ' in reason
    assert reason.endswith('one: no such flavor')
    steps.endAll(racks)


def test_bare_status_is_one_of_the_attempts(steps, racks):
    """As a token that has expired, or a service that has just started."""
    steps.setLayout(cloud('one', launch_attempts=3))
    racks.errors['one'] = [
        CloudError(f'answer with status {status}', status=status)
        for status in (401, 404)]
    assert steps.servedBy(steps.addRequest('big')) == ['one']
    assert racks.created == ['one'] * 3
    steps.endAll(racks)


def test_request_fails_when_all_errors_are_permanent(steps, racks, log):
    steps.setLayout(cloud('one', 'two'))
    for name in ('one', 'two'):
        racks.errors[name] = CloudError(
            f'no flavor {name}', failure='permanent')
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert sorted(racks.created) == ['one', 'one', 'two', 'two']
    assert racks.created[:2] == ['one', 'two']
    assert 'one: no flavor one' in log.text
    assert 'two: no flavor two' in log.text
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_ready_node_of_waiting_nodeset_serves_another_request(steps, racks):
    """The node that did not fail is given back while the request waits."""
    steps.setLayout(cloud('one'))
    racks.errors['one', 'other'] = [QuotaException('full')]
    request = steps.addRequest('big', 'other')
    steps.runUntil(lambda: request.state == request.State.REQUESTED
                   and request.nodes == [None, None])
    steps.runUntil(lambda: [node.label for node in steps.nodes()] == ['big'])
    node, = steps.nodes()
    assert node.request_id is None
    # Whoever is ahead may take it.
    another = steps.addRequest('big', priority=-1)
    assert steps.servedBy(another) == ['one']
    assert another.nodes == [node.uuid]
    assert request.state == request.State.REQUESTED
    steps.planner.resume(getSubject(steps.getProvider('one')))
    assert steps.servedBy(request) == ['one', 'one']
    steps.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_building_node_of_failed_nodeset_is_finished(steps, racks):
    """It serves another request."""
    steps.setLayout(cloud('one', 'two'))
    racks.errors['one', 'other'] = QuotaException('full')
    racks.slow.add('one')
    request = steps.addRequest('big', 'other')
    assert steps.servedBy(request) == ['two', 'two']
    node, = (node for node in steps.nodes() if node.uuid not in request.nodes)
    assert node.state == State.BUILDING
    assert node.request_id is None
    racks.slow.clear()
    steps.runUntil(lambda: node.state == State.READY)
    # To the launcher, such a node is anybody's.
    assert steps.servedBy(steps.addRequest('big')) == ['one']


def test_failed_nodeset_is_retried_before_those_behind(steps, racks):
    """The node that it gives back serves no request behind it."""
    steps.setLayout(cloud('one', resource_limits='{instances: 2}'))
    used = [steps.addRequest('big') for _ in range(2)]
    for request in used:
        steps.serve(request)
    racks.errors['one'] = [None, RuntimeError()]
    several, other = (steps.addRequest(*labels) for labels in (
        ['big', 'big'], ['big']))
    for request in (several, other):
        steps.runUntil(lambda request=request: steps.planner.getReason(
            request.uuid))
    for request in used:
        finish(steps, request)
    steps.runUntil(lambda: isDone(several) or isDone(other))
    assert not isDone(other)
    finish(steps, several)
    steps.serve(other)
    steps.endAll(racks)


def test_nodeset_comes_from_several_providers_as_a_last_resort(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    for key in (('one', 'big'), ('two', 'other')):
        racks.errors[key] = CloudError('never', failure='permanent')
    request = steps.addRequest('big', 'other')
    assert steps.servedBy(request) == ['two', 'one']
    steps.endAll(racks)


def test_launch_timeout_ends_an_attempt(steps, racks):
    own = {'big': {'provider': {'launch-timeout': 0.1}}}
    steps.setLayout(cloud('one', 'two', launch_attempts=1), own=own)
    racks.slow.add('one')
    request = steps.addRequest(
        'big', preferred_provider=steps.getProvider('one').canonical_name)
    steps.runUntil(lambda: 'two' in racks.created)
    assert racks.created == ['one', 'two']
    entry, = request.provider_node_data
    reason, = entry['reasons'].values()
    assert reason == 'not created in 0.1 seconds'
    # What was made half way is deleted.
    steps.runUntil(lambda: set(racks.instances.values()) == {'two'})


def test_launch_timeout_of_a_label_overrides_that_of_its_provider(
        steps, racks):
    own = {'big': {'provider': {'launch-timeout': 0.1}}}
    steps.setLayout(cloud('one', launch_attempts=1), own=own)
    racks.slow.add('one')
    patient, impatient = steps.addRequest('other'), steps.addRequest('big')
    steps.runUntil(lambda: isDone(impatient))
    assert impatient.state == impatient.State.FAILED
    assert patient.state == patient.State.ACCEPTED
    racks.slow.clear()
    steps.serve(patient)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_hanging_driver_fails_its_launches_only(impatient, steps, racks, log):
    steps.setLayout(cloud('one', launch_attempts=1))
    steps.setLayout(cloud('two', connection='other'), 'another')
    racks.hang('one')
    # More of them than the endpoint has threads.
    requests = [steps.addRequest('big') for _ in range(9)]
    steps.runUntil(lambda: 'one' in racks.reached)
    # Elsewhere, nobody notices.
    assert steps.servedBy(steps.addRequest('big', tenant='another')) == ['two']
    steps.runUntil(lambda: all(
        request.state == request.State.REQUESTED and (
            request.nodes or steps.planner.getReason(request.uuid))
        for request in requests))
    # Some may have come when the provider was paused already.
    tried = [request for request in requests if request.nodes]
    assert tried
    for request in tried:
        entry, = request.provider_node_data
        assert entry['failed_providers'] == []
        reason, = entry['temporary'].values()
        assert reason == 'no answer in 0.3 seconds'
    assert 'Creating node' in log.text
    assert 'takes more than 0.3 seconds' in log.text
    # When it answers in the end, that is not taken for a node; what it has
    # made is found by the clean-up.
    racks.end()
    racks.hanging.clear()
    steps.planner.resume(
        getSubject(steps.getProvider('one'), 'big'))
    for request in requests:
        assert steps.servedBy(request) == ['one']
        assert request.nodes[0] in racks.instances


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_request_goes_to_next_provider_when_driver_hangs(
        impatient, steps, racks):
    steps.setLayout(
        cloud('one', launch_attempts=1)
        + addProvider('two', priority=2))
    racks.hang('one')
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['two']


def test_request_goes_to_next_provider_when_driver_can_not_begin(
        steps, racks, monkeypatch):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    good = ShelfProvider.getCreateStateMachine

    def getCreateStateMachine(provider, *args):
        if provider.name == 'one':
            raise KeyError('flavor')
        return good(provider, *args)
    monkeypatch.setattr(
        ShelfProvider, 'getCreateStateMachine', getCreateStateMachine)
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['two']
    entry, = request.provider_node_data
    assert entry['reasons'] == {
        steps.getProvider('one').canonical_name: "KeyError('flavor')"}
    steps.endAll(racks)


def test_provider_that_can_not_be_made_concerns_no_other(
        steps, racks, monkeypatch, log):
    good = ShelfProvider.parseFlavor

    def parseFlavor(provider, *args):
        if provider.canonical_name.endswith('/one'):
            raise ValueError('it is too big')
        return good(provider, *args)
    steps.setLayout(cloud('three'), 'another')
    steps.writeLayout(cloud('one', 'two'))
    monkeypatch.setattr(ShelfProvider, 'parseFlavor', parseFlavor)
    steps.runUntil(lambda: 'tenant' in steps.tenant_providers)
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    assert steps.servedBy(steps.addRequest(
        'big', tenant='another')) == ['three']
    assert 'ValueError: it is too big' in log.text
    assert racks.created == ['two', 'three']


@pytest.mark.parametrize('method', ['getEndpointLimits', 'getEndpoint'])
def test_request_goes_to_next_provider_when_driver_can_not_answer(
        steps, racks, monkeypatch, log, method):
    """If there is no other provider, the request tells why it waits."""
    good = getattr(ShelfProvider, method)
    broken = {'one'}

    def answer(provider, *args):
        if provider.name in broken:
            raise LookupError('what was the question?')
        return good(provider, *args)
    monkeypatch.setattr(ShelfProvider, method, answer)
    steps.setLayout(cloud('one', 'two'))
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    broken.add('two')
    # The launcher asks again about providers that have changed.
    steps.setLayout(cloud('one', 'two', launch_attempts=4))
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    assert ('limits of two are not known: what was the question?'
            in steps.planner.getReason(request.uuid))
    assert 'what was the question?' in log.text
    # When it can, nobody waits any longer.
    broken.clear()
    steps.setLayout(cloud('one', 'two', launch_attempts=5))
    assert steps.servedBy(request) == ['one']


def test_request_goes_to_next_provider_when_needs_are_unknown(
        steps, racks, monkeypatch, log):
    broken = {'one'}
    monkeypatch.setattr(
        ShelfProvider, 'getQuotaForLabel', lambda provider, label:
        {}['flavor'] if provider.name in broken
        else QuotaInformation(instances=1))
    steps.setLayout(cloud('one', 'two'))
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    broken.add('two')
    steps.setLayout(cloud('one', 'two'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert ("one cannot determine the quota of a node: KeyError('flavor')"
            in log.text)


def test_request_goes_to_next_provider_when_node_has_no_description(
        steps, racks, monkeypatch, log):
    """The driver raises an error before there is a record of the node."""
    steps.setLayout(cloud('one', 'two'))
    good = ShelfProvider.getNodeTags

    def getNodeTags(provider, *args):
        if provider.name == 'one':
            raise LookupError('no tags')
        return good(provider, *args)
    monkeypatch.setattr(ShelfProvider, 'getNodeTags', getNodeTags)
    assert steps.servedBy(steps.addRequest('big')) == ['two']
    assert 'LookupError: no tags' in log.text
    assert racks.created == ['two']
    steps.endAll(racks)


@pytest.mark.parametrize('error', [None, RuntimeError('no boot')], ids=repr)
@pytest.mark.parametrize('where', ['machine', 'node', 'nothing', 'much'])
def test_attempt_fails_when_its_state_can_not_be_written(
        steps, racks, monkeypatch, log, where, error):
    """Whether or not the driver raises an error, too."""
    good = CreateMachine.advance, CreateMachine.toDict

    def advance(machine):
        good[0](machine)
        if machine.provider.name == 'one':
            if where == 'node':
                machine.node.attributes = {'key': b'no text'}
            if where == 'much':
                machine.node.attributes = {'key': randomText(2 * 1024 * 1024)}
            if error:
                raise error

    def toDict(machine):
        found = good[1](machine)
        if machine.provider.name == 'one':
            if where == 'nothing':
                raise LookupError('not JSON serializable')
            if where == 'machine':
                found['key'] = b'no text'
        return found
    monkeypatch.setattr(CreateMachine, 'advance', advance)
    monkeypatch.setattr(CreateMachine, 'toDict', toDict)
    steps.setLayout(cloud('one', 'two', launch_attempts=1))
    request = steps.addRequest('big')
    assert steps.servedBy(request) == ['two']
    assert racks.created == ['one', 'two']
    assert str(error or {'much': 'the limit of ZooKeeper'}.get(
        where, 'not JSON serializable')) in log.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_endpoint_that_can_not_start_concerns_no_other(
        steps, racks, monkeypatch, log):
    def startEndpoint(endpoint):
        if endpoint.name == 'rack':
            raise RuntimeError('no key')
    monkeypatch.setattr(
        ShelfDriver._endpoint_class, 'startEndpoint', startEndpoint)
    steps.writeLayout(cloud('one'))
    steps.setLayout(cloud('two', connection='other'), 'another')
    assert steps.servedBy(steps.addRequest('big', tenant='another')) == ['two']
    steps.runUntil(lambda: 'RuntimeError: no key' in log.text)
    assert 'Unable to prepare endpoint rack/rack' in log.text


def test_request_waits_until_cloud_tells_its_needs(steps, racks, monkeypatch):
    silent = [ConnectionError('no route')] * 2
    known = {}

    def refresh(provider, label, update):
        if silent:
            raise silent.pop()
        known[label.name] = QuotaInformation(instances=1)

    def getQuota(provider, label):
        return known[label.name]
    monkeypatch.setattr(ShelfProvider, 'refreshQuotaForLabel', refresh)
    monkeypatch.setattr(ShelfProvider, 'getQuotaForLabel', getQuota)
    steps.endpoint_reconciler.turns.interval = 0.2
    steps.setLayout(cloud('one', labels='[big]'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: 'one: is being prepared: no route' in (
        steps.planner.getReason(request.uuid) or ''))
    assert steps.servedBy(request) == ['one']
    assert not silent


@pytest.mark.settings(unhandled_timeout=0.3)
@pytest.mark.parametrize('method, reason', [
    ('refreshQuotaForLabel', 'one: is being prepared: no route'),
    ('getEndpointLimits', 'one: limits of one are not known: no route')])
def test_request_fails_when_its_cloud_has_never_answered(
        steps, racks, monkeypatch, method, reason):
    """As when the launchers start while the cloud is down."""
    def ask(provider, *args):
        raise ConnectionError('no route')

    def getQuota(provider, label):
        raise KeyError('not in the cache')
    with monkeypatch.context() as patch:
        patch.setattr(ShelfProvider, method, ask)
        if method == 'refreshQuotaForLabel':
            patch.setattr(ShelfProvider, 'getQuotaForLabel', getQuota)
        steps.setLayout(cloud('one', labels='[big]'))
        request = steps.addRequest('big')
        steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert requestnotes.getReason(request).endswith(
        f'{reason}; waited 0.3 seconds')
    assert not racks.created


@pytest.mark.parametrize('error, attempts, interval', [
    (PermanentError('no such flavor'), 2, 0.01),
    (ValueError('no such flavor'), 3, 0.01)], ids=['permanent', 'unknown'])
def test_request_fails_when_cloud_never_tells_its_needs(
        steps, racks, monkeypatch, log, error, attempts, interval):
    """The cloud is asked as often as a launch would be tried."""
    def refresh(provider, label, update):
        if provider.name == 'one':
            raise error
    monkeypatch.setattr(ShelfProvider, 'refreshQuotaForLabel', refresh)
    known = ShelfProvider.getQuotaForLabel

    def getQuota(provider, label):
        if provider.name == 'one':
            raise KeyError('not in the cache')
        return known(provider, label)
    monkeypatch.setattr(ShelfProvider, 'getQuotaForLabel', getQuota)
    steps.endpoint_reconciler.turns.interval = interval
    steps.setLayout(cloud('one', labels='[big]'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert log.text.count('Unable to refresh the quota') >= attempts
    assert ('one cannot determine the quota of a node: no such flavor'
            in log.text)
    # Others are not concerned.
    steps.setLayout(cloud('one', 'two', labels='[big]'))
    assert steps.servedBy(steps.addRequest('big')) == ['two']
