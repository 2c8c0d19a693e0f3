import collections
import logging
import time
import types

import pytest
from zuul.zk.components import COMPONENT_REGISTRY

from tests.fixtures.cloud import (
    BOTH,
    INTERVAL,
    QUOTA_INTERVAL,
    Clock,
    Cloud,
    Keeper,
    callNow,
)
from tests.fixtures.images import ImageLauncher
from tests.fixtures.launcher import Steps
from tests.fixtures.pipelines import Pipelines
from tests.fixtures.racks import Racks
from tests.fixtures.several import Several
from zuul_nodes.launcher import missing, patience, superseded, uploads
from zuul_nodes.launcher.cleanup import Cleanup


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, 'zuul')
    return caplog


@pytest.fixture
def steps(zuul_conf, tmp_path):
    """A launcher that takes the steps that a test tells it to."""
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launcher = Steps(zuul_conf)
    yield launcher
    launcher.end()


@pytest.fixture
def several(zuul_conf, tmp_path):
    """Launchers, none at first, that take steps together."""
    several = Several(zuul_conf, tmp_path)
    yield several
    several.end()


@pytest.fixture
def pair(several):
    """Two of them."""
    several.add('first')
    several.add('second')
    return several


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


@pytest.fixture
def clouds():
    """:return: name of an endpoint of a keeper -> its Cloud."""
    return collections.defaultdict(Cloud)


@pytest.fixture
def cloud(clouds):
    return clouds['rack']


@pytest.fixture
def makeKeeper(zuul_conf, clouds):
    """:return: a function that makes what of a launcher looks after its
        endpoints."""
    keepers = []

    def make(hostname='one'):
        keeper = Keeper(zuul_conf, clouds, hostname)
        keepers.append(keeper)
        keeper.setLayout(BOTH)
        return keeper
    yield make
    # The registry is that of the first.
    for keeper in reversed(keepers):
        keeper.end()
    COMPONENT_REGISTRY.clearRegistry()


@pytest.fixture
def keeper(makeKeeper):
    return makeKeeper()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cleanup(keeper, clock):
    """A Cleanup that a test tells what to do, and when."""
    return Cleanup(keeper, callNow, INTERVAL, QUOTA_INTERVAL, clock)
