import time
import types

import pytest

from tests.fixtures.images import ImageLauncher
from tests.fixtures.launcher import Steps
from tests.fixtures.pipelines import Pipelines
from tests.fixtures.racks import Racks
from zuul_nodes.launcher import missing, patience, superseded, uploads


@pytest.fixture
def steps(zuul_conf, tmp_path):
    """A launcher that takes the steps that a test tells it to."""
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launcher = Steps(zuul_conf)
    yield launcher
    launcher.end()


@pytest.fixture
def racks(monkeypatch):
    racks = Racks(monkeypatch)
    yield racks
    racks.end()


@pytest.fixture
def no_grace(monkeypatch):
    """What a new definition replaces goes at once."""
    monkeypatch.setattr(superseded, 'GRACE', 0)


@pytest.fixture
def jump(monkeypatch):
    """:return: a function that sets the clock by some seconds."""
    real = time.time

    def jump(seconds):
        monkeypatch.setattr(time, 'time', lambda: real() + seconds)
    return jump


@pytest.fixture
def passed(monkeypatch):
    """:return: a list of seconds that pass for what waits for a cloud, and
        no others."""
    passed = []
    monkeypatch.setattr(patience, 'time', types.SimpleNamespace(
        monotonic=lambda: sum(passed)))
    return passed


@pytest.fixture
def image_launcher(zuul_conf, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, 'RETRY_PAUSE', 0.001)
    monkeypatch.setattr(missing, 'SETTLE_TIME', 0)
    launcher = ImageLauncher(zuul_conf, tmp_path)
    yield launcher
    launcher.end()


@pytest.fixture
def pipelines(image_launcher):
    pipelines = Pipelines(image_launcher)
    pipelines.publish()
    return pipelines
