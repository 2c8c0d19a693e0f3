"""What fails is tried again where and when that is of use."""

import logging
import types

import pytest
from zuul.exceptions import QuotaException
from zuul.model import ProviderNode, QuotaInformation

from tests.fixtures.racks import (
    CreateMachine,
    addProvider,
    cloud,
    finish,
    isDone,
    randomText,
)
from tests.fixtures.shelf.shelf_maker import ShelfDriver, ShelfProvider
from zuul_nodes.drivers import PermanentError
from zuul_nodes.launcher.failures import Failure, classify, describe

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


def caused(cause):
    """:return: an error that was raised from another."""
    error = RuntimeError('could not')
    error.__cause__ = cause
    return error


TEMPORARY = {
    'refused': ConnectionRefusedError('nobody there'),
    'openstack': CloudError(http_status=503),
    'aws': botocore('RequestLimitExceeded'),
    'kubernetes': CloudError(status=500),
}


@pytest.fixture
def impatient(zuul_conf):
    """Calls of drivers are not waited for long; to be asked for before
    the launcher is made."""
    zuul_conf.read_dict({'launcher': {'call_timeout': '0.3'}})


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG, 'zuul')
    return caplog


def serve(launcher, request):
    """:return: the provider's name of each of its nodes."""
    return [node.provider.rsplit('/', 1)[-1]
            for node in launcher.serve(request)]


def end(launcher, racks):
    """All requests are done with: nothing is left."""
    for request in launcher.api.getNodesetRequests():
        finish(launcher, request)
    launcher.runUntil(lambda: not launcher.api.getProviderNodes())
    assert racks.instances == {}


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
    (botocore('RequestLimitExceeded'), Failure.TEMPORARY),
    (botocore('InvalidParameterValue'), Failure.ATTEMPT),
    (botocore('AnyThing', 503), Failure.TEMPORARY),
    (RuntimeError(), Failure.ATTEMPT),
], ids=repr)
def test_what_an_error_means(error, failure):
    assert classify(error) is failure


def test_errors_that_caused_each_other():
    first, second = RuntimeError(), RuntimeError()
    first.__cause__, second.__cause__ = second, first
    assert classify(first) is Failure.ATTEMPT


def test_errors_are_described_in_one_line():
    assert describe(RuntimeError('it is\n  full ')) == 'it is full'
    assert describe(RuntimeError()) == 'RuntimeError'
    assert describe(KeyError('size')) == "KeyError('size')"
    assert len(describe(RuntimeError('x' * 9999))) == 500


def test_no_quota(steps, racks, log):
    """The request waits, with a reason, and is served when there is."""
    steps.setLayout(cloud('one', launch_attempts=1))
    racks.setPause(1000)
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
        steps.planner.resume(steps.getProvider('one').canonical_name)
        steps.runUntil(lambda: not waits())
    assert serve(steps, request) == ['one']
    # An attempt was not used up, though there is but one.
    assert racks.created == ['one'] * 3
    assert request.provider_node_data[0]['failed_providers'] == []
    end(steps, racks)


def test_there_is_quota_again(steps, racks):
    """A node goes at the cloud that had no room: the provider does not
    wait for the end of its pause.  If it was of no use, it waits again."""
    steps.setLayout(cloud('one', 'two', labels='[big]', launch_attempts=1)
                    + addProvider('three', labels='[other]', priority=3))
    racks.setPause(1000)
    racks.errors['two'] = QuotaException('full')
    used = [steps.addRequest('other') for _ in range(2)]
    for each in used:
        assert serve(steps, each) == ['three']
    racks.errors['one'] = [QuotaException('full')] * 2
    request = steps.addRequest('big')
    for number, each in enumerate(used, 1):
        steps.runUntil(lambda number=number: (
            racks.created.count('one') == racks.created.count('two') == number
            and 'is paused' in (
                steps.planner.getReason(request.uuid) or '')))
        finish(steps, each)
    assert serve(steps, request) == ['one']
    end(steps, racks)


def test_a_pause_that_ended_early(steps, racks):
    """Its time does not end the next one."""
    steps.setLayout(cloud('one'))
    name = steps.getProvider('one').canonical_name
    racks.setPause(0.1)
    steps.pauseProvider(name, 'there is no room', for_room=True)
    steps.planner.resume(name)
    racks.setPause(0.2)
    steps.pauseProvider(name, 'there is no room', for_room=True)
    steps.runUntil(lambda: not steps.planner.getPause(name))
    ends = []
    steps.planner.resume = ends.append
    steps.runUntil(lambda: ends)
    assert ends == [name]


