"""The calls that the kit injects faults into, and its journal of them."""

import pytest

from tests.fixtures.kit.fake import FakeCloud
from zuul_nodes.drivers.fake import FakeAdapter, FakeDriver
from zuul_nodes.drivers.framework.endpoint import AdapterEndpoint
from zuul_nodes.testing import DriverConformance
from zuul_nodes.testing import faults as kit_faults
from zuul_nodes.testing.conformance import openSites
from zuul_nodes.testing.faults import Fault, Faults, Journal


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path)


@pytest.fixture
def faults(tmp_path):
    return Faults(tmp_path)


def raiseError():
    raise ValueError('no')


def test_call_that_goes_on_when_there_is_another_plan(
        faults, journal, monkeypatch):
    """The journal notes its end under the plan by which it was made."""
    monkeypatch.setattr(kit_faults, 'HANG', 0)
    journal.begin(Fault('create', 'late'))
    faults.performCall('other', lambda: None)
    assert not journal.isBegun()

    def act():
        assert journal.isBegun()
        assert not journal.isOver()
        journal.begin(Fault('create', 'error'))
    with pytest.raises(TimeoutError):
        faults.performCall('create', act)
    assert not journal.isBegun()
    assert journal.getCalls() == {}


def test_failures(faults, journal):
    with pytest.raises(ValueError, match='no'):
        faults.performCall('create', raiseError)
    assert journal.read() == [
        {'plan': 0, 'call': 'create'},
        {'plan': 0, 'failed': 'create', 'error': "ValueError('no')"}]


class Death(BaseException):
    pass


@pytest.fixture
def deadly(monkeypatch):
    """Processes raise Death where they would be killed."""
    def kill(*args):
        raise Death
    monkeypatch.setattr('os.kill', kill)


@pytest.mark.usefixtures('deadly')
@pytest.mark.parametrize('kind', ['kill-before', 'kill-after'])
def test_a_launcher_dies_of_a_call_that_fails(faults, journal, kind):
    """As of "there is no such instance", which may be the answer."""
    journal.begin(Fault('get', kind))
    with pytest.raises(Death):
        faults.performCall('get', raiseError)
    assert journal.readDeath() == 1


@pytest.mark.usefixtures('deadly')
def test_death(faults, journal):
    """The journal tells it after the next plan has begun, too."""
    journal.begin(Fault('create', 'error', occurrence=2))
    faults.performCall('create', lambda: None)
    with pytest.raises(Exception, match='injected'):
        faults.performCall('create', lambda: None)
    assert journal.readDeath() is None
    journal.begin(Fault('create', 'kill-before'))
    with pytest.raises(Death):
        faults.performCall('create', lambda: None)
    journal.begin()
    assert journal.readDeath() == 2


class OnceAdapter(FakeAdapter):
    def login(self):
        pass


class OnceEndpoint(AdapterEndpoint):
    def startEndpoint(self):
        super().startEndpoint()
        self.calls.call('login')


class Once(FakeDriver):
    """Its endpoint makes one call for all nodes."""

    name = 'once'
    adapter_class = OnceAdapter
    _endpoint_class = OnceEndpoint


class Kit(DriverConformance):
    __test__ = False
    driver_class = Once


@pytest.mark.conformance
def test_driver_that_asks_once(request, tmp_path, tmp_path_factory):
    """The kit waits for that call no longer, and injects faults into it at
    the beginning."""
    kit = Kit()
    with openSites(request.config, tmp_path_factory, Once,
                   FakeCloud(tmp_path / 'cloud')) as make_site:
        site = make_site()
        site.start()
        kit.test_faults(site, 'error')
        sites = []

        def makeSite():
            sites.append(make_site())
            return sites[-1]
        kit.test_faults_at_the_beginning(makeSite, 'kill-after')
    failed = [site.journal.readPlan()[1] for site in sites]
    assert Fault('login', 'kill-after') in failed
