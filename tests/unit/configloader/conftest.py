import pytest

from tests.unit.configloader.tenant import enter


@pytest.fixture
def seams(monkeypatch):
    """Zuul's loader in this process has our seams."""
    enter(monkeypatch)
