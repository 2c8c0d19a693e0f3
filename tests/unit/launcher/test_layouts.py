"""When the layouts of all tenants count as read."""

import json
import time
import types

from kazoo.exceptions import ConnectionLoss
import pytest
from zuul.model import ProviderNode
from zuul.zk.locks import tenant_write_lock

from tests.fixtures.launcher import TIMEOUT, makeProviders
from tests.fixtures.racks import cloud, isDone
from tests.unit.launcher.test_registration import desk, readyNode
from zuul_nodes.launcher.layouts import Layouts


def test_a_tenant_that_is_gone_before_it_can_be_read(
        steps, racks, monkeypatch):
    """What was read of another one before is used all the same."""
    layouts = steps.layouts
    names = {'tenant', 'another'}
    for name in names:
        steps.writeLayout(cloud('one'), name)
    end = time.monotonic() + TIMEOUT
    while not names <= set(layouts.tenant_states):
        assert time.monotonic() < end
        time.sleep(0.005)
    read = []
    update = layouts._updateTenant

    def updateOne(name):
        if read:
            raise ConnectionLoss
        read.append(name)
        return update(name)
    with monkeypatch.context() as context, pytest.raises(ConnectionLoss):
        context.setattr(layouts, '_updateTenant', updateOne)
        layouts.update()
    first, = read
    gone, = names - {first}
    del layouts.tenant_states[gone]
    steps.runUntil(lambda: gone not in layouts.tenant_states
                   and layouts.isUpToDate())
    request = steps.addRequest('big', tenant=first)
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


def test_an_update_that_ends_while_somebody_asks(steps, monkeypatch):
    """It does not see that somebody is about to wait for it."""
    def putOff(layouts, value):
        layouts.update()
    steps.run()
    steps.layouts._tell()
    monkeypatch.setattr(
        Layouts, 'put_off', property(lambda layouts: False, putOff),
        raising=False)
    assert steps.layouts.isUpToDate()


def test_the_planner_knows_what_counts_as_read(steps, monkeypatch):
    """No request is refused by what was before."""
    before = steps.layouts._read
    known = []
    setScope = steps.planner.setScope

    def note(scope):
        known.append(steps.layouts._read)
        setScope(scope)
    monkeypatch.setattr(steps.planner, 'setScope', note)
    steps.setLayout(cloud('one'))
    assert known == [before]
    assert steps.planner.scope is steps.layouts.scope


def test_others_are_told_that_it_works(steps, monkeypatch):
    """And static nodes registered, though there was no connection when the
    layouts had been read."""
    component = steps.component_info
    component.state = component.STOPPED
    client = component.kazoo_client
    errors = [ConnectionLoss()]

    def write(path, data):
        if errors:
            raise errors.pop()
        return client.set(path, data)
    monkeypatch.setattr(component, 'client', types.SimpleNamespace(
        client=types.SimpleNamespace(set=write)))
    steps.writeLayout(desk())
    readyNode(steps)
    assert not errors
    content, _ = client.get(component.path)
    assert json.loads(content)['state'] == component.RUNNING


def test_a_tenant_that_is_locked_when_a_launcher_starts(
        steps, racks, no_grace):
    """Others do not wait for it, and what it has stays."""
    text = cloud('one')
    provider, = makeProviders(
        steps.connections, text, zk_client=steps.zk_client)
    ready = steps.addNode(provider, 'big', state=ProviderNode.State.READY)
    building = steps.addNode(
        provider, 'big', state=ProviderNode.State.BUILDING)
    request = steps.addRequest('big')
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(text)
        steps.setLayout(cloud('two'), 'another')
        steps.serve(steps.addRequest('other', tenant='another'))
        failed = steps.addRequest('huge', tenant='another')
        steps.runUntil(lambda: isDone(failed))
        # There is nothing left to be done.
        steps.run()
        assert request.state == request.State.REQUESTED
        assert ready.state == ProviderNode.State.READY
        assert building.state == ProviderNode.State.BUILDING
        assert not steps.layouts.isKnown()
    assert steps.serve(request) == [ready]
    steps.runUntil(lambda: building.state == ProviderNode.State.READY)
    assert steps.layouts.isKnown()


def test_a_tenant_that_is_locked_when_it_changes(steps, racks, log):
    """What was read of it before is good for others."""
    steps.setLayout(cloud('one'))
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(cloud('one', labels='[other]'))
        steps.runUntil(lambda: not steps.layouts.isKnown('tenant'))
        steps.serve(steps.addRequest('big'))
        attempts = steps.layouts.attempts
        steps.runUntil(lambda: steps.layouts.attempts > attempts)
    steps.runUntil(steps.layouts.isKnown)
    assert set(steps.getProvider('one').labels) == {'other'}
    assert log.text.count('Unable to read the layout of tenant tenant') == 1


def test_a_locked_tenant_that_goes(steps, racks, log):
    """Who waits for it learns that."""
    request = steps.addRequest('big')
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(cloud('one'))
        steps.runUntil(lambda: steps.scope.unread)
        steps.run()
        assert request.state == request.State.REQUESTED
        del steps.layouts.tenant_states['tenant']
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
