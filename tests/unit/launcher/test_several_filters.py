"""Launchers that do not handle all connections plan what others make."""

import pytest
from zuul.exceptions import QuotaException
from zuul.model import QuotaInformation

from tests.fixtures.racks import cloud, isDone
from tests.fixtures.settings import writeSettings
from tests.fixtures.shelf.shelf_maker import ShelfProvider
from zuul_nodes.launcher.providers import getSubject

pytestmark = pytest.mark.crash

either_plans = pytest.mark.parametrize('filters', [
    ('rack', 'other'), ('other', 'rack')], ids=' '.join)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000,
    min_ready_first_backoff=1000, min_ready_longest_backoff=1000)
@either_plans
@pytest.mark.parametrize('error', [
    QuotaException('full'), ConnectionError('down')],
    ids=['quota', 'temporary'])
def test_a_cloud_that_another_launcher_asks_in_vain(
        several, racks, filters, error):
    """Whoever plans its nodes does not ask for one after the other."""
    for number, connection in enumerate(filters):
        several.add(f'launcher{number}', connection_filter=connection)
    several.setLayout(cloud('one', labels='[big]'))
    racks.errors['one'] = error
    requests = [several.addRequest(launcher, 'big')
                for launcher in several.launchers]
    getReason = several.launchers[0].planner.getReason

    def areWaiting():
        reasons = [getReason(request.uuid) for request in requests]
        # One of them waits behind the other.
        return all(reasons) and any('is paused' in each for each in reasons)
    several.runUntil(areWaiting)
    # They had asked before it was known.
    assert len(racks.created) <= 2
    racks.errors.clear()
    for launcher in several.launchers:
        for label in (None, 'big'):
            launcher.planner.resume(
                getSubject(launcher.getProvider('one'), label))
    several.serve(*requests)
    several.endAll(racks)


@pytest.mark.settings(
    provider_first_backoff=1000, provider_longest_backoff=1000,
    min_ready_first_backoff=1000, min_ready_longest_backoff=1000)
@either_plans
@pytest.mark.parametrize('error', [
    QuotaException('full'), RuntimeError('no boot')],
    ids=['quota', 'attempt'])
def test_what_another_launcher_makes_ready_in_vain(
        several, racks, filters, error):
    for number, connection in enumerate(filters):
        several.add(f'launcher{number}', connection_filter=connection)
    racks.errors['one'] = [error]
    several.setLayout(cloud('one', labels='[{name: big, min-ready: 1}]'))
    several.runUntil(lambda: racks.created)
    several.runUntil(lambda: not any(
        launcher.nodes() for launcher in several.launchers))
    for launcher in several.launchers:
        launcher.min_ready.reconcile()
        assert not launcher.nodes()
    assert racks.created == ['one']


@pytest.fixture
def asked(zuul_conf, monkeypatch):
    """What a cloud answers is known from the cache in ZooKeeper, as Zuul's
    drivers have it.

    :return: a function that gives the cache of a launcher's provider.
    """
    writeSettings(zuul_conf, others_interval=0.05, limits_lifetime=0)

    def getCache(provider):
        return provider.getEndpoint().quota_cache
    monkeypatch.setattr(
        ShelfProvider, 'getEndpointLimits',
        lambda provider: getCache(provider).getLimits())
    monkeypatch.setattr(
        ShelfProvider, 'getQuotaForLabel',
        lambda provider, label: getCache(provider).getResource('small'))
    return lambda launcher: getCache(launcher.getProvider('one'))


def test_another_launcher_learns_of_more_quota(asked, several, racks):
    """Nothing else happens that would tell those who plan."""
    first = several.add('first', connection_filter='other')
    second = several.add('second', connection_filter='rack')
    several.setLayout(cloud('one', labels='[big]'))
    asked(second).setResource('small', QuotaInformation(instances=1))
    asked(second).setLimits(QuotaInformation(instances=1))
    several.runUntil(lambda: asked(first).hasLimits()
                     and asked(first).hasResource('small'))
    used = several.addRequest(first, 'big')
    several.serve(used)
    request = several.addRequest(first, 'big')
    several.runUntil(lambda: 'has 1 instances' in (
        first.planner.getReason(request.uuid) or ''))
    asked(second).setLimits(QuotaInformation(instances=2))
    several.serve(request)
    several.endAll(racks)


def test_what_another_launcher_has_not_asked_yet(asked, several, racks):
    """A request waits for it, and does not fail."""
    first = several.add('first', connection_filter='other')
    second = several.add('second', connection_filter='rack')
    several.setLayout(cloud('one', labels='[big]'))
    request = several.addRequest(first, 'big')
    several.runUntil(lambda: isDone(request) or 'is being prepared' in (
        first.planner.getReason(request.uuid) or ''))
    assert not isDone(request)
    asked(second).setResource('small', QuotaInformation(instances=1))
    several.serve(request)
    several.endAll(racks)


@pytest.mark.settings(others_interval=0.05)
def test_what_no_launcher_can_tell(several, racks, monkeypatch):
    """It is for another launcher to find out, so a request waits, and says
    what nobody knows."""
    def getQuotaForLabel(provider, label):
        if broken:
            raise KeyError('flavor')
        return QuotaInformation(instances=1)
    broken = [True]
    monkeypatch.setattr(ShelfProvider, 'getQuotaForLabel', getQuotaForLabel)
    first = several.add('first', connection_filter='other')
    several.add('second', connection_filter='rack')
    several.setLayout(cloud('one', labels='[big]'))
    request = several.addRequest(first, 'big')
    several.runUntil(lambda: isDone(request) or (
        "one: is being prepared: another launcher has not determined the "
        "quota of a node yet: KeyError('flavor')"
        in (first.planner.getReason(request.uuid) or '')))
    assert not isDone(request)
    broken.clear()
    several.serve(request)
    several.endAll(racks)
