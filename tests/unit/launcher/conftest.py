import collections
import logging
import threading
import time

from kazoo.protocol.states import KazooState
import pytest

from tests.fixtures.cloud import (
    BOTH,
    Clock,
    Cloud,
    Keeper,
    NoThreads,
    StatsServer,
)
from tests.fixtures.ending import endWith
from tests.fixtures.hostkeys import HostKey
from tests.fixtures.images import IMAGE, ImageLauncher
from tests.fixtures.keyscans import connects, makeScanner, scanner
from tests.fixtures.launcher import TIMEOUT, Steps
from tests.fixtures.metricnames import findUnknown
from tests.fixtures.names import names
from tests.fixtures.pipelines import Pipelines
from tests.fixtures.racks import Racks
from tests.fixtures.several import Several
from tests.fixtures.sshservers import listen, makeHost, sshd
from tests.fixtures.worlds import makeWorld, undivided
from zuul_nodes.launcher.zookeeper import ImprovedClient

# Fixtures that are in modules of their own.
__all__ = ['connects', 'listen', 'makeHost', 'makeScanner', 'makeWorld',
           'names', 'scanner', 'sshd', 'undivided']


@pytest.fixture
def log(caplog):
    """:return: pytest's caplog, with all that Zuul and launchers log."""
    caplog.set_level(logging.DEBUG, 'zuul')
    return caplog


@pytest.fixture
def client(zuul_conf):
    """:return: Kazoo's client, connected, with our sockets."""
    improved = ImprovedClient.fromConfig(zuul_conf)
    improved.connect()
    yield improved.client
    improved.disconnect()


@pytest.fixture
def steps(request, zuul_conf, tmp_path):
    """A launcher that takes the steps that a test tells it to."""
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    return endWith(request, Steps(zuul_conf))


@pytest.fixture
def several(request, zuul_conf, tmp_path):
    """Launchers, none at first, that take steps together."""
    return endWith(request, Several(zuul_conf, tmp_path))


@pytest.fixture
def pair(several):
    """Two of them."""
    several.add('first')
    several.add('second')
    return several


@pytest.fixture
def expire(zookeeper):
    """:return: a function that has ZooKeeper expire a launcher's session;
        returns when its client knows."""
    def expire(launcher):
        client = launcher.zk_client.client
        session = client.client_id
        lost = threading.Event()

        def listen(state):
            if state == KazooState.LOST:
                lost.set()
        client.add_listener(listen)
        end = time.monotonic() + TIMEOUT
        while not lost.is_set():
            assert time.monotonic() < end
            # A client with the id and the password of a session can end it.
            other = zookeeper.client()
            other._session_id, other._session_passwd = session
            other.start()
            other.stop()
            other.close()
            lost.wait(0.5)
        client.remove_listener(listen)
        assert client.retry(client.exists, '/') or True
        while not client.connected:
            assert time.monotonic() < end
            time.sleep(0.005)
        assert client.client_id[0] != session[0]
    return expire


@pytest.fixture
def racks(request, monkeypatch):
    return endWith(request, Racks(monkeypatch))


@pytest.fixture(scope='module')
def keys(tmp_path_factory):
    """:return: two host keys."""
    directory = tmp_path_factory.mktemp('keys')
    return [HostKey(directory / name) for name in ('first', 'second')]


@pytest.fixture
def jump(monkeypatch):
    """:return: a function that sets the clock by some seconds."""
    real = time.time

    def jump(seconds):
        monkeypatch.setattr(time, 'time', lambda: real() + seconds)
    return jump


@pytest.fixture
def passed():
    """:return: a list of seconds that pass for polling."""
    return []


@pytest.fixture
def image_launcher(request, zuul_conf, tmp_path):
    return endWith(request, ImageLauncher(zuul_conf, tmp_path))


@pytest.fixture
def server(file_server):
    """A web server with the file ``/image``."""
    file_server.files['image'] = IMAGE
    return file_server


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

    def make(hostname='one', layout=BOTH):
        keeper = Keeper(zuul_conf, clouds, hostname)
        keepers.append(keeper)
        keeper.setLayout(layout)
        return keeper
    yield make
    # The registry is that of the first.
    for keeper in reversed(keepers):
        keeper.end()


@pytest.fixture
def keeper(makeKeeper):
    return makeKeeper()


@pytest.fixture
def stats_server(request, zuul_conf):
    """A statsd for the keepers and launchers that a test makes later.

    It gets nothing of which the reference does not tell.
    """
    server = endWith(request, StatsServer(zuul_conf))
    yield server
    assert findUnknown(server.received) <= {'end:1|c'}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cleanup(keeper, clock):
    """A Cleanup that a test tells what to do, and when."""
    return keeper.makeReconciler(NoThreads(), clock)
