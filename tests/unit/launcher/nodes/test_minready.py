"""What counts as ready, and what has to be made."""

import collections
import datetime
import logging
import random
import threading
import time
import types

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from tests.fixtures.launcher import TIMEOUT, makeProviders, makeRegistry
from tests.fixtures.planning import getReservations
from tests.fixtures.racks import finish, isDone
from zuul_nodes.launcher.nodes import minready
from zuul_nodes.launcher.nodes.nodeindex import NodeIndex
from zuul_nodes.launcher.nodes.readycounts import findMissing, getKind
from zuul_nodes.launcher.providers import Scope, getPlace, getSubject

State = ProviderNode.State

CLOUD = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label: {{name: big, image: debian, flavor: small, min-ready: {min_ready}}}
- section:
    name: {name}
    connection: rack
    images: [debian]
    flavors: [small]
- provider:
    name: {name}
    section: {name}
    priority: {priority}
    labels:
      - name: big
        boot-timeout: {timeout}
        host-key-checking: false
'''
STATIC = '''
- image: {name: debian, type: cloud}
- flavor: {name: small}
- label: {name: big, image: debian, flavor: small, min-ready: 2}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [small]
    nodes:
      - {name: 127.0.0.1, connection-port: 22, username: zuul, label: big}
- provider: {name: desk, section: desk, labels: [big]}
'''


def cloud(name='rack', timeout=10, min_ready=2, priority=100):
    return CLOUD.format(name=name, timeout=timeout, min_ready=min_ready,
                        priority=priority)


def ready(launcher):
    """:return: how many nodes are ready for anybody."""
    return sum(not node.request_id for node in launcher.nodes(State.READY))


def test_made_once(steps):
    steps.setLayout(cloud())
    steps.runUntil(lambda: ready(steps) == 2)
    steps.run()
    assert len(steps.nodes()) == 2


@pytest.mark.settings(min_ready_interval=0.001)
def test_more_are_ready_at_the_times_of_the_label(steps, monkeypatch):
    """The launcher looks again when a time begins."""
    begin = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=2)
    begin = begin.replace(minute=0, second=0, microsecond=0)
    hours = [f'"{(begin.hour + number) % 24:02}:00"' for number in (0, 1)]
    steps.setLayout(cloud(min_ready=1).replace(
        'min-ready: 1}', f'min-ready: 1, min-ready-times: [{{from: {hours[0]}'
        f', to: {hours[1]}, min-ready: 3}}]}}'))
    steps.runUntil(lambda: ready(steps) == 1)
    steps.run()
    assert len(steps.nodes()) == 1
    due = steps.queue.due[minready.KEY]
    assert due <= time.monotonic() + minready.LONGEST_WAIT
    monkeypatch.setattr(time, 'time', begin.timestamp)
    steps.queue.add(minready.KEY)
    steps.runUntil(lambda: ready(steps) == 3)
    steps.run()
    assert len(steps.nodes()) == 3


def test_each_tenant_has_its_own(steps):
    steps.setLayout(cloud('a'), 'first')
    steps.setLayout(cloud('b'), 'second')
    steps.runUntil(lambda: ready(steps) == 4)


@pytest.mark.settings(drift_grace=0)
def test_a_changed_label_is_made_anew(steps):
    steps.setLayout(cloud(timeout=10))
    steps.runUntil(lambda: ready(steps) == 2)
    steps.setLayout(cloud(timeout=20))
    steps.runUntil(lambda: [node.boot_timeout for node in
                            steps.nodes(State.READY)] == [20, 20])
    steps.runUntil(lambda: len(steps.nodes()) == 2)


@pytest.mark.parametrize('state, missing', [
    (State.REQUESTED, 1), (State.BUILDING, 1), (State.READY, 1),
    (State.FAILED, 1), (State.OUTDATED, 2), (State.HOLD, 2)])
def test_states(zuul_conf, state, missing):
    provider, = makeProviders(makeRegistry(zuul_conf), cloud())
    node = makeNode(provider, state)
    assert count({'tenant': [provider]}, [node]) == missing


def test_nodes_of_providers_of_other_tenants_do_not_count(zuul_conf):
    connections = makeRegistry(zuul_conf)
    tenants = {name: makeProviders(connections, cloud(provider), name)
               for name, provider in (('first', 'a'), ('second', 'b'))}
    node = makeNode(tenants['first'][0], State.READY)
    other, = tenants['second']
    assert node.label_config_hash == other.labels['big'].config_hash
    # One is missing in one tenant, two in the other.
    assert count(tenants, [node]) == 3


def test_two_tenants_share_what_both_can_have(zuul_conf):
    connections = makeRegistry(zuul_conf)
    tenants = {name: makeProviders(connections, cloud(), name)
               for name in ('first', 'second')}
    assert count(tenants, []) == 2


def test_nodes_of_an_old_definition_do_not_count(zuul_conf):
    connections = makeRegistry(zuul_conf)
    old, = makeProviders(connections, cloud('a', 10))
    providers = [*makeProviders(connections, cloud('a', 20)),
                 *makeProviders(connections, cloud('b', 10))]
    # That another provider has a label like the old one is no help.
    assert count({'tenant': providers}, [makeNode(old, State.READY)]) == 2


def test_static_nodes_count_but_are_not_made(zuul_conf):
    connections = makeRegistry(zuul_conf)
    static = makeProviders(connections, STATIC)
    assert count({'tenant': static}, []) == 0
    providers = [*static, *makeProviders(connections, cloud())]
    assert {provider.name for _, provider in find(
        {'tenant': providers})} == {'rack'}


@pytest.mark.parametrize('numbers', [(1, 5), (5, 1)])
def test_the_highest_number_of_a_tenants_providers(zuul_conf, numbers):
    connections = makeRegistry(zuul_conf)
    providers = [provider for name, number in zip('ab', numbers, strict=True)
                 for provider in makeProviders(
                     connections, cloud(name, min_ready=number))]
    assert count({'tenant': providers}, []) == 5


def test_labels_of_other_launchers(zuul_conf):
    providers = makeProviders(makeRegistry(zuul_conf), cloud())
    assert not find({'tenant': providers}, is_mine=lambda name: False)


def test_only_providers_that_can_launch_now_are_chosen(zuul_conf):
    """If there is nobody now, some are missing and not to be made."""
    connections = makeRegistry(zuul_conf)
    providers = [provider for name in 'ab' for provider in makeProviders(
        connections, cloud(name, min_ready=9))]
    able = set('ab')

    def makers():
        return [provider.name for _, provider in find(
            {'tenant': providers},
            canMake=lambda label, provider: provider.name in able)]
    assert len(makers()) == 9
    able.remove('a')
    assert makers() == ['b'] * 9
    able.clear()
    assert makers() == []


def test_the_priority_of_providers(zuul_conf):
    """One that comes later makes what those before it can not."""
    connections = makeRegistry(zuul_conf)
    providers = [provider for name, priority in (
        ('a', 100), ('b', 7), ('c', 50), ('d', 50))
        for provider in makeProviders(
            connections, cloud(name, min_ready=20, priority=priority))]
    room = {'a': 20, 'b': 5, 'c': 20, 'd': 20}

    def canMake(label, provider):
        return made.count(provider.name) < room[provider.name]
    made = []
    for _, provider in findMissing(
            Scope({'tenant': providers}), collections.Counter(),
            lambda name: True, canMake, 100):
        made.append(provider.name)
    assert made[:5] == ['b'] * 5
    assert {*made[5:]} == {'c', 'd'}
    assert len(made) == 20


def test_more_than_anybody_needs(zuul_conf):
    """There is an end, and others do not wait for it."""
    connections = makeRegistry(zuul_conf)
    found = find({
        name: makeProviders(connections, cloud(name, min_ready=number), name)
        for name, number in (('a', 1000000), ('b', 20), ('c', 20))})
    counts = collections.Counter(provider.name for _, provider in found)
    assert counts == {'a': 100, 'b': 20, 'c': 20}
    assert {provider.name for _, provider in found[60:]} == {'a'}


def test_they_have_their_turns_in_order(zuul_conf):
    """By that, the first may be there for another's alias."""
    connections = makeRegistry(zuul_conf)
    found = find({
        name: makeProviders(connections, cloud(name, min_ready=2), name)
        for name in 'abcdef'})
    assert ''.join(provider.name for _, provider in found) == 2 * 'abcdef'


@pytest.mark.settings(min_ready_batch=2)
def test_many_min_ready_nodes_are_launched_in_batches(steps, monkeypatch):
    looks = []
    launchMissing = steps.min_ready._launchMissing

    def look():
        before = len(steps.nodes())
        was_all = launchMissing()
        looks.append((len(steps.nodes()) - before, was_all))
        return was_all
    monkeypatch.setattr(steps.min_ready, '_launchMissing', look)
    steps.setLayout(cloud(min_ready=5))
    steps.runUntil(lambda: ready(steps) == 5)
    assert looks == [(2, False), (2, False), (1, True)]


def makeNode(provider, state):
    node = provider.driver.getProviderNodeClass()()
    node._set(label='big', state=state, provider=provider.canonical_name,
              label_config_hash=provider.labels['big'].config_hash,
              connection_name=provider.connection_name,
              endpoint_name=getPlace(provider)[1])
    return node


def find(tenant_providers, nodes=(), is_mine=lambda name: True,
         canMake=lambda label, provider: True):
    index = NodeIndex()
    for number, node in enumerate(nodes):
        index.note(str(number), node)
    return list(findMissing(
        Scope(tenant_providers), index.getCounts(), is_mine, canMake, 100))


def count(tenant_providers, nodes):
    return len(find(tenant_providers, nodes))


def test_counts_follow_all_changes_of_nodes(zuul_conf):
    providers = [provider for name in 'ab' for provider in makeProviders(
        makeRegistry(zuul_conf), cloud(name))]
    states = [State.REQUESTED, State.READY, State.USED, State.FAILED]
    choices = random.Random(4)
    index, nodes = NodeIndex(), {}
    for _ in range(1000):
        node_id = choices.choice('abcdefgh')
        node = nodes.pop(node_id, None)
        if choices.random() < 0.7:
            # The record of a node stays the same object.
            if node is None or choices.random() < 0.3:
                node = makeNode(choices.choice(providers), State.READY)
            node._set(state=choices.choice(states))
            node.assignment._set(
                request_id=choices.choice([None, None, 'somebody']))
            nodes[node_id] = node
        before = index.getCounts()
        old, new = index.note(node_id, nodes.get(node_id))
        now = index.getCounts()
        assert now == countNow(nodes.values())
        has_fewer = old.kind not in (None, new.kind)
        assert has_fewer == any(now[kind] < before[kind] for kind in before)


def countNow(nodes):
    return collections.Counter(
        kind for node in nodes if (kind := getKind(node)))


def isCounted(launcher):
    return launcher.node_index.getCounts() == countNow(launcher.nodes())


def test_counts_of_a_launcher(steps):
    """All that there is, and nothing that is gone, is counted."""
    steps.setLayout(cloud())
    requests = [steps.addRequest('big') for _ in range(3)]
    steps.runUntil(lambda: all(map(isDone, requests)))
    steps.runUntil(lambda: ready(steps) == 2)
    for request in requests:
        finish(steps, request)
    steps.runUntil(lambda: len(steps.nodes()) == 2)
    gone = steps.nodes()[0]
    with steps.context() as context:
        gone.delete(context)
    steps.runUntil(lambda: gone not in steps.nodes() and ready(steps) == 2)
    steps.runUntil(lambda: isCounted(steps))


@pytest.mark.settings(min_ready_interval=0)
def test_a_granted_min_ready_node_is_replaced(steps, monkeypatch):
    """Nothing else need happen."""
    steps.setLayout(cloud())
    steps.runUntil(lambda: ready(steps) == 2)
    steps.run()
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request) and ready(steps) == 2)
    assert len(steps.nodes()) == 3


@pytest.mark.settings(min_ready_pause=0)
def test_a_node_whose_creation_had_no_answer_counts(steps, monkeypatch):
    """There was no answer, and the watch is late."""
    go_on = threading.Event()
    commitNew, catchUp = minready.commitNew, steps.api.nodes_cache.catchUp

    def lose(known, transaction, records):
        monkeypatch.setattr(minready, 'commitNew', commitNew)
        steps.api._reader.put(
            types.SimpleNamespace(set=lambda: go_on.wait(TIMEOUT)))
        send = transaction._send

        def sendAndLose(operations):
            send(operations)
            raise ConnectionLoss
        transaction._send = sendAndLose
        commitNew(known, transaction, records)

    def goOn():
        go_on.set()
        return catchUp()
    steps.setLayout(cloud(min_ready=0))
    monkeypatch.setattr(minready, 'commitNew', lose)
    steps.setLayout(cloud())
    steps.runUntil(lambda: minready.commitNew is commitNew)
    monkeypatch.setattr(steps.api.nodes_cache, 'catchUp', goOn)
    steps.runUntil(lambda: ready(steps) == 2)
    steps.run()
    assert len(steps.nodes()) == 2
    steps.runUntil(lambda: isCounted(steps))


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_there_is_quota_again(steps, racks):
    """For what is made before anybody asks, too."""
    steps.setLayout(cloud(min_ready=0))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    racks.errors['rack'] = [QuotaException('full')]
    steps.setLayout(cloud(min_ready=1))
    subject = getSubject(steps.getProvider('rack'))
    steps.runUntil(lambda: steps.planner.getPause(subject))
    steps.runUntil(lambda: len(steps.nodes()) == 1)
    steps.run()
    assert len(racks.created) == 2
    finish(steps, request)
    steps.runUntil(lambda: ready(steps) == 1)


@pytest.mark.settings(min_ready_interval=0)
def test_no_more_than_there_is_room_for(steps, monkeypatch):
    steps.setLayout(full(min_ready=2))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1)
    steps.run()
    gone, = steps.nodes()
    with steps.context() as context:
        gone.delete(context)
    steps.runUntil(lambda: gone not in steps.nodes()
                   and len(steps.nodes(State.READY)) == 1)
    steps.run()
    assert len(steps.nodes()) == 1


def test_the_room_is_gone_meanwhile(steps, monkeypatch, caplog):
    """To look and to take are two steps."""
    caplog.set_level(logging.INFO, 'zuul')
    monkeypatch.setattr(steps.planner, 'getObstacle', lambda *args: None)
    steps.setLayout(full(min_ready=2))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 1)
    steps.run()
    assert len(steps.nodes()) == caplog.text.count('Launching node') == 1


def full(name='rack', number=1, **kwargs):
    return cloud(name, **kwargs) + (
        f'    resource-limits: {{instances: {number}}}\n')


def test_where_there_is_room(steps):
    """A provider that is full has none waiting."""
    _, place = full('b', 4).split('- section:')
    steps.setLayout(full('a', min_ready=6) + '- section:' + place)
    steps.runUntil(lambda: ready(steps) == 5)
    steps.run()
    assert collections.Counter(
        node.provider.rsplit('/', 1)[-1] for node in steps.nodes()) == {
            'a': 1, 'b': 4}


def test_nothing_is_kept_for_what_another_has_made(steps):
    _, place = full('b', 4).split('- section:')
    steps.setLayout(full('a', min_ready=5) + '- section:' + place)
    steps.runUntil(lambda: ready(steps) == 5)
    steps.run()
    assert getReservations(steps.planner) == {}


def test_a_provider_with_unknown_capacity_does_not_delay_others(
        steps, monkeypatch):
    """Others are made."""
    getObstacle = steps.planner.getObstacle

    def getObstacleOrFail(provider, label_name):
        if provider.name == 'a':
            raise Exception('broken')
        return getObstacle(provider, label_name)
    monkeypatch.setattr(steps.planner, 'getObstacle', getObstacleOrFail)
    steps.setLayout(cloud('a'), 'first')
    steps.setLayout(cloud('b'), 'second')
    steps.runUntil(lambda: ready(steps) == 2)


@pytest.mark.settings(min_ready_interval=0, min_ready_first_backoff=0.5,
                      min_ready_longest_backoff=0.5)
def test_a_failed_min_ready_node_is_launched_again_after_its_back_off(
        steps, racks):
    """It is made anew when the time has come, though nothing happens then
    and something has before."""
    racks.errors['rack'] = [Exception('broken')] * 3
    steps.setLayout(cloud(min_ready=1))
    steps.runUntil(lambda: len(racks.created) == 3 and not steps.nodes())
    steps.min_ready_state.queueCheck()
    steps.runUntil(lambda: ready(steps) == 1)


@pytest.mark.settings(min_ready_interval=0)
def test_requests_come_first(steps, monkeypatch):
    """Nothing is made ready of what a request waits for."""
    steps.setLayout(full(number=2, min_ready=0))
    running = [steps.addRequest('big') for _ in range(2)]
    steps.runUntil(lambda: all(map(isDone, running)))
    waiting = steps.addRequest('big', 'big')
    steps.runUntil(lambda: steps.planner.getReason(waiting.uuid))
    steps.setLayout(full(number=2, min_ready=1))
    for request in running:
        steps.run()
        assert not ready(steps) and not isDone(waiting)
        finish(steps, request)
    steps.runUntil(lambda: isDone(waiting))
    assert len(steps.nodes()) == 2
    finish(steps, waiting)
    steps.runUntil(lambda: ready(steps) == 1)


def test_a_node_of_zuuls_launcher_waits_for_capacity(steps):
    """It takes the room of nobody, and begins when there is some."""
    steps.setLayout(full(min_ready=0))
    running = steps.addRequest('big')
    steps.runUntil(lambda: isDone(running))
    node = steps.addNode(steps.getProvider('rack'), 'big',
                         state=State.REQUESTED)
    waiting = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(waiting.uuid))
    finish(steps, running)
    steps.runUntil(lambda: isDone(waiting))
    steps.run()
    assert node.state == State.REQUESTED and not node.request_id
    finish(steps, waiting)
    steps.runUntil(lambda: node.state == State.READY)
