"""Who waits, for what, and who is served next."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    StaticProvider,
    World,
    makeRequest,
)
from zuul_nodes.launcher.planner import Grant, Impossible, Wait

State = ProviderNode.State
BIG = Label('big', {'instances': 3})


def one(**kwargs):
    """:return: a provider of single nodes and of one that takes all."""
    return Provider('a', 'small', BIG, limits={'instances': 3}, **kwargs)


def fill(world, number, label='small'):
    """:return: requests that have been served."""
    requests = []
    for _ in range(number):
        request, decision = world.request(label)
        assert isinstance(decision, Grant)
        requests.append(request)
    return requests


def test_what_becomes_free_is_for_the_first():
    world = World(one())
    running = fill(world, 3)
    waiting = [world.request('small')[0] for _ in range(3)]
    for done, request in zip(running, waiting, strict=True):
        world.finish(done)
        assert world.woken == [request.uuid]
        assert isinstance(world.serve()[0], Grant)


def test_who_comes_later_does_not_overtake():
    """Even between a request's being woken and its being planned."""
    world = World(one())
    done, *_ = fill(world, 3)
    first, _ = world.request('small')
    world.finish(done)
    for labels in (['small'], ['big']):
        assert isinstance(world.request(*labels)[1], Wait)
    assert world.woken == [first.uuid]
    assert isinstance(world.serve()[0], Grant)


@pytest.mark.parametrize('urgent', [
    {'priority': -1}, {'_relative_priority': -1}, {'age': 999}], ids=str)
def test_who_is_more_urgent_is_first(urgent):
    world = World(one())
    done, *_ = fill(world, 3)
    world.request('small')
    request, wait = world.request('small', **urgent)
    assert wait.reservation == ('a',)
    assert set(world.planner.getReservations()) == {request.uuid}
    world.finish(done)
    assert world.woken == [request.uuid]


def test_a_request_becomes_more_urgent():
    world = World(one())
    done, *_ = fill(world, 3)
    (first, _), (second, wait) = (world.request('small') for _ in range(2))
    assert '1 requests that need the same are ahead' in wait.reason
    assert first.uuid in wait.reason
    second._set(_relative_priority=-1)
    assert world.plan(second).reservation == ('a',)
    assert world.plan(first).reservation == ()
    second._set(_relative_priority=1)
    assert world.plan(second).reservation == ()
    assert set(world.planner.getReservations()) == {first.uuid}
    second._set(_relative_priority=-1)
    assert world.plan(second).reservation == ('a',)
    world.finish(done)
    assert world.woken == [second.uuid]


@pytest.mark.parametrize('fails', [False, True], ids=str)
def test_the_first_leaves(fails):
    """It is cancelled, or does not need the same any more; the next one has
    something reserved at once."""
    world = World(StaticProvider('desks', ['desk']),
                  StaticProvider('tables', ['desk']))
    fill(world, 2, 'desk')
    (first, _), (second, _) = (world.request('desk') for _ in range(2))
    if fails:
        first._set(provider_node_data=[
            {'uuid': None, 'failed_providers': ['desks'] * 3}])
        assert world.plan(first).reservation == ('tables',)
    else:
        world.planner.forget(first.uuid)
    assert second.uuid in world.planner.getReservations()


def test_a_request_alone_in_its_line_becomes_more_urgent():
    """Those between its former place and its present one wait for it."""
    world = World(one())
    running = fill(world, 3)
    large, _ = world.request('big', _relative_priority=2)
    for _ in range(3):
        world.request('small', _relative_priority=1)
    large._set(_relative_priority=0)
    assert world.plan(large).reservation == ('a',)
    for done in running:
        world.finish(done)
    assert world.woken == [large.uuid]


def test_a_request_alone_in_its_line_becomes_less_urgent():
    """It does not wait for itself, nor do those who are ahead now."""
    world = World(one())
    running = fill(world, 3)
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


def test_nobody_who_can_not_use_it_is_woken():
    world = World(one(), Provider('b', 'other', limits={'instances': 1}))
    other, = fill(world, 1, 'other')
    fill(world, 3)
    world.request('small')
    world.finish(other)
    assert world.woken == []


