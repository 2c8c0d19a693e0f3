"""The kinds of reason for which requests wait, as metrics have them."""

import math

import pytest

from tests.fixtures.planning import (
    Label,
    Provider,
    StaticProvider,
    World,
    smallProvider,
)
from zuul_nodes.launcher.metrics.names import METRICS
from zuul_nodes.launcher.planner.reasons import Reason


def count(world):
    """:return: dict, reason -> number of requests, without zeros."""
    return {reason: number for reason, number
            in world.planner.countWaits().items() if number}


def fill(*providers, **surroundings):
    """:return: a world in which a request for the label "big" has got all that
        there is."""
    world = World(*providers, **surroundings)
    world.fill(1, 'big')
    return world


def makeQuota():
    return fill(Provider('a', 'big', limits={'instances': 1}))


def makeMaxNodes():
    return fill(Provider('a', Label('big', max_nodes=1)))


def makeTenantLimit():
    return fill(Provider('a', 'big'),
                getTenantLimits=lambda name: {'instances': 1})


def makeNoFreeNode():
    return fill(StaticProvider('a', ['big']))


def makePaused():
    world = World(Provider('a', 'big'))
    world.planner.pause(world.getSubject('a', 'big'), math.inf, 'full')
    return world


def makeUnknownQuota():
    provider = Provider('a', 'big')
    provider.getQuotaForLabel = None
    return World(provider)


def makeNoLauncher():
    return World(Provider('a', 'big'), isHandled=lambda name: False)


def makePreparing():
    return World(Provider('a', 'big'), isAsked=lambda *args: False)


@pytest.mark.parametrize('make, reason', [
    (makeQuota, Reason.QUOTA),
    (makeMaxNodes, Reason.MAX_NODES),
    (makeTenantLimit, Reason.TENANT_LIMIT),
    (makeNoFreeNode, Reason.NO_FREE_NODE),
    (makePaused, Reason.PAUSED),
    (makeUnknownQuota, Reason.UNKNOWN_QUOTA),
    (makeNoLauncher, Reason.NO_LAUNCHER),
    (makePreparing, Reason.PREPARING),
])
def test_all_requests_that_wait_for_a_reason(make, reason):
    world = make()
    for _ in range(2):
        world.request('big')
    assert count(world) == {reason: 2}


def test_reference_names_each_reason():
    text, = (metric.text for metric in METRICS
             if metric.labels == ['hostname', 'reason'])
    assert [reason for reason in Reason if f'``{reason}``' not in text] == []


def test_request_behind_another():
    world = World(smallProvider())
    world.fill(2)
    world.request('big')
    world.request('small', _relative_priority=1)
    assert count(world) == {Reason.QUOTA: 1, Reason.BEHIND: 1}


def test_reason_that_is_likely_to_end_first_counts():
    world = fill(Provider('a', 'big', limits={'instances': 1}),
                 Provider('b', 'big'),
                 canUse=lambda request, provider, label: provider.name == 'a')
    world.planner.pause(world.getSubject('b'), math.inf, 'it does not answer')
    world.request('big')
    assert count(world) == {Reason.QUOTA: 1}


def test_request_no_longer_counts_when_it_is_served():
    world = World(Provider('a', 'big', limits={'instances': 1}))
    running, = world.fill(1, 'big')
    world.request('big')
    assert count(world) == {Reason.QUOTA: 1}
    world.finish(running)
    assert count(world) == {}
