"""Which launcher handles what, beside those that clouds refuse and Zuul's."""

import collections
import itertools
import types
import uuid

import pytest
from zuul.zk.components import LauncherComponent
from zuul.zk.launcher import launcher_score

from zuul_nodes import withdrawals
from zuul_nodes.launcher.providers import Ownership

NAMES = 'one', 'two', 'three'
NODES = [types.SimpleNamespace(
    uuid=uuid.UUID(int=number).hex, connection_name='rack',
    endpoint_name='region') for number in range(60)]
PLACE = 'rack/region'
PROVIDER = types.SimpleNamespace(
    connection_name='rack',
    getEndpoint=lambda: types.SimpleNamespace(name='region'))


class Ring:
    """
    :param withdrawn: names of launchers that have withdrawn from the endpoint.
    :param stock: names of Zuul's launchers.
    """

    def __init__(self, withdrawn=(), stock=()):
        self.components = {}
        for name in NAMES:
            component = LauncherComponent(None, name)
            component.content['state'] = component.RUNNING
            component.path = name
            if name not in stock:
                withdrawals.note(component, {
                    PLACE: withdrawals.make('refused')}
                    if name in withdrawn else {})
            self.components[name] = component

    def getOwnership(self, name):
        return Ownership(types.SimpleNamespace(
            all=lambda kind: self.components.values()), self.components[name])

    def countNewNodes(self, failed):
        """
        :param failed: name of a launcher -> number of its failed attempts.
        :return: name of a launcher -> number of new nodes that it creates;
            of 60 in all.
        """
        ownership = self.getOwnership('one')
        node_ids = {ownership.makeNodeId(PROVIDER, failed) for _ in NODES}
        assert len(node_ids) == len(NODES)
        counts = collections.Counter()
        for node_id in node_ids:
            node = types.SimpleNamespace(
                **vars(NODES[0]) | {'uuid': node_id})
            counts[ownership.getNodeOwner(node)] += 1
            # Each launcher knows it.
            assert self.getOwnership('two').getNodeOwner(node) == (
                ownership.getNodeOwner(node))
        return counts

    def getOwners(self, node, names=NAMES):
        """:return: the launchers of ours that take a node."""
        return [name for name in names
                if self.getOwnership(name).isMyNode(node)]


def getZuulsOwner(node):
    return min(NAMES, key=lambda name: launcher_score(name, node))


@pytest.mark.parametrize('withdrawn', [
    names for number in range(4)
    for names in itertools.combinations(NAMES, number)], ids=' '.join)
def test_each_node_has_one_launcher_that_can_if_one_can(withdrawn):
    ring = Ring(withdrawn)
    for node in NODES:
        owner, = ring.getOwners(node)
        former = getZuulsOwner(node)
        if former not in withdrawn or len(withdrawn) == len(NAMES):
            # Only the share of those that are refused moves.
            assert owner == former
        else:
            assert owner not in withdrawn


def test_a_launcher_that_is_refused_elsewhere_keeps_its_share():
    ring = Ring(['one', 'two', 'three'][:1])
    for node in NODES:
        other = types.SimpleNamespace(
            **vars(node) | {'endpoint_name': 'other'})
        assert ring.getOwners(other) == [getZuulsOwner(other)]


@pytest.mark.parametrize('stock', NAMES)
def test_zuuls_launchers_keep_their_share_and_get_no_other(stock):
    """They do not know who is refused."""
    ours = [name for name in NAMES if name != stock]
    ring = Ring(ours[:1], [stock])
    for node in NODES:
        owner = getZuulsOwner(node)
        assert ring.getOwners(node, ours) == (
            [] if owner == stock else [ours[1]])
    # No launcher could take over what both would leave.
    ring = Ring(ours, [stock])
    for node in NODES:
        owner = getZuulsOwner(node)
        assert ring.getOwners(node, ours) == (
            [] if owner == stock else [owner])


def test_the_work_for_an_endpoint_moves_too():
    endpoint = types.SimpleNamespace(
        canonical_name=PLACE,
        connection=types.SimpleNamespace(connection_name='rack'))

    def getOwner(withdrawn):
        ring = Ring(withdrawn)
        owner, = [name for name in NAMES
                  if ring.getOwnership(name).isMyEndpoint(endpoint)]
        return owner
    first = getOwner([])
    second = getOwner([first])
    assert second != first
    third = getOwner([first, second])
    assert third not in (first, second)
    assert getOwner(NAMES) == first


