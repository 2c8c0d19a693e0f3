"""Requests in their order, whichever one a worker takes first."""

import pytest

from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.waiting import waitFor
from zuul_nodes.launcher import election

ONE = cloud('one', resource_limits='{instances: 1}')


def look(steps, request):
    """A worker takes a request, before all that are queued."""
    steps.handlers['request'](request.uuid)


def waitForOne(steps, *requests):
    """:return: those of the requests that are served first."""
    steps.runUntil(lambda: any(map(isDone, requests)))
    return list(filter(isDone, requests))


def lead(steps):
    """Have the launcher take over, with no other step."""
    def step():
        steps.handlers['election']('')
        return steps.election._term
    former = steps.election.getTerm()
    steps.zk_client.client.delete(former)
    waitFor(lambda: step() != former)
    waitFor(step)


def test_known_requests_are_planned_before_a_younger_one(steps):
    steps.setLayout(ONE)
    older, younger = (steps.addRequest('big') for _ in range(2))
    look(steps, younger)
    assert waitForOne(steps, older, younger) == [older]


def test_a_request_of_higher_priority_is_planned_first(steps):
    steps.setLayout(ONE)
    low, high = (steps.addRequest('big', priority=priority)
                 for priority in (200, 100))
    look(steps, low)
    assert waitForOne(steps, low, high) == [high]


def test_a_request_that_a_new_planner_could_not_plan_yet_is_not_late(
        steps):
    """The layout of its tenant had not been read at the takeover."""
    for tenant in ('tenant', 'other'):
        steps.setLayout(ONE, tenant)
    steps.runUntil(lambda: steps.election._term)
    steps.writeLayout(ONE, 'other')
    waitFor(lambda: not steps.layouts.isUpToDate())
    older = steps.addRequest('big', tenant='other')
    lead(steps)
    younger = steps.addRequest('big')
    steps.handlers['layout']('')
    assert steps.layouts.isKnown('other')
    look(steps, younger)
    assert waitForOne(steps, older, younger) == [older]


def test_a_request_for_a_label_of_a_layout_that_is_not_read_is_not_late(
        steps):
    """Its label is new, and the planner has read the former layout."""
    steps.setLayout(ONE)
    steps.setLayout(cloud('one', labels='[other]'), 'other')
    older = steps.addRequest('big', tenant='other')
    steps.writeLayout(ONE, 'other')
    waitFor(lambda: not steps.layouts.isUpToDate())
    look(steps, older)
    assert not isDone(older)
    younger = steps.addRequest('big')
    steps.handlers['layout']('')
    look(steps, younger)
    assert waitForOne(steps, older, younger) == [older]


@pytest.mark.parametrize('is_waiting', [True, False])
def test_a_request_seen_before_a_takeover_keeps_what_it_has_got_in_it(
        pair, monkeypatch, is_waiting):
    """A worker finds that another launcher plans, and acts on that when this
    one does already."""
    pair.setLayout(ONE)
    first, second = pair.launchers
    running = pair.addRequest(first, 'big')
    pair.serve(running)
    older, younger = (pair.addRequest(second, 'big') for _ in range(2))
    pair.run()
    forget, elect = second.planner.forget, second.handlers['election']

    def forgetLate(*args):
        waitFor(lambda: elect('') or second.election._term)
        return forget(*args)
    with monkeypatch.context() as context:
        context.setitem(second.handlers, 'election', lambda _: None)
        first.zk_client.client.delete(first.election.getTerm())
        if not is_waiting:
            pair.finish(running)
            pair.runUntil(lambda: not second.nodes())
        pair.run()
        context.setattr(second.planner, 'forget', forgetLate)
        look(second, older)
    if is_waiting:
        assert second.planner.getReason(older.uuid)
        pair.finish(running)
    pair.runUntil(lambda: isDone(older) or isDone(younger))
    assert isDone(older) and not isDone(younger)


def test_a_request_that_is_gone_right_after_a_takeover_keeps_nothing(
        steps, racks, monkeypatch):
    """Its record is deleted before the new planner looks at it."""
    steps.setLayout(ONE)
    running, _ = steps.serveNew('big')
    request = steps.addRequest('big')
    monkeypatch.setattr(election, 'RETRY', 0.01)
    with monkeypatch.context() as context:
        context.setattr(steps.election, '_isFirst', lambda: False)
        steps.zk_client.client.delete(steps.election.getTerm())
        steps.runUntil(lambda: not steps.election._term)
        steps.run()
    monkeypatch.setattr(steps.election, 'changed', lambda: None)
    steps.runUntil(lambda: steps.election._term)
    assert steps.planner.getReason(request.uuid)
    finish(steps, request)
    steps.runUntil(lambda: not steps.planner.getReason(request.uuid))
    finish(steps, running)
