"""A static node is given out only if it still answers, as what it was."""

import socket
import types

import pytest
from zuul.exceptions import ConnectionTimeoutException
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.settings import change
from tests.fixtures.sshservers import Listener
from tests.fixtures.staticlayouts import checkedStaticNodes
from zuul_nodes.cmd.common import nodechanges
from zuul_nodes.launcher.planner.capacity import END
from zuul_nodes.quickstart import ports

# A scan that gets no answer is repeated at once.
pytestmark = pytest.mark.settings(host_key_retry=0.05)
State = ProviderNode.State


@pytest.fixture
def checks(steps, monkeypatch):
    """:return: a list of the uuids of the machines that are checked."""
    checks = []
    add = steps.host_key_scanner.add

    def note(key, *args):
        kind, node_id = key
        if kind == 'liveness':
            checks.append(node_id)
        return add(key, *args)
    monkeypatch.setattr(steps.host_key_scanner, 'add', note)
    return checks


def waitForReady(launcher, number=1):
    """:return: the nodes that anybody may have, as soon as there are so
        many, and when they have not been scanned for some time."""
    def find():
        return [node for node in launcher.nodes(State.READY)
                if not (node.request_id or node.is_locked)]
    launcher.runUntil(lambda: len(find()) == number)
    for node in launcher.nodes():
        launcher.liveness_check.forget(node.uuid)
    return find()


def test_launcher_checks_static_node_for_each_request(steps, checks, makeHost):
    steps.setLayout(checkedStaticNodes(makeHost().port))
    node, = waitForReady(steps)
    for number in (1, 2):
        request, nodes = steps.serveNew('big')
        assert nodes == [node]
        assert checks == [node.uuid] * number
        finish(steps, request)
        waitForReady(steps)


@pytest.mark.settings(liveness_timeout=3)
def test_launcher_takes_next_static_node_when_one_does_not_answer(
        steps, checks, makeHost, monkeypatch):
    hosts = {host.port: host for host in (makeHost(), makeHost())}
    steps.setLayout(checkedStaticNodes(*hosts))
    waitForReady(steps, 2)
    provider = steps.getProvider('desk')
    first, second = map(
        steps.api.getProviderNode,
        steps.planner.capacity.getFree(provider, 'big', 2, END))
    hosts[first.connection_port].stop()
    # The other one has to answer within this time.
    _, nodes = steps.serveNew('big')
    assert nodes == [second]
    assert checks == [first.uuid, second.uuid]
    assert first.state == State.FAILED
    assert not first.request_id


def test_static_node_that_failed_its_liveness_check_comes_back(
        steps, makeHost, jump, caplog, monkeypatch):
    host = makeHost()
    steps.setLayout(checkedStaticNodes(host.port))
    node, = waitForReady(steps)
    host.stop()
    change(steps.liveness_check, liveness_timeout=0)
    request = steps.addRequest('big')
    steps.runUntilWaiting(request)
    change(steps.liveness_check, liveness_timeout=5)
    reason = f'Timeout connecting to 127.0.0.1 on port {host.port}'
    assert node.state == State.FAILED
    assert reason in node.comment
    assert f'Not using node {node.uuid} at 127.0.0.1' in caplog.text
    host.start()
    # The five minutes that the driver waits are over.
    jump(301)
    steps.runUntil(lambda: isDone(request))
    assert request.nodes == [node.uuid]
    assert node.state == State.READY
    assert node.comment is None


@pytest.mark.parametrize('slots', [1, 2])
def test_static_node_is_tried_again_at_once_by_order(
        steps, makeHost, slots):
    host = makeHost()
    steps.setLayout(checkedStaticNodes(
        host.port, defaults=f'{{boot-timeout: 3, slots: {slots}}}'))
    waitForReady(steps, slots)
    host.stop()
    change(steps.liveness_check, liveness_timeout=0)
    request = steps.addRequest('big')
    steps.runUntilWaiting(request)
    change(steps.liveness_check, liveness_timeout=5)
    # The driver waits with the machine, or with a slot first.
    steps.runUntil(lambda: any(
        node.delete_state_machine for node in steps.nodes(State.FAILED)))
    node, = (node for node in steps.nodes(State.FAILED)
             if not node.main_node_id)
    host.start()
    client = steps.zk_client.client
    record, = (each for each in nodechanges.readNodes(client)
               if each['uuid'] == node.uuid)
    nodechanges.change(client, record, 'recheck')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