def test_a_launcher_leaves_an_endpoint_only_to_one_that_can():
    endpoint = types.SimpleNamespace(
        canonical_name=PLACE,
        connection=types.SimpleNamespace(connection_name='rack'))
    assert not Ring().getOwnership('one').leaves(endpoint)
    assert Ring(['one']).getOwnership('one').leaves(endpoint)
    assert not Ring(['one']).getOwnership('two').leaves(endpoint)
    assert not Ring(NAMES).getOwnership('one').leaves(endpoint)
    # Zuul's would not take anything over.
    assert not Ring(['one'], ['two', 'three']).getOwnership(
        'one').leaves(endpoint)


ATTEMPTS = [dict(zip(NAMES, numbers, strict=True))
            for numbers in itertools.product(range(3), repeat=3)]


@pytest.mark.parametrize('failed', ATTEMPTS, ids=lambda failed: '-'.join(
    map(str, failed.values())))
def test_a_launcher_that_has_failed_least_creates_the_next_node(failed):
    least = {name for name in NAMES
             if failed[name] == min(failed.values())}
    # Those that have not failed need no number.
    known = {name: number for name, number in failed.items() if number}
    assert Ring().countNewNodes(known).keys() == least


@pytest.mark.parametrize('withdrawn', NAMES)
@pytest.mark.parametrize('failed', NAMES)
def test_a_launcher_that_has_withdrawn_creates_no_node(withdrawn, failed):
    assert Ring([withdrawn]).countNewNodes({failed: 1}).keys() == (
        {*NAMES} - {withdrawn, failed})


def test_launchers_that_failed_and_have_not_withdrawn_create_nodes():
    """No other one is left."""
    ring = Ring(['one'])
    assert ring.countNewNodes({'two': 1, 'three': 1}).keys() == {
        'two', 'three'}
    # What all have done makes no difference.
    assert Ring(NAMES).countNewNodes(dict.fromkeys(NAMES, 2)).keys() == {
        *NAMES}
    # As the share of those does not move, they can be avoided.
    assert Ring(NAMES).countNewNodes({'two': 1}).keys() == {'one', 'three'}


@pytest.mark.parametrize('stock', NAMES)
def test_zuuls_launchers_may_repeat_a_launch(stock):
    """Their own hash decides."""
    ours = [name for name in NAMES if name != stock]
    failed = dict.fromkeys(ours, 1)
    assert Ring(stock=[stock]).countNewNodes(failed).keys() == {stock}
    assert Ring(ours, [stock]).countNewNodes(failed).keys() == {stock}
    # Their failures count, too.
    assert Ring(stock=[stock]).countNewNodes(
        {stock: 1}).keys() == {*ours}
    ring = Ring(ours[:1], [stock])
    assert ring.countNewNodes({stock: 1}).keys() == {ours[1]}


def test_only_launchers_of_the_connection_repeat_a_launch():
    ring = Ring()
    ring.components['three'].content['connection_filter'] = ['other']
    assert ring.countNewNodes({'one': 1}).keys() == {'two'}
    node = NODES[0]
    assert ring.getOwnership('one').countUntried(node, {'one'}) == 1


def test_launchers_that_have_gone_are_no_reason_to_avoid_others():
    assert Ring().countNewNodes({'former': 3}).keys() == {*NAMES}
    ring = Ring()
    ring.components.clear()
    ring.components['one'] = LauncherComponent(None, 'one')
    ownership = ring.getOwnership('one')
    assert len(ownership.makeNodeId(PROVIDER, {'one': 1})) == 32
    assert ownership.countUntried(NODES[0], ()) == 0


@pytest.mark.parametrize('withdrawn, stock, failed, number', [
    ((), (), (), 3),
    ((), (), ('one',), 2),
    ((), (), ('one', 'former'), 2),
    ((), (), NAMES, 0),
    (('one',), (), ('two',), 1),
    (('one', 'two'), (), ('three',), 0),
    # A withdrawn launcher still does what no other launcher takes over.
    (NAMES, (), ('three',), 2),
    (('one',), ('two', 'three'), ('two',), 2),
    (('one',), ('two',), ('three',), 1),
])
def test_launchers_that_have_not_failed_are_counted(
        withdrawn, stock, failed, number):
    ownership = Ring(withdrawn, stock).getOwnership('one')
    assert ownership.countUntried(NODES[0], failed) == number