def test_a_pause_ends_by_itself(steps, racks):
    steps.setLayout(cloud('one'))
    racks.setPause(0.05)
    racks.errors['one'] = [QuotaException('full')] * 3
    assert serve(steps, steps.addRequest('big')) == ['one']
    assert racks.created == ['one'] * 4


def test_pauses_get_longer_and_begin_anew(steps, racks, monkeypatch):
    steps.setLayout(cloud('one'))
    pauses = []

    def getPause(attempt, **kwargs):
        pauses.append(attempt)
        return 0.02
    monkeypatch.setattr('zuul_nodes.launcher.launcher.getPause', getPause)
    racks.errors['one'] = [QuotaException('full')] * 3
    serve(steps, steps.addRequest('big'))
    assert pauses == [0, 1, 2]
    racks.errors['one'] = [QuotaException('full')]
    serve(steps, steps.addRequest('big'))
    assert pauses == [0, 1, 2, 0]


def test_what_was_gone_before_it_was_seen_to_fail(
        steps, racks, kazoo_client):
    """Another launcher has made it, and may have been quick."""
    steps.setLayout(cloud('one'))
    provider = steps.getProvider('one')
    node = steps.addNode(provider, 'big', state=State.BUILDING)
    assert steps.ready._canMake(provider.labels['big'], provider)
    kazoo_client.delete(node.getPath(), recursive=True)
    steps.runUntil(lambda: not steps.ready._canMake(
        provider.labels['big'], provider))
    assert steps.ready._canMake(provider.labels['other'], provider)


def test_a_machine_that_was_gone_counts_once(steps, racks, monkeypatch):
    """Whatever number of slots it had."""
    paused = []
    monkeypatch.setattr(steps.ready, 'pause', paused.append)
    steps.setLayout(cloud('one').replace('name: big,', 'name: big, slots: 3,'))
    racks.slow.add('one')
    steps.addRequest('big')
    steps.runUntil(lambda: racks.instances)
    host, = (node for node in steps.nodes() if node.subnodes)
    for node_id in (host.uuid, *host.subnodes):
        steps.news.tell('node', node_id, None)
    assert paused == [host]


def test_nodes_that_fail_together(steps, racks, log):
    """The provider is paused once, and not for longer than for one."""
    steps.setLayout(cloud('one', 'two'))
    racks.setPause(1000)
    racks.errors['one'] = QuotaException('full')
    requests = [steps.addRequest('big') for _ in range(5)]
    for request in requests:
        assert serve(steps, request) == ['two']
    assert log.text.count('is paused for 1000.0 seconds: full') == 1
    end(steps, racks)