@pytest.mark.parametrize('known', [False, True])
def test_liveness_check_fails_static_node_with_changed_host_key(
        steps, makeHost, jump, known):
    """Without a configured host key, the machine may have a new one after
    that, but not in a job that has been told of the old one."""
    host = makeHost()
    steps.setLayout(checkedStaticNodes(host.port, **(
        {'host_key': host.key.line} if known else {})))
    node, = waitForReady(steps)
    host.stop()
    other = makeHost(host.port)
    request = steps.addRequest('big')
    steps.runUntilWaiting(request)
    assert node.state == State.FAILED
    assert node.comment == (
        f'expected the host key ssh-ed25519 {host.key.fingerprint}; '
        f'found ssh-ed25519 {other.key.fingerprint}')
    assert node.host_keys == [host.key.recorded]
    jump(301)
    if known:
        steps.runUntil(lambda: node.state == State.REBUILDING)
        steps.runUntil(lambda: node.state == State.FAILED)
        assert not isDone(request)
        return
    steps.runUntil(lambda: isDone(request))
    assert node.host_keys == [other.key.recorded]


@pytest.mark.settings(liveness_timeout=30)
def test_liveness_check_is_retried_until_its_timeout(
        steps, makeHost, monkeypatch):
    host = makeHost()
    steps.setLayout(checkedStaticNodes(host.port))
    node, = waitForReady(steps)
    host.stop()
    request = steps.addRequest('big')
    steps.runUntil(steps.host_key_scanner.length)
    host.start()
    steps.runUntil(lambda: isDone(request))
    assert request.nodes == [node.uuid]


def test_liveness_check_without_ssh_needs_a_connection_only(
        steps, checks, monkeypatch):
    listener = Listener()
    steps.setLayout(checkedStaticNodes(listener.port, connection_type='winrm'))
    node, = waitForReady(steps)
    request, nodes = steps.serveNew('big')
    assert nodes == [node]
    assert checks == [node.uuid]
    finish(steps, request)
    waitForReady(steps)
    listener.close()
    change(steps.liveness_check, liveness_timeout=0)
    steps.runUntilWaiting(steps.addRequest('big'))
    assert node.state == State.FAILED


def test_liveness_check_is_made_once_for_all_slots_of_a_machine(
        steps, checks, makeHost, monkeypatch):
    host = makeHost()
    steps.setLayout(checkedStaticNodes(host.port, defaults='{slots: 2}'))
    waitForReady(steps, 2)
    machine, = steps.nodes(State.SLOT_HOST)
    requests = [steps.addRequest('big') for _ in range(2)]
    steps.runUntil(lambda: all(map(isDone, requests)))
    assert checks == [machine.uuid]
    finish(steps, requests[0])
    waitForReady(steps)
    host.stop()
    change(steps.liveness_check, liveness_timeout=0)
    waiting = steps.addRequest('big')
    steps.runUntilWaiting(waiting)
    change(steps.liveness_check, liveness_timeout=5)
    used = steps.api.getProviderNode(requests[1].nodes[0])
    assert machine.state == State.FAILED
    assert 'Timeout' in machine.comment
    # The job that is on it stays to the end.
    steps.runUntil(lambda: steps.nodes(State.READY) == [used])
    finish(steps, requests[1])
    host.start()
    steps.runUntil(lambda: isDone(waiting))
    waitForReady(steps)
    assert len(steps.nodes()) == 3


def test_no_liveness_check_without_host_key_checking(steps, checks):
    steps.setLayout(checkedStaticNodes(
        ports.freePort(), host_key_checking=False))
    steps.serveNew('big')
    assert checks == []


