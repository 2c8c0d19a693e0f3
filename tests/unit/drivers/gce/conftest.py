from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
import pytest

from tests.fixtures.gce import GCE
from tests.unit.drivers.gce.clients import Clients


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
