"""Nodes are deleted also where nobody has a provider any more."""

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.model import ProviderNode

from tests.fixtures.backoffs import noteBackoffs
from tests.fixtures.launcher import Steps
from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.shelf.shelf_maker import ShelfDriver, ShelfEndpoint
from zuul_nodes.launcher.nodes import termination
from zuul_nodes.launcher.providers.former import ROOT

State = ProviderNode.State
ELSEWHERE = cloud('two', connection='other')


@pytest.fixture
def makeLauncher(zuul_conf, tmp_path):
    """:return: a function that makes a launcher, after the end of the one
        that it made before."""
    zuul_conf.read_dict({'launcher': {'temp_dir': tmp_path}})
    launchers = []

    def make():
        for launcher in launchers:
            launcher.end()
        launchers[:] = [Steps(zuul_conf)]
        return launchers[0]
    yield make
    for launcher in launchers:
        launcher.end()


@pytest.fixture
def attempts(steps):
    """:return: a list of the attempts to find somebody who can delete a
        node, before each pause."""
    return noteBackoffs(steps.termination)


NEVER = pytest.mark.settings(
    first_backoff=1000, missing_provider_longest_backoff=1000)


def addElsewhere(launcher, **kwargs):
    """:return: a node where nobody has had a provider yet."""
    return launcher.addNode(
        launcher.getProvider('one'), 'big', **{
            'state': State.USED, 'connection_name': 'other',
            'endpoint_name': 'other', 'provider': 'gone'} | kwargs)


def getReasons(log):
    return [record.getMessage().split('record: ')[1]
            for record in log.records if 'record: ' in record.getMessage()]


def test_nodes_of_removed_provider_go_when_they_are_unused(steps, racks):
    steps.setLayout(cloud('one'))
    steps.addNode(steps.getProvider('one'), 'big', state=State.READY)
    request, (node,) = steps.serveNew('other')
    steps.setLayout(ELSEWHERE)
    steps.runUntil(lambda: steps.nodes() == [node])
    # Somebody waits for that one.
    assert node.state == State.READY
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


@pytest.mark.parametrize('label', ['big', 'big, slots: 2'],
                         ids=['node', 'slots'])
def test_next_launcher_deletes_nodes_of_removed_provider(
        makeLauncher, racks, monkeypatch, label):
    """It has never had the provider."""
    started = []
    monkeypatch.setattr(ShelfEndpoint, 'startEndpoint',
                        lambda endpoint: started.append(endpoint.name))
    launcher = makeLauncher()
    launcher.setLayout(cloud('one').replace('name: big', f'name: {label}'))
    request, _ = launcher.serveNew('big')
    assert racks.instances
    launcher.writeLayout(ELSEWHERE)
    started.clear()
    launcher = makeLauncher()
    finish(launcher, request)
    launcher.runUntil(lambda: not launcher.nodes())
    assert racks.instances == {}
    # The endpoint was made ready for it.
    launcher.runUntil(lambda: sorted(started) == ['other', 'rack'])


@pytest.mark.settings(delete_timeout=0, first_backoff=0.01)
@pytest.mark.parametrize('answer', ['error', 'nothing'])
def test_record_stays_while_cloud_of_removed_provider_is_down(
        steps, racks, answer):
    """The clean-up does not look for leaked resources there."""
    steps.setLayout(cloud('one'))
    request, (node,) = steps.serveNew('big')
    if answer == 'error':
        racks.delete_errors['one'] = ConnectionError('down')
    else:
        racks.stubborn.add('one')
    steps.setLayout(ELSEWHERE)
    finish(steps, request)
    steps.runUntil(lambda: len(racks.deleted) >= 5)
    assert steps.nodes() == [node]
    racks.delete_errors.clear()
    racks.stubborn.clear()
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_building_node_of_removed_provider_is_made_elsewhere(
        makeLauncher, racks):
    launcher = makeLauncher()
    launcher.setLayout(cloud('one'))
    racks.slow.add('one')
    request = launcher.addRequest('big')
    launcher.runUntil(lambda: racks.instances)
    launcher.writeLayout(ELSEWHERE)
    launcher = makeLauncher()
    launcher.runUntil(lambda: set(racks.instances.values()) == {'two'})
    launcher.runUntil(lambda: isDone(
        launcher.api.getNodesetRequest(request.uuid)))
    node, = launcher.nodes()
    assert node.request_id == request.uuid


