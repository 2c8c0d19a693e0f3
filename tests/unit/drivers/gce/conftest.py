from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
import pytest

from tests.emulators.gce import GCE
from tests.fixtures.ending import endWith
from tests.unit.drivers.gce.clients import Clients
from tests.unit.drivers.gce.sites import Site


@pytest.fixture
def gce(request):
    return endWith(request, GCE())


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
def makeSite(request, gce):
    """:return: a function that makes a :class:`Site`."""
    gce.buckets.create('images', gce.project)
    return lambda *args, **kwargs: endWith(request, Site(gce, *args, **kwargs))