def test_a_large_request_in_a_stream_of_small_ones():
    world = World(one())
    running = fill(world, 3)
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    served = []
    for _ in range(3):
        running.append(world.request('small')[0])
        world.finish(running.pop(0))
        served += world.serve()
    assert [grant.request_id for grant in served] == [large.uuid]


def test_others_go_on_elsewhere():
    world = World(one(), Provider('b', 'small'))
    fill(world, 1)
    _, wait = world.request('big')
    assert wait.reservation == ('a',)
    _, grant = world.request('small')
    assert grant.slots[0].provider.name == 'b'


def test_nodes_that_are_there_are_kept():
    world = World(StaticProvider('desks', *[['desk']] * 2))
    first, second = fill(world, 2, 'desk')
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


def test_no_more_are_kept_than_are_needed():
    """What else is missing may take days."""
    world = World(StaticProvider('desks', ['chair'], *[['desk']] * 5))
    used, = fill(world, 1, 'chair')
    large, wait = world.request('chair', 'desk', 'desk')
    assert wait.reservation == ('desks',)
    fill(world, 3, 'desk')
    assert isinstance(world.request('desk')[1], Wait)
    world.finish(used)
    assert world.woken == [large.uuid]


def test_nodes_are_kept_no_longer():
    world = World(StaticProvider('desks', *[['desk']] * 2))
    fill(world, 1, 'desk')
    both, _ = world.request('desk', 'desk')
    single, _ = world.request('desk')
    world.planner.forget(both.uuid)
    assert world.woken == [single.uuid]


def test_two_requests_for_all_static_nodes():
    """None holds what the other waits for."""
    world = World(StaticProvider('desks', *[['desk']] * 3))
    blocker, = fill(world, 1, 'desk')
    waiting = [world.request(*['desk'] * 3)[0] for _ in range(2)]
    assert len(world.getNodes(blocker)) == 1
    for done, request in zip([blocker, *waiting], waiting, strict=False):
        world.finish(done)
        assert [grant.request_id for grant in world.serve()] == [
            request.uuid]


def test_requests_reserve_different_providers():
    world = World(one(), Provider('b', BIG, limits={'instances': 3}))
    fill(world, 1)
    fill(world, 1, 'big')
    first, wait = world.request('big')
    assert wait.reservation == ('a',)
    # Nobody who needs the same is behind with a reservation of its own.
    assert world.request('big')[1].reservation == ()
    _, wait = world.request('big', preferred_provider='a')
    assert wait.reservation == ('b',)
    world.planner.forget(first.uuid)
    assert len(world.planner.getReservations()) == 2


@pytest.mark.parametrize('name', 'ab')
def test_what_is_reserved_stays_where_it_is(name):
    """Nothing is lost of what has been kept, whichever of equal providers
    is looked at anew, and whichever would be chosen then."""
    world = World(one(), Provider('b', 'small', BIG, limits={'instances': 3}))
    fill(world, 6)
    large, wait = world.request('big')
    world.planner.shuffle = list.reverse
    for number in range(3):
        world.planner.limitsChanged({name})
        large._set(_relative_priority=-number)
        assert world.plan(large).reservation == wait.reservation
        world.planner.setScope(world.planner.scope)
        assert world.plan(large).reservation == wait.reservation
    # Not even if no nodes are made anywhere.
    for each in 'ab':
        world.planner.pause(each, float('inf'), 'a test')
    world.planner.limitsChanged()
    assert world.plan(large).reservation == wait.reservation


def test_what_is_reserved_in_a_new_layout():
    """The provider is gone, or counts where it did not."""
    world = World(one(), Provider('b', BIG, limits={'instances': 3}))
    fill(world, 1)
    fill(world, 1, 'big')
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    region = Endpoint('region', {'instances': 3})
    world.setProviders(one(endpoint=region), Provider(
        'c', 'small', endpoint=region))
    assert isinstance(world.request('small')[1], Wait)
    world.setProviders(Provider('b', BIG, limits={'instances': 3}))
    assert world.plan(large).reservation == ('b',)


