"""What Google is asked again now and then."""

import types

import pytest

from tests.unit.drivers.gce.sites import change
from zuul_nodes.drivers import PermanentError, TemporaryError
from zuul_nodes.drivers.gce import memory
from zuul_nodes.drivers.gce.memory import LIFETIME, RETRY, Memory


@pytest.fixture
def clock(monkeypatch):
    """:return: an object whose ``now`` is the time that it is."""
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(memory, 'time', types.SimpleNamespace(
        monotonic=lambda: clock.now))
    return clock


def fail(error):
    def ask():
        raise error
    return ask


def test_answer_is_good_for_some_time(clock):
    answers = Memory()
    assert answers.get('a', lambda: 1) == 1
    clock.now += LIFETIME - 1
    assert answers.get('a', lambda: 2) == 1
    assert answers.get('b', lambda: None) is None
    clock.now += 1
    assert answers.get('a', lambda: 2) == 2
    assert answers.get('b', lambda: 3) is None


@pytest.mark.parametrize('error', [TemporaryError('No'), ConnectionError()])
def test_old_answer_is_better_than_none(clock, error):
    answers = Memory()
    with pytest.raises(type(error)):
        answers.get('a', fail(error))
    answers.get('a', lambda: 1)
    clock.now += LIFETIME
    assert answers.get('a', fail(error)) == 1
    assert answers.get('a', lambda: 2) == 1
    clock.now += RETRY
    assert answers.get('a', lambda: 2) == 2


def test_what_will_not_be_is_told(clock):
    answers = Memory()
    answers.get('a', lambda: 1)
    clock.now += LIFETIME
    with pytest.raises(PermanentError):
        answers.get('a', fail(PermanentError('No')))


def test_machine_type_that_a_zone_gets(gce, makeSite, clock):
    site = makeSite(change('e2-standard-2', 'e2-standard-3'))
    with pytest.raises(PermanentError, match='"e2-standard-3"'):
        site.adapter.getNeeds(site.makeSpec())
    gce.machine_types.add('e2-standard-3', {
        'guestCpus': 3, 'memoryMb': 4096}, project='zuul',
        zone='us-central1-f')
    clock.now += LIFETIME
    assert site.adapter.getNeeds(site.makeSpec())['cores'] == 3


def test_zone_that_is_new(gce, site, clock):
    """What other launchers make there is seen, too."""
    site.list()
    before = gce.calls['zones.list']
    site.list()
    assert gce.calls['zones.list'] == before
    gce.zones.create('zuul', 'us-central1', 'us-central1-g')
    clock.now += LIFETIME
    assert 'us-central1-g' in site.adapter.instances.getZones()


def test_machine_types_are_known_while_google_does_not_answer(
        gce, site, clock):
    created = site.create()
    clock.now += LIFETIME
    gce.inject('GET', '.*/machineTypes/.*', 503)
    assert site.list()[created.id].needs['cores'] == 2
