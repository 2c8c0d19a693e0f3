"""Steps of nodes: how long they may take, and what they may write."""

import threading
import time
import types

import pytest
from zuul.launcher.server import LaunchTimeoutError
from zuul.model import ProviderNode
from zuul.provider import statemachine

from tests.fixtures.racks import cloud
from tests.fixtures.shelf.shelf_maker import ShelfProviderNode
from zuul_nodes.launcher.nodes.statemachines import StateMachines
from zuul_nodes.launcher.settings import Settings

State = ProviderNode.State
TIMEOUT = 10


@pytest.fixture
def letPass(steps):
    """:return: a function that lets some seconds pass for machines."""
    passed = []
    steps.state_machines.polling.clock = lambda: (
        time.monotonic() + sum(passed))
    return passed.append


@pytest.mark.settings(first_backoff=0.02)
@pytest.mark.parametrize('next_state', [State.USED, State.OUTDATED])
def test_timeout_of_a_deletion_begins_with_the_deletion(
        steps, racks, letPass, next_state):
    """A user asks for the deletion of a node that is being made for an
    hour."""
    steps.setLayout(cloud('one'))
    racks.slow.add('one')
    node = steps.addNode(
        steps.getProvider('one'), 'big', state=State.BUILDING)
    steps.runUntil(lambda: racks.instances)
    letPass(3600)
    racks.delete_errors['one'] = [ConnectionError('down')] * 2
    with steps.context() as context:
        node.setNextState(context, next_state, 'it is odd')
    steps.runUntil(lambda: not steps.nodes())
    assert racks.deleted == [node.uuid] * 3
    assert racks.instances == {}


@pytest.mark.settings(first_backoff=0.02)
def test_deletion_ends_after_its_timeout(steps, racks, letPass):
    steps.setLayout(cloud('one'))
    racks.delete_errors['one'] = ConnectionError('down')
    steps.addNode(steps.getProvider('one'), 'big', state=State.USED)
    steps.runUntil(lambda: len(racks.deleted) >= 3)
    assert steps.nodes()
    letPass(steps.settings.delete_timeout)
    steps.runUntil(lambda: not steps.nodes())


# Steps that were given up


class Cloud:
    """A provider with machines that do what a test wants, and the pool of
    its endpoint: calls that wait until the test makes them.

    :ivar list calls: (function, done), as given to the pool.
    :ivar list waits: seconds after which they were to begin.
    """

    launch_timeout = None
    driver = types.SimpleNamespace(name='shelf')

    def __init__(self):
        self.calls = []
        self.waits = []
        self.script = []

    def getEndpoint(self):
        return self

    def submit(self, endpoint, function, done, description, delay=0):
        call = function, done
        self.calls.append(call)
        self.waits.append(delay)

        def withdraw():
            if call not in self.calls:
                return False
            self.calls.remove(call)
            return True
        return withdraw

    def step(self, error=None):
        """The call that has waited longest is made, or fails."""
        function, end = self.calls.pop(0)
        end(*((None, error) if error else (function(), None)))

    def getCreateStateMachine(self, node, image, log):
        return Scripted(self.script.pop(0), node)

    def getDeleteStateMachine(self, node, log):
        return Scripted(self.script.pop(0), node)


class Waiting(statemachine.StateMachine):
    """One that asks for an instance, which is there when it is told so."""

    def __init__(self):
        super().__init__({})
        self.seen = {'polls': []}
        self.isThere = lambda: False

    def advance(self):
        self.state = 'asked'
        if self.isThere():
            self.seen['polls'].append('there')

    def toDict(self):
        return {**super().toDict(), 'seen': self.seen}


class Scripted(statemachine.StateMachine):
    """
    :param actions: called one in each step with the node.
    """

    def __init__(self, actions, node):
        super().__init__({})
        self.actions = list(actions)
        self.node = node

    def advance(self):
        self.actions.pop(0)(self.node)
        self.state = str(len(self.actions))
        self.complete = not self.actions


@pytest.fixture
def rack():
    return Cloud()


@pytest.fixture
def saved():
    """:return: a list of what is written of nodes while they are made."""
    return []


@pytest.fixture
def subject(rack, saved, passed):
    subject = StateMachines(
        types.SimpleNamespace(
            save=lambda node: saved.append(node.comment),
            look=lambda node_id: None,
            session=types.SimpleNamespace(isCertain=lambda: True)),
        types.SimpleNamespace(leaves=lambda endpoint: False), rack,
        lambda node, provider: None, Settings(unrecorded_time=0),
        lambda endpoint, error: None)
    subject.polling.clock = lambda: sum(passed)
    return subject


@pytest.fixture
def node():
    node = ShelfProviderNode()
    node._set(_lock=types.SimpleNamespace(is_still_valid=lambda: True))
    return node


@pytest.fixture
def log():
    return types.SimpleNamespace(
        debug=lambda *args: None, warning=lambda *args, **kwargs: None)