def test_what_is_reserved_moves_on():
    """From where it has become impossible, and from where no nodes are
    made."""
    providers = [Provider(name, BIG, limits={'instances': 3}, priority=rank)
                 for rank, name in enumerate('abc')]
    world = World(*providers)
    fill(world, 3, 'big')
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    world.planner.pause('a', float('inf'), 'a test')
    world.planner.limitsChanged({'a'})
    assert world.plan(large).reservation == ('b',)
    providers[1].resource_limits['instances'] = 2
    world.planner.limitsChanged({'b'})
    assert world.plan(large).reservation == ('c',)


@pytest.mark.parametrize('provider, number', [
    (StaticProvider('a', ['rare'], *[['small']] * 3), 3),
    (Provider('a', Label('rare', max_nodes=1), 'small',
              limits={'instances': 5}), 4)], ids=['static', 'max-nodes'])
def test_those_ahead_may_wait_for_something_else(provider, number):
    """It may take days until they are served."""
    world = World(provider)
    fill(world, 1, 'rare')
    running = fill(world, number)
    assert world.request('rare')[1].reservation == ('a',)
    large, wait = world.request('small', 'small', 'small')
    assert wait.reservation == ('a',)
    served = []
    for done in running:
        world.request('small')
        world.finish(done)
        served += world.serve()
    assert served[0].request_id == large.uuid


def test_who_waits_for_max_nodes_keeps_no_room():
    """Not before it could use it; then it does."""
    world = World(Provider('a', Label('rare', max_nodes=1), 'small',
                           limits={'instances': 3}))
    first, = fill(world, 1, 'rare')
    running = fill(world, 2)
    rare, _ = world.request('rare')
    world.finish(running.pop())
    running += fill(world, 1)
    urgent, _ = world.request('small', priority=-1)
    world.request('small')
    world.finish(first)
    assert world.woken == [urgent.uuid]
    world.serve()
    world.finish(running.pop())
    assert world.woken == [rare.uuid]


def test_what_is_reserved_goes_to_the_next_in_line():
    world = World(one(priority=1), Provider(
        'b', BIG, limits={'instances': 3}))
    small, = fill(world, 1)
    running, = fill(world, 1, 'big')
    first, second = (world.request('big')[0] for _ in range(2))
    world.finish(running)
    assert [grant.request_id for grant in world.serve()] == [first.uuid]
    # The best of them, not where something has just become free.
    assert world.plan(second).reservation == ('a',)
    world.finish(small)
    assert [grant.request_id for grant in world.serve()] == [second.uuid]


def test_the_provider_that_makes_nodes_is_reserved():
    world = World(
        Provider('a', 'big', priority=1, connection='nobody'),
        Provider('b', 'big', limits={'instances': 1}),
        isHandled='rack'.__eq__)
    fill(world, 1, 'big')
    assert world.request('big')[1].reservation == ('b',)


def test_where_others_leave_room_is_reserved():
    """They may never go; if they do, it is served there all the same."""
    region = Endpoint('region', {'instances': 4})
    region.quota_cache.quota = {'instances': 2}
    world = World(Provider('b', BIG, endpoint=region, priority=1),
                  one(priority=2))
    running = fill(world, 3)
    large, wait = world.request('big')
    assert wait.reservation == ('a',)
    world.request('small')
    world.finish(running.pop())
    assert world.woken == []
    region.quota_cache.quota = {}
    world.planner.limitsChanged({'b'})
    assert [grant.slots[0].provider.name for grant in world.serve()
            if grant.request_id == large.uuid] == ['b']


def test_what_is_reserved_ends():
    world = World(one())
    fill(world, 1)
    large, _ = world.request('big')
    small, _ = world.request('small')
    assert world.woken == []
    world.planner.forget(large.uuid)
    assert world.woken == [small.uuid]
    world.serve()
    assert world.planner.getReservations() == {}
    assert world.planner.getReason(large.uuid) is None


def test_room_that_nobody_took():
    world = World(one())
    done, *_ = fill(world, 3)
    first, second = (world.request('small')[0] for _ in range(2))
    world.finish(done)
    assert world.woken == [first.uuid]
    world.planner.forget(first.uuid)
    assert world.woken == [first.uuid, second.uuid]


