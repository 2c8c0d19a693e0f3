"""What the planner tells operators about providers."""

import math

import pytest

from tests.fixtures.planning import Endpoint, Label, Provider, World
from zuul_nodes.launcher.providers import Failure
from zuul_nodes.providerstatus import Limit, Paused

SECTION = {'name': 'section', 'limits': {'cores': 9}}


def getStatus(world, name='a'):
    return dict(world.planner.getStatuses())[name]


def test_limits_of_each_account_have_what_others_use():
    endpoint = Endpoint('cloud', {'cores': 40, 'ram': math.inf})
    endpoint.quota_cache.quota = {'cores': 15}
    status = getStatus(World(Provider(
        'a', Label('big', max_nodes=2), limits={'instances': 3},
        endpoint=endpoint, section=SECTION)))
    assert (status.endpoint, status.section) == ('cloud', 'section')
    assert set(status.limits) == {
        Limit('provider', 'a', 'instances', 3, 0),
        Limit('section', 'section', 'cores', 9, 0),
        Limit('endpoint', 'cloud', 'cores', 40, 15)}
    assert status.problem is None


def test_limits_have_what_is_kept_for_requests():
    world = World(Provider('a', 'big', limits={'instances': 3}))
    world.fill(2, 'big')
    world.request('big', 'big')
    assert getStatus(world).limits == [
        Limit('provider', 'a', 'instances', 3, 0, 2)]


def test_pauses_of_the_provider_and_of_its_labels():
    now = [100]
    world = World(Provider('a', 'big', 'small'), Provider('b', 'big'),
                  clock=lambda: now[0])
    world.planner.pause(
        world.getSubject('a'), 160, 'it is full', Failure.QUOTA)
    world.planner.pause(world.getSubject('b', 'big'), 130, 'there is none')
    assert getStatus(world).pauses == [Paused(None, 60, 'it is full')]
    assert getStatus(world, 'b').pauses == [Paused('big', 30, 'there is none')]
    now[0] = 140
    assert getStatus(world, 'b').pauses == []


def test_problem_is_that_no_launcher_handles_the_connection():
    world = World(Provider('a', 'big'), isHandled='other'.__eq__)
    assert getStatus(world).problem == (
        'no running launcher handles connection rack')


def test_problem_is_that_the_limits_are_unknown():
    endpoint = Endpoint('cloud')
    endpoint.quota_cache.getUnmanagedUsage = lambda: {}['quota']
    world = World(Provider('a', 'big', endpoint=endpoint))
    assert getStatus(world).problem == (
        "its limits are not known: KeyError('quota')")


@pytest.mark.parametrize('problem, expected', [
    (None, 'is being prepared'),
    ('it does not answer', 'is being prepared: it does not answer')])
def test_problem_is_that_the_cloud_has_not_answered(problem, expected):
    world = World(
        Provider('a', 'big'), isAsked=lambda *names: False,
        getProblem=lambda *names: problem)
    assert getStatus(world).problem == expected
