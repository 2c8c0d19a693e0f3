"""The nodes of a job are where those of its paused parent are, if that is
possible now."""

from zuul.exceptions import QuotaException
from zuul.model import ProviderNode

from tests.fixtures.racks import addProvider, cloud, finish

State = ProviderNode.State


def near(launcher, name):
    """:return: what the request of a child says."""
    return {'preferred_provider': launcher.getProvider(name).canonical_name}


def serve(launcher, request):
    """:return: the provider's name of each of its nodes."""
    return [node.provider.rsplit('/', 1)[-1]
            for node in launcher.serve(request)]


def test_all_nodes_are_there(steps, racks):
    """Whatever else speaks for another provider."""
    steps.setLayout(cloud('one', 'two'))
    for _ in range(2):
        steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert serve(steps, request) == ['two', 'two']
    assert serve(steps, steps.addRequest('big')) == ['one']


def test_what_is_ready_there_comes_first(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    ready = steps.addNode(steps.getProvider('two'), 'big', state=State.READY)
    request = steps.addRequest('big', **near(steps, 'two'))
    assert serve(steps, request) == ['two']
    assert request.nodes == [ready.uuid]


def test_no_room_there(steps, racks):
    """It is not waited for: the job has to run, somewhere; and its nodes
    are not torn apart for that."""
    steps.setLayout(cloud('one') + addProvider(
        'two', resource_limits='{instances: 1}'))
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert serve(steps, request) == ['one', 'one']
    first = steps.addRequest('big', **near(steps, 'two'))
    assert serve(steps, first) == ['two']
    second = steps.addRequest('big', **near(steps, 'two'))
    assert serve(steps, second) == ['one']
    # As soon as there is, it counts again.
    finish(steps, first)
    steps.runUntil(lambda: 'two' not in racks.instances.values())
    third = steps.addRequest('big', **near(steps, 'two'))
    assert serve(steps, third) == ['two']


def test_no_room_anywhere(steps, racks):
    """Of those that it waits for, any may be the first."""
    steps.setLayout(cloud('one', 'two', resource_limits='{instances: 1}'))
    parents = [steps.addRequest('big', **near(steps, name))
               for name in ('one', 'two')]
    assert [serve(steps, parent) for parent in parents] == [['one'], ['two']]
    request = steps.addRequest('big', **near(steps, 'two'))
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    provider, = {each.provider for several
                 in steps.planner.getReservations().values()
                 for each in several}
    assert provider == steps.getProvider('two').canonical_name
    finish(steps, parents[1])
    assert serve(steps, request) == ['two']


def test_no_room_in_the_cloud_there(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    racks.setPause(1000)
    racks.errors['two'] = QuotaException('full')
    request = steps.addRequest('big', **near(steps, 'two'))
    assert serve(steps, request) == ['one']
    assert racks.created == ['two', 'one']
    # Nor is it tried while it is paused.
    request = steps.addRequest('big', **near(steps, 'two'))
    assert serve(steps, request) == ['one']
    assert racks.created == ['two', 'one', 'one']


def test_it_can_not_be_made_there(steps, racks):
    """All attempts are made there first."""
    steps.setLayout(cloud('one', 'two', launch_attempts=2))
    racks.errors['two', 'other'] = RuntimeError('it does not boot')
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert serve(steps, request) == ['one', 'one']
    # The other node is kept for the second attempt.
    assert racks.created == ['two'] * 3 + ['one'] * 2


def test_the_label_is_not_there(steps, racks):
    """Those that are come from there only if all can."""
    steps.setLayout(cloud('one') + addProvider('two', labels='[big]'))
    request = steps.addRequest('big', 'other', **near(steps, 'two'))
    assert serve(steps, request) == ['one', 'one']
    request = steps.addRequest('other', **near(steps, 'two'))
    assert serve(steps, request) == ['one']


def test_from_several_providers_as_a_last_resort(steps, racks):
    """No provider has all; what can be there is."""
    steps.setLayout(cloud('one') + addProvider('two', labels='[big]')
                    + addProvider('three', labels='[big, more]')
                    + '- label: {name: more, image: debian, flavor: small}\n')
    request = steps.addRequest('big', 'other', 'more', **near(steps, 'two'))
    assert serve(steps, request) == ['two', 'one', 'three']


def test_it_is_gone(steps, racks):
    steps.setLayout(cloud('one', 'two'))
    wanted = near(steps, 'two')
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big', **wanted)
    assert serve(steps, request) == ['one']
