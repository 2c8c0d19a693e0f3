"""A node that shows other host keys than are known of it is not used."""

import types

import pytest
from zuul.driver.static import staticendpoint
from zuul.model import ProviderNode

from tests.fixtures.hostkeys import HostKey
from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.shelf.shelf_maker import ShelfInstance, ShelfProvider
from tests.unit.launcher.test_registration import desk, giveBack, use

State = ProviderNode.State


@pytest.fixture(scope='module')
def keys(tmp_path_factory):
    directory = tmp_path_factory.mktemp('keys')
    return [HostKey(directory / name) for name in ('first', 'second')]


@pytest.fixture
def expect(monkeypatch):
    """:return: a function that says which host keys are known of an
        instance when it is made."""
    return lambda *keys: monkeypatch.setattr(
        ShelfInstance, 'host_keys', [key.recorded for key in keys],
        raising=False)


@pytest.fixture
def shown(steps, monkeypatch):
    """:return: a list of the host keys that scans find from now on."""
    shown = []

    def add(key, node, log):
        return makeScan(log, shown)
    monkeypatch.setattr(steps.scanner, 'add', add)
    return shown


def makeScan(log, keys, complete=True):
    """:return: a scan that has found these host keys."""
    found = [key.recorded for key in keys]
    return types.SimpleNamespace(
        complete=complete, host_key_checking=True, gather_hostkeys=True,
        log=log, result=lambda: found)


def scanned(text):
    return text.replace('host-key-checking: false', 'host-key-checking: true')


def expecting(key, slots):
    """:return: configuration: a machine that has to show that key."""
    return scanned(desk(slots=slots)).replace(
        'python-path:', f'host-key: {key.recorded}\n        python-path:')


def serve(launcher, *labels):
    """:return: a request, and its nodes."""
    request = launcher.addRequest(*labels)
    return request, launcher.serve(request)


def isFree(node):
    return node.state == State.READY and not node.request_id


@pytest.mark.parametrize('slots', ['', 'slots: 2,'], ids=['node', 'slots'])
def test_what_is_expected(steps, racks, shown, expect, keys, slots):
    """No other key is believed, whatever else the machine shows."""
    steps.setLayout(scanned(
        cloud('one').replace('name: big,', f'name: big, {slots}')))
    expect(keys[0])
    shown[:] = keys
    _, (node,) = serve(steps, 'big')
    assert node.host_keys == [keys[0].recorded]


def test_nothing_is_expected(steps, racks, shown, keys):
    steps.setLayout(scanned(cloud('one')))
    shown[:] = keys
    _, (node,) = serve(steps, 'big')
    assert node.host_keys == [key.recorded for key in keys]


@pytest.mark.parametrize('slots', ['', 'slots: 2,'], ids=['node', 'slots'])
def test_a_new_node_that_shows_another(
        steps, racks, shown, expect, keys, slots, caplog):
    """It counts as an attempt, and the machine goes."""
    steps.setLayout(scanned(cloud('one', launch_attempts=2).replace(
        'name: big,', f'name: big, {slots}')))
    expect(keys[0])
    shown[:] = [keys[1]]
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert racks.created == ['one', 'one']
    reason = (f'expected the host key ssh-ed25519 {keys[0].fingerprint}; '
              f'found ssh-ed25519 {keys[1].fingerprint}')
    node = steps.api.getProviderNode(request.nodes[0])
    assert node.comment == reason
    assert 'is not used: ' + reason in caplog.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_the_next_one_shows_the_right_one(
        steps, racks, shown, expect, keys):
    steps.setLayout(scanned(cloud('one', launch_attempts=2)))
    expect(keys[0])
    shown[:] = [keys[1]]
    request = steps.addRequest('big')
    steps.runUntil(lambda: len(racks.created) == 2)
    shown[:] = [keys[0]]
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    steps.runUntil(lambda: len(racks.instances) == 1)


def test_a_used_node_that_shows_another(steps, racks, shown, keys, caplog):
    """Somebody may have taken its place meanwhile."""
    steps.setLayout(scanned(cloud('one')).replace(
        'name: big,', 'name: big, reuse: true,'))
    shown[:] = [keys[0]]
    request, (node,) = serve(steps, 'big')
    finish(steps, request)
    steps.runUntil(lambda: isFree(node))
    request, nodes = serve(steps, 'big')
    assert nodes == [node]
    assert node.host_keys == [keys[0].recorded]
    shown[:] = [keys[1]]
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}
    assert f'found ssh-ed25519 {keys[1].fingerprint}' in caplog.text


def test_a_used_slot_that_shows_another(
        steps, racks, shown, keys, monkeypatch):
    """Nobody gets its machine any more, and that goes when the last of its
    slots is given back; whatever the driver thinks of reuse."""
    monkeypatch.setattr(ShelfProvider, 'canReuseNode', lambda *args: True)
    steps.setLayout(scanned(cloud('one')).replace(
        'name: big,', 'name: big, slots: 3, reuse: true,'))
    shown[:] = [keys[0]]
    first, (bad,) = serve(steps, 'big')
    second, (used,) = serve(steps, 'big')
    spare, = (node for node in steps.nodes(State.READY)
              if not node.request_id)
    host, = steps.nodes(State.SLOT_HOST)
    assert {bad.main_node_id, used.main_node_id, spare.main_node_id} == {
        host.uuid}
    shown[:] = [keys[1]]
    finish(steps, first)
    steps.runUntil(lambda: steps.nodes() == [used, host]
                   or steps.nodes() == [host, used])
    assert host.state == State.FAILED
    assert f'found ssh-ed25519 {keys[1].fingerprint}' in bad.comment
    assert used.state == State.READY and used.request_id == second.uuid
    assert list(racks.instances) == [host.uuid]
    shown[:] = [keys[0]]
    third, (other,) = serve(steps, 'big')
    assert other.main_node_id != host.uuid
    # Though it would show the right one again.
    finish(steps, second)
    steps.runUntil(lambda: list(racks.instances) == [other.main_node_id])
    assert not used.comment
    finish(steps, third)
    steps.runUntil(lambda: isFree(other))


