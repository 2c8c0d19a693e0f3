"""What becomes of ready nodes when somebody needs their room."""

import pytest
from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from tests.fixtures.racks import addProvider, cloud, finish, isDone
from zuul_nodes.launcher import surplus
from zuul_nodes.launcher.launcher import PUBLISH_INTERVAL

State = ProviderNode.State

THIRD = '- label: {name: third, image: debian, flavor: small}\n'
LABELS = '[{name: big, min-ready: %d}, other, third]'


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(surplus, 'LOOK_INTERVAL', 0.01)


def limited(instances, min_ready=0, slots=1):
    """:return: configuration: a provider of three labels."""
    return THIRD + cloud(
        'one', labels=LABELS % min_ready,
        resource_limits=f'{{instances: {instances}}}').replace(
            'name: big,', f'name: big, slots: {slots},')


def serve(launcher, *labels):
    """:return: a request that has its nodes."""
    request = launcher.addRequest(*labels)
    launcher.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    return request


def cancel(launcher, *requests):
    """A change is abandoned before its jobs begin.

    :return: the nodes of its requests, which are nobody's now.
    """
    nodes = [launcher.api.getProviderNode(node)
             for request in requests for node in request.nodes]
    for request in requests:
        with launcher.context() as context:
            request.delete(context)
    launcher.runUntil(lambda: not any(node.request_id for node in nodes))
    launcher.run()
    return nodes


def isWaiting(launcher, request):
    launcher.runUntil(lambda: launcher.planner.getReason(request.uuid))
    for _ in range(2):
        launcher.surplus.reconcile()
        launcher.run()
    return not isDone(request)


def test_the_oldest_makes_room_for_a_request(steps, racks):
    steps.setLayout(limited(2))
    nodes = cancel(steps, serve(steps, 'big'), serve(steps, 'big'))
    serve(steps, 'other')
    assert racks.deleted == [nodes[0].uuid]
    # Of the other one, somebody else has the room.
    serve(steps, 'third')
    assert racks.deleted == [node.uuid for node in nodes]
    assert racks.most == 2


def test_they_make_room_where_the_limits_are_not_known(
        steps, racks, monkeypatch):
    """The cloud says only that it is full."""
    racks.setPause(1000)
    steps.setLayout(limited(2).replace('    resource-limits: ', '#'))
    nodes = cancel(steps, serve(steps, 'big', 'big'))
    create = racks.create

    def make(provider, node):
        if len(racks.instances) == 2:
            raise QuotaException('there is no room')
        create(provider, node)
    monkeypatch.setattr(racks, 'create', make)
    serve(steps, 'other')
    left, = {node.uuid for node in nodes} - {*racks.deleted}
    assert serve(steps, 'big').nodes == [left]


def test_what_does_not_go_makes_no_room(steps, racks, monkeypatch):
    """So another one has to."""
    steps.setLayout(limited(2))
    used = serve(steps, 'third')
    node, = cancel(steps, serve(steps, 'big'))
    racks.delete_errors['one', 'third'] = OSError('it is stuck')
    finish(steps, used)
    request = steps.addRequest('other')
    assert isWaiting(steps, request)
    assert node.state == State.READY
    monkeypatch.setattr(surplus, 'LEAVING_TIME', 0)
    steps.runUntil(lambda: isDone(request))


def test_they_stay_while_nobody_needs_their_room(steps, racks):
    steps.setLayout(limited(1).replace(', third]', ']') + addProvider(
        'two', '[third]', resource_limits='{instances: 1}'))
    node, = cancel(steps, serve(steps, 'big'))
    serve(steps, 'third')
    # Somebody waits, but elsewhere.
    assert isWaiting(steps, steps.addRequest('third'))
    assert node.state == State.READY
    assert serve(steps, 'big').nodes == [node.uuid]
    assert racks.deleted == []


def test_what_a_request_is_about_to_get_stays(steps, racks):
    steps.setLayout(limited(2))
    used = serve(steps, 'big')
    node, = cancel(steps, serve(steps, 'other'))
    request = steps.addRequest('other', 'other')
    assert isWaiting(steps, request)
    assert node.state == State.READY
    finish(steps, used)
    steps.runUntil(lambda: isDone(request))
    assert node.uuid in request.nodes


def test_one_too_many_of_the_same_label_goes(steps, racks):
    steps.setLayout(limited(2))
    nodes = cancel(steps, serve(steps, 'other', 'other'))
    request = serve(steps, 'other', 'third')
    assert len(racks.deleted) == 1
    assert len({node.uuid for node in nodes} & set(request.nodes)) == 1


