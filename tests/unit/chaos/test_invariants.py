"""What the checks of chaos runs find in histories."""

import json

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import NodesetRequest

from tests.chaos import site
from tests.chaos.invariants import Invariants
from tests.chaos.records import LAUNCHERS, NodeState, Records, State
from tests.chaos.transactions import Operation, Transaction
from tests.chaos.world import NODE_LOCKS, NODES, REQUESTS
from zuul_nodes.candidates import ROOT

PLANNER = f'{ROOT}/planner-0000000001'
LAUNCHER, OTHER_LAUNCHER, SCHEDULER = 1, 2, 3


class History:
    """What ZooKeeper and the cloud have noted, a transaction each second."""

    def __init__(self):
        self.transactions = []
        self.cloud = []
        self.write(Operation('create', PLANNER), session=LAUNCHER)
        self.write(Operation('create', f'{ROOT}/next-0000000002'),
                   session=OTHER_LAUNCHER)

    def write(self, *operations, session=SCHEDULER):
        zxid = len(self.transactions) + 1
        self.transactions.append(
            Transaction(zxid, float(zxid), session, list(operations)))

    def addRequest(self, request_id, *labels, priority=100, tenant='red'):
        self.write(self.makeRequest(
            'create', request_id, State.REQUESTED, [], tenant_name=tenant,
            labels=list(labels), priority=priority, _relative_priority=0,
            request_time=len(self.transactions)))

    def makeRequest(self, kind, request_id, state, node_ids, **data):
        return Operation(
            kind, f'{REQUESTS}/{request_id}', NodesetRequest._compressData(
                json.dumps({'state': state, 'provider_node_data': [
                    {'uuid': node_id} for node_id in node_ids],
                    **data}).encode()))

    def makeNode(self, kind, node_id, state, provider='east-main'):
        return Operation(
            kind, f'{NODES}/{node_id}', StaticProviderNode._compressData(
                json.dumps({'state': state, 'label': 'small',
                            'connection_name': provider.partition('-')[0],
                            'provider': f'example/{provider}'}).encode()))

    def grant(self, request_id, *node_ids, session=LAUNCHER, checked=PLANNER,
              create=True):
        """:param bool create: whether the nodes are new."""
        self.write(
            Operation('check', checked),
            self.makeRequest('set', request_id, State.ACCEPTED, node_ids),
            *(self.makeNode('create', node_id, NodeState.BUILDING)
              for node_id in node_ids if create), session=session)

    def fill(self):
        """Have no room for further nodes."""
        self.write(*(
            self.makeNode('create', f'{name}-{number}', NodeState.READY, name)
            for name, (_, limit, _) in site.PROVIDERS.items()
            for number in range(limit)))

    def setNode(self, node_id, state):
        self.write(self.makeNode('set', node_id, state))

    def delete(self, *paths):
        self.write(*(Operation('delete', path) for path in paths))

    def createInstance(self, node_id, cores=1, region='east', **more):
        self.lock(node_id, more.get('session', LAUNCHER))
        self.cloud.append({
            'what': 'created', 'id': f'instance-{len(self.cloud)}',
            'node': node_id, 'region': region, 'session': LAUNCHER,
            'needs': {'instances': 1, 'cores': cores},
            'time': float(len(self.transactions)),
            'begun': float(len(self.transactions)), **more})
        return self.cloud[-1]['id']

    def lock(self, node_id, session):
        self.write(Operation('create', f'{NODE_LOCKS}/{node_id}/0000000001'),
                   session=session)

    def unlock(self, node_id):
        self.delete(f'{NODE_LOCKS}/{node_id}/0000000001')

    def deleteInstance(self, instance_id):
        now = len(self.transactions) + 0.5
        node_id = next(each['node'] for each in self.cloud
                       if each['id'] == instance_id)
        self.cloud.append({
            'what': 'deleted', 'id': instance_id, 'node': node_id,
            'session': LAUNCHER, 'time': now, 'begun': now, 'gone': now})

    def check(self, **excuses):
        return Invariants(
            Records(self.transactions), self.cloud, **excuses).check()


@pytest.fixture
def history():
    return History()