@pytest.mark.parametrize('slots', [1, 2])
def test_a_static_node_that_shows_another(
        steps, shown, keys, slots, monkeypatch):
    """It does not come back before it shows what is configured."""
    steps.setLayout(expecting(keys[0], slots=slots))
    shown[:] = [keys[1]]
    steps.runUntil(lambda: any(
        node.comment and keys[1].fingerprint in node.comment
        for node in steps.nodes()))
    assert not steps.nodes(State.READY)
    shown[:] = [keys[0]]
    waitForAll(steps, slots, monkeypatch)


@pytest.mark.parametrize('slots', [1, 2])
def test_a_static_node_that_shows_another_while_a_request_waits(
        steps, shown, keys, slots, monkeypatch):
    steps.setLayout(expecting(keys[0], slots=slots))
    shown[:] = [keys[1]]
    request = steps.addRequest('big')
    steps.runUntil(lambda: steps.nodes() and all(
        node.state == State.FAILED for node in steps.nodes()))
    steps.run()
    assert request.state == request.State.REQUESTED
    shown[:] = [keys[0]]
    renew(steps, monkeypatch)
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED
    # Nobody has got the other slot.
    steps.runUntil(lambda: sum(map(isFree, steps.nodes())) == slots - 1)


def renew(launcher, monkeypatch):
    """The time is over for which a machine that has failed is left alone."""
    monkeypatch.setattr(staticendpoint, 'DELETE_RECYCLE_TIME', 0)
    for node in launcher.nodes():
        launcher.queue.add(('node', node.uuid))


def waitForAll(launcher, slots, monkeypatch):
    """Wait until a static node is what it was, and of use."""
    renew(launcher, monkeypatch)
    launcher.runUntil(
        lambda: sum(map(isFree, launcher.nodes())) == slots
        and len(launcher.nodes()) == (slots if slots == 1 else slots + 1))
    serve(launcher, *['big'] * slots)


def test_a_static_slot_that_failed_when_its_launcher_died(
        steps, shown, keys, monkeypatch):
    """The machine is looked at as if it were new; nothing goes in circles
    until then."""
    steps.setLayout(scanned(desk(slots=2)))
    shown[:] = [keys[0]]
    steps.runUntil(lambda: sum(map(isFree, steps.nodes())) == 2)
    bad, _ = filter(isFree, steps.nodes())
    host, = steps.nodes(State.SLOT_HOST)
    looks = []
    lookAt = steps.handlers['node']
    monkeypatch.setitem(steps.handlers, 'node', lambda node_id: (
        looks.append(node_id), lookAt(node_id)))
    with steps.context() as context:
        bad.updateAttributes(context, state=State.FAILED)
    monkeypatch.setattr(staticendpoint, 'DELETE_RECYCLE_TIME', 0)
    steps.runUntil(lambda: host.state == State.REBUILDING)
    waitForAll(steps, 2, monkeypatch)
    assert len(looks) < 100


def test_a_static_slot_that_shows_another_after_use(
        steps, shown, keys, monkeypatch):
    """The others stay as long as they are used; then the machine is looked
    at as if it were new."""
    steps.setLayout(expecting(keys[0], slots=2))
    shown[:] = [keys[0]]
    steps.runUntil(lambda: sum(map(isFree, steps.nodes())) == 2)
    first, (bad,) = serve(steps, 'big')
    second, (used,) = serve(steps, 'big')
    shown[:] = [keys[1]]
    finish(steps, first)
    steps.runUntil(lambda: bad.state == State.FAILED
                   and steps.nodes(State.FAILED) != [bad])
    assert used.state == State.READY and used.request_id == second.uuid
    shown[:] = [keys[0]]
    finish(steps, second)
    steps.runUntil(lambda: used not in steps.nodes())
    waitForAll(steps, 2, monkeypatch)


@pytest.mark.parametrize('slots', [1, 2])
def test_a_static_node_that_shows_another_after_use(
        steps, shown, keys, slots, monkeypatch):
    steps.setLayout(expecting(keys[0], slots=slots))
    shown[:] = [keys[0]]
    steps.runUntil(lambda: any(map(isFree, steps.nodes())))
    request, (node,) = serve(steps, 'big')
    assert node.host_keys == [keys[0].recorded]
    shown[:] = [keys[1]]
    finish(steps, request)
    steps.runUntil(lambda: node.comment
                   and keys[1].fingerprint in node.comment)
    steps.runUntil(lambda: not steps.nodes(State.READY, State.SLOT_HOST))
    shown[:] = [keys[0]]
    waitForAll(steps, slots, monkeypatch)


def test_a_machine_that_begins_anew_while_it_is_asked(
        steps, monkeypatch, keys):
    """It does not answer after a job, and the configuration changes."""
    scans = []

    def add(key, node, log):
        scans.append(makeScan(log, keys[:1], complete=len(scans) != 1))
        return scans[-1]
    monkeypatch.setattr(steps.scanner, 'add', add)
    steps.setLayout(scanned(desk()))
    steps.runUntil(lambda: any(map(isFree, steps.nodes())))
    giveBack(steps, use(steps, 'big'))
    steps.runUntil(lambda: len(scans) == 2)
    steps.setLayout(scanned(desk(label='other')))
    steps.runUntil(lambda: [node.label for node in filter(
        isFree, steps.nodes())] == ['other'])
    assert len(scans) == 3
