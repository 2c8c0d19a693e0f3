"""A launcher that makes no progress says so, and others do its work."""

import math
import threading
import time
import types
import urllib.error
import urllib.request

import pytest
from zuul.lib.monitoring import MonitoringServer
from zuul.zk.components import LauncherComponent

from tests.fixtures.cloud import Clock
from tests.fixtures.racks import cloud, isDone
from tests.fixtures.waiting import waitFor
from zuul_nodes import candidates
from zuul_nodes.launcher.readiness import Readiness
from zuul_nodes.launcher.settings import Settings

TIMEOUT = 10
hangs = pytest.mark.settings(stall_timeout=0.3)


class Hang:
    """A function that hangs in place of another one, which it then calls."""

    def __init__(self, function):
        self.function = function
        self.reached = threading.Event()
        self.gate = threading.Event()

    def __call__(self, *args):
        self.reached.set()
        assert self.gate.wait(6 * TIMEOUT)
        return self.function(*args)


@pytest.fixture
def hang(monkeypatch):
    """:return: a function that has a launcher hang in a method: in a thread
        that takes its steps until then."""
    made = []

    def hang(launcher, part, name):
        hang = Hang(getattr(part, name))
        monkeypatch.setattr(part, name, hang)

        def work():
            while not hang.reached.is_set():
                if not launcher.queue.step():
                    time.sleep(0.001)
        thread = threading.Thread(target=work)
        thread.start()
        made.append((hang, thread))
        return hang
    yield hang
    for each, thread in made:
        each.reached.set()
        each.gate.set()
        thread.join(TIMEOUT)


def check(launcher):
    launcher.readiness.check()
    return launcher.component_info.state


def waitForState(launcher, state):
    waitFor(lambda: check(launcher) == state)


def getCandidates(several):
    return {each.launcher for each
            in candidates.read(several.zk_client.client)}


@hangs
@pytest.mark.crash
def test_others_do_the_work_of_a_launcher_whose_planner_hangs(
        pair, racks, hang):
    first, second = pair.launchers
    pair.setLayout(cloud('one'))
    assert first.election.getTerm()
    stuck = hang(first, first.planner, '_plan')
    requests = [second.addRequest('big') for _ in range(4)]
    assert stuck.reached.wait(TIMEOUT)
    waitForState(first, LauncherComponent.PAUSED)
    assert first.readiness.state == 'stalled'
    assert getCandidates(pair) == {'second'}
    second.runUntil(lambda: all(map(isDone, requests)))
    assert second.ownership.getLaunchers() == ['second']
    stuck.gate.set()
    waitForState(first, LauncherComponent.RUNNING)
    assert first.readiness.state == LauncherComponent.RUNNING
    pair.runUntil(lambda: getCandidates(pair) == {'first', 'second'})
    request = second.addRequest('big')
    pair.runUntil(lambda: isDone(request))
    pair.runUntil(lambda: not first.planner.length())
    pair.endAll(racks)


@hangs
@pytest.mark.crash
def test_a_launcher_that_hangs_while_it_takes_over_does_not_lead_afterwards(
        pair, racks, hang):
    first, second = pair.launchers
    stuck = hang(second, second.election, 'takeOver')
    first.zk_client.client.delete(first.election.getTerm())
    first.runUntil(stuck.reached.is_set)
    waitForState(second, LauncherComponent.PAUSED)
    # The second may have been quicker than the first, which stands again.
    first.runUntil(lambda: getCandidates(pair) == {'first'})
    first.runUntil(lambda: first.election._term)
    term = first.election.getTerm()
    stuck.gate.set()
    waitFor(lambda: not second.queue.getLongest())
    assert second.election._term is None
    assert getCandidates(pair) == {'first'}
    waitForState(second, LauncherComponent.RUNNING)
    pair.runUntil(lambda: getCandidates(pair) == {'first', 'second'})
    assert first.election.getTerm() == term