def test_no_quota_here_but_elsewhere(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    racks.setPause(1000)
    racks.errors['one'] = QuotaException('full')
    assert serve(steps, steps.addRequest('big')) == ['two']
    # It is not asked again before the pause is over.
    assert serve(steps, steps.addRequest('big')) == ['two']
    assert racks.created == ['one', 'two', 'two']
    end(steps, racks)


@pytest.mark.parametrize('error', TEMPORARY.values(), ids=TEMPORARY)
def test_a_cloud_that_does_not_answer(steps, racks, error):
    steps.setLayout(cloud('one', 'two', launch_attempts=1))
    racks.setPause(1000)
    racks.errors['one'] = error
    request = steps.addRequest('big')
    assert serve(steps, request) == ['two']
    entry, = request.provider_node_data
    name = steps.getProvider('one').canonical_name
    assert entry['temporary'] == {name: str(error)}
    assert entry['failed_providers'] == []
    end(steps, racks)


def test_no_cloud_answers(steps, racks):
    """It is no use to go on with others: all are forgiven."""
    steps.setLayout(cloud('one', 'two', launch_attempts=1))
    racks.setPause(0.02)
    racks.errors.update(
        one=[ConnectionError('down')] * 2, two=[ConnectionError('down')] * 2)
    request = steps.addRequest('big')
    serve(steps, request)
    assert sorted(racks.created[:4]) == ['one', 'one', 'two', 'two']
    assert racks.created[0] != racks.created[1]
    end(steps, racks)


def test_attempts(steps, racks):
    """A provider has some, then it is the next one's turn."""
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['one'] = RuntimeError('it does not boot')
    request = steps.addRequest('big')
    assert serve(steps, request) == ['two']
    assert racks.created == ['one', 'one', 'two']
    entry, = request.provider_node_data
    name = steps.getProvider('one').canonical_name
    assert entry['failed_providers'] == [name, name]
    assert entry['reasons'] == {name: 'it does not boot'}
    end(steps, racks)


def test_no_attempts_are_left(steps, racks, log):
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
    end(steps, racks)


def test_attempts_for_two_nodes(steps, racks):
    """If one of them has to go elsewhere, both do."""
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['one', 'big'] = [RuntimeError('it does not boot')]
    # When the first has failed, the other one need not have done so yet.
    racks.errors['one', 'other'] = RuntimeError('it does not boot')
    request = steps.addRequest('big', 'other')
    assert serve(steps, request) == ['two', 'two']
    name = steps.getProvider('one').canonical_name
    assert request.provider_node_data[1]['failed_providers'] == [name] * 2


def test_no_attempts_are_left_for_two_nodes(steps, racks):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    for name in ('one', 'two'):
        racks.errors[name] = RuntimeError('it does not boot')
    request = steps.addRequest('big', 'big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert set(racks.created) == {'one', 'two'}
    end(steps, racks)


def test_an_attempt_and_then_no_answer(steps, racks):
    """Of the two, only one counts against the attempts."""
    steps.setLayout(cloud('one', launch_attempts=2))
    racks.setPause(0.02)
    racks.errors['one'] = [
        RuntimeError('it does not boot'), ConnectionError('down'),
        QuotaException('full')]
    request = steps.addRequest('big')
    assert serve(steps, request) == ['one']
    assert len(request.provider_node_data[0]['failed_providers']) == 1


def test_what_can_not_work(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    racks.errors['one'] = CloudError('no such flavor', failure='permanent')
    assert serve(steps, steps.addRequest('big')) == ['two']
    assert racks.created == ['one', 'two']
    # That goes for one node; the next request may be another matter.
    serve(steps, steps.addRequest('big'))
    assert racks.created[2:] == ['one', 'two']
    end(steps, racks)


def test_what_can_not_work_anywhere(steps, racks, log):
    steps.setLayout(cloud('one', 'two'))
    for name in ('one', 'two'):
        racks.errors[name] = CloudError(
            f'no flavor {name}', failure='permanent')
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert racks.created == ['one', 'two']
    assert 'one: no flavor one' in log.text
    assert 'two: no flavor two' in log.text
    end(steps, racks)


def test_one_of_two_fails(steps, racks):
    """What the other has come to is given back while the request waits,
    and is there for others."""
    steps.setLayout(cloud('one'))
    racks.setPause(1000)
    racks.errors['one', 'other'] = [QuotaException('full')]
    request = steps.addRequest('big', 'other')
    steps.runUntil(lambda: request.state == request.State.REQUESTED
                   and request.nodes == [None, None])
    steps.runUntil(lambda: [node.label for node in steps.nodes()] == ['big'])
    node, = steps.nodes()
    assert node.request_id is None
    # Whoever is ahead may take it.
    another = steps.addRequest('big', priority=-1)
    assert serve(steps, another) == ['one']
    assert another.nodes == [node.uuid]
    assert request.state == request.State.REQUESTED
    steps.planner.resume(steps.getProvider('one').canonical_name)
    assert serve(steps, request) == ['one', 'one']
    end(steps, racks)


def test_one_of_two_fails_while_the_other_is_made(steps, racks):
    """Its machine is not thrown away: it is finished for whom it may
    concern."""
    steps.setLayout(cloud('one', 'two'))
    racks.setPause(1000)
    racks.errors['one', 'other'] = QuotaException('full')
    racks.slow.add('one')
    request = steps.addRequest('big', 'other')
    assert serve(steps, request) == ['two', 'two']
    node, = (node for node in steps.nodes() if node.uuid not in request.nodes)
    assert node.state == State.BUILDING
    assert node.request_id is None
    racks.slow.clear()
    steps.runUntil(lambda: node.state == State.READY)
    # To the launcher, such a node is anybody's.
    assert serve(steps, steps.addRequest('big')) == ['one']


def test_one_of_two_fails_while_others_wait(steps, racks):
    """What is given up is for nobody behind."""
    steps.setLayout(cloud('one', resource_limits='{instances: 2}'))
    used = [steps.addRequest('big') for _ in range(2)]
    for request in used:
        serve(steps, request)
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
    serve(steps, other)
    end(steps, racks)


def test_from_several_providers_as_a_last_resort(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    for key in (('one', 'big'), ('two', 'other')):
        racks.errors[key] = CloudError('never', failure='permanent')
    request = steps.addRequest('big', 'other')
    assert serve(steps, request) == ['two', 'one']
    end(steps, racks)


def test_launch_timeout(steps, racks):
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


def test_a_launch_timeout_is_that_of_the_label(steps, racks):
    own = {'big': {'provider': {'launch-timeout': 0.1}}}
    steps.setLayout(cloud('one', launch_attempts=1), own=own)
    racks.slow.add('one')
    patient, impatient = steps.addRequest('other'), steps.addRequest('big')
    steps.runUntil(lambda: isDone(impatient))
    assert impatient.state == impatient.State.FAILED
    assert patient.state == patient.State.ACCEPTED
    racks.slow.clear()
    serve(steps, patient)


def test_a_driver_that_hangs(impatient, steps, racks, log):
    steps.setLayout(cloud('one', launch_attempts=1))
    steps.setLayout(cloud('two', connection='other'), 'another')
    racks.hang('one')
    racks.setPause(1000)
    # More of them than the endpoint has threads.
    requests = [steps.addRequest('big') for _ in range(9)]
    steps.runUntil(lambda: 'one' in racks.reached)
    # Elsewhere, nobody notices.
    assert serve(steps, steps.addRequest('big', tenant='another')) == ['two']
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
    steps.planner.resume(steps.getProvider('one').canonical_name)
    for request in requests:
        assert serve(steps, request) == ['one']
        assert request.nodes[0] in racks.instances


def test_a_driver_that_hangs_has_another_beside_it(impatient, steps, racks):
    steps.setLayout(
        cloud('one', launch_attempts=1)
        + addProvider('two', priority=2))
    racks.hang('one')
    racks.setPause(1000)
    request = steps.addRequest('big')
    assert serve(steps, request) == ['two']


def test_a_driver_that_can_not_begin(steps, racks, monkeypatch):
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    good = ShelfProvider.getCreateStateMachine

    def getCreateStateMachine(provider, *args):
        if provider.name == 'one':
            raise KeyError('flavor')
        return good(provider, *args)
    monkeypatch.setattr(
        ShelfProvider, 'getCreateStateMachine', getCreateStateMachine)
    request = steps.addRequest('big')
    assert serve(steps, request) == ['two']
    entry, = request.provider_node_data
    assert entry['reasons'] == {
        steps.getProvider('one').canonical_name: "KeyError('flavor')"}
    end(steps, racks)


def test_a_provider_that_can_not_be_made(steps, racks, monkeypatch, log):
    """One of a tenant's; the tenant has the others, and so have others."""
    good = ShelfProvider.parseFlavor

    def parseFlavor(provider, *args):
        if provider.canonical_name.endswith('/one'):
            raise ValueError('it is too big')
        return good(provider, *args)
    steps.setLayout(cloud('three'), 'another')
    steps.writeLayout(cloud('one', 'two'))
    monkeypatch.setattr(ShelfProvider, 'parseFlavor', parseFlavor)
    steps.runUntil(lambda: 'tenant' in steps.tenant_providers)
    assert serve(steps, steps.addRequest('big')) == ['two']
    assert serve(steps, steps.addRequest(
        'big', tenant='another')) == ['three']
    assert 'ValueError: it is too big' in log.text
    assert racks.created == ['two', 'three']


@pytest.mark.parametrize('method', ['getEndpointLimits', 'getEndpoint'])
def test_a_driver_that_can_not_answer(steps, racks, monkeypatch, log, method):
    """Others serve; if there are none, the request says why it waits."""
    good = getattr(ShelfProvider, method)
    broken = {'one'}

    def answer(provider, *args):
        if provider.name in broken:
            raise LookupError('what was the question?')
        return good(provider, *args)
    monkeypatch.setattr(ShelfProvider, method, answer)
    steps.setLayout(cloud('one', 'two'))
    assert serve(steps, steps.addRequest('big')) == ['two']
    broken.add('two')
    steps.setLayout(cloud('one', 'two'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    assert ('limits of two are not known: what was the question?'
            in steps.planner.getReason(request.uuid))
    assert 'what was the question?' in log.text
    # When it can, nobody waits any longer.
    broken.clear()
    steps.setLayout(cloud('one', 'two'))
    assert serve(steps, request) == ['one']


def test_a_driver_that_can_not_tell_what_is_needed(
        steps, racks, monkeypatch, log):
    broken = {'one'}
    monkeypatch.setattr(
        ShelfProvider, 'getQuotaForLabel', lambda provider, label:
        {}['flavor'] if provider.name in broken
        else QuotaInformation(instances=1))
    steps.setLayout(cloud('one', 'two'))
    assert serve(steps, steps.addRequest('big')) == ['two']
    broken.add('two')
    steps.setLayout(cloud('one', 'two'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert "one can not tell what it needs: KeyError('flavor')" in log.text


def test_a_driver_that_can_not_describe_a_node(steps, racks, monkeypatch, log):
    """No record can be written of what it is to make."""
    steps.setLayout(cloud('one', 'two'))
    good = ShelfProvider.getNodeTags

    def getNodeTags(provider, *args):
        if provider.name == 'one':
            raise LookupError('no tags')
        return good(provider, *args)
    monkeypatch.setattr(ShelfProvider, 'getNodeTags', getNodeTags)
    assert serve(steps, steps.addRequest('big')) == ['two']
    assert 'LookupError: no tags' in log.text
    assert racks.created == ['two']
    end(steps, racks)


@pytest.mark.parametrize('error', [None, RuntimeError('no boot')], ids=repr)
@pytest.mark.parametrize('where', ['machine', 'node', 'nothing', 'much'])
def test_a_driver_that_says_what_can_not_be_written(
        steps, racks, monkeypatch, log, where, error):
    """It is that driver's failure, whatever else fails there, and the
    request goes elsewhere."""
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
    assert serve(steps, request) == ['two']
    assert racks.created == ['one', 'two']
    assert str(error or {'much': 'more than ZooKeeper takes'}.get(
        where, 'not JSON serializable')) in log.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_an_endpoint_that_can_not_start(steps, racks, monkeypatch, log):
    def startEndpoint(endpoint):
        if endpoint.name == 'rack':
            raise RuntimeError('no key')
    monkeypatch.setattr(
        ShelfDriver._endpoint_class, 'startEndpoint', startEndpoint)
    steps.writeLayout(cloud('one'))
    steps.setLayout(cloud('two', connection='other'), 'another')
    assert serve(steps, steps.addRequest('big', tenant='another')) == ['two']
    steps.runUntil(lambda: 'RuntimeError: no key' in log.text)
    assert 'Unable to look after endpoint rack/rack' in log.text


def test_a_cloud_that_does_not_say_what_is_needed(
        steps, racks, monkeypatch):
    """Its requests wait until it does; they do not fail."""
    silent = [ConnectionError('no route')] * 2

    def refresh(provider, label, update):
        if silent:
            raise silent.pop()
    monkeypatch.setattr(ShelfProvider, 'refreshQuotaForLabel', refresh)
    steps.cleanup.interval = 0.2
    steps.setLayout(cloud('one', labels='[big]'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: 'one: is being prepared: no route' in (
        steps.planner.getReason(request.uuid) or ''))
    assert serve(steps, request) == ['one']
    assert not silent


@pytest.mark.parametrize('error, attempts, interval', [
    (PermanentError('no such flavor'), 1, 1000),
    (ValueError('no such flavor'), 3, 0.01)], ids=['permanent', 'unknown'])
def test_a_cloud_that_never_says_what_is_needed(
        steps, racks, monkeypatch, log, error, attempts, interval):
    """It is asked as often as it would be for a node."""
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
    steps.cleanup.interval = interval
    steps.setLayout(cloud('one', labels='[big]'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert log.text.count('Unable to refresh the quota') >= attempts
    assert 'one can not tell what it needs: no such flavor' in log.text
    # Others are not concerned.
    steps.setLayout(cloud('one', 'two', labels='[big]'))
    assert serve(steps, steps.addRequest('big')) == ['two']
