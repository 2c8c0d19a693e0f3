"""What becomes of ready nodes when somebody needs their room."""

import pytest
from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from tests.fixtures.racks import addProvider, cloud, finish, isDone
from tests.fixtures.settings import change

State = ProviderNode.State

pytestmark = pytest.mark.settings(reclaim_interval=0.01)

THIRD = '- label: {name: third, image: debian, flavor: small}\n'
LABELS = '[{name: big, min-ready: %d}, other, third]'


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
        launcher.reclaim.reconcile()
        launcher.run()
    return not isDone(request)


def test_oldest_ready_node_makes_room_for_a_request(steps, racks):
    steps.setLayout(limited(2))
    nodes = cancel(steps, serve(steps, 'big'), serve(steps, 'big'))
    serve(steps, 'other')
    assert racks.deleted == [nodes[0].uuid]
    # Of the other one, somebody else has the room.
    serve(steps, 'third')
    assert racks.deleted == [node.uuid for node in nodes]
    assert racks.most == 2


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000)
def test_ready_node_makes_room_where_limits_are_not_known(
        steps, racks, monkeypatch):
    """The cloud tells no more than that it is full."""
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


def test_ready_node_makes_room_when_deletion_of_another_hangs(
        steps, racks):
    steps.setLayout(limited(2))
    used = serve(steps, 'third')
    node, = cancel(steps, serve(steps, 'big'))
    racks.delete_errors['one', 'third'] = OSError('it is stuck')
    finish(steps, used)
    request = steps.addRequest('other')
    assert isWaiting(steps, request)
    assert node.state == State.READY
    change(steps.reclaim, leaving_time=0)
    steps.runUntil(lambda: isDone(request))


def test_large_request_keeps_nothing_idle_while_a_deletion_hangs(
        steps, racks):
    steps.setLayout(limited(2))
    used = serve(steps, 'third')
    running = serve(steps, 'big')
    racks.delete_errors['one', 'third'] = OSError('it is stuck')
    finish(steps, used)
    large = steps.addRequest('other', 'other')
    assert isWaiting(steps, large)
    small = steps.addRequest('other')
    finish(steps, running)
    assert isWaiting(steps, small)
    change(steps.reclaim, leaving_time=0)
    steps.runUntil(lambda: isDone(small))
    assert not isDone(large)
    finish(steps, small)
    racks.delete_errors.clear()
    steps.runUntil(lambda: isDone(large))


def test_ready_node_stays_while_no_request_needs_its_room(steps, racks):
    steps.setLayout(limited(1).replace(', third]', ']') + addProvider(
        'two', '[third]', resource_limits='{instances: 1}'))
    node, = cancel(steps, serve(steps, 'big'))
    serve(steps, 'third')
    # Somebody waits, but elsewhere.
    assert isWaiting(steps, steps.addRequest('third'))
    assert node.state == State.READY
    assert serve(steps, 'big').nodes == [node.uuid]
    assert racks.deleted == []


def test_ready_node_stays_for_waiting_nodeset_that_needs_it(steps, racks):
    steps.setLayout(limited(2))
    used = serve(steps, 'big')
    node, = cancel(steps, serve(steps, 'other'))
    request = steps.addRequest('other', 'other')
    assert isWaiting(steps, request)
    assert node.state == State.READY
    finish(steps, used)
    steps.runUntil(lambda: isDone(request))
    assert node.uuid in request.nodes


def test_nodeset_needs_room_of_one_of_two_ready_nodes(steps, racks):
    steps.setLayout(limited(2))
    nodes = cancel(steps, serve(steps, 'other', 'other'))
    request = serve(steps, 'other', 'third')
    assert len(racks.deleted) == 1
    assert len({node.uuid for node in nodes} & set(request.nodes)) == 1


def test_request_behind_keeps_no_ready_node_from_those_ahead(steps, racks):
    """Both requests could have one of the ready nodes; the second gets it
    after the first."""
    steps.setLayout(limited(2))
    cancel(steps, serve(steps, 'other', 'other'))
    first = steps.addRequest('other', 'big')
    second = steps.addRequest('other')
    steps.runUntil(lambda: isDone(first))
    assert len(racks.deleted) == 1
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))


def test_room_of_ready_node_goes_to_request_ahead(steps, racks):
    """The request behind could use the ready node, but needs another one,
    too."""
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


