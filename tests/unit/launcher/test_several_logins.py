"""Launchers of which clouds refuse some, or that cannot launch nodes for other
reasons: the others do their work."""

import ssl

import pytest
from zuul.model import QuotaInformation
from zuul.provider import statemachine

from tests.fixtures.racks import addProvider, addSection, cloud, isDone
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint, ShelfProvider
from zuul_nodes import requestnotes, withdrawals
from zuul_nodes.drivers import (
    CapacityError,
    LoginError,
    PermanentError,
    TemporaryError,
)
from zuul_nodes.launcher.providers import getSubject

EXPIRED = ssl.SSLError(1, '[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED]')
EXPIRED.reason = 'SSLV3_ALERT_CERTIFICATE_EXPIRED'

pytestmark = pytest.mark.crash


class HTTPError(Exception):
    status_code = 401


class NoCredentialsError(Exception):
    """As of a library that this launcher may not have."""


class Leaked(statemachine.Resource):
    unique_id = None

    def __init__(self, endpoint, name):
        super().__init__({'zuul_system_id': endpoint.system_id,
                          'zuul_node_uuid': name}, 'instance')
        self.unique_id = name


class Gate:
    """Refuses launchers, as a cloud does without valid credentials.

    :ivar dict errors: the connection of a launcher -> what its calls raise.
    :ivar set starts: connections whose endpoints do not even start.
    :ivar list asked: connections of which calls were refused.
    :ivar bool lists: whether all may list instances.
    :ivar dict launches: the connection of a launcher -> its name, and what its
        launches raise, while its other calls succeed.
    :ivar list failed: names of launchers, one for each launch of these.
    """

    def __init__(self, racks, monkeypatch):
        self.errors = {}
        self.starts = set()
        self.asked = []
        self.lists = False
        self.launches = {}
        self.failed = []
        create, delete = racks.create, racks.delete
        listInstances = ShelfEndpoint.listInstances
        racks.create = lambda provider, node: (
            self.check(provider.connection),
            self.checkLaunch(provider.connection), create(provider, node))
        racks.delete = lambda provider, node: (
            self.check(provider.connection), delete(provider, node))
        monkeypatch.setattr(ShelfEndpoint, 'listInstances', lambda endpoint: (
            self.lists or self.check(endpoint.connection),
            listInstances(endpoint))[1])
        monkeypatch.setattr(ShelfEndpoint, 'startEndpoint', lambda endpoint:
                            self.check(endpoint.connection, self.starts))

    def refuseLaunches(self, *launchers, error, connection='rack'):
        """Have only the launches of some launchers fail."""
        for launcher in launchers:
            self.launches[launcher.connections.connections[connection]] = (
                launcher.hostname, error)

    def checkLaunch(self, connection):
        if connection in self.launches:
            name, error = self.launches[connection]
            self.failed.append(name)
            raise error

    def check(self, connection, where=None):
        if connection in self.errors and (
                where is None or connection in where):
            self.asked.append(connection)
            raise self.errors[connection]

    def refuse(self, *launchers, error=None, starts=False):
        for launcher in launchers:
            connection = launcher.connections.connections['rack']
            self.errors[connection] = error or LoginError('wrong password')
            if starts:
                self.starts.add(connection)

    def admit(self, *launchers):
        for launcher in launchers:
            del self.errors[launcher.connections.connections['rack']]


@pytest.fixture
def gate(racks, monkeypatch):
    return Gate(racks, monkeypatch)


@pytest.fixture
def three(several):
    for name in ('first', 'second', 'third'):
        several.add(name)
    return several


def getWithdrawn(several):
    """:return: the names of the launchers that have withdrawn, as ZooKeeper
        has them."""
    return sorted(
        component.hostname for component
        in several.launchers[0].ownership.registry.all('launcher')
        if withdrawals.read(component.content))


def countFailures(*requests):
    """:return: number of attempts that count for requests."""
    return sum(len(node['failed_providers']) for request in requests
               for node in request.provider_node_data)