def test_who_is_behind_keeps_nothing_of_what_those_ahead_need(steps, racks):
    """Both could have one of these; the second will when the first has."""
    steps.setLayout(limited(2))
    cancel(steps, serve(steps, 'other', 'other'))
    first = steps.addRequest('other', 'big')
    second = steps.addRequest('other')
    steps.runUntil(lambda: isDone(first))
    assert len(racks.deleted) == 1
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))


def test_what_is_left_goes_to_those_ahead(steps, racks):
    """One waits for all there is, and one behind for more of what is there
    than is left."""
    steps.setLayout(limited(2))
    used = serve(steps, 'third')
    node, = cancel(steps, serve(steps, 'other'))
    first = steps.addRequest('big', 'big')
    second = steps.addRequest('other', 'other')
    finish(steps, used)
    steps.runUntil(lambda: isDone(first))
    assert node.uuid in racks.deleted
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))


def test_what_is_to_be_ready_makes_room_last(steps, racks):
    steps.setLayout(limited(2, min_ready=1))
    steps.runUntil(lambda: steps.nodes(State.READY))
    ready, = steps.nodes()
    spare, = cancel(steps, serve(steps, 'other'))
    first = serve(steps, 'third')
    assert racks.deleted == [spare.uuid]
    serve(steps, 'third')
    assert racks.deleted == [spare.uuid, ready.uuid]
    # It is made anew when there is room.
    finish(steps, first)
    steps.runUntil(lambda: [
        node for node in steps.nodes(State.READY) if node.label == 'big'])


@pytest.mark.parametrize('slots', [1, 2])
def test_what_could_be_reused_makes_room_for_those_ahead(
        steps, racks, slots):
    """However many wait behind them who could use it once more."""
    steps.setLayout(limited(1, slots=slots).replace(
        'name: big,', 'name: big, reuse: true,'))
    used = [serve(steps, 'big') for _ in range(slots)]
    ahead = steps.addRequest('big')
    steps.runUntil(lambda: steps.planner.getReason(ahead.uuid))
    other = steps.addRequest('other')
    steps.runUntil(lambda: steps.planner.getReason(other.uuid))
    behind = steps.addRequest('big')
    finish(steps, used.pop())
    steps.runUntil(lambda: isDone(ahead))
    assert racks.deleted == []
    for request in (ahead, *used):
        finish(steps, request)
    steps.runUntil(lambda: isDone(other))
    assert not isDone(behind)
    finish(steps, other)
    steps.runUntil(lambda: isDone(behind))


@pytest.mark.parametrize('slots', [1, 2])
@pytest.mark.parametrize('end', [cancel, finish])
def test_what_is_paid_for_anyway_stays(steps, racks, jump, slots, end):
    """Whoever waits for its room."""
    steps.setLayout(limited(1, slots=slots).replace(
        'name: big,', 'name: big, reuse: true, min-retention-time: 3600,'))
    request = serve(steps, 'big')
    node_id, = request.nodes
    waiting = steps.addRequest('other')
    end(steps, request)
    assert isWaiting(steps, waiting)
    assert steps.api.getProviderNode(node_id).state == State.READY
    jump(3601)
    steps.runUntil(lambda: isDone(waiting))
    assert len(racks.deleted) == 1


def test_a_machine_goes_with_all_its_slots(steps, racks):
    steps.setLayout(limited(1, slots=2))
    cancel(steps, serve(steps, 'big', 'big'))
    request = steps.addRequest('other')
    steps.runUntil(lambda: steps.surplus._chosen)
    # Both at once: of the one that stayed, somebody could get hold.
    assert len(steps.surplus._chosen) == 2
    steps.runUntil(lambda: isDone(request))
    assert [node.label for node in steps.nodes()] == ['other']
    assert racks.most == 1


def test_a_slot_stays_beside_one_that_is_used(steps, racks):
    steps.setLayout(limited(1, slots=2))
    serve(steps, 'big')
    spare, = (node for node in steps.nodes(State.READY)
              if not node.request_id)
    waiting = steps.addRequest('other')
    assert isWaiting(steps, waiting)
    assert spare.state == State.READY


@pytest.mark.crash
def test_launchers_choose_the_same(several, racks, monkeypatch):
    # As ever, what they tell each other takes less.
    monkeypatch.setattr(surplus, 'LOOK_INTERVAL', 2 * PUBLISH_INTERVAL)
    launcher = several.add('first')
    several.add('second')
    several.setLayout(limited(4))
    provider = launcher.getProvider('one')
    for _ in range(4):
        launcher.addNode(provider, 'big', state=State.READY)
    request = launcher.addRequest('other', 'other')
    several.serve(request)
    assert len(racks.deleted) == 2
    several.runUntil(lambda: all(
        len(each.nodes()) == 4 for each in several.launchers))
