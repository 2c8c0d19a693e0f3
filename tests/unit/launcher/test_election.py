"""The launcher that plans, among several."""

import functools

import pytest
from zuul.model import ProviderNode
from zuul.zk.components import LauncherComponent

from tests.fixtures.racks import cloud, isDone
from tests.fixtures.waiting import waitFor
from zuul_nodes import candidates
from zuul_nodes.candidates import ROOT
from zuul_nodes.launcher.election import KEY, Election
from zuul_nodes.launcher.zookeeper import Conflict

State = ProviderNode.State

pytestmark = pytest.mark.crash


def getPlanners(several):
    """:return: a list of the launchers that take themselves for the planner.
    """
    planners = []
    for launcher in several.launchers:
        try:
            launcher.election.getTerm()
        except Conflict:
            continue
        planners.append(launcher)
    return planners


def waitForPlanner(several, launcher):
    several.runUntil(lambda: getPlanners(several) == [launcher])


@pytest.fixture
def three(several):
    for name in ('first', 'second', 'third'):
        several.add(name)
    waitForPlanner(several, several.launchers[0])
    return several


def test_the_launcher_that_came_first_plans(three, racks):
    three.setLayout(cloud('one'))
    requests = [three.addRequest(launcher, 'big')
                for launcher in three.launchers]
    three.serve(*requests)
    assert getPlanners(three) == three.launchers[:1]
    three.endAll(racks)


def test_the_next_one_plans_when_the_planner_stops(three, racks, kazoo_client):
    three.setLayout(cloud('one', resource_limits='{instances: 1}'))
    used = three.addRequest(three.launchers[0], 'big')
    three.serve(used)
    waiting = [three.addRequest(launcher, 'big')
               for launcher in three.launchers]
    three.runUntil(lambda: all(
        three.launchers[0].planner.getReason(each.uuid) for each in waiting))
    three.remove(three.launchers[0])
    second = three.launchers[0]
    waitForPlanner(three, second)
    assert len(kazoo_client.get_children(ROOT)) == 2
    three.runUntil(lambda: all(
        second.planner.getReason(each.uuid) for each in waiting))
    three.finish(used)
    seen = second.api.getNodesetRequest(waiting[0].uuid)
    three.serve(seen)
    three.endAll(racks)


def test_a_planner_whose_candidate_is_gone_becomes_the_last(three):
    first, second, _ = three.launchers
    first.zk_client.client.delete(first.election.getTerm())
    waitForPlanner(three, second)
    three.runUntil(lambda: len(first.election.candidates.get()) == 3)
    assert [each.launcher for each in first.election.candidates.get()] == [
        'second', 'third', 'first']


def test_a_launcher_with_its_own_process_plans_before_those_in_schedulers(
        several):
    several.add('first')
    several.add('second')
    alone = several.add('alone', is_embedded=False)
    waitForPlanner(several, alone)
    several.run()
    assert {each.launcher for each in alone.election.candidates.get()} == {
        'first', 'second', 'alone'}
    another = several.add('another', is_embedded=False)
    several.run()
    assert getPlanners(several) == [alone]
    several.remove(alone)
    waitForPlanner(several, another)


def test_a_launcher_whose_cache_lacks_others_does_not_plan(
        pair, monkeypatch):
    """It has read its own record, and not yet that of the planner."""
    first, second = pair.launchers
    waitForPlanner(pair, first)
    pair.run()
    cache = second.election.candidates
    own = [each for each in cache.get() if each.launcher == 'second']
    with monkeypatch.context() as context:
        context.setattr(cache, 'get', lambda: own)
        second.election.reconcile()
    assert getPlanners(pair) == [first]


def test_a_planner_forgets_waiting_requests_when_it_is_deposed(three):
    three.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first, second, _ = three.launchers
    three.serve(three.addRequest(first, 'big'))
    request = three.addRequest(first, 'big')
    three.runUntil(lambda: first.planner.getReason(request.uuid))
    first.zk_client.client.delete(first.election.getTerm())
    three.runUntil(lambda: second.planner.getReason(request.uuid)
                   and not first.planner.getReason(request.uuid))


def test_min_ready_nodes_are_launched_once(three, racks):
    three.setLayout(cloud(
        'one', labels='[{name: big, min-ready: 6}]'))
    assert len(three.waitForReady(6)) == 6
    assert len(racks.created) == 6


def test_deposed_planner_launches_no_min_ready_node(
        pair, racks, monkeypatch):
    """The next planner launches it, once."""
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    launch = first.min_ready._launch
    calls = []

    def launchLate(*args):
        if not calls:
            calls.append(args)
            first.zk_client.client.delete(first.election.getTerm())
            second.runUntil(second.nodes)
        launch(*args)
    monkeypatch.setattr(first.min_ready, '_launch', launchLate)
    pair.setLayout(cloud('one', labels='[{name: big, min-ready: 1}]'))
    pair.waitForReady(1)
    assert calls
    assert len(racks.created) == 1


