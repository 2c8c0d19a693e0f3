from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
import pytest

from tests.fixtures.gce import GCE
from tests.unit.drivers.gce.clients import Clients
from tests.unit.drivers.gce.sites import Site


@pytest.fixture
def gce():
    emulator = GCE()
    yield emulator
    emulator.end()


@pytest.fixture
def clients(gce):
    return Clients(gce)


@pytest.fixture
def bucket(gce):
    client = storage.Client(
        project=gce.project, credentials=AnonymousCredentials(),
        client_options={'api_endpoint': gce.storage_url})
    yield client.create_bucket('images')
    client.close()


@pytest.fixture
def makeSite(gce):
    """:return: a function that makes a :class:`Site`."""
    sites = []
    gce.buckets.create('images', gce.project)

    def make(*args, **kwargs):
        sites.append(Site(gce, *args, **kwargs))
        return sites[-1]
    yield make
    for site in sites:
        site.end()


@pytest.fixture
def site(makeSite):
    return makeSite()
