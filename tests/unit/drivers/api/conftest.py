import threading

import pytest

from tests.unit.drivers.api.adapters import Site


@pytest.fixture
def makeSite(zk_client):
    sites = []

    def makeSite(*args, **kwargs):
        sites.append(Site(zk_client, *args, **kwargs))
        return sites[-1]

    yield makeSite
    for site in sites:
        site.driver.stop()


@pytest.fixture
def site(makeSite):
    return makeSite()


@pytest.fixture
def go_on():
    """:return: an Event that is set in the end."""
    go_on = threading.Event()
    yield go_on
    go_on.set()