def test_no_liveness_check_of_cloud_nodes(steps, racks, checks):
    """They are made shortly before they are used."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        steps.setLayout(cloud('one').replace(
            'labels: [big, other]', 'labels: [{name: big, min-ready: 1}]'))
        waitForReady(steps)
        for node in steps.nodes():
            node._set(host_key_checking=True,
                      connection_port=server.getsockname()[1])
        steps.serveNew('big')
    assert checks == []


@pytest.mark.settings(liveness_memory=3600)
def test_no_liveness_check_soon_after_host_key_scan(
        steps, checks, makeHost, monkeypatch):
    steps.setLayout(checkedStaticNodes(makeHost().port))
    for _ in range(2):
        request, (node,) = steps.serveNew('big')
        finish(steps, request)
        steps.runUntil(lambda node=node: not node.request_id)
    assert checks == []


@pytest.mark.settings(liveness_timeout=30)
def test_liveness_check_serves_next_request_when_the_first_is_deleted(
        steps, makeHost, monkeypatch):
    host = makeHost()
    steps.setLayout(checkedStaticNodes(host.port))
    node, = waitForReady(steps)
    host.stop()
    request = steps.addRequest('big')
    steps.runUntil(steps.host_key_scanner.length)
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(
        lambda: not steps.api.getNodesetRequest(request.uuid))
    other = steps.addRequest('big')
    steps.runUntil(steps.queue.isIdle)
    host.start()
    steps.runUntil(lambda: isDone(other))
    assert other.nodes == [node.uuid]


def test_failed_liveness_check_does_not_concern_renewed_node(
        steps, makeHost, monkeypatch):
    """The check has begun before the node was renewed."""
    host = makeHost()
    steps.setLayout(checkedStaticNodes(host.port))
    node, = waitForReady(steps)
    scan = None

    def add(key, node, log, request_class):
        nonlocal scan
        scan = types.SimpleNamespace(
            complete=False, node=node, log=log, result=fail,
            host_key_checking=True, gather_hostkeys=True)
        return scan

    def fail():
        raise ConnectionTimeoutException

    with monkeypatch.context() as context:
        context.setattr(steps.host_key_scanner, 'add', add)
        request = steps.addRequest('big')
        steps.runUntil(lambda: scan)
    steps.setLayout(checkedStaticNodes(host.port, python_path='/opt/python'))
    steps.runUntil(lambda: node.python_path == '/opt/python')
    waitForReady(steps)
    scan.complete = True
    steps.queue.add(('liveness', node.uuid))
    steps.runUntil(lambda: isDone(request))
    assert request.nodes == [node.uuid]
    assert node.comment is None


@pytest.mark.parametrize('connection_type', ['psrp', 'netconf', 'httpapi'])
def test_launcher_only_connects_to_a_node_without_ssh(
        steps, checks, listen, connection_type):
    listener = listen()
    steps.setLayout(checkedStaticNodes(
        listener.port, connection_type=connection_type))
    node, = waitForReady(steps)
    _, nodes = steps.serveNew('big')
    assert nodes == [node]
    assert checks == [node.uuid]
    assert node.host_keys == []
    # It is connected to before it is ready, and once more.
    listener.accept(2)
    assert listener.isQuiet()


def test_launcher_does_not_connect_to_a_local_node(steps, checks, listen):
    listener = listen()
    steps.setLayout(checkedStaticNodes(
        listener.port, connection_type='local'))
    node, = waitForReady(steps)
    _, nodes = steps.serveNew('big')
    assert nodes == [node]
    assert node.connection_type == 'local'
    assert not node.connection_port
    assert listener.isQuiet()


@pytest.mark.settings(liveness_timeout=3, reclaim_interval=0.05)
def test_large_request_keeps_nothing_idle_while_a_machine_is_dead(
        steps, makeHost, jump):
    """It is served when the machine answers again."""
    hosts = [makeHost(), makeHost()]
    steps.setLayout(checkedStaticNodes(*(host.port for host in hosts)))
    waitForReady(steps, 2)
    running, (used,) = steps.serveNew('big')
    dead, = (host for host in hosts if host.port != used.connection_port)
    dead.stop()
    failed, = (node for node in steps.nodes() if node is not used)
    # It is found out by a request, which waits for the other machine then.
    first = steps.addRequest('big')
    steps.runUntil(lambda: failed.state == State.FAILED)
    finish(steps, running)
    steps.serve(first)
    large, small = steps.addRequest('big', 'big'), steps.addRequest('big')
    finish(steps, first)
    steps.runUntil(lambda: not used.request_id and used.state == State.READY)
    steps.runUntilWaiting(large, small)
    change(steps.reclaim, leaving_time=0)
    steps.runUntil(lambda: isDone(small))
    assert not isDone(large)
    assert '1 on hold or not answering' in (
        steps.planner.getReason(large.uuid))
    finish(steps, small)
    dead.start()
    jump(301)
    assert set(steps.serve(large)) == {used, failed}