def test_min_ready_node_makes_room_last(steps, racks):
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
def test_reusable_node_makes_room_for_request_ahead(steps, racks, slots):
    """Even if requests behind it could reuse the node."""
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
def test_ready_node_stays_for_min_retention_time(
        steps, racks, jump, slots, end):
    """Even if a request waits for its room."""
    steps.setLayout(limited(1, slots=slots).replace(
        'name: big,', 'name: big, reuse: true, min-retention-time: 3600,'))
    request = serve(steps, 'big')
    node = steps.api.getProviderNode(request.nodes[0])
    waiting = steps.addRequest('other')
    end(steps, request)
    # It is used until the launcher has heard that it was given back.
    steps.runUntil(
        lambda: node.state == State.READY and not node.request_id)
    assert isWaiting(steps, waiting)
    assert node.state == State.READY
    jump(3601)
    steps.runUntil(lambda: isDone(waiting))
    assert len(racks.deleted) == 1


def test_all_slots_of_a_machine_make_room_together(steps, racks):
    steps.setLayout(limited(1, slots=2))
    cancel(steps, serve(steps, 'big', 'big'))
    request = steps.addRequest('other')
    steps.runUntil(lambda: steps.nodes(State.OUTDATED))
    # Both at once: another request could get a slot that stayed.
    assert len([node for node in steps.nodes(State.OUTDATED)
                if node.main_node_id]) == 2
    steps.runUntil(lambda: isDone(request))
    assert [node.label for node in steps.nodes()] == ['other']
    assert racks.most == 1


def test_ready_slot_stays_beside_a_used_one(steps, racks):
    steps.setLayout(limited(1, slots=2))
    serve(steps, 'big')
    spare, = (node for node in steps.nodes(State.READY)
              if not node.request_id)
    waiting = steps.addRequest('other')
    assert isWaiting(steps, waiting)
    assert spare.state == State.READY


@pytest.mark.settings(reclaim_interval=1)
@pytest.mark.crash
def test_each_launcher_deletes_its_nodes_for_waiting_requests(several, racks):
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


def keepLong(text, number, seconds=316224000):
    """:return: a layout that keeps ready nodes for years."""
    return text.replace('name: big,', (
        f'name: big, min-ready: {number}, min-retention-time: {seconds},'))


SHARED = cloud('one').replace(
    'connection: rack\n', 'connection: rack\n    quota: {instances: 3}\n')


def test_retained_node_makes_room_for_a_request_of_another_tenant(
        steps, racks):
    """As little as is needed, and the others stay."""
    steps.setLayout(keepLong(SHARED, 10), 'greedy')
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3)
    steps.setLayout(SHARED, 'other')
    request, _ = steps.serveNew('other', tenant='other')
    assert len(steps.nodes(State.READY)) == 3
    finish(steps, request)
    # Its owner's requests have to wait.
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 3
                   and not steps.api.getNodesetRequests())
    waiting = steps.addRequest('other', tenant='greedy')
    before = {node.uuid for node in steps.nodes()}
    steps.runUntilWaiting(waiting)
    choose(steps, 3)
    assert before == {node.uuid for node in steps.nodes()}


def choose(launcher, rounds):
    """Choose the nodes to delete several times."""
    for _ in range(rounds):
        launcher.reclaim.reconcile()
        launcher.run()


@pytest.mark.settings(tenant_limits='greedy=instances:1')
def test_min_ready_nodes_count_in_the_limits_of_their_tenant(steps, racks):
    steps.setLayout(keepLong(SHARED, 10, 0), 'greedy')
    steps.runUntil(lambda: steps.nodes(State.READY))
    steps.setLayout(SHARED, 'other')
    requests = [steps.serveNew('other', tenant='other')[0] for _ in range(2)]
    assert len(racks.instances) == 3
    for request in requests:
        finish(steps, request)
    steps.runUntil(lambda: len(racks.instances) == 1)
    steps.run()
    # A request of its own comes first.
    steps.serveNew('other', tenant='greedy')
    assert len(racks.instances) == 1


@pytest.mark.settings(min_ready_limit=2, min_retention_limit=5)
def test_operator_limits_min_ready_and_retention(steps, racks):
    steps.setLayout(keepLong(cloud('one'), 100000))
    steps.runUntil(lambda: len(steps.nodes(State.READY)) == 2)
    steps.run()
    assert [node.min_retention_time for node in steps.nodes()] == [5, 5]
    steps.setLayout(keepLong(cloud('one'), 1, 3))
    steps.runUntil(lambda: any(
        node.min_retention_time == 3 for node in steps.nodes()))
