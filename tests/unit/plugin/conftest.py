"""zuul-web with our seams, and what its tenants are."""

import pytest

from tests.fixtures.ending import endWith
from tests.fixtures.web import Web
from tests.unit.configloader.tenant import enter
from tests.unit.drivers.zuul.conftest import loadTenant, makeScheduler, seams

__all__ = ['loadTenant', 'makeScheduler', 'seams']


@pytest.fixture
def makeWeb(request, monkeypatch, zuul_conf):
    """:return: a function that makes a :class:`Web` with a tenant that has
        been loaded for it alone."""
    enter(monkeypatch, ('zuul.web',))

    def make(loaded):
        web = endWith(request, Web(zuul_conf, loaded.connections))
        web.addTenant(loaded.tenant)
        return web
    return make


@pytest.fixture
def web(makeWeb, loadTenant):
    """zuul-web with two tenants that share their providers."""
    web = makeWeb(loadTenant())
    web.addTenant(loadTenant().tenant, 'other')
    return web