@pytest.fixture
def ask(zuul_conf):
    """:return: a function that gives the status and text of an answer of a
        launcher's monitoring server."""
    servers = []

    def ask(launcher, path):
        if not servers:
            zuul_conf.read_dict({'launcher': {
                'prometheus_port': 0, 'prometheus_addr': '127.0.0.1'}})
            servers.append(MonitoringServer(
                zuul_conf, 'launcher', launcher.readiness))
            servers[0].start()
        url = f'http://127.0.0.1:{servers[0].port}/health/{path}'
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ''
    yield ask
    for server in servers:
        server.stop()
        server.join()


@hangs
def test_a_launcher_that_nobody_can_replace_goes_on(steps, racks, hang, ask):
    """It is not ready, but still does what it can."""
    steps.setLayout(cloud('one'))
    assert ask(steps, 'ready') == (200, '')
    assert ask(steps, 'status') == (200, 'RUNNING')
    stuck = hang(steps, steps.min_ready, 'reconcile')
    steps.queue.add(('minready', ''))
    waitFor(lambda: (check(steps), steps.readiness.findStall())[1])
    assert steps.component_info.state == LauncherComponent.RUNNING
    assert ask(steps, 'ready')[0] == 503
    assert ask(steps, 'status') == (200, 'STALLED')
    steps.serve(steps.addRequest('big'))
    stuck.gate.set()
    waitFor(lambda: ask(steps, 'ready')[0] == 200)


@pytest.mark.settings(call_timeout=0.5, most_hanging_calls=1)
def test_a_launcher_is_not_ready_when_too_many_threads_hang(
        steps, racks, ask):
    """The cloud is to blame, so others would fare no better."""
    steps.setLayout(cloud('one', labels='[big]'))
    racks.hang('one')
    steps.addRequest('big')
    # Another call may seem to hang for a moment before.
    steps.runUntil(
        lambda: racks.reached and ask(steps, 'ready')[0] == 503)
    assert check(steps) == LauncherComponent.RUNNING
    racks.end()
    waitFor(lambda: ask(steps, 'ready')[0] == 200)


@pytest.mark.parametrize('filters, is_substitute', [
    ((None, None), True), (('rack', None), True), (('rack', 'rack'), True),
    (('rack', 'other,rack'), True), ((None, 'rack'), False),
    (('rack,other', 'rack'), False), (('rack', 'other'), False)])
def test_who_can_take_over_has_all_connections(
        several, filters, is_substitute):
    for name, connections in zip(('a', 'b'), filters, strict=True):
        several.add(name, **({
            'connection_filter': connections} if connections else {}))
    first, second = several.launchers
    assert first.ownership.hasSubstitute() == is_substitute
    second.component_info.state = second.component_info.PAUSED
    several.runUntil(lambda: first.ownership.getLaunchers() == ['a'])
    assert not first.ownership.hasSubstitute()


@pytest.fixture
def frozen():
    """:return: what watches a launcher that has done nothing for ever, and
        that no other can replace; and its clock and client."""
    clock = Clock()
    client = types.SimpleNamespace(connected=True)
    readiness = Readiness(
        types.SimpleNamespace(
            client=client, state='running', RUNNING='running'),
        types.SimpleNamespace(ownership=types.SimpleNamespace(
            hasSubstitute=lambda: False)),
        types.SimpleNamespace(getLongest=lambda: math.inf),
        types.SimpleNamespace(getSeconds=lambda: 0),
        types.SimpleNamespace(hasExhausted=lambda: False),
        Settings(stall_timeout=60), clock)
    return readiness, clock, client


def elapse(readiness, clock, seconds):
    for _ in range(0, seconds, 5):
        clock.now += 5
        readiness.check()


def test_time_without_zookeeper_does_not_count(frozen):
    readiness, _, client = frozen
    elapse(*frozen[:2], 60)
    assert not readiness.findStall()
    elapse(*frozen[:2], 5)
    assert readiness.findStall()
    client.connected = False
    elapse(*frozen[:2], 100)
    assert not readiness.findStall()
    client.connected = True
    elapse(*frozen[:2], 60)
    assert not readiness.findStall()
    elapse(*frozen[:2], 5)
    assert readiness.findStall()


def test_time_without_a_processor_does_not_count(frozen):
    """As of a process that was suspended."""
    readiness, clock, _ = frozen
    clock.now += 100
    readiness.check()
    assert not readiness.findStall()
    elapse(*frozen[:2], 65)
    assert readiness.findStall()
