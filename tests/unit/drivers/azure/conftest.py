import pytest

from tests.emulators.azure import Azure
from tests.fixtures.ending import endWith
from tests.unit.drivers.azure.sites import Site
from zuul_nodes.drivers.azure.adapter import AzureAdapter


@pytest.fixture
def azure(request):
    emulator = endWith(request, Azure())
    emulator.images.add('base')
    return emulator


@pytest.fixture
def makeSite(request, zk_client, azure, monkeypatch):
    """:return: a function that makes a :class:`Site`."""
    monkeypatch.setattr(AzureAdapter, 'list_interval', 0.02)
    return lambda *args, **kwargs: endWith(
        request, Site(zk_client, azure, *args, **kwargs))


@pytest.fixture
def site(makeSite):
    return makeSite()
