import pytest

from tests.fixtures.launcher import Steps


@pytest.fixture
def steps(zuul_conf, tmp_path):
    """A launcher that takes the steps that a test tells it to."""
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launcher = Steps(zuul_conf)
    yield launcher
    launcher.end()
