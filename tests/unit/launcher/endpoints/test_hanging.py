"""An endpoint that does not start keeps nobody waiting but its own."""

import threading

import pytest
from zuul.model import NodesetRequest

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.racks import addProvider, addSection, cloud, isDone
from tests.fixtures.shelf.shelf_maker import ShelfEndpoint

BOTH = (cloud('one', labels='[big]') + addSection('other')
        + addProvider('two', section='other', priority=2))


class Starts:
    """Those of the endpoint ``rack/rack``.

    :ivar list todo: what happens at the next ones: called.
    :ivar int number: how many there have been.
    :ivar Event reached: one hangs.
    :ivar Event release: what hangs ends.
    """

    def __init__(self):
        self.todo = []
        self.number = 0
        self.reached = threading.Event()
        self.release = threading.Event()

    def start(self):
        self.number += 1
        if self.todo:
            self.todo.pop(0)()

    def hang(self):
        self.reached.set()
        assert self.release.wait(2 * TIMEOUT)

    def fail(self):
        raise ConnectionError('no route to the cloud')


@pytest.fixture
def starts(steps, racks, monkeypatch):
    starts = Starts()

    def startEndpoint(endpoint):
        if endpoint.canonical_name == 'rack/rack':
            starts.start()
    monkeypatch.setattr(ShelfEndpoint, 'startEndpoint', startEndpoint)
    yield starts
    starts.release.set()


def serve(launcher, *requests):
    launcher.runUntil(lambda: all(map(isDone, requests)))
    assert {request.state for request in requests} == {
        NodesetRequest.State.FULFILLED}


def test_a_start_that_hangs(steps, starts, racks):
    """Layouts are read, and what others can serve is served."""
    starts.todo = [starts.hang]
    steps.readLayout(BOTH)
    steps.runUntil(starts.reached.is_set)
    serve(steps, steps.addRequest('big'), steps.addRequest('other'))
    steps.readLayout(BOTH, 'neighbour')
    serve(steps, steps.addRequest('other', tenant='neighbour'))
    steps.readLayout(cloud('one', labels='[big]'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    assert ('one: is being prepared: endpoint rack/rack is being started'
            in steps.planner.getReason(request.uuid))
    assert set(racks.created) == {'two'}
    starts.release.set()
    serve(steps, request)
    assert starts.number == 1


def test_a_start_that_fails(steps, starts, racks, caplog):
    """It is tried again, without a new layout; and told once, with whom
    that keeps waiting."""
    steps.endpoint_reconciler.turns.interval = 0.1
    starts.todo = [starts.fail] * 3
    steps.readLayout(cloud('one'))
    serve(steps, steps.addRequest('big'))
    assert starts.number == 4
    assert racks.created == ['one']
    problem, = (line for line in caplog.messages
                if 'rack/rack' in line and 'Unable' in line)
    assert problem == (
        'Unable to prepare endpoint rack/rack, requests may wait for '
        'example.com%2Fnodes/one:')
    assert 'ConnectionError: no route to the cloud' in caplog.text


@pytest.mark.settings(call_timeout=0.3)
@pytest.mark.parametrize('how, problem', [
    ('fail', 'no route to the cloud'), ('hang', 'no answer in 0.3 seconds')])
def test_reason_of_a_waiting_request_names_the_problem_of_its_endpoint(
        steps, starts, racks, how, problem):
    """The reason has the cause, also of one that has been waiting."""
    steps.endpoint_reconciler.turns.interval = 1000
    starts.todo = [getattr(starts, how)]
    steps.readLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    steps.runUntil(lambda: 'one: is being prepared: endpoint rack/rack: '
                   + problem in steps.planner.getReason(request.uuid))
    # When it has started, nobody waits any longer.
    starts.release.set()
    steps.endpoint_reconciler.turns.interval = 0
    steps.readLayout(cloud('one'))
    serve(steps, request)


@pytest.mark.settings(stop_timeout=0.1)
def test_a_start_that_hangs_does_not_hold_up_a_stop(
        steps, starts, monkeypatch):
    starts.todo = [starts.hang]
    steps.readLayout(BOTH)
    steps.runUntil(starts.reached.is_set)
    stopping = threading.Thread(target=steps.stop, daemon=True)
    stopping.start()
    stopping.join(TIMEOUT)
    assert not stopping.is_alive()
