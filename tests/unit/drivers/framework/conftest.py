import threading

import pytest

from tests.fixtures.ending import endWith
from tests.unit.drivers.framework.adapters import Site


@pytest.fixture
def makeSite(request, zk_client):
    """:return: a function that makes a :class:`Site`."""
    return lambda *args, **kwargs: endWith(
        request, Site(zk_client, *args, **kwargs))


@pytest.fixture
def go_on():
    """:return: an Event that is set in the end."""
    go_on = threading.Event()
    yield go_on
    go_on.set()
