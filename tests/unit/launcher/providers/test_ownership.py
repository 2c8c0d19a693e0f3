"""Which launcher handles what, beside those that clouds refuse and Zuul's."""

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