refusals = pytest.mark.parametrize('error', [
    LoginError('wrong password'), HTTPError('unauthorized'),
    NoCredentialsError('none'), EXPIRED,
], ids=['typed', 'status', 'library', 'certificate'])


@refusals
def test_refused_launchers_leave_their_share_to_one_that_can(
        three, racks, gate, error):
    first, second, third = three.launchers
    three.setLayout(cloud('one', launch_attempts=1))
    gate.refuse(second, third, error=error)
    requests = [first.addRequest('big') for _ in range(12)]
    assert len(three.serve(*requests)) == 12
    assert not countFailures(*requests)
    assert racks.created == ['one'] * 12
    three.runUntil(lambda: getWithdrawn(three) == ['second', 'third'])
    # Later requests do not ask them.
    gate.asked.clear()
    request = first.addRequest('big')
    three.serve(request)
    assert not gate.asked
    three.endAll(racks)


@pytest.mark.parametrize('able', range(3))
def test_launchers_whose_endpoint_does_not_start(several, racks, gate, able):
    """One of them plans."""
    for name in ('first', 'second', 'third'):
        gate.refuse(several.add(name), error=RuntimeError('no clouds.yaml'),
                    starts=True)
    gate.admit(several.launchers[able])
    several.setLayout(cloud('one', launch_attempts=1))
    requests = [several.launchers[0].addRequest('big') for _ in range(12)]
    several.serve(*requests)
    assert not countFailures(*requests)
    several.runUntil(lambda: len(getWithdrawn(several)) == 2)
    several.endAll(racks)


@pytest.fixture
def needs(gate, monkeypatch):
    """What a node needs is known when a launcher has asked for it."""
    def refresh(provider, label, update):
        gate.check(provider.connection)
        gate.checkLaunch(provider.connection)
        provider.getEndpoint().quota_cache.setResource(
            'small', QuotaInformation(instances=1))
    monkeypatch.setattr(ShelfProvider, 'refreshQuotaForLabel', refresh)
    monkeypatch.setattr(
        ShelfProvider, 'getQuotaForLabel', lambda provider, label:
        provider.getEndpoint().quota_cache.getResource('small'))


@pytest.mark.settings(others_interval=0.05, limits_lifetime=0)
def test_the_launcher_that_plans_uses_what_another_was_told(
        several, racks, gate, needs):
    first, second = several.add('first'), several.add('second')
    gate.refuse(first)
    several.setLayout(cloud('one', labels='[big]'))
    several.runUntil(lambda: getWithdrawn(several) == ['first'])
    assert first.election.getTerm()
    several.serve(second.addRequest('big'))
    several.endAll(racks)


@pytest.mark.settings(login_first_backoff=0.05, login_longest_backoff=0.05)
def test_a_launcher_that_can_log_in_again_returns(pair, racks, gate):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    gate.refuse(second)
    requests = [first.addRequest('big') for _ in range(12)]
    pair.serve(*requests)
    assert getWithdrawn(pair) == ['second']
    # It goes on trying.
    gate.asked.clear()
    pair.runUntil(lambda: len(gate.asked) > 2)
    gate.admit(second)
    pair.runUntil(lambda: not getWithdrawn(pair))
    gate.refuse(first)
    more = [first.addRequest('big') for _ in range(12)]
    pair.serve(*more)
    assert not countFailures(*requests, *more)
    pair.endAll(racks)


def test_requests_fail_with_the_reason_if_no_launcher_can_log_in(
        three, racks, gate):
    first, _, _ = three.launchers
    three.setLayout(cloud('one', launch_attempts=2))
    gate.refuse(*three.launchers)
    request = first.addRequest('big')
    three.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    reason = requestnotes.getReason(request)
    assert 'gave up after 2 attempts' in reason
    assert 'unable to log in: wrong password' in reason
    gate.admit(*three.launchers)
    three.endAll(racks)


