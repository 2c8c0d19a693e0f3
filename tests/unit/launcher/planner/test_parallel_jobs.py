"""How many jobs use a machine at the same time, by all of its records."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import finish, isDone
from tests.fixtures.staticlayouts import DESK, SHARED, getFree
from zuul_nodes.launcher.planner.planner import Grant

State = ProviderNode.State

JOBS = ', max-parallel-jobs: {}'


def machine(number, *providers, slots=1):
    """:return: a layout with a node of so many jobs."""
    return DESK.format(
        port=22, more=JOBS.format(number) if number else '') + ''.join(
        SHARED.format(name=name, slots=slots) for name in providers)


def waitForFree(steps, number):
    steps.runUntil(lambda: len(getFree(steps)) == number)


def setMachines(steps, *numbers):
    """Have tenants with a node of the same machine each."""
    for tenant, number in zip(('first', 'second'), numbers, strict=True):
        steps.setLayout(machine(number, tenant), tenant)
    waitForFree(steps, sum(numbers))


@pytest.mark.parametrize('number, slots', [
    (3, 1), (3, 2), (3, 5), (1, 2), (None, 2)])
def test_a_node_says_how_many_jobs_it_may_have(steps, number, slots):
    """Whatever its label says."""
    expected = number or slots
    steps.setLayout(machine(number, 'one', slots=slots))
    waitForFree(steps, expected)
    requests = [steps.addRequest('big') for _ in range(expected + 1)]
    steps.runUntil(lambda: sum(map(isDone, requests)) == expected)
    steps.runUntilWaiting(requests[-1])
    finish(steps, requests[0])
    steps.runUntil(lambda: isDone(requests[-1]))


@pytest.mark.parametrize('numbers', [(2, 2), (2, 3), (3, 2)])
def test_the_least_of_all_records_counts(steps, numbers):
    setMachines(steps, *numbers)
    requests = [steps.addRequest('big', tenant=tenant)
                for tenant in ('first', 'second', 'first', 'second')]
    for number, waiting in enumerate(requests[2:]):
        steps.runUntil(lambda number=number: all(
            map(isDone, requests[number:number + 2])))
        steps.runUntilWaiting(waiting)
        finish(steps, requests[number])
    steps.runUntil(lambda: isDone(requests[3]))


def test_a_node_without_a_number_has_one_job(steps):
    setMachines(steps, 3, 1)
    requests = [steps.addRequest('big', tenant=tenant)
                for tenant in ('first', 'first', 'second')]
    for number, request in enumerate(requests):
        steps.runUntil(lambda request=request: isDone(request))
        for waiting in requests[number + 1:]:
            steps.runUntilWaiting(waiting)
        finish(steps, request)


def test_a_nodeset_has_no_more_nodes_than_are_left(steps):
    setMachines(steps, 3, 3)
    single = steps.addRequest('big', tenant='second')
    steps.runUntil(lambda: isDone(single))
    both = steps.addRequest('big', 'big', tenant='first')
    steps.runUntil(lambda: isDone(both))
    assert both.state == both.State.FULFILLED
    waiting = steps.addRequest('big', 'big', tenant='second')
    steps.runUntilWaiting(waiting)
    finish(steps, single)
    # One job could begin.
    steps.runUntilWaiting(waiting)
    assert not isDone(waiting)
    finish(steps, both)
    steps.runUntil(lambda: isDone(waiting))


def test_records_of_one_tenant_do_not_add_up_for_a_nodeset(steps):
    steps.setLayout(machine(2, 'one', 'two'))
    waitForFree(steps, 4)
    request = steps.addRequest('big', 'big')
    steps.runUntil(lambda: isDone(request))
    third = steps.addRequest('big')
    steps.runUntilWaiting(third)
    finish(steps, request)
    steps.runUntil(lambda: isDone(third))


@pytest.mark.parametrize('numbers', [(2, 3), (3, 2), (1, 2), (2, 1)])
def test_another_number_counts_when_the_jobs_have_ended(steps, numbers):
    before, after = numbers
    steps.setLayout(machine(before, 'one'))
    waitForFree(steps, before)
    request, _ = steps.serveNew('big')
    steps.setLayout(machine(after, 'one'))
    waitForFree(steps, after)
    requests = [steps.addRequest('big') for _ in range(after)]
    # Both records count until then.
    steps.runUntilWaiting(requests[-1])
    finish(steps, request)
    steps.runUntil(lambda: all(map(isDone, requests)))
    steps.runUntil(lambda: len(steps.nodes()) == after + (after > 1))


@pytest.mark.parametrize('numbers', [(1, 2), (2, 1), (2, 3)])
def test_another_number_of_slots_counts(steps, numbers):
    for number in numbers:
        steps.setLayout(machine(None, 'one', slots=number))
        waitForFree(steps, number)
    request = steps.addRequest(*numbers[-1] * ['big'])
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


@pytest.mark.crash
def test_deposed_planner_keeps_to_the_number(pair, monkeypatch):
    for tenant in ('first', 'second'):
        pair.setLayout(machine(2, tenant), tenant)
    pair.waitForReady(4)
    first, second = pair.launchers
    used = pair.addRequest(second, 'big', tenant='first')
    pair.runUntil(lambda: isDone(used))
    granted = []

    def decide(_):
        granted.append(pair.depose('big', tenant='second'))
    decisions = pair.interrupt(monkeypatch, decide)
    request = pair.addRequest(first, 'big', tenant='first')
    pair.runUntil(lambda: granted)
    pair.run()
    assert decisions == [Grant]
    assert not isDone(request)
    pair.finish(used)
    pair.runUntil(lambda: isDone(request))
