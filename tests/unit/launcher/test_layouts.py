"""When the layouts of all tenants count as read."""

import time

import pytest

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.racks import cloud, isDone
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
            raise OSError('the connection is lost')
        read.append(name)
        return update(name)
    with monkeypatch.context() as context, pytest.raises(OSError):
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