def test_one_refusal_may_be_a_hiccup(pair, racks, gate):
    """The step is repeated."""
    pair.setLayout(cloud('one', launch_attempts=1))
    racks.errors['one'] = [LoginError('wrong token')]
    request = pair.launchers[0].addRequest('big')
    pair.serve(request)
    assert not countFailures(request)
    assert not getWithdrawn(pair)
    pair.finish(request)
    racks.delete_errors['one'] = [LoginError('wrong token')]
    pair.endAll(racks)
    assert not getWithdrawn(pair)


@pytest.mark.parametrize('error', [
    LoginError('wrong password'), HTTPError('unauthorized')],
    ids=lambda error: type(error).__name__)
def test_launchers_that_may_list_instances_but_not_make_them(
        three, racks, gate, error):
    first, second, third = three.launchers
    three.setLayout(cloud('one', launch_attempts=1))
    gate.refuse(second, third, error=error)
    gate.lists = True
    requests = [first.addRequest('big') for _ in range(12)]
    three.serve(*requests)
    assert not countFailures(*requests)
    assert getWithdrawn(three) == ['second', 'third']
    three.endAll(racks)


def test_a_launch_goes_on_at_another_launcher(pair, racks, gate):
    first, second = pair.launchers
    pair.setLayout(cloud('one', launch_attempts=1))
    racks.slow.add('one')
    requests = [first.addRequest('big') for _ in range(12)]
    pair.runUntil(lambda: len(racks.instances) == 12)
    owned = [node for node in first.nodes() if second.ownership.isMyNode(node)]
    assert 0 < len(owned) < 12
    gate.refuse(second)
    racks.slow.clear()
    other = [first.addRequest('big') for _ in range(6)]
    pair.serve(*requests, *other)
    assert not countFailures(*requests, *other)
    # No instance was made twice.
    assert len(racks.created) == 18
    pair.endAll(racks)


@pytest.mark.settings(delete_timeout=0)
def test_nodes_are_deleted_by_a_launcher_that_can(pair, racks, gate):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    requests = [first.addRequest('big') for _ in range(12)]
    pair.serve(*requests)
    gate.refuse(second)
    pair.finish(*requests)
    pair.runUntil(lambda: not first.nodes())
    assert not racks.instances


@pytest.mark.settings(cleanup_interval=0.05)
@pytest.mark.parametrize('number', range(2))
def test_leaked_resources_are_deleted_by_a_launcher_that_can(
        pair, racks, gate, monkeypatch, number):
    def listResources(endpoint, providers):
        gate.check(endpoint.connection)
        return [Leaked(endpoint, name) for name in leaked]

    def deleteResource(endpoint, resource):
        gate.check(endpoint.connection)
        leaked.remove(resource.unique_id)
    leaked = ['leaked']
    monkeypatch.setattr(ShelfEndpoint, 'listResources', listResources)
    monkeypatch.setattr(ShelfEndpoint, 'deleteResource', deleteResource)
    monkeypatch.setattr(
        ShelfEndpoint, 'getResourceTypes', lambda endpoint: ['instance'])
    gate.refuse(pair.launchers[number])
    pair.setLayout(cloud('one'))
    pair.runUntil(lambda: not leaked)


def test_a_withdrawal_ends_with_the_session(pair, racks, gate):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    gate.refuse(second)
    # Any number of nodes may be the share of the other one.
    while not getWithdrawn(pair):
        pair.serve(first.addRequest('big'))
    client = second.zk_client.client
    _, stat = client.get(second.component_info.path)
    assert stat.ephemeralOwner == client.client_id[0]
    assert 'wrong password' in str(
        withdrawals.read(second.component_info.content))
    pair.remove(second)
    pair.runUntil(lambda: not getWithdrawn(pair))
    pair.endAll(racks)


def test_launchers_share_the_rate_of_a_connection(several, racks, gate):
    """All that handle it and can call its cloud."""
    def getShares(name):
        return [launcher.connections.connections[name].launchers
                for launcher in several.launchers]
    several.add('first')
    several.add('second')
    several.add('third', connection_filter='rack')
    several.setLayout(cloud('one') + addSection('other') + addProvider(
        'two', section='other'))
    several.runUntil(lambda: getShares('rack') == [3, 3, 3])
    assert getShares('other')[:2] == [2, 2]
    gate.refuse(several.launchers[1])
    several.serve(*[several.launchers[0].addRequest('big') for _ in range(12)])
    several.runUntil(lambda: getShares('rack') == [2, 2, 2])
    assert getShares('other')[:2] == [2, 2]
    gate.admit(several.launchers[1])
    several.remove(several.launchers[2])
    several.runUntil(lambda: getShares('rack') == [1, 1])
    several.endAll(racks)


