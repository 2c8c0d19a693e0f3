"""A node that shows other host keys than are known of it is not used."""

import types

import pytest
from zuul.driver.static import staticendpoint
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud, finish, isDone
from tests.fixtures.shelf.shelf_maker import ShelfInstance, ShelfProvider
from tests.fixtures.staticlayouts import giveBack, oneStaticNode, use

State = ProviderNode.State


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
    monkeypatch.setattr(steps.host_key_scanner, 'add', add)
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
    return scanned(oneStaticNode(slots=slots)).replace(
        'python-path:', f'host-key: {key.recorded}\n        python-path:')


def isFree(node):
    return node.state == State.READY and not node.request_id


@pytest.mark.parametrize('slots', ['', 'slots: 2,'], ids=['node', 'slots'])
def test_node_has_only_the_host_key_that_is_expected(
        steps, racks, shown, expect, keys, slots):
    """Whatever other host keys the machine shows."""
    steps.setLayout(scanned(
        cloud('one').replace('name: big,', f'name: big, {slots}')))
    expect(keys[0])
    shown[:] = keys
    _, (node,) = steps.serveNew('big')
    assert node.host_keys == [keys[0].recorded]


def test_node_has_all_host_keys_when_none_is_expected(
        steps, racks, shown, keys):
    steps.setLayout(scanned(cloud('one')))
    shown[:] = keys
    _, (node,) = steps.serveNew('big')
    assert node.host_keys == [key.recorded for key in keys]


@pytest.mark.parametrize('slots', ['', 'slots: 2,'], ids=['node', 'slots'])
def test_launcher_fails_new_node_that_shows_another_host_key(
        steps, racks, shown, expect, keys, slots, caplog):
    """That counts as an attempt, and the machine is deleted."""
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
    assert ': ' + reason in caplog.text
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_launcher_retries_when_a_node_shows_another_host_key(
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


def test_launcher_deletes_used_node_that_shows_another_host_key(
        steps, racks, shown, keys, caplog):
    """Another machine may have its address now."""
    steps.setLayout(scanned(cloud('one')).replace(
        'name: big,', 'name: big, reuse: true,'))
    shown[:] = [keys[0]]
    request, (node,) = steps.serveNew('big')
    finish(steps, request)
    steps.runUntil(lambda: isFree(node))
    request, nodes = steps.serveNew('big')
    assert nodes == [node]
    assert node.host_keys == [keys[0].recorded]
    shown[:] = [keys[1]]
    finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}
    assert f'found ssh-ed25519 {keys[1].fingerprint}' in caplog.text


def test_launcher_retires_machine_when_used_slot_shows_another_key(
        steps, racks, shown, keys, monkeypatch):
    """The machine serves no more requests, and is deleted when its last slot
    is given back, even if the driver would reuse it."""
    monkeypatch.setattr(ShelfProvider, 'canReuseNode', lambda *args: True)
    steps.setLayout(scanned(cloud('one')).replace(
        'name: big,', 'name: big, slots: 3, reuse: true,'))
    shown[:] = [keys[0]]
    first, (bad,) = steps.serveNew('big')
    second, (used,) = steps.serveNew('big')
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
    third, (other,) = steps.serveNew('big')
    assert other.main_node_id != host.uuid
    # Though it would show the right one again.
    finish(steps, second)
    steps.runUntil(lambda: list(racks.instances) == [other.main_node_id])
    assert not used.comment
    finish(steps, third)
    steps.runUntil(lambda: isFree(other))


@pytest.mark.parametrize('slots', [1, 2])
def test_static_node_that_shows_another_host_key_is_not_ready(
        steps, shown, keys, slots, monkeypatch):
    """It becomes ready when it shows the host key that is configured."""
    shown[:] = [keys[1]]
    steps.setLayout(expecting(keys[0], slots=slots))
    steps.runUntil(lambda: any(
        node.comment and keys[1].fingerprint in node.comment
        for node in steps.nodes()))
    assert not steps.nodes(State.READY)
    shown[:] = [keys[0]]
    waitForAll(steps, slots, monkeypatch)


@pytest.mark.parametrize('slots', [1, 2])
def test_request_waits_for_static_node_to_show_its_host_key(
        steps, shown, keys, slots, monkeypatch):
    shown[:] = [keys[1]]
    steps.setLayout(expecting(keys[0], slots=slots))
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
    launcher.serveNew(*['big'] * slots)


def test_machine_of_failed_static_slot_is_renewed_after_launcher_died(
        steps, shown, keys, monkeypatch):
    """The machine is scanned like a new one, and not polled until then."""
    shown[:] = [keys[0]]
    steps.setLayout(scanned(oneStaticNode(slots=2)))
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


def test_static_machine_is_renewed_when_used_slot_shows_another_key(
        steps, shown, keys, monkeypatch):
    """The other slots stay as long as they are used; then the machine is
    scanned like a new one."""
    shown[:] = [keys[0]]
    steps.setLayout(expecting(keys[0], slots=2))
    steps.runUntil(lambda: sum(map(isFree, steps.nodes())) == 2)
    first, (bad,) = steps.serveNew('big')
    second, (used,) = steps.serveNew('big')
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
def test_used_static_node_that_shows_another_host_key_is_not_ready(
        steps, shown, keys, slots, monkeypatch):
    shown[:] = [keys[0]]
    steps.setLayout(expecting(keys[0], slots=slots))
    steps.runUntil(lambda: any(map(isFree, steps.nodes())))
    request, (node,) = steps.serveNew('big')
    assert node.host_keys == [keys[0].recorded]
    shown[:] = [keys[1]]
    finish(steps, request)
    steps.runUntil(lambda: node.comment
                   and keys[1].fingerprint in node.comment)
    steps.runUntil(lambda: not steps.nodes(State.READY, State.SLOT_HOST))
    shown[:] = [keys[0]]
    waitForAll(steps, slots, monkeypatch)


def test_changed_configuration_restarts_host_key_scan(
        steps, monkeypatch, keys):
    """The machine does not answer the scan after a job."""
    scans = []

    def add(key, node, log):
        scans.append(makeScan(log, keys[:1], complete=len(scans) != 1))
        return scans[-1]
    monkeypatch.setattr(steps.host_key_scanner, 'add', add)
    steps.setLayout(scanned(oneStaticNode()))
    steps.runUntil(lambda: any(map(isFree, steps.nodes())))
    giveBack(steps, use(steps, 'big'))
    steps.runUntil(lambda: len(scans) == 2)
    steps.setLayout(scanned(oneStaticNode(label='other')))
    steps.runUntil(lambda: [node.label for node in filter(
        isFree, steps.nodes())] == ['other'])
    assert len(scans) == 3