class Late:
    """A call that hangs until it is released, in a thread of its own."""

    def __init__(self):
        self.begun = threading.Event()
        self.released = threading.Event()
        self.error = None

    def hang(self, node):
        self.begun.set()
        assert self.released.wait(TIMEOUT)

    def begin(self, function):
        def run():
            try:
                function()
            except Exception as error:
                self.error = error
        self.thread = threading.Thread(target=run)
        self.thread.start()
        assert self.begun.wait(TIMEOUT)

    def end(self):
        """It returns, and whatever it does then is done."""
        self.released.set()
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive()


@pytest.fixture
def late():
    late = Late()
    yield late
    late.end()


def write(comment):
    def write(node):
        node.comment = comment
    return write


def test_driver_writes_to_a_node_only_while_it_is_called(
        subject, rack, node, saved, log):
    results = []
    rack.script = [[write('first'), write('last')]]
    subject.create(
        node, rack, lambda *result: results.append(result), log)
    (function, end), = rack.calls
    assert subject.isBusy(node.uuid)
    end(function(), None)
    assert node.comment == 'last'
    assert saved == ['first']
    assert results == [(None, None)]
    assert not subject.isBusy(node.uuid)
    with pytest.raises(Exception, match='Unable to modify'):
        node.comment = 'later'


def test_driver_writes_nothing_to_a_node_after_its_lock_is_lost(
        subject, rack, node, saved, log):
    """Another launcher may have written it by then."""
    def loseLock(node):
        node._set(_lock=None)
        node.comment = 'late'
    rack.script = [[loseLock]]
    subject.create(node, rack, lambda wait, error: None, log)
    with pytest.raises(Exception, match='Unable to modify'):
        rack.step()
    assert node.comment is None
    assert not saved


def test_driver_is_not_called_while_the_session_may_have_ended(
        subject, rack, node, saved, log):
    """Another launcher may have the node."""
    session, results = subject.nodes.session, []

    def loseSession(node):
        session.isCertain = lambda: False
        node.comment = 'first'
    rack.script = [[loseSession, write('last')]]

    def create():
        subject.create(
            node, rack, lambda *result: results.append(result), log)
    create()
    rack.step()
    assert node.comment == 'first'
    assert len(results) == 1
    create()
    for _ in range(3):
        rack.step()
    assert node.comment == 'first'
    assert len(results) == 1
    session.isCertain = lambda: True
    rack.step()
    assert node.comment == 'last'
    assert results[-1] == (None, None)


def test_lost_endpoint_of_a_node_does_not_keep_it_busy(
        subject, rack, node, log, monkeypatch):
    """The driver gives the endpoint of the provider no more."""
    machine = Waiting()
    monkeypatch.setattr(
        rack, 'getCreateStateMachine', lambda *args: machine)
    subject.create(node, rack, lambda *result: None, log)
    rack.step()
    assert not subject.isBusy(node.uuid)
    subject.create(node, rack, lambda *result: None, log)
    monkeypatch.setattr(rack, 'getEndpoint', None)
    # There is nothing new.
    rack.step()
    assert rack.calls


@pytest.fixture
def polled(subject, rack, node, log):
    """What waits for its cloud.

    :return: the machine, what was told of it, and a function that takes
        the step that is due, and returns how many waits there were and how
        often somebody was told.
    """
    results = []
    machine = Waiting()
    rack.getCreateStateMachine = lambda *args: machine

    def create():
        subject.create(
            node, rack, lambda *result: results.append(result), log)

    def step(error=None):
        rack.step(error)
        return len(results), len(rack.calls)
    create()
    return types.SimpleNamespace(
        machine=machine, results=results, step=step, create=create)


def test_poll_without_progress_is_not_reported(passed, polled, rack):
    assert polled.step() == (1, 0)
    polled.create()
    assert polled.step() == (1, 1)
    assert polled.step() == (1, 1)
    # Also whoever has looked at it meanwhile has it asked for in time.
    assert rack.waits == [0] + [pytest.approx(Settings.shortest_poll)] * 3
    # It changes in place.
    polled.machine.isThere = lambda: True
    assert polled.step() == (2, 0)
    polled.machine.isThere = lambda: False
    polled.create()
    assert polled.step() == (2, 1)


def test_duration_of_one_launch_times_the_look_at_others(
        subject, rack, node, log, passed):
    looks = []
    subject.nodes.queue = types.SimpleNamespace(
        addAt=lambda *look: looks.append(look))
    other = ShelfProviderNode()
    other._set(_lock=node._lock)
    found = {node.uuid: Waiting(), other.uuid: Waiting()}
    rack.getCreateStateMachine = lambda node, *args: found[node.uuid]

    def step():
        for _ in range(len(rack.calls)):
            rack.step()
    for each in (node, other) * 2:
        subject.create(each, rack, lambda wait, error: None, log)
        step()
    passed.append(10)
    step()
    passed.append(0.5)
    assert looks == []
    found[node.uuid].complete = True
    step()
    assert looks == [(('node', other.uuid), 10.5)]


