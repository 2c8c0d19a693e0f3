import pytest


@pytest.fixture
def site(makeSite):
    """:return: the Site that ``makeSite`` of a driver's conftest makes by
        default."""
    return makeSite()