def test_a_grant_that_could_not_be_written():
    world = World(one())
    fill(world, 2)
    grant = world.planner.plan(makeRequest('small'))
    request, wait = world.request('small')
    assert isinstance(wait, Wait)
    world.planner.release(grant)
    assert world.woken == [request.uuid]


def test_a_grant_counts_until_the_records_do():
    provider = one()
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


def test_a_node_that_comes_back():
    world = World(StaticProvider('desks', ['desk'], ['desk', 'chair']))
    first, second = fill(world, 2, 'desk')
    world.request('desk')
    chair, _ = world.request('chair')
    world.finish(second)
    # The first in order could take it, too, and does.
    assert world.woken != [chair.uuid]
    world.serve()
    world.finish(first)
    assert world.woken == []


def test_all_who_can_be_served_are_woken_at_once():
    provider = one()
    world = World(provider)
    fill(world, 3)
    waiting = [world.request('small')[0] for _ in range(5)]
    provider.resource_limits = {'instances': 7}
    world.planner.limitsChanged(['a'])
    assert world.woken == [request.uuid for request in waiting[:4]]


def test_limits_that_became_too_small():
    provider = one()
    world = World(provider)
    fill(world, 1)
    waiting = [world.request('big')[0] for _ in range(2)]
    provider.resource_limits = {'instances': 2}
    world.planner.limitsChanged(['a'])
    assert world.woken == [request.uuid for request in waiting]
    assert all(isinstance(answer, Impossible) for answer in world.serve())
    assert world.planner.getReservations() == {}


def test_what_nobody_told_of():
    """It is enough that the first in a line is planned again."""
    handled = set()
    world = World(Provider('a', 'small', limits={'instances': 2}),
                  isHandled=handled.__contains__)
    first, *others = [world.request('small')[0] for _ in range(3)]
    handled.add('rack')
    assert isinstance(world.plan(first), Grant)
    assert world.woken == [others[0].uuid]


def test_what_is_not_zuuls():
    endpoint = Endpoint('region', {'instances': 2})
    world = World(Provider('a', 'small', endpoint=endpoint))
    endpoint.quota_cache.quota = {'instances': 2}
    # That may change, so it is no reason to fail.
    request, wait = world.request('small')
    assert isinstance(wait, Wait)
    endpoint.quota_cache.quota = {'instances': 1}
    world.planner.limitsChanged()
    assert world.woken == [request.uuid]


def test_a_new_layout():
    world = World(one())
    fill(world, 3)
    kept, gone = world.request('small')[0], world.request('big')[0]
    world.setProviders(
        Provider('a', 'small', limits={'instances': 3}),
        Provider('b', 'small'))
    assert set(world.woken) == {kept.uuid, gone.uuid}
    decisions = world.serve()
    assert {type(decision) for decision in decisions} == {Grant, Impossible}


def test_a_layout_that_comes_later():
    world = World()
    provider = one()
    world.addNode(provider, 'small')
    assert isinstance(world.request('small')[1], Impossible)
    world.setProviders(provider)
    assert world.request('small')[1].slots[0].node


def test_the_reason_names_all_providers():
    """Whichever of them is looked at anew; and those that are out."""
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


def test_what_can_not_be_tried_stops_nobody_else(caplog):
    broken = []
    world = World(
        Provider('a', 'small', 'odd', limits={'instances': 3}),
        canUse=lambda request, provider, label_name: (
            label_name != 'odd' or not broken or broken.index(None)))
    running = fill(world, 3)
    odd, _ = world.request('odd')
    small, _ = world.request('small')
    broken.append('now')
    # One place is kept for whom it could not be decided.
    for done in running[:2]:
        world.finish(done)
    assert f'Unable to plan request {odd.uuid}' in caplog.text
    assert world.woken == [small.uuid]


# Cost

def test_only_what_may_have_changed_is_looked_at():
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


def test_the_number_of_those_who_wait_is_of_no_account():
    """Whoever is served, nobody else is looked at."""
    looked = []
    world = World(
        one(), canUse=lambda request, *args: looked.append(request) or True)
    done, *_ = fill(world, 3)
    for _ in range(200):
        world.request('small')
    looked.clear()
    world.finish(done)
    world.serve()
    assert len({request.uuid for request in looked}) == 2
