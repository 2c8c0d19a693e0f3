import pytest

from tests.fixtures.names import names

# Fixtures that are in modules of their own.
__all__ = ['names']


@pytest.fixture
def site(makeSite):
    """:return: the Site that ``makeSite`` of a driver's conftest makes by
        default."""
    return makeSite()