def test_requests_are_served_by_age_whichever_launcher_they_would_be_of(
        three, racks):
    """While the tenant's layout is written again and again."""
    three.setLayout(cloud('one', resource_limits='{instances: 2}'))
    running = [three.addRequest(three.launchers[0], 'big', 'big')]
    three.serve(*running)
    requests = [three.addRequest(launcher, 'big', 'big')
                for launcher in three.launchers * 3]
    # One launcher's view: what is written first, it sees first.
    requests = [waitFor(functools.partial(
        three.launchers[0].api.getNodesetRequest, each.uuid))
        for each in requests]

    def isInOrder():
        granted = [any(each.nodes) for each in requests]
        return granted == sorted(granted, reverse=True)
    ended = set()
    while len(ended) < len(requests):
        three.launchers[0].writeLayout(
            cloud('one', resource_limits='{instances: 2}'))
        three.finish(running.pop(0))
        assert isInOrder()
        three.runUntil(lambda: not isInOrder() or running or any(
            isDone(each) for each in requests if each not in ended))
        assert isInOrder()
        for request in requests:
            if isDone(request) and request not in ended:
                ended.add(request)
                running.append(request)
    three.finish(*running)
    assert racks.most == 2
    three.endAll(racks)


def test_a_launcher_that_takes_over_serves_the_oldest_request_first(
        pair, monkeypatch):
    """Whichever request it looks at first."""
    pair.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first, second = pair.launchers
    running = pair.addRequest(first, 'big')
    pair.serve(running)
    older, younger = [pair.addRequest(second, 'big') for _ in range(2)]
    pair.run()
    with monkeypatch.context() as context:
        context.setitem(second.handlers, 'election', lambda _: None)
        first.zk_client.client.delete(first.election.getTerm())
        pair.finish(running)
        pair.runUntil(lambda: not second.nodes())
        pair.run()
    second.queue.add(KEY)
    second.queue.add(('request', younger.uuid))
    pair.runUntil(lambda: isDone(older) or isDone(younger))
    assert isDone(older)


def test_requests_of_zuuls_launchers_are_left_to_them(steps, kazoo_client):
    """Those that they serve by Zuul's own rule, as long as they run."""
    steps.setLayout(cloud('one'))
    # It makes no nodes here.
    stock = LauncherComponent(
        steps.zk_client, 'stock', connection_filter=['null'])
    stock.register()
    stock.state = stock.RUNNING
    steps.runUntil(lambda: len(steps.ownership.getLaunchers()) == 2)
    requests = [steps.addRequest('big') for _ in range(12)]
    theirs = [each for each in requests if steps.ownership.getRequestOwner(
        each) == stock.hostname]
    ours = [each for each in requests if each not in theirs]
    assert theirs and ours
    steps.runUntil(lambda: all(map(isDone, ours)))
    steps.run()
    assert not any(map(isDone, theirs))
    kazoo_client.delete(stock.path)
    steps.runUntil(lambda: all(map(isDone, theirs)))


def test_launcher_of_an_earlier_release_takes_no_share(steps, kazoo_client):
    """Its component is like that of a launcher of Zuul, but it is a candidate
    for planning."""
    steps.setLayout(cloud('one'))
    former = LauncherComponent(
        steps.zk_client, 'former', connection_filter=['null'])
    former.register()
    former.state = former.RUNNING
    candidates.create(kazoo_client, 'former', former.hostname, True)
    steps.runUntil(lambda: (
        len(steps.ownership.getLaunchers()) == 2
        and len(steps.election.candidates.get()) == 2))
    requests = [steps.addRequest('big') for _ in range(12)]
    assert any(steps.ownership.getRequestOwner(each) == former.hostname
               for each in requests)
    steps.runUntil(lambda: all(map(isDone, requests)))


@pytest.mark.parametrize('is_new', [True, False])
def test_a_launcher_that_is_no_candidate_yet_takes_no_place_from_a_request(
        pair, is_new, monkeypatch):
    """It has just started, or its session was lost and it is back."""
    pair.setLayout(cloud('one', resource_limits='{instances: 1}'))
    first, second = pair.launchers
    waitForPlanner(pair, first)
    running = pair.addRequest(first, 'big')
    pair.serve(running)
    monkeypatch.setattr(Election, '_create', lambda self: None)
    if is_new:
        other = pair.add('third')
    else:
        other = second
        other.component_info.state = other.component_info.PAUSED
        first.zk_client.client.delete(other.election._own)
        pair.runUntil(lambda: len(first.election.candidates.get()) == 1
                      and first.ownership.getLaunchers() == ['first'])
        pair.run()
        other.component_info.state = other.component_info.RUNNING
        pair.runUntil(lambda: len(first.ownership.getLaunchers()) == 2)
    older = pair.addRequest(other, 'big')
    younger = pair.addRequest(first, 'big')
    pair.runUntil(lambda: first.planner.getReason(younger.uuid))
    pair.run()
    pair.finish(running)
    pair.runUntil(lambda: isDone(first.api.getNodesetRequest(older.uuid))
                  or isDone(younger))
    assert not isDone(younger)


def test_an_answer_that_was_lost_leaves_one_candidate(
        steps, kazoo_client, monkeypatch):
    client = steps.zk_client.client
    create = client.create

    def createAndFail(*args, **kwargs):
        monkeypatch.undo()
        create(*args, **kwargs)
        raise ConnectionError
    steps.runUntil(lambda: steps.election._term)
    former = steps.election.getTerm()
    client.delete(former)
    monkeypatch.setattr(client, 'create', createAndFail)
    waitFor(lambda: not kazoo_client.get_children(ROOT))
    steps.runUntil(lambda: steps.election._term not in (None, former))
    assert [f'{ROOT}/{name}' for name in kazoo_client.get_children(ROOT)] == [
        steps.election.getTerm()]
