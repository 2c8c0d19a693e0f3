"""Requests that nobody can serve but launchers that do not run."""

import time

import pytest

from tests.fixtures.racks import addProvider, addSection, cloud, isDone

SECTION = addSection('other') + '''
- label: {name: third, image: debian, flavor: small}
'''
TWO_CONNECTIONS = cloud('one') + SECTION + addProvider(
    'two', '[other, third]', 'other')


@pytest.fixture(autouse=True)
def filtered(zuul_conf):
    """Before the launcher is made."""
    zuul_conf.read_dict({'launcher': {
        'connection_filter': 'other', 'unhandled_timeout': '0.3'}})


def fail(steps, request, log):
    steps.fail(request)
    assert ('no running launcher handles connection rack; waited 0.3 seconds'
            in log.text)


def test_a_request_fails_if_no_launcher_handles_its_connection(
        filtered, steps, racks, log):
    steps.setLayout(TWO_CONNECTIONS)
    begin = time.monotonic()
    request = steps.addRequest('other', 'big')
    steps.runUntil(lambda: steps.planner.getReason(request.uuid))
    assert 'no running launcher handles connection rack' in (
        steps.planner.getReason(request.uuid))
    # What can be had is had.
    for label in ('other', 'third'):
        other = steps.addRequest(label)
        steps.runUntil(lambda other=other: isDone(other))
        node, = map(steps.api.getProviderNode, other.nodes)
        assert node.connection_name == 'other'
    fail(steps, request, log)
    assert time.monotonic() - begin >= 0.3
    assert set(racks.created) == {'two'}


@pytest.mark.parametrize('labels, two', [
    ('big', {'resource_limits': '{instances: 0}'}),
    ('big', {'launch_attempts': 1}),
    ('big third', {'resource_limits': '{instances: 0}'}),
    ('big third', {'launch_attempts': 1}),
    # All come from one provider, if any can ever make them.
    ('big big', {'resource_limits': '{instances: 1}'})], ids=str)
def test_another_provider_that_is_of_no_use(steps, racks, log, two, labels):
    """It has given up, or never has room.  That it is there is no reason to
    wait for the other for ever."""
    racks.errors['two'] = Exception('broken')
    steps.setLayout(
        cloud('one') + SECTION
        + addProvider('two', '[big]', 'other', priority=0, **two)
        + addProvider('three', '[third]', 'other'))
    fail(steps, steps.addRequest(*labels.split()), log)
    assert racks.created.count('two') == ('launch_attempts' in two)


def test_another_provider_that_is_full(steps, racks, log):
    """It may have room, so there is nothing to wait for."""
    steps.setLayout(cloud('one') + SECTION + addProvider(
        'two', '[big]', 'other', resource_limits='{instances: 1}'))
    first, second = steps.addRequest('big'), steps.addRequest('big')
    steps.runUntil(lambda: isDone(first) or isDone(second))
    assert steps.planner.length() == 1
    steps.run()
    assert not steps.request_waits.unhandled