# Requests wait during these pauses, which are as short as possible.
SHORT = {'provider_first_backoff': 0.02, 'provider_longest_backoff': 0.02}
ILL = [RuntimeError('no proxy'), FileNotFoundError('clouds.yaml'),
       ConnectionRefusedError('the proxy is down'), HTTPError('forbidden'),
       PermanentError('no such flavor'), TemporaryError('try again')]
ILL[3].status_code = 403


def getLaunchers(request, number=0):
    """:return: provider -> launcher -> failed attempts, as the record of a
        request has them of one node."""
    return {name.rpartition('/')[2]: launchers for name, launchers in
            request.provider_node_data[number].get(
                'failed_launchers', {}).items()}


@pytest.mark.settings(**SHORT)
@pytest.mark.parametrize('error', ILL, ids=lambda error: type(error).__name__)
def test_another_launcher_repeats_a_launch(three, racks, gate, error):
    first, second, third = three.launchers
    three.setLayout(cloud('one', launch_attempts=3))
    gate.refuseLaunches(second, third, error=error)
    requests = [first.addRequest('big') for _ in range(12)]
    three.serve(*requests)
    for request in requests:
        # Each of them has tried once at the most.
        for launchers in getLaunchers(request).values():
            assert launchers.keys() <= {'second', 'third'}
            assert set(launchers.values()) == {1}
    assert gate.failed
    # Nothing else shows that they are ill.
    assert not getWithdrawn(three)
    three.endAll(racks)


@pytest.mark.settings(**SHORT, cleanup_interval=0.2, limits_lifetime=0)
@pytest.mark.parametrize('error', ILL, ids=lambda error: type(error).__name__)
def test_the_launcher_that_plans_cannot_ask_what_another_was_told(
        several, racks, gate, needs, error):
    first, second = several.add('first'), several.add('second')
    gate.refuseLaunches(first, error=error)
    first.writeLayout(cloud('one', labels='[big]'))
    several.runUntil(lambda: any(
        second.planner.blockers.isAsked(provider, 'big') for provider
        in second.tenant_providers.get('tenant', ())))
    assert first.election.getTerm()
    several.serve(second.addRequest('big'))
    assert gate.failed
    several.endAll(racks)


@pytest.mark.parametrize('attempts', [2, 3, 9])
def test_each_launcher_may_confirm_a_permanent_error(
        three, racks, gate, attempts):
    first, second, third = three.launchers
    three.setLayout(cloud('one', launch_attempts=attempts))
    gate.refuseLaunches(first, second, error=PermanentError('no flavor'))
    three.serve(*[first.addRequest('big') for _ in range(8)])
    gate.failed.clear()
    gate.refuseLaunches(third, error=PermanentError('no flavor'))
    request = first.addRequest('big')
    three.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert sorted(gate.failed) == ['first', 'second', 'third']
    assert f'gave up after {attempts} attempts' in (
        requestnotes.getReason(request))
    three.endAll(racks)


@pytest.mark.parametrize('error', [
    RuntimeError('no proxy'), PermanentError('no flavor')],
    ids=lambda error: type(error).__name__)
def test_one_launch_attempt_is_not_repeated(three, racks, gate, error):
    three.setLayout(cloud('one', launch_attempts=1))
    gate.refuseLaunches(*three.launchers, error=error)
    request = three.launchers[0].addRequest('big')
    three.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert len(gate.failed) == 1
    three.endAll(racks)


@pytest.mark.parametrize('labels', [
    ['big'] * 4, ['big', 'other', 'big', 'other', 'big']], ids=len)
