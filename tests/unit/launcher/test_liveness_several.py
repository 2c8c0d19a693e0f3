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
from tests.unit.launcher import test_crash, test_several_static
from tests.unit.launcher.test_liveness import desk, makeHost
from zuul_nodes.launcher import keyscan, liveness

__all__ = ['makeHost', 'makeWorld', 'undivided']

State = ProviderNode.State

pytestmark = pytest.mark.crash

makeWorld = test_crash.makeWorld
undivided = test_crash.undivided


def forget(launcher):
    """No node has been scanned for some time."""
    for node in launcher.nodes():
        launcher.liveness.forget(node.uuid)


@pytest.mark.parametrize('standby', [False, True])
def test_killed_while_it_checks(makeWorld, makeHost, undivided, standby,
                                monkeypatch):
    """Nothing is left of it."""
    monkeypatch.setattr(liveness, 'TIMEOUT', 30)
    host = makeHost()
    world = makeWorld(desk(host.port), ready=1)
    if standby:
        world.setStandby()
    forget(world.launcher)
    host.stop()
    request_id = world.addRequest('big')
    world.runUntil(world.launcher.scanner.length, lambda: 'no check')
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


def test_killed_at_any_point(makeWorld, makeHost, undivided, monkeypatch):
    """A node goes out of service, and comes back."""
    monkeypatch.setattr(keyscan, 'RETRY', 0.02)
    monkeypatch.setattr(liveness, 'TIMEOUT', 0)
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
        lambda: makeWorld(desk(host.port), ready=1), live)
    print(len(points), *points, sep='\n')
    assert not failures, '\n'.join(failures)
    assert len(points) >= 5


@pytest.mark.parametrize('tenants', [('one', 'two'), ('one', 'one')])
def test_one_job_at_a_time(pair, makeHost, tenants):
    """Launchers that check the same node for different requests."""
    text = desk(makeHost().port)
    for tenant in set(tenants):
        pair.setLayout(text, tenant)
    node_id, = test_several_static.waitForReady(pair, 1)
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


def test_who_does_not_handle_it_does_not_check(several, makeHost):
    """It may have no way to get there."""
    several.add('first')
    other = several.add('second', connection_filter='rack')
    host = makeHost()
    several.setLayout(desk(host.port))
    node_id, = test_several_static.waitForReady(several, 1)
    host.stop()
    for launcher in several.launchers:
        forget(launcher)
    request = several.addRequest(other, 'big')
    several.runUntil(lambda: isDone(request))
    assert request.nodes == [node_id]