def test_error_after_polls_without_progress_is_reported(polled, subject, node):
    polled.step()
    polled.create()
    assert polled.step() == (1, 1)
    error = ConnectionError()
    assert polled.step(error) == (2, 0)
    assert polled.results[-1] == (None, error)
    assert not subject.isBusy(node.uuid)


def test_lost_lock_after_polls_without_progress_is_reported(polled, node):
    polled.step()
    polled.create()
    assert polled.step() == (1, 1)
    node._set(_lock=None)
    assert polled.step() == (2, 0)


def test_node_that_waits_for_its_cloud_is_not_busy(
        polled, subject, rack, node):
    """A user may ask for its deletion meanwhile."""
    polled.step()
    polled.create()
    assert polled.step() == (1, 1)
    assert not subject.isBusy(node.uuid)
    assert rack.calls == []


def test_node_that_was_looked_at_during_a_step_is_queued_at_once(
        polled, subject, rack, node, passed):
    polled.step()
    passed.append(1)
    polled.create()
    keys = []
    subject.nodes.look = keys.append
    assert subject.isBusy(node.uuid)
    assert polled.step() == (1, 0)
    assert keys == [node.uuid]
    assert not subject.isBusy(node.uuid)


def test_timeout_of_a_launch_begins_with_its_first_step(
        polled, subject, rack, passed):
    """The step may have waited for a thread of the endpoint for long."""
    rack.launch_timeout = 60
    passed.append(3600)
    assert polled.step() == (1, 0)
    polled.create()
    passed.append(3600)
    with pytest.raises(LaunchTimeoutError):
        polled.step()


def test_retried_deletion_is_timed_anew(subject, rack, node, log, passed):
    found = []
    rack.getDeleteStateMachine = lambda *args: found[-1]

    def step(error=None):
        if not rack.calls:
            subject.delete(node, rack, lambda wait, error: None, log)
        rack.step(error)
    found.append(Waiting())
    step()
    passed.append(100)
    step(ConnectionError())
    found.append(Waiting())
    passed.append(60)
    step()
    passed.append(4)
    step()
    found[-1].complete = True
    passed.append(1)
    step()
    assert list(subject.polling.usual.values()) == [5]


@pytest.mark.parametrize('state, known', [
    (statemachine.StateMachine.START, 1), ('asked', 0)])
def test_only_launches_begun_here_are_timed(
        polled, subject, passed, state, known):
    polled.machine.state = state
    polled.step()
    polled.create()
    passed.append(1)
    polled.step()
    polled.machine.complete = True
    polled.step()
    assert len(subject.polling.usual) == known


def test_node_whose_lock_is_lost_is_not_waited_for(steps, racks):
    steps.setLayout(cloud('one'))
    racks.slow.add('one')
    node = steps.addNode(
        steps.getProvider('one'), 'big', state=State.BUILDING)
    steps.runUntil(lambda: racks.instances)
    polling = steps.state_machines.polling
    assert polling.getElapsed(node.uuid)
    node = steps.api.getProviderNode(node.uuid)
    node._set(_lock=None)
    steps.node_steps.guard(node, None, 0, None, steps.log)
    assert not polling.getElapsed(node.uuid)


def giveUp(subject, rack, node, late, log):
    """Let a step of a creation hang, and give it up."""
    subject.create(node, rack, lambda wait, error: None, log)
    (function, end), = rack.calls
    rack.calls.clear()
    late.begin(function)
    end(None, TimeoutError())
    assert not subject.isBusy(node.uuid)


def test_late_step_of_a_driver_writes_nothing(
        subject, rack, node, saved, late, log):
    rack.script = [[late.hang, write('late')]]
    giveUp(subject, rack, node, late, log)
    late.end()
    assert isinstance(late.error, TimeoutError)
    assert node.comment is None
    assert saved == []


def test_late_step_does_not_disturb_the_next_one(
        subject, rack, node, saved, late, log):
    """The late step ends while the next one is under way."""
    def writeLate(node):
        late.hang(node)
        node.comment = 'late'
    rack.script = [[writeLate, write('late')],
                   [lambda node: late.end(), write('right')]]
    giveUp(subject, rack, node, late, log)
    subject.delete(node, rack, lambda wait, error: None, log)
    (function, end), = rack.calls
    end(function(), None)
    assert 'Unable to modify' in str(late.error)
    assert node.comment == 'right'
    # Between the two steps of the second machine.
    assert saved == [None]


def test_late_step_that_begins_late_fails(subject, rack, node, log):
    """Its thread has not run before."""
    subject.create(node, rack, lambda wait, error: None, log)
    (late, end), = rack.calls
    end(None, TimeoutError())

    def beginLate(node):
        with pytest.raises(TimeoutError):
            late()
    rack.script = [[beginLate, write('right')]]
    subject.delete(node, rack, lambda wait, error: None, log)
    rack.calls[1][0]()
    assert node.comment == 'right'