@pytest.mark.parametrize('slots', [1, 2])
def test_nodesets_are_launched_by_a_launcher_that_can(
        three, racks, gate, labels, slots):
    first, second, third = three.launchers
    three.setLayout(cloud('one', launch_attempts=3).replace(
        'name: big,', f'name: big, slots: {slots},'))
    gate.refuseLaunches(first, third, error=RuntimeError('no proxy'))
    three.serve(*[second.addRequest(*labels) for _ in range(6)])
    assert gate.failed
    three.endAll(racks)


def test_a_launcher_that_is_ill_at_one_endpoint_launches_at_others(
        several, racks, gate):
    first, second = several.add('first'), several.add('second')
    several.setLayout(
        cloud('one', labels='[big]', launch_attempts=2)
        + addSection('other')
        + addProvider('two', '[other]', 'other', launch_attempts=2))
    gate.refuseLaunches(first, error=RuntimeError('no route'))
    gate.refuseLaunches(
        second, error=RuntimeError('no route'), connection='other')
    requests = [first.addRequest('big', 'other') for _ in range(10)]
    several.serve(*requests)
    for request in requests:
        assert getLaunchers(request) in ({}, {'one': {'first': 1}})
        assert getLaunchers(request, 1) in ({}, {'two': {'second': 1}})
    assert gate.failed
    several.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_a_launcher_that_starts_later_comes_before_those_that_failed(
        pair, racks, gate):
    pair.setLayout(cloud('one'))
    gate.refuseLaunches(
        *pair.launchers, error=ConnectionRefusedError('the proxy is down'))
    request = pair.launchers[0].addRequest('big')

    def runUntilPaused(number):
        pair.runUntil(lambda: len(gate.failed) == number and all(
            launcher.planner.getPause(getSubject(
                launcher.getProvider('one'), 'big'))
            for launcher in pair.launchers))
        pair.run()

    def resume():
        for launcher in pair.launchers:
            launcher.planner.resume(
                getSubject(launcher.getProvider('one'), 'big'))
    for number in range(1, 5):
        runUntilPaused(number)
        if number == 4:
            pair.add('third')
        resume()
    # They took turns.
    assert set(gate.failed[:2]) == set(gate.failed[2:]) == {'first', 'second'}
    pair.serve(request)
    assert len(gate.failed) == 4
    assert getLaunchers(request) == {'one': {'first': 2, 'second': 2}}
    pair.endAll(racks)


def test_the_next_planner_knows_which_launchers_have_failed(
        three, racks, gate):
    first, second, third = three.launchers
    three.setLayout(cloud('one'))
    assert first.election.getTerm()
    name = first.getProvider('one').canonical_name
    gate.refuseLaunches(second, error=RuntimeError('no proxy'))
    # What another planner has recorded.
    requests = [third.addRequest('big', provider_node_data=[{
        'uuid': None, 'failed_providers': [name],
        'failed_launchers': {name: {'second': 1}}}]) for _ in range(12)]
    three.serve(*requests)
    assert not gate.failed
    three.endAll(racks)


@pytest.mark.settings(**SHORT)
def test_a_lack_of_capacity_is_not_the_launchers(three, racks, gate):
    three.setLayout(cloud('one'))
    racks.errors['one'] = [CapacityError('no host')] * 3
    request = three.launchers[0].addRequest('big')
    three.serve(request)
    assert not getLaunchers(request)
    three.endAll(racks)


@pytest.mark.settings(**SHORT)
def test_launchers_that_are_gone_are_not_recorded(three, racks, gate):
    first, second, third = three.launchers
    three.setLayout(cloud('one'))
    gate.refuseLaunches(
        first, second, error=ConnectionRefusedError('the proxy is down'))
    name = first.getProvider('one').canonical_name
    request = third.addRequest('big', provider_node_data=[{
        'uuid': None, 'failed_providers': [name], 'failed_launchers': {
            name: {'former': 7, 'third': 1}}}])
    three.serve(request)
    launchers, = getLaunchers(request).values()
    assert 'former' not in launchers
    assert launchers['third'] == 1
    three.endAll(racks)