def test_record_at_unknown_endpoint_stays_with_a_reason(
        steps, racks, attempts, log):
    """The reason is logged once."""
    steps.setLayout(cloud('one'))
    node = addElsewhere(steps)
    steps.runUntil(lambda: len(attempts) >= 3)
    assert attempts == list(range(len(attempts)))
    assert getReasons(log) == [
        'there is no provider gone any more, nor another one at endpoint '
        'other of connection other']
    assert 'Traceback' not in log.text
    assert node.state == State.USED
    assert racks.deleted == []


@NEVER
def test_nodes_that_can_not_be_deleted_are_not_polled(
        steps, racks, monkeypatch):
    looks = []
    monkeypatch.setattr(termination.NodeTermination, 'delete', (
        lambda self, node, log, delete=termination.NodeTermination.delete:
        looks.append(node.uuid) or delete(self, node, log)))
    steps.setLayout(cloud('one'))
    for state in (State.USED, State.READY):
        addElsewhere(steps, state=state)
    # What comes of it all is seen by the time that others are served.
    steps.serveNew('big')
    steps.serveNew('big')
    assert 2 <= len(looks) <= 6


@NEVER
def test_node_is_deleted_when_its_endpoint_gets_a_provider(
        steps, racks, log):
    """The deletion does not wait for the end of its pause."""
    steps.setLayout(cloud('one'))
    node = addElsewhere(steps)
    steps.runUntil(lambda: getReasons(log))
    steps.setLayout(ELSEWHERE, 'another')
    steps.runUntil(lambda: not steps.nodes())
    assert racks.deleted == [node.uuid]


def test_record_stays_while_its_former_provider_can_not_be_used(
        makeLauncher, racks, monkeypatch, log):
    """The driver may have changed since."""
    launcher = makeLauncher()
    launcher.setLayout(cloud('one'))
    request, (node,) = launcher.serveNew('big')
    launcher.writeLayout(ELSEWHERE)
    good = ShelfDriver.getProvider
    broken = [True]

    def getProvider(driver, zk_client, connection, *args):
        if broken and connection.connection_name == 'rack':
            raise ValueError('no region')
        return good(driver, zk_client, connection, *args)
    monkeypatch.setattr(ShelfDriver, 'getProvider', getProvider)
    launcher = makeLauncher()
    attempts = noteBackoffs(launcher.termination)
    finish(launcher, request)
    launcher.runUntil(lambda: len(attempts) >= 3)
    assert getReasons(log) == [
        "endpoint rack of connection rack cannot be used: "
        "ValueError('no region')"]
    assert node.uuid in racks.instances
    broken.clear()
    launcher.runUntil(lambda: not launcher.nodes())
    assert racks.instances == {}


@pytest.mark.parametrize('data', [b'', b'garbage', b'{}', b'[]'])
def test_record_at_unreadable_place_stays(steps, racks, attempts, log, data):
    steps.setLayout(cloud('one'))
    steps.zk_client.client.create(f'{ROOT}/other/other', data, makepath=True)
    addElsewhere(steps)
    steps.runUntil(lambda: attempts)
    reason, = getReasons(log)
    assert 'endpoint other of connection other cannot be used' in reason
    # Who has a provider there writes it anew.
    steps.setLayout(ELSEWHERE)
    steps.runUntil(lambda: not steps.nodes())
    assert steps.former_providers.find(('other', 'other')).name == 'two'


def test_place_is_written_once_for_all_labels(steps, racks):
    """It is written again when the provider changes."""
    for labels in ('[big]', '[big, other]'):
        for tenant in ('another', 'tenant'):
            steps.setLayout(cloud('one', labels=labels), tenant)
    client = steps.zk_client.client

    def read():
        data, stat = client.get(f'{ROOT}/rack/rack')
        return stat.version, b'launch-attempts":7' in data.replace(b' ', b'')
    assert read() == (0, False)
    steps.setLayout(cloud('one', launch_attempts=7), 'another')
    steps.runUntil(lambda: read() == (1, True))


def test_write_of_a_place_is_retried(steps, racks, monkeypatch):
    good = steps.former_providers._write
    errors = [ConnectionLoss(), ConnectionLoss()]

    def write(*args):
        if errors:
            raise errors.pop()
        good(*args)
    monkeypatch.setattr(steps.former_providers, '_write', write)
    steps.setLayout(cloud('one'))
    # Nobody has to wait for that.
    steps.serveNew('big')
    steps.runUntil(lambda: steps.zk_client.client.exists(
        f'{ROOT}/rack/rack'))
