"""Which provider a request gets, and which nodes."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.planning import (
    Endpoint,
    Label,
    Provider,
    World,
)
from zuul_nodes.launcher.planner.planner import Grant, Impossible, Wait

State = ProviderNode.State


def where(decision):
    """:return: names of the providers of what was granted."""
    assert isinstance(decision, Grant), decision
    return [slot.provider.name for slot in decision.slots]


def data(failed=(), temporary=()):
    return {'uuid': None, 'failed_providers': list(failed),
            'temporary': dict.fromkeys(temporary, 'busy')}


def test_a_new_node():
    provider = Provider('a', 'big')
    request, grant = World(provider).request('big')
    slot, = grant.slots
    assert (slot.index, slot.label_name, slot.provider, slot.node, slot.host
            ) == (0, 'big', provider, None, None)
    assert grant.request_id == request.uuid and not grant.forgiven


class Ids:
    """Makes uuids of nodes.

    :ivar list asked: for each, the name of the provider and how often which
        launcher has failed there.
    """

    def __init__(self):
        self.asked = []

    def __call__(self, provider, failed):
        self.asked.append((provider.name, dict(failed)))
        return f'made {len(self.asked)}'


@pytest.mark.parametrize('slots', [None, 3])
def test_uuid_of_a_new_machine_depends_on_the_launchers_that_failed(slots):
    """At its provider, for any node of the request."""
    ids = Ids()
    world = World(Provider('a', Label('big', slots=slots), 'small'),
                  makeNodeId=ids)
    entries = [
        {'a': {'first': 1}}, {'a': {'first': 1, 'second': 2}},
        {'b': {'second': 7}}, {}]
    _, grant = world.request(
        'big', 'small', 'big', 'small', provider_node_data=[
            data(['a']) | {'failed_launchers': entry} for entry in entries])
    assert ids.asked == [('a', {'first': 2, 'second': 2})] * (
        3 if slots else 4)
    made = {slot.host.node_id if slot.host else slot.node_id
            for slot in grant.slots}
    assert made == {f'made {number + 1}' for number in range(len(ids.asked))}
    assert len({slot.node_id for slot in grant.slots}) == 4
    for slot in grant.slots:
        assert slot.host is None or slot.host.node_id not in (
            slot.host.subnode_ids)


def test_uuid_of_a_new_machine_is_any_if_no_launcher_has_failed():
    ids = Ids()
    world = World(Provider('a', 'big'), makeNodeId=ids)
    _, grant = world.request('big')
    assert grant.slots[0].node_id == 'made 1'
    # An idle node has its own.
    node = world.addNode(world.providers[0], 'big')
    assert world.request('big')[1].slots[0].node is node
    assert ids.asked == [('a', {})]


def test_slots_are_in_the_order_of_labels():
    provider = Provider('a', 'big', 'small')
    world = World(provider)
    node = world.addNode(provider, 'small')
    _, grant = world.request('big', 'small', 'big')
    assert [slot.index for slot in grant.slots] == [0, 1, 2]
    assert [slot.label_name for slot in grant.slots] == [
        'big', 'small', 'big']
    assert [slot.node for slot in grant.slots] == [None, node, None]


def test_all_nodes_are_from_one_provider():
    world = World(Provider('a', 'big'), Provider('b', 'big', 'small'),
                  Provider('c', 'small'))
    assert where(world.request('big', 'small')[1]) == ['b', 'b']


def test_the_whole_nodeset_needs_room():
    """It does not help that there is room for the first of its nodes."""
    world = World(Provider('a', 'big', limits={'instances': 3}),
                  Provider('b', 'big', limits={'instances': 3}))
    assert where(world.request('big', 'big')[1]) == ['a', 'a']
    assert where(world.request('big', 'big')[1]) == ['b', 'b']
    assert isinstance(world.request('big', 'big')[1], Wait)


def test_several_providers_if_none_has_all_labels():
    world = World(Provider('a', 'big'), Provider('b', 'small'),
                  Provider('c', 'big'))
    assert where(world.request('big', 'small', 'big')[1]) == ['a', 'b', 'a']


def test_several_providers_if_none_could_ever_serve_all():
    world = World(Provider('a', 'big', limits={'instances': 2}),
                  Provider('b', 'big', limits={'instances': 2}))
    assert where(world.request(*['big'] * 3)[1]) == ['a', 'a', 'b']
    assert isinstance(world.request(*['big'] * 5)[1], Impossible)


def test_no_mixture_while_one_could_serve_all_later():
    world = World(Provider('a', 'big', limits={'instances': 2}),
                  Provider('b', 'big', limits={'instances': 1}))
    world.request('big')
    _, wait = world.request('big', 'big')
    assert wait.reservation == ('a',)


def test_the_label_with_the_least_choice_is_placed_first():
    world = World(Provider('a', 'big', 'small', limits={'instances': 1}),
                  Provider('b', 'big', limits={'instances': 1}))
    assert where(world.request('big', 'small')[1]) == ['b', 'a']


def makeCores(name, cores, **kwargs):
    """:return: a provider of nodes of one to four cores."""
    return Provider(name, *(Label(str(need), {'cores': need})
                            for need in range(1, 5)),
                    limits={'cores': cores}, **kwargs)


@pytest.mark.parametrize('cores, labels', [
    ((4, 1), '14'), ((4, 1), '41'), ((1, 4), '14'), ((4, 4), '1133'),
], ids=str)
def test_the_largest_is_placed_first(cores, labels):
    """The others fit in after it, in whatever order they are wanted."""
    world = World(*map(makeCores, 'ab', cores))
    assert isinstance(world.request(*labels)[1], Grant)


def test_the_best_for_each_may_leave_no_room_for_all():
    world = World(makeCores('a', 3, priority=2), makeCores('b', 4, priority=1))
    assert where(world.request(*'322')[1]) == ['a', 'b', 'b']


@pytest.mark.parametrize('cores, labels', [
    ((4, 3), '322'), ((3, 4), '322'), ((3, 4), '223'), ((4, 4, 3), '33122'),
    ((3, 3, 4, 4), '222233'), ((9, 7, 5), '4433322'),
], ids=str)
def test_what_only_just_fits_is_found(cores, labels):
    world = World(*map(makeCores, 'abcd', cores))
    assert isinstance(world.request(*labels)[1], Grant)


@pytest.mark.parametrize('cores, labels', [
    ((4, 4), '333'), ((5,) * 20, '3' * 21), ((7,) * 12, '4' * 12 + '2' * 13),
], ids=str)
def test_the_search_for_a_mixture_ends(cores, labels):
    """There are more ways than anybody could try."""
    world = World(*(makeCores(str(index), each)
                    for index, each in enumerate(cores)))
    decision = world.request(*labels)[1]
    assert isinstance(decision, Impossible)
    assert 'beside the others' in str(decision)


def test_a_large_mixture():
    world = World(*(makeCores(str(index), 8) for index in range(40)))
    assert len(set(where(world.request(*'1234' * 31)[1]))) == 39


def test_a_mixture_if_nobody_makes_nodes_where_all_could_be():
    handled = {'rack'}
    world = World(Provider('a', 'big', 'small', connection='other'),
                  Provider('b', 'big', limits={'instances': 1}),
                  Provider('c', 'small'), isHandled=handled.__contains__)
    assert where(world.request('big', 'small')[1]) == ['b', 'c']
    request, wait = world.request('big', 'small')
    assert wait.reservation == ('b', 'c')
    assert not world.planner.getUnhandled(request.uuid)
    handled.add('other')
    world.planner.limitsChanged()
    assert where(world.serve()[0]) == ['a', 'a']


def test_no_mixture_with_one_that_nobody_handles():
    world = World(Provider('a', 'big', connection='other'),
                  Provider('b', 'big', limits={'instances': 1}),
                  isHandled='rack'.__eq__)
    request, _ = world.request('big', 'big')
    assert world.planner.getUnhandled(request.uuid) == (
        'no running launcher handles connection other')


def test_a_mixture_is_granted_as_a_whole():
    world = World(Provider('a', 'big', limits={'instances': 1}),
                  Provider('b', 'small', limits={'instances': 1}))
    first, _ = world.request('big')
    _, wait = world.request('big', 'small')
    assert set(wait.reservation) == {'a', 'b'}
    # It goes first at both, though it takes neither.
    assert isinstance(world.request('small')[1], Wait)
    world.finish(first)
    assert where(world.serve()[0]) == ['a', 'b']


# The order of providers

def test_the_priority_of_providers():
    a = Provider('a', 'big', priority=100)
    b = Provider('b', 'big', priority=10, limits={'instances': 1})
    world = World(a, b, Provider('c', 'big'))
    world.addNode(a, 'big')
    assert where(world.request('big')[1]) == ['b']
    assert where(world.request('big')[1]) == ['a']


def test_the_preferred_provider_comes_first():
    world = World(Provider('a', 'big', priority=1),
                  Provider('b', 'big', limits={'instances': 1}))
    assert where(world.request('big', preferred_provider='b')[1]) == ['b']
    # It is no more than preferred.
    assert where(world.request('big', preferred_provider='b')[1]) == ['a']
    assert where(world.request('big', preferred_provider='x')[1]) == ['a']


def test_a_provider_with_nodes_that_are_there():
    b = Provider('b', 'big')
    world = World(Provider('a', 'big'), b)
    node = world.addNode(b, 'big')
    _, grant = world.request('big', 'big')
    assert where(grant) == ['b', 'b']
    assert [slot.node for slot in grant.slots] == [node, None]


def test_a_provider_where_they_are_ready():
    a, b = Provider('a', 'big'), Provider('b', 'big')
    world = World(a, b)
    for _ in range(2):
        world.addNode(a, 'big', State.BUILDING)
    ready = world.addNode(b, 'big')
    assert world.request('big')[1].slots[0].node is ready
    # Of which fewer have to be made.
    world.addNode(b, 'big')
    assert where(world.request('big', 'big')[1]) == ['a', 'a']


def test_one_node_for_several_labels():
    """It serves one of them."""
    a, b = (Provider(name, Label('big', aliases=['other']), 'other')
            for name in 'ab')
    world = World(a, b)
    world.addNode(a, 'big')
    for label in ('big', 'other'):
        world.addNode(b, label)
    assert where(world.request('big', 'other')[1]) == ['b', 'b']


def test_what_has_expired_does_not_attract():
    a, b = Provider('a', 'big'), Provider('b', 'big')
    world = World(b, a)
    world.addNode(a, 'big', max_ready_age=1, state_time=0)
    assert where(world.request('big')[1]) == ['b']


def test_a_provider_of_which_less_is_used():
    world = World(Provider('a', 'big', limits={'instances': 10}),
                  Provider('b', 'big', limits={'instances': 20}))
    used = [where(world.request('big')[1])[0] for _ in range(12)]
    assert used.count('b') == 8


def test_launchers_do_not_all_choose_the_same():
    orders = []

    def reverse(providers):
        orders.append(list(providers))
        providers.reverse()
    world = World(Provider('a', 'big'), Provider('b', 'big'),
                  shuffle=reverse)
    assert where(world.request('big')[1]) == ['b']
    assert orders


# Failures

def test_who_gave_up_is_out():
    world = World(Provider('a', 'big', attempts=2), Provider('b', 'big'))
    for failed, name in ((['a'], 'a'), (['a', 'a'], 'b')):
        _, grant = world.request('big', 'big', provider_node_data=[
            data(), data(failed)])
        assert where(grant) == [name, name]


def test_no_provider_is_left():
    world = World(Provider('a', 'big', attempts=1), Provider('b', 'small'))
    _, answer = world.request('big', 'small', 'none', provider_node_data=[
        data(['a']), data(), data()])
    assert isinstance(answer, Impossible)
    assert 'Label big: a: gave up after 1 attempts' in answer.reason
    assert 'Label none: no provider of tenant tenant has it' in answer.reason


def test_a_failure_for_the_moment():
    world = World(Provider('a', 'big', priority=1), Provider('b', 'big'))
    for temporary, name, forgiven in (
            ([], 'a', False), ('a', 'b', False), ('ab', 'a', True)):
        _, grant = world.request('big', provider_node_data=[
            data(temporary=temporary)])
        assert (where(grant), grant.forgiven) == ([name], forgiven)


def test_a_failure_for_the_moment_where_others_have_no_room():
    """Others are tried first, which is not to wait for them for ever."""
    endpoint = Endpoint('region', {'instances': 1})
    endpoint.quota_cache.quota = {'instances': 1}
    world = World(Provider('a', 'big'),
                  Provider('b', 'big', endpoint=endpoint))
    world.planner.pause(world.getSubject('a'), float('inf'), 'it is busy')
    request, wait = world.request('big', provider_node_data=[
        data(temporary=['a'])])
    # Of the other one, nothing comes back.
    assert wait.reservation == ('a',)
    world.planner.resume(world.getSubject('a'))
    assert world.woken == [request.uuid]
    grant, = world.serve()
    assert where(grant) == ['a'] and grant.forgiven


# What providers can not do

def test_images():
    images = {'b'}
    a = Provider('a', 'big')
    world = World(a, Provider('b', 'big'), canUse=(
        lambda request, provider, label_name: provider.name in images
        and label_name == 'big'))
    assert where(world.request('big')[1]) == ['b']
    # A node that is there is good enough.
    images.clear()
    world.planner.limitsChanged()
    node = world.addNode(a, 'big')
    assert world.request('big')[1].slots[0].node is node
    _, answer = world.request('big')
    assert isinstance(answer, Impossible) and 'image' in answer.reason


def test_a_request_that_validates_an_image_gets_new_nodes():
    provider = Provider('a', 'big')
    world = World(provider)
    world.addNode(provider, 'big')
    _, grant = world.request('big', image_upload_uuid='upload')
    assert grant.slots[0].node is None


def test_a_connection_that_nobody_handles():
    handled = set()
    world = World(Provider('a', 'big'), isHandled=handled.__contains__)
    request, wait = world.request('big')
    assert 'no running launcher handles connection rack' in wait.reason
    handled.add('rack')
    world.planner.limitsChanged()
    assert world.woken == [request.uuid]


def test_a_paused_provider():
    now = [1000]
    provider = Provider('a', 'big')
    world = World(provider, clock=lambda: now[0])
    world.planner.pause(world.getSubject('a'), 1010, 'the cloud has no room')
    node = world.addNode(provider, 'big')
    assert world.request('big')[1].slots[0].node is node
    request, wait = world.request('big')
    assert 'the cloud has no room' in wait.reason
    now[0] = 1020
    world.planner.resume(world.getSubject('a'))
    assert world.woken == [request.uuid]
    assert where(world.serve()[0]) == ['a']


def test_a_driver_that_raises(caplog):
    """Others go on; and the request waits, for it may yet be served."""
    broken = Provider('a', 'big', 'odd', priority=1)
    broken.getQuotaForLabel = None
    world = World(broken, Provider('b', 'big', limits={'instances': 1}))
    assert where(world.request('big')[1]) == ['b']
    request, wait = world.request('odd')
    assert 'not known' in wait.reason
    assert len([each for each in caplog.records
                if 'odd' in each.message]) == 1
    del broken.getQuotaForLabel
    world.planner.limitsChanged(['a'])
    assert world.woken == [request.uuid]


def test_limits_that_can_not_be_asked_for(caplog):
    broken = Provider('a', 'big', priority=1)
    broken.getEndpointLimits = None
    world = World(broken, Provider('b', 'big'))
    assert where(world.request('big')[1]) == ['b']
    assert caplog.records


@pytest.mark.parametrize('limit', [0, -1, -99])
def test_absurd_limits(limit):
    world = World(Provider('a', 'big', limits={'instances': limit}))
    _, answer = world.request('big')
    assert isinstance(answer, Impossible)
    assert 'provider a has 0 instances in all, 1 needed' in answer.reason


def test_a_tenant_without_providers():
    answer = World().request('big', tenant='nobody')[1]
    assert isinstance(answer, Impossible)
    assert 'no provider of tenant nobody has it' in answer.reason


def test_the_endpoint_is_shared():
    endpoint = Endpoint('region', {'cores': 8})
    world = World(*(
        Provider(name, Label('big', {'cores': 4}), endpoint=endpoint)
        for name in 'ab'))
    assert isinstance(world.request('big')[1], Grant)
    assert isinstance(world.request('big')[1], Grant)
    assert isinstance(world.request('big')[1], Wait)
