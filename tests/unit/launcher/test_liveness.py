"""A static node is given out only if it still answers, as what it was."""

import os
import socket
import types

import pytest
from zuul.exceptions import ConnectionTimeoutException
from zuul.model import ProviderNode

from tests.fixtures.hostkeys import HostKey
from tests.fixtures.racks import cloud, finish, isDone
from tests.unit.launcher.test_keyscan import Listener
from zuul_nodes.launcher import keyscan, liveness
from zuul_nodes.launcher.ledger import END
from zuul_nodes.quickstart import leftovers, ports
from zuul_nodes.quickstart.sshd import SSHD, SSHKeys

State = ProviderNode.State

DESK = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: local}}
- label: {{name: big, image: debian, flavor: local}}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [local]
    nodes: {nodes}
- provider:
    name: desk
    section: desk
    label-defaults: {defaults}
    labels: [big]
'''


def desk(*port_numbers, defaults='{boot-timeout: 30}', **attributes):
    """:return: configuration: a machine at each port of this one."""
    attributes = {key.replace('_', '-'): value
                  for key, value in attributes.items()}
    return DESK.format(defaults=defaults, nodes=[
        {'name': '127.0.0.1', 'connection-port': port, 'username': 'zuul',
         'label': 'big', **attributes} for port in port_numbers])


@pytest.fixture
def makeHost(tmp_path):
    """:return: a function that gives a real sshd, which has one key; and
        what it shows.  A port can be given."""
    hosts = []

    def make(port=None):
        directory = tmp_path / f'host-{len(hosts)}'
        keys = SSHKeys(directory)
        sshd = SSHD(directory / 'config', keys, port or ports.freePort(),
                    {**os.environ, leftovers.VARIABLE: str(tmp_path)},
                    directory / 'log')
        hosts.append(sshd)
        sshd.start()
        sshd.key = HostKey(keys.host_key)
        return sshd
    yield make
    for sshd in hosts:
        sshd.stop()


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(keyscan, 'RETRY', 0.05)


@pytest.fixture
def checks(steps, monkeypatch):
    """:return: a list of the uuids of the machines that are checked."""
    checks = []
    add = steps.scanner.add

    def note(key, *args):
        kind, node_id = key
        if kind == 'liveness':
            checks.append(node_id)
        return add(key, *args)
    monkeypatch.setattr(steps.scanner, 'add', note)
    return checks


def waitForReady(launcher, number=1):
    """:return: the nodes that anybody may have, as soon as there are so
        many, and when they have not been scanned for some time."""
    def find():
        return [node for node in launcher.nodes(State.READY)
                if not (node.request_id or node.is_locked)]
    launcher.runUntil(lambda: len(find()) == number)
    for node in launcher.nodes():
        launcher.liveness.forget(node.uuid)
    return find()


def serve(launcher, *labels):
    """:return: a request, and its nodes."""
    request = launcher.addRequest(*labels)
    return request, launcher.serve(request)


def waitInVain(launcher, *requests):
    """Run until nothing is left for requests but to wait."""
    launcher.runUntil(lambda: all(
        launcher.planner.getReason(request.uuid) for request in requests))
    assert not any(map(isDone, requests))


def test_one_that_answers(steps, checks, makeHost):
    steps.setLayout(desk(makeHost().port))
    node, = waitForReady(steps)
    for number in (1, 2):
        request, nodes = serve(steps, 'big')
        assert nodes == [node]
        assert checks == [node.uuid] * number
        finish(steps, request)
        waitForReady(steps)


def test_another_one_is_taken(steps, checks, makeHost, monkeypatch):
    hosts = {host.port: host for host in (makeHost(), makeHost())}
    steps.setLayout(desk(*hosts))
    waitForReady(steps, 2)
    provider = steps.getProvider('desk')
    first, second = map(steps.api.getProviderNode,
                        steps.planner.ledger.getFree(provider, 'big', 2, END))
    hosts[first.connection_port].stop()
    # The other one has to answer within this time.
    monkeypatch.setattr(liveness, 'TIMEOUT', 3)
    _, nodes = serve(steps, 'big')
    assert nodes == [second]
    assert checks == [first.uuid, second.uuid]
    assert first.state == State.FAILED
    assert not first.request_id


def test_it_comes_back(steps, makeHost, jump, caplog, monkeypatch):
    host = makeHost()
    steps.setLayout(desk(host.port))
    node, = waitForReady(steps)
    host.stop()
    with monkeypatch.context() as context:
        context.setattr(liveness, 'TIMEOUT', 0)
        request = steps.addRequest('big')
        waitInVain(steps, request)
    reason = f'Timeout connecting to 127.0.0.1 on port {host.port}'
    assert node.state == State.FAILED
    assert reason in node.comment
    assert f'The node {node.uuid} at 127.0.0.1' in caplog.text
    host.start()
    # The five minutes that the driver waits are over.
    jump(301)
    steps.runUntil(lambda: isDone(request))
    assert request.nodes == [node.uuid]
    assert node.state == State.READY
    assert node.comment is None


@pytest.mark.parametrize('known', [False, True])
def test_another_key(steps, makeHost, jump, known):
    """Where the configuration has none, the machine may have a new one,
    but not in a job that has been told of the old one."""
    host = makeHost()
    steps.setLayout(desk(host.port, **(
        {'host_key': host.key.line} if known else {})))
    node, = waitForReady(steps)
    host.stop()
    other = makeHost(host.port)
    request = steps.addRequest('big')
    waitInVain(steps, request)
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


def test_it_answers_too_late(steps, makeHost, monkeypatch):
    """As long as it has time, it is tried again."""
    host = makeHost()
    steps.setLayout(desk(host.port))
    node, = waitForReady(steps)
    host.stop()
    monkeypatch.setattr(liveness, 'TIMEOUT', 30)
    request = steps.addRequest('big')
    steps.runUntil(steps.scanner.length)
    host.start()
    steps.runUntil(lambda: isDone(request))
    assert request.nodes == [node.uuid]


def test_no_ssh(steps, checks, monkeypatch):
    """It has to accept a connection, no more."""
    listener = Listener()
    steps.setLayout(desk(listener.port, connection_type='winrm'))
    node, = waitForReady(steps)
    request, nodes = serve(steps, 'big')
    assert nodes == [node]
    assert checks == [node.uuid]
    finish(steps, request)
    waitForReady(steps)
    listener.close()
    monkeypatch.setattr(liveness, 'TIMEOUT', 0)
    waitInVain(steps, steps.addRequest('big'))
    assert node.state == State.FAILED


def test_slots(steps, checks, makeHost, monkeypatch):
    """The machine is asked once for all who want it."""
    host = makeHost()
    steps.setLayout(desk(host.port, defaults='{slots: 2}'))
    waitForReady(steps, 2)
    machine, = steps.nodes(State.SLOT_HOST)
    requests = [steps.addRequest('big') for _ in range(2)]
    steps.runUntil(lambda: all(map(isDone, requests)))
    assert checks == [machine.uuid]
    finish(steps, requests[0])
    waitForReady(steps)
    host.stop()
    with monkeypatch.context() as context:
        context.setattr(liveness, 'TIMEOUT', 0)
        waiting = steps.addRequest('big')
        waitInVain(steps, waiting)
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


def test_those_that_are_not_scanned(steps, checks):
    steps.setLayout(desk(ports.freePort(), host_key_checking=False))
    serve(steps, 'big')
    assert checks == []


def test_those_of_clouds(steps, racks, checks):
    """They are made to be used at once."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        steps.setLayout(cloud('one').replace(
            'labels: [big, other]', 'labels: [{name: big, min-ready: 1}]'))
        waitForReady(steps)
        for node in steps.nodes():
            node._set(host_key_checking=True,
                      connection_port=server.getsockname()[1])
        serve(steps, 'big')
    assert checks == []


def test_scanned_just_now(steps, checks, makeHost, monkeypatch):
    monkeypatch.setattr(liveness, 'RECENT', 3600)
    steps.setLayout(desk(makeHost().port))
    for _ in range(2):
        request, (node,) = serve(steps, 'big')
        finish(steps, request)
        steps.runUntil(lambda node=node: not node.request_id)
    assert checks == []


def test_the_request_is_gone_meanwhile(steps, makeHost, monkeypatch):
    host = makeHost()
    steps.setLayout(desk(host.port))
    node, = waitForReady(steps)
    host.stop()
    monkeypatch.setattr(liveness, 'TIMEOUT', 30)
    request = steps.addRequest('big')
    steps.runUntil(steps.scanner.length)
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(
        lambda: not steps.api.getNodesetRequest(request.uuid))
    other = steps.addRequest('big')
    steps.runUntil(steps.queue.isIdle)
    host.start()
    steps.runUntil(lambda: isDone(other))
    assert other.nodes == [node.uuid]


def test_the_node_is_renewed_meanwhile(steps, makeHost, monkeypatch):
    """What a check finds is said of the node as it was."""
    host = makeHost()
    steps.setLayout(desk(host.port))
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
        context.setattr(steps.scanner, 'add', add)
        request = steps.addRequest('big')
        steps.runUntil(lambda: scan)
    steps.setLayout(desk(host.port, python_path='/opt/python'))
    steps.runUntil(lambda: node.python_path == '/opt/python')
    waitForReady(steps)
    scan.complete = True
    steps.queue.add(('liveness', node.uuid))
    steps.runUntil(lambda: isDone(request))
    assert request.nodes == [node.uuid]
    assert node.comment is None