def test_a_request_that_is_served_and_used_is_no_problem(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    instance = history.createInstance('node')
    history.delete(f'{REQUESTS}/a')
    history.unlock('node')
    history.setNode('node', NodeState.IN_USE)
    history.setNode('node', NodeState.USED)
    history.lock('node', LAUNCHER)
    history.deleteInstance(instance)
    history.delete(f'{NODES}/node')
    assert history.check() == []


def test_a_node_is_given_to_two_requests(history):
    history.addRequest('a', 'small')
    history.addRequest('b', 'small')
    history.grant('a', 'node')
    history.grant('b', 'node', create=False)
    problem, = history.check()
    assert problem.startswith('node node is given to request b')


def test_a_node_goes_to_another_request_when_the_first_is_gone(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    history.delete(f'{REQUESTS}/a')
    history.addRequest('b', 'small')
    history.grant('b', 'node', create=False)
    assert history.check() == []


def test_a_used_node_is_given_to_a_request(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    history.delete(f'{REQUESTS}/a')
    history.setNode('node', NodeState.IN_USE)
    history.setNode('node', NodeState.READY)
    history.addRequest('b', 'small')
    history.grant('b', 'node', create=False)
    problem, = history.check()
    assert problem.endswith('after it was used')


@pytest.mark.parametrize('is_twice', [False, True])
def test_an_instance_is_deleted_while_its_node_is_in_use(history, is_twice):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    instance = history.createInstance('node')
    if is_twice:
        history.createInstance('node')
    history.setNode('node', NodeState.IN_USE)
    history.deleteInstance(instance)
    history.setNode('node', NodeState.USED)
    # The other one is still there.
    assert len(history.check()) == (0 if is_twice else 1)


@pytest.mark.parametrize('seconds, number', [
    (site.DUPLICATE - 5, 0), (site.DUPLICATE + 5, 1)])
def test_a_node_has_two_instances_for_long(history, seconds, number):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    history.createInstance('node')
    second = history.createInstance('node')
    for _ in range(seconds):
        history.setNode('node', NodeState.BUILDING)
    history.deleteInstance(second)
    problems = history.check()
    assert len(problems) == number
    assert all('has two instances for' in each for each in problems)


def test_a_second_instance_is_deleted_without_the_lock_of_the_node(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    history.createInstance('node')
    second = history.createInstance('node')
    history.unlock('node')
    history.deleteInstance(second)
    assert history.check() == []


def test_the_instance_of_an_executor_that_has_died_is_deleted(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    instance = history.createInstance('node')
    history.unlock('node')
    history.lock('node', SCHEDULER)
    history.setNode('node', NodeState.IN_USE)
    history.unlock('node')
    history.lock('node', LAUNCHER)
    history.deleteInstance(instance)
    assert history.check() == []


def test_a_limit_is_exceeded(history):
    for number in range(4):
        history.createInstance(f'node-{number}', cores=3)
    assert history.check() == []
    history.createInstance('node', cores=3)
    problem, = history.check()
    assert problem.startswith('15 cores are used in east (all)')


def test_what_a_suspended_launcher_creates_late_exceeds_no_limit(history):
    for number in range(4):
        history.createInstance(f'node-{number}', cores=3)
    history.write(Operation('close'), session=OTHER_LAUNCHER)
    history.createInstance('node', cores=3, session=OTHER_LAUNCHER,
                           begun=1000.0)
    assert history.check() == []


@pytest.mark.parametrize('has_record', [False, True])
def test_a_launcher_deletes_an_instance_without_a_lock(history, has_record):
    history.addRequest('a', 'small')
    history.grant('a', 'node')
    instance = history.createInstance('node')
    history.unlock('node')
    if not has_record:
        history.delete(f'{NODES}/node')
    history.deleteInstance(instance)
    assert len(history.check()) == (1 if has_record else 0)


def test_a_launcher_grants_that_does_not_plan(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node', session=OTHER_LAUNCHER)
    problem, = history.check()
    assert 'is granted at 0x4 by session 0x2' in problem


def test_a_deposed_launcher_grants(history):
    history.addRequest('a', 'small')
    history.delete(PLANNER)
    history.grant('a', 'node')
    problem, = history.check()
    assert 'next-0000000002 of session 0x2' in problem


def test_the_planner_grants_in_a_new_session(history):
    for session in (LAUNCHER, OTHER_LAUNCHER):
        history.write(Operation(
            'create', f'{LAUNCHERS}/one{session}', b'{"hostname": "one"}'),
            session=session)
    history.addRequest('a', 'small')
    history.grant('a', 'node', session=OTHER_LAUNCHER)
    assert history.check() == []


def test_a_grant_does_not_require_that_its_launcher_plans(history):
    history.addRequest('a', 'small')
    history.grant('a', 'node', checked='/zuul')
    problem, = history.check()
    assert problem.endswith('that the launcher still plans')


def overtake(history, older, younger, is_waiting=True, is_full=True,
             **options):
    """Serve a younger request first.

    :param bool is_waiting: whether the older one has to wait for a node.
    :param bool is_full: whether there is no room for others.
    """
    if is_full:
        history.fill()
    history.addRequest('other', 'small')
    history.grant('other', 'used')
    history.addRequest('older', *older, **options)
    history.addRequest('younger', *younger)
    history.grant('younger', *(f'y-{number}' for number, _
                               in enumerate(younger)))
    if is_waiting:
        history.delete(f'{NODES}/used')
    history.grant('older', *(f'o-{number}' for number, _
                             in enumerate(older)))


@pytest.mark.parametrize('older, younger', [
    (['small'], ['small']), (['small'], ['small', 'large']),
    (['solo', 'solo'], ['solo'])])
def test_a_request_is_overtaken(history, older, younger):
    overtake(history, older, younger)
    problem, = history.check()
    assert problem.startswith('request younger')


def test_a_request_whose_layout_was_not_read_yet_is_not_overtaken(history):
    overtake(history, ['small'], ['small'])
    assert history.check(unread={'older'}) == []


def test_a_request_whose_providers_are_being_prepared_is_not_overtaken(
        history):
    overtake(history, ['small'], ['small'])
    assert len(history.check(unprepared={('older', 'another')})) == 1
    assert history.check(unprepared={('older', 'younger')}) == []


@pytest.mark.parametrize('tenant', ['red', 'green'])
def test_a_request_of_any_tenant_is_overtaken(history, tenant):
    overtake(history, ['small'], ['small'], tenant=tenant)
    assert len(history.check()) == 1


def test_a_request_that_could_not_use_the_nodes_is_not_overtaken(history):
    overtake(history, ['large'], ['small'])
    assert history.check() == []


def test_a_request_of_lower_priority_is_not_overtaken(history):
    overtake(history, ['small'], ['small'], priority=200)
    assert history.check() == []


def test_a_request_that_did_not_have_to_wait_is_not_overtaken(history):
    overtake(history, ['small'], ['small'], is_waiting=False)
    assert history.check() == []


def test_a_request_for_which_there_is_room_is_not_overtaken(history):
    overtake(history, ['small'], ['small'], is_full=False)
    assert history.check() == []


def test_a_request_that_gets_a_node_that_was_there_is_not_overtaken(history):
    """Its transaction took longer."""
    history.fill()
    history.addRequest('older', 'small')
    history.addRequest('younger', 'small')
    history.grant('younger', 'node')
    history.delete(f'{NODES}/node')
    history.grant('older', 'east-main-0', create=False)
    assert history.check() == []


def test_a_request_that_is_never_served_is_overtaken(history):
    history.fill()
    history.addRequest('older', 'small')
    history.addRequest('younger', 'small')
    history.grant('younger', 'node')
    assert history.check() == []
    history.delete(f'{NODES}/node')
    assert len(history.check()) == 1


def test_a_node_of_another_tenants_definition_is_not_due(history):
    history.fill()
    history.addRequest('older', 'small', tenant='green')
    history.addRequest('first', 'small')
    history.grant('first', 'node')
    history.delete(f'{REQUESTS}/first')
    history.addRequest('younger', 'small')
    history.grant('younger', 'node', create=False)
    history.delete(f'{NODES}/node')
    problem, = history.check()
    assert problem.startswith('request first')
