import fcntl
import os

import pytest
from zuul.zk.components import COMPONENT_REGISTRY

from tests.fixtures.audit import audited
from tests.fixtures.ending import endWith
from tests.fixtures.services import Site
from zuul_nodes.quickstart import ports

# A fixture that is in a module of its own.
__all__ = ['audited']


@pytest.fixture(autouse=True)
def own_process():
    """Let no test find in its process which components of Zuul another one
    has had."""
    yield
    COMPONENT_REGISTRY.clearRegistry()


@pytest.fixture(scope='session')
def site_directory(tmp_path_factory):
    """For the sites of this worker, one after the other."""
    return tmp_path_factory.mktemp('site')


@pytest.fixture(scope='session')
def ansible_directory(tmp_path_factory):
    """For the Ansible of all sites, which one of the workers installs."""
    directory = tmp_path_factory.getbasetemp()
    if 'PYTEST_XDIST_WORKER' in os.environ:
        # That of the other workers is beside it.
        directory = directory.parent
    return directory / 'ansible'


@pytest.fixture
def makeSite(site_directory, ansible_directory):
    """:return: a function that makes and prepares a :class:`Site`."""
    sites = []

    def make(**kwargs):
        site = Site(site_directory, ansible_directory,
                    web_port=ports.freePort(), **kwargs)
        sites.append(site)
        with open(f'{ansible_directory}.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            site.prepare()
        return site
    yield make
    for site in sites:
        site.stop()


@pytest.fixture
def file_server(request):
    from tests.fixtures.fileserver import FileServer
    return endWith(request, FileServer())


@pytest.fixture
def launchFake(zuul_conf, tmp_path):
    """:return: a function that makes a launcher with a fake cloud, which
        has the options that it gets and is in a file."""
    from tests.fixtures.launcher import Steps
    launchers = []

    def launch(**options):
        zuul_conf.read_dict({
            'launcher': {'temp_dir': tmp_path},
            'connection fake': {
                'driver': 'fake', 'path': str(tmp_path / 'cloud'), **options}})
        launchers.append(Steps(zuul_conf))
        return launchers[-1]

    yield launch
    for launcher in launchers:
        launcher.stop()
        launcher.join()
