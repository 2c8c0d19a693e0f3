import pytest

from zuul_nodes import imagefiles
from zuul_nodes.launcher.images import artifacts


@pytest.fixture
def small_blocks(monkeypatch):
    """Downloads in many blocks, although what is downloaded is small."""
    monkeypatch.setattr(imagefiles, 'RESERVE', 0)
    monkeypatch.setattr(artifacts, 'BLOCK_SIZE', 10)
