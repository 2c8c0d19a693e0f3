"""Launchers that die while they check nodes, and several of them."""

import contextlib

import pytest
from zuul.driver.static import staticendpoint
from zuul.model import ProviderNode

from tests.fixtures.crash import (
    NODE_LOCKS,
    NODES,
    REQUEST_LOCKS,
    REQUESTS,
    crashEverywhere,
)
from tests.fixtures.fuse import Killed
from tests.fixtures.racks import isDone
from tests.fixtures.staticlayouts import checkedStaticNodes

State = ProviderNode.State

pytestmark = pytest.mark.crash


def forget(launcher):
    """No node has been scanned for some time."""
    for node in launcher.nodes():
        launcher.liveness_check.forget(node.uuid)


@pytest.mark.settings(liveness_timeout=30)
@pytest.mark.parametrize('standby', [False, True])
def test_launcher_killed_during_liveness_check_leaves_nothing_behind(
        makeWorld, makeHost, undivided, standby, monkeypatch):
    host = makeHost()
    world = makeWorld(checkedStaticNodes(host.port), ready=1)
    if standby:
        world.setStandby()
    forget(world.launcher)
    host.stop()
    request_id = world.addRequest('big')
    world.runUntil(world.launcher.host_key_scanner.length, lambda: 'no check')
    node_id, = world.list(NODES)
    node = world.readNode(node_id)
    assert (node.state, node.request_id) == (State.READY, None)
    assert not world.list(f'{NODE_LOCKS}/{node_id}')
    assert not world.list(f'{REQUEST_LOCKS}/{request_id}')
    assert world.list(REQUESTS) == [request_id]
    world.launcher.fuse.arm(1)
    with contextlib.suppress(Killed):
        world.launcher.fuse.reach('a check', lambda: None)
    host.start()
    world.use(world.waitFulfilled(request_id))
    world.rest(ready=1)
    assert world.deaths == 1
    assert not world.problems


@pytest.mark.seconds(90)
@pytest.mark.settings(host_key_retry=0.02, liveness_timeout=0)
def test_launcher_killed_at_any_point_of_a_failed_liveness_check(
        makeWorld, makeHost, undivided, monkeypatch):
    """The static node fails, and comes back."""
    monkeypatch.setattr(staticendpoint, 'DELETE_RECYCLE_TIME', 0)
    host = makeHost()

    def live(world):
        for launcher in world.launchers:
            forget(launcher)
        host.stop()
        request_id = world.addRequest('big')
        world.runUntil(
            lambda: world.readNodes()[0].state != State.READY,
            world.describeNodes)
        host.start()
        world.use(world.waitFulfilled(request_id))
        world.rest(ready=1)

    points, failures = crashEverywhere(
        lambda: makeWorld(checkedStaticNodes(host.port), ready=1), live)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    assert len(points) >= 5


@pytest.mark.parametrize('tenants', [('one', 'two'), ('one', 'one')])
def test_launchers_check_static_node_for_one_request_at_a_time(
        pair, makeHost, tenants):
    """Two launchers check the same node for different requests."""
    text = checkedStaticNodes(makeHost().port)
    for tenant in set(tenants):
        pair.setLayout(text, tenant)
    node_id, = pair.waitForReady(1)
    for launcher in pair.launchers:
        forget(launcher)
    requests = [pair.addRequest(launcher, 'big', tenant=tenant)
                for launcher, tenant in zip(
                    pair.launchers, tenants, strict=True)]
    for _ in requests:
        pair.runUntil(lambda: any(map(isDone, requests)))
        pair.run()
        done, = [each for each in requests if isDone(each)]
        assert done.nodes == [node_id]
        pair.finish(done)
        requests.remove(done)
        for launcher in pair.launchers:
            forget(launcher)


def test_launcher_checks_no_node_whose_connection_it_does_not_handle(
        several, makeHost):
    """Its network may not reach the node."""
    other = several.add('first', connection_filter='rack')
    several.add('second')
    host = makeHost()
    several.setLayout(checkedStaticNodes(host.port))
    node_id, = several.waitForReady(1)
    host.stop()
    for launcher in several.launchers:
        forget(launcher)
    request = several.addRequest(other, 'big')
    several.runUntil(lambda: isDone(request))
    assert request.nodes == [node_id]
