"""Who waits, for what, and who is served next."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    StaticProvider,
    World,
    bigLabel,
    getReservations,
    makeRequest,
    smallProvider,
)
from zuul_nodes.launcher.planner.planner import Grant, Impossible, Wait

State = ProviderNode.State


def test_freed_quota_goes_to_the_first_in_the_queue():
    world = World(smallProvider())
    running = world.fill(3)
    waiting = [world.request('small')[0] for _ in range(3)]
    for done, request in zip(running, waiting, strict=True):
        world.finish(done)
        assert world.woken == [request.uuid]
        assert isinstance(world.serve()[0], Grant)


def test_later_request_does_not_overtake():
    """Not even after a request was woken, and before it is planned."""
    world = World(smallProvider())
    done, *_ = world.fill(3)
    first, _ = world.request('small')
    world.finish(done)
    for labels in (['small'], ['big']):
        assert isinstance(world.request(*labels)[1], Wait)
    assert world.woken == [first.uuid]
    assert isinstance(world.serve()[0], Grant)


@pytest.mark.parametrize('urgent', [
    {'priority': -1}, {'_relative_priority': -1}, {'age': 999}], ids=str)
def test_request_of_higher_priority_is_served_first(urgent):
    world = World(smallProvider())
    done, *_ = world.fill(3)
    world.request('small')
    request, wait = world.request('small', **urgent)
    assert wait.reservation == ('a',)
    assert set(getReservations(world.planner)) == {request.uuid}
    world.finish(done)
    assert world.woken == [request.uuid]


def test_waiting_request_moves_ahead_with_its_priority():
    world = World(smallProvider())
    done, *_ = world.fill(3)
    (first, _), (second, wait) = (world.request('small') for _ in range(2))
    assert '1 requests with the same needs are ahead' in wait.reason
    assert first.uuid in wait.reason
    second._set(_relative_priority=-1)
    assert world.plan(second).reservation == ('a',)
    assert world.plan(first).reservation == ()
    second._set(_relative_priority=1)
    assert world.plan(second).reservation == ()
    assert set(getReservations(world.planner)) == {first.uuid}
    second._set(_relative_priority=-1)
    assert world.plan(second).reservation == ('a',)
    world.finish(done)
    assert world.woken == [second.uuid]


@pytest.mark.parametrize('fails', [False, True], ids=str)
def test_next_request_gets_reservation_when_the_first_leaves(fails):
    """The first is cancelled, or does not need the same nodes any more."""
    world = World(StaticProvider('desks', ['desk']),
                  StaticProvider('tables', ['desk']))
    world.fill(2, 'desk')
    (first, _), (second, _) = (world.request('desk') for _ in range(2))
    if fails:
        first._set(provider_node_data=[
            {'uuid': None, 'failed_providers': ['desks'] * 3}])
        assert world.plan(first).reservation == ('tables',)
    else:
        world.planner.forget(first.uuid)
    assert second.uuid in getReservations(world.planner)


def test_large_request_moves_ahead_of_smaller_ones():
    """The smaller requests wait for it then."""
    world = World(smallProvider())
    running = world.fill(3)
    large, _ = world.request('big', _relative_priority=2)
    for _ in range(3):
        world.request('small', _relative_priority=1)
    large._set(_relative_priority=0)
    assert world.plan(large).reservation == ('a',)
    for done in running:
        world.finish(done)
    assert world.woken == [large.uuid]


def test_large_request_moves_behind_smaller_ones():
    """Neither the smaller requests nor itself wait for it any more."""
    world = World(smallProvider())
    running = world.fill(3)
    large, _ = world.request('big')
    small, _ = world.request('small', _relative_priority=1)
    large._set(_relative_priority=2)
    wait = world.plan(large)
    assert f'1 kept for request {small.uuid}' in wait.reason
    world.finish(running.pop())
    assert world.woken == [small.uuid]
    world.serve()
    for done in (*running, small):
        world.finish(done)
    assert world.woken == [large.uuid]


def test_freed_quota_wakes_no_request_that_can_not_use_it():
    world = World(smallProvider(),
                  Provider('b', 'other', limits={'instances': 1}))
    other, = world.fill(1, 'other')
    world.fill(3)
    world.request('small')
    world.finish(other)
    assert world.woken == []


def test_large_request_is_served_in_a_stream_of_small_ones():
    world = World(smallProvider())
    running = world.fill(3)
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    served = []
    for _ in range(3):
        running.append(world.request('small')[0])
        world.finish(running.pop(0))
        served += world.serve()
    assert [grant.request_id for grant in served] == [large.uuid]


def test_request_behind_is_served_by_another_provider():
    world = World(smallProvider(), Provider('b', 'small'))
    world.fill(1)
    _, wait = world.request('big')
    assert wait.reservation == ('a',)
    _, grant = world.request('small')
    assert grant.slots[0].provider.name == 'b'


def test_free_static_node_is_kept_for_large_request():
    world = World(StaticProvider('desks', *[['desk']] * 2))
    first, second = world.fill(2, 'desk')
    both, wait = world.request('desk', 'desk')
    assert wait.reservation == ('desks',)
    single, _ = world.request('desk')
    world.finish(first)
    assert world.woken == []
    world.finish(second)
    assert world.woken == [both.uuid]
    world.serve()
    world.finish(both)
    assert world.woken == [single.uuid]


def test_large_request_keeps_no_more_static_nodes_than_it_needs():
    """It may take days until it can be served."""
    world = World(StaticProvider('desks', ['chair'], *[['desk']] * 5))
    used, = world.fill(1, 'chair')
    large, wait = world.request('chair', 'desk', 'desk')
    assert wait.reservation == ('desks',)
    world.fill(3, 'desk')
    assert isinstance(world.request('desk')[1], Wait)
    world.finish(used)
    assert world.woken == [large.uuid]


def test_static_nodes_are_released_with_their_reservation():
    world = World(StaticProvider('desks', *[['desk']] * 2))
    world.fill(1, 'desk')
    both, _ = world.request('desk', 'desk')
    single, _ = world.request('desk')
    world.planner.forget(both.uuid)
    assert world.woken == [single.uuid]


def test_two_requests_for_all_static_nodes_are_both_served():
    """Neither keeps nodes that the other waits for."""
    world = World(StaticProvider('desks', *[['desk']] * 3))
    blocker, = world.fill(1, 'desk')
    waiting = [world.request(*['desk'] * 3)[0] for _ in range(2)]
    assert len(world.getNodes(blocker)) == 1
    for done, request in zip([blocker, *waiting], waiting, strict=False):
        world.finish(done)
        assert [grant.request_id for grant in world.serve()] == [
            request.uuid]


def test_requests_of_different_kinds_reserve_different_providers():
    world = World(smallProvider(),
                  Provider('b', bigLabel(), limits={'instances': 3}))
    world.fill(1)
    world.fill(1, 'big')
    first, wait = world.request('big')
    assert wait.reservation == ('a',)
    # Nobody who needs the same is behind with a reservation of its own.
    assert world.request('big')[1].reservation == ()
    _, wait = world.request('big', preferred_provider='a')
    assert wait.reservation == ('b',)
    world.planner.forget(first.uuid)
    assert len(getReservations(world.planner)) == 2


@pytest.mark.parametrize('name', 'ab')
def test_reservation_stays_at_its_provider(name):
    """Whichever of equal providers is looked at, and whichever would be chosen
    anew."""
    world = World(smallProvider(), Provider(
        'b', 'small', bigLabel(), limits={'instances': 3}))
    world.fill(6)
    large, wait = world.request('big')
    world.planner.shuffle = list.reverse
    for number in range(3):
        world.planner.limitsChanged({name})
        large._set(_relative_priority=-number)
        assert world.plan(large).reservation == wait.reservation
        world.planner.setScope(world.planner.scope)
        assert world.plan(large).reservation == wait.reservation
    # It moves to where nodes are made, and stays there if none are.
    assert wait.reservation == ('a',)
    for each in 'ab':
        world.planner.pause(world.getSubject(each), float('inf'), 'a test')
        assert world.plan(large).reservation == ('b',)
    world.planner.limitsChanged()
    assert world.plan(large).reservation == ('b',)


def test_reservation_moves_when_new_layout_has_no_such_provider():
    """Before that, another provider shares the limit of the endpoint."""
    world = World(smallProvider(),
                  Provider('b', bigLabel(), limits={'instances': 3}))
    world.fill(1)
    world.fill(1, 'big')
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    region = Endpoint('region', {'instances': 3})
    world.setProviders(Provider('a', bigLabel(), endpoint=region), Provider(
        'c', 'small', endpoint=region))
    assert isinstance(world.request('small')[1], Wait)
    world.setProviders(Provider('b', bigLabel(), limits={'instances': 3}))
    assert world.plan(large).reservation == ('b',)


def test_reservation_moves_when_its_provider_can_not_serve():
    """The provider is paused, or its limits have become too small."""
    providers = [
        Provider(name, bigLabel(), limits={'instances': 3}, priority=rank)
        for rank, name in enumerate('abc')]
    world = World(*providers)
    world.fill(3, 'big')
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    world.planner.pause(world.getSubject('a'), float('inf'), 'a test')
    world.planner.limitsChanged({'a'})
    assert world.plan(large).reservation == ('b',)
    providers[1].resource_limits['instances'] = 2
    world.planner.limitsChanged({'b'})
    assert world.plan(large).reservation == ('c',)


@pytest.mark.parametrize('provider, number', [
    (StaticProvider('a', ['rare'], *[['small']] * 3), 3),
    (Provider('a', Label('rare', max_nodes=1), 'small',
              limits={'instances': 5}), 4)], ids=['static', 'max-nodes'])
def test_large_request_is_served_while_those_ahead_need_other_nodes(
        provider, number):
    """It may take days until those ahead are served."""
    world = World(provider)
    world.fill(1, 'rare')
    running = world.fill(number)
    assert world.request('rare')[1].reservation == ('a',)
    large, wait = world.request('small', 'small', 'small')
    assert wait.reservation == ('a',)
    served = []
    for done in running:
        world.request('small')
        world.finish(done)
        served += world.serve()
    assert served[0].request_id == large.uuid


def test_request_that_waits_for_max_nodes_keeps_no_quota():
    """It keeps quota when max-nodes would let it have a node."""
    world = World(Provider('a', Label('rare', max_nodes=1), 'small',
                           limits={'instances': 3}))
    first, = world.fill(1, 'rare')
    running = world.fill(2)
    rare, _ = world.request('rare')
    world.finish(running.pop())
    running += world.fill(1)
    urgent, _ = world.request('small', priority=-1)
    world.request('small')
    world.finish(first)
    assert world.woken == [urgent.uuid]
    world.serve()
    world.finish(running.pop())
    assert world.woken == [rare.uuid]


def test_next_request_gets_reservation_when_the_first_is_served():
    world = World(smallProvider(priority=1), Provider(
        'b', bigLabel(), limits={'instances': 3}))
    small, = world.fill(1)
    running, = world.fill(1, 'big')
    first, second = (world.request('big')[0] for _ in range(2))
    world.finish(running)
    assert [grant.request_id for grant in world.serve()] == [first.uuid]
    # The best of them, not where something has just become free.
    assert world.plan(second).reservation == ('a',)
    world.finish(small)
    assert [grant.request_id for grant in world.serve()] == [second.uuid]


def test_reservation_is_at_a_provider_whose_connection_is_handled():
    world = World(
        Provider('a', 'big', priority=1, connection='nobody'),
        Provider('b', 'big', limits={'instances': 1}),
        isHandled='rack'.__eq__)
    world.fill(1, 'big')
    assert world.request('big')[1].reservation == ('b',)


def test_reservation_is_at_a_provider_with_quota_beside_unmanaged_nodes():
    """The other provider still serves the request when the unmanaged instances
    are gone."""
    region = Endpoint('region', {'instances': 4})
    region.quota_cache.quota = {'instances': 2}
    world = World(Provider('b', bigLabel(), endpoint=region, priority=1),
                  smallProvider(priority=2))
    running = world.fill(3)
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    world.request('small')
    world.finish(running.pop())
    assert world.woken == []
    region.quota_cache.quota = {}
    world.planner.limitsChanged({'b'})
    assert [grant.slots[0].provider.name for grant in world.serve()
            if grant.request_id == large.uuid] == ['b']


def test_request_has_a_reservation_as_soon_as_it_can_wait_for_a_provider():
    """What is not Zuul's had left too little, but that is not all that the
    request lacks."""
    region = Endpoint('region', {'cores': 12})
    world = World(Provider(
        'a', 'small', Label('large', {'instances': 1, 'cores': 3}),
        endpoint=region, limits={'instances': 3}))
    done, _ = world.fill(2)
    region.quota_cache.quota = {'cores': 7}
    world.planner.limitsChanged()
    older, wait = world.request('large', 'large')
    assert 'provider a has 3 instances' in wait.reason
    assert wait.reservation == ()
    region.quota_cache.quota = {}
    world.planner.limitsChanged()
    assert isinstance(world.request('large')[1], Wait)
    world.finish(done)
    assert world.woken == [older.uuid]


@pytest.mark.parametrize('is_postponed', [True, False])
def test_request_whose_granted_node_goes_gets_its_capacity(is_postponed):
    """Younger requests do not, before the grant is planned again."""
    provider = Provider('a', 'small', limits={'instances': 2})
    world = World(provider)
    running, = world.fill(1)
    node = world.addNode(provider, 'small')
    older = makeRequest('small')
    world.requests[older.uuid] = older
    grant = world.planner.plan(older)
    assert grant.slots[0].node is node
    younger, _ = world.request('small')
    if is_postponed:
        world.planner.postpone(grant)
    world.removeNode(node)
    assert world.woken == []
    world.planner.postpone(grant)
    assert world.plan(older).slots[0].node is None
    assert world.woken == []
    world.finish(running)
    assert world.woken == [younger.uuid]


def test_reservation_ends_with_its_request():
    world = World(smallProvider())
    world.fill(1)
    large, _ = world.request('big')
    small, _ = world.request('small')
    assert world.woken == []
    world.planner.forget(large.uuid)
    assert world.woken == [small.uuid]
    world.serve()
    assert getReservations(world.planner) == {}
    assert world.planner.getReason(large.uuid) is None


def test_next_request_is_woken_when_the_first_does_not_take_its_quota():
    world = World(smallProvider())
    done, *_ = world.fill(3)
    first, second = (world.request('small')[0] for _ in range(2))
    world.finish(done)
    assert world.woken == [first.uuid]
    world.planner.forget(first.uuid)
    assert world.woken == [first.uuid, second.uuid]


def test_what_cannot_be_written_is_kept_for_the_request():
    world = World(smallProvider())
    world.fill(2)
    first = makeRequest('small')
    grant = world.planner.plan(first)
    second, wait = world.request('small')
    assert isinstance(wait, Wait)
    world.planner.postpone(grant)
    assert isinstance(world.planner.plan(second), Wait)
    again = world.planner.plan(first)
    assert isinstance(again, Grant) and again != grant
    assert world.woken == []
    world.planner.postpone(again)
    world.planner.forget(first.uuid)
    assert world.woken == [second.uuid]


def test_what_cannot_be_written_goes_to_an_older_request_with_the_same_needs():
    world = World(smallProvider())
    world.fill(2)
    older, younger = makeRequest('small'), makeRequest('small')
    world.planner.postpone(world.planner.plan(younger))
    assert isinstance(world.planner.plan(older), Wait)
    assert isinstance(world.planner.plan(younger), Wait)
    assert world.woken == [older.uuid]


def test_grant_counts_until_its_records_are_seen():
    provider = smallProvider()
    world = World(provider)
    request = makeRequest('small', 'small', 'small')
    grant = world.planner.plan(request)
    world.planner.confirm(grant)
    assert isinstance(world.request('small')[1], Wait)
    world.requests[request.uuid] = request
    world.write(grant)
    world.planner.forget(request.uuid)
    assert world.woken == []
    world.removeNode(world.getNodes(request)[0])
    assert len(world.woken) == 1


def test_returned_node_goes_to_the_first_that_can_use_it():
    world = World(StaticProvider('desks', ['desk'], ['desk', 'chair']))
    first, second = world.fill(2, 'desk')
    world.request('desk')
    chair, _ = world.request('chair')
    world.finish(second)
    # The first in order could take it, too, and does.
    assert world.woken != [chair.uuid]
    world.serve()
    world.finish(first)
    assert world.woken == []


def test_raised_limit_wakes_all_requests_that_can_be_served():
    provider = smallProvider()
    world = World(provider)
    world.fill(3)
    waiting = [world.request('small')[0] for _ in range(5)]
    provider.resource_limits = {'instances': 7}
    world.planner.limitsChanged(['a'])
    assert world.woken == [request.uuid for request in waiting[:4]]


def test_waiting_requests_fail_when_limits_become_too_small():
    provider = smallProvider()
    world = World(provider)
    world.fill(1)
    waiting = [world.request('big')[0] for _ in range(2)]
    provider.resource_limits = {'instances': 2}
    world.planner.limitsChanged(['a'])
    assert world.woken == [request.uuid for request in waiting]
    assert all(isinstance(answer, Impossible) for answer in world.serve())
    assert getReservations(world.planner) == {}


def test_change_without_event_is_found_when_the_first_is_planned():
    """The others that wait for the same are woken then."""
    handled = set()
    world = World(Provider('a', 'small', limits={'instances': 2}),
                  isHandled=handled.__contains__)
    first, *others = [world.request('small')[0] for _ in range(3)]
    handled.add('rack')
    assert isinstance(world.plan(first), Grant)
    assert world.woken == [others[0].uuid]


def test_request_waits_for_quota_of_unmanaged_instances():
    endpoint = Endpoint('region', {'instances': 2})
    world = World(Provider('a', 'small', endpoint=endpoint))
    endpoint.quota_cache.quota = {'instances': 2}
    # That may change, so it is no reason to fail.
    request, wait = world.request('small')
    assert isinstance(wait, Wait)
    endpoint.quota_cache.quota = {'instances': 1}
    world.planner.limitsChanged()
    assert world.woken == [request.uuid]


def test_new_layout_wakes_all_waiting_requests():
    world = World(smallProvider())
    world.fill(3)
    kept, gone = world.request('small')[0], world.request('big')[0]
    world.setProviders(
        Provider('a', 'small', limits={'instances': 3}),
        Provider('b', 'small'))
    assert set(world.woken) == {kept.uuid, gone.uuid}
    decisions = world.serve()
    assert {type(decision) for decision in decisions} == {Grant, Impossible}


def test_node_that_is_older_than_the_layout_is_granted():
    world = World()
    provider = smallProvider()
    world.addNode(provider, 'small')
    assert isinstance(world.request('small')[1], Impossible)
    world.setProviders(provider)
    assert world.request('small')[1].slots[0].node


def test_reason_of_waiting_request_names_all_providers():
    """Also those that were not looked at last, and those that have given
    up."""
    world = World(
        *(Provider(name, 'small', limits={'instances': 1}) for name in 'abc'),
        Provider('d', 'small', attempts=1), Provider('e', 'other'))
    gone = [{'failed_providers': ['d']}]
    for _ in range(3):
        world.request('small', provider_node_data=gone)
    request, wait = world.request('small', provider_node_data=gone)
    full = [f'{name}: provider {name} has 1 instances' for name in 'abc']
    for part in (*full, 'd: gave up after 1 attempts'):
        assert part in wait.reason
    assert 'e:' not in wait.reason
    for names in ({'b'}, {'a', 'b'}, None):
        world.planner.limitsChanged(names)
        reason = world.planner.getReason(request.uuid)
        assert sorted(reason.split('; ')) == sorted(wait.reason.split('; '))
    world.setProviders(*world.providers[:2])
    assert 'c:' not in world.planner.getReason(request.uuid)


def test_error_in_planning_concerns_no_other_request(caplog):
    broken = []
    world = World(
        Provider('a', 'small', 'odd', limits={'instances': 3}),
        canUse=lambda request, provider, label_name: (
            label_name != 'odd' or not broken or broken.index(None)))
    running = world.fill(3)
    odd, _ = world.request('odd')
    small, _ = world.request('small')
    broken.append('now')
    # One place is kept for whom it could not be decided.
    for done in running[:2]:
        world.finish(done)
    assert f'Unable to plan request {odd.uuid}' in caplog.text
    assert world.woken == [small.uuid]


# Cost

def test_planner_looks_at_changed_providers_only():
    """However many different requests wait."""
    looked = []
    labels = [f'label{number}' for number in range(20)]
    world = World(
        *(Provider(name, *labels, limits={'instances': 1}) for name in 'abcd'),
        canUse=lambda request, provider, label: looked.append(
            provider.name) or True)
    for label in (*labels[:4], *labels):
        world.request(label)
    looked.clear()
    world.planner.limitsChanged({'b'})
    assert set(looked) == {'b'} and len(looked) <= 3 * len(labels)


def test_planner_looks_at_no_other_waiting_request():
    """However many requests wait."""
    looked = []
    world = World(
        smallProvider(),
        canUse=lambda request, *args: looked.append(request) or True)
    done, *_ = world.fill(3)
    for _ in range(200):
        world.request('small')
    looked.clear()
    world.finish(done)
    world.serve()
    assert len({request.uuid for request in looked}) == 2
