"""How long each phase of a launch takes, and how many nodes are deleted."""

import collections

import pytest

from tests.fixtures.racks import cloud, finish, isDone
from zuul_nodes.launcher.metrics.names import find


class Statsd:
    """
    :ivar times: name of a timer -> milliseconds.
    :ivar counts: name of a counter -> number.
    """

    def __init__(self):
        self.times = {}
        self.counts = collections.Counter()

    def timing(self, name, milliseconds):
        assert find(name, 'timer'), name
        self.times[name] = milliseconds

    def incr(self, name):
        assert find(name, 'counter'), name
        self.counts[name] += 1


@pytest.fixture
def statsd(steps):
    statsd = steps.stats.statsd = Statsd()
    return statsd


def getPhases(statsd):
    return {name.rpartition('.')[2]: value
            for name, value in statsd.times.items() if '.phase.' in name}


def test_phases_of_a_launch_for_a_request_are_reported(steps, racks, statsd):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    phases = getPhases(statsd)
    assert phases.keys() == {'waiting', 'creating', 'scanning'}
    assert all(value >= 0 for value in phases.values())
    # From the request to the ready node, without a gap.
    node, = steps.nodes()
    assert sum(phases.values()) == pytest.approx(
        1000 * (node.state_time - request.request_time), abs=1)


def test_nodes_without_request_do_not_wait(steps, racks, statsd):
    steps.setLayout(cloud('one', labels='[{name: big, min-ready: 1}]'))
    steps.runUntil(lambda: getPhases(statsd))
    assert getPhases(statsd).keys() == {'creating', 'scanning'}


def test_deleted_nodes_are_counted(steps, racks, statsd):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert {name.rpartition('.')[2]: number
            for name, number in statsd.counts.items()
            if '.delete.' in name} == {'deleted': 1}


@pytest.mark.settings(delete_timeout=0.001, first_backoff=0.01,
                      longest_backoff=0.01)
def test_nodes_that_the_cloud_may_still_have_are_counted(
        steps, racks, statsd):
    steps.setLayout(cloud('one'))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    racks.delete_errors['one'] = ConnectionError('no answer')
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert {name.rpartition('.')[2]: number
            for name, number in statsd.counts.items()
            if '.delete.' in name} == {'left': 1}
