"""A machine that several tenants have is used by one job at a time."""

import time

import pytest
from zuul.model import ProviderNode

from tests.fixtures.launcher import TIMEOUT
from tests.fixtures.racks import finish, isDone
from tests.fixtures.staticlayouts import (
    DESK,
    SHARED,
    getFree,
    giveBack,
    use,
)
from zuul_nodes.launcher.planner.planner import Grant

State = ProviderNode.State

# Tenants, and the names of their providers.
TENANTS = [('one', 'two'), ('one', 'one')]
by_name = pytest.mark.parametrize('names', TENANTS, ids=['two', 'one'])


def sharedStaticNode(*names, slots=1, port=22):
    """:return: a layout with one static node, which each of the providers
    with these names has."""
    return DESK.format(port=port, more='') + ''.join(
        SHARED.format(name=name, slots=slots) for name in names)


def setLayouts(launcher, names, **kwargs):
    """:return: the nodes, when they are ready."""
    for tenant, name in zip(('first', 'second'), names, strict=True):
        launcher.setLayout(sharedStaticNode(name, **kwargs), tenant)
    number = len(set(names)) * kwargs.get('slots', 1)
    launcher.runUntil(lambda: len(getFree(launcher)) == number)
    return getFree(launcher)


def addRequests(launcher):
    return [launcher.addRequest('big', tenant=tenant)
            for tenant in ('first', 'second')]


@by_name
def test_tenants_use_shared_machine_one_after_the_other(steps, names):
    setLayouts(steps, names)
    for _ in range(2):
        first, second = addRequests(steps)
        steps.runUntil(lambda first=first: isDone(first))
        steps.runUntilWaiting(second)
        finish(steps, first)
        steps.runUntil(lambda second=second: isDone(second))
        finish(steps, second)


@by_name
def test_deleted_request_frees_shared_machine(steps, names):
    """No job has used the machine."""
    setLayouts(steps, names)
    first, second = addRequests(steps)
    steps.runUntil(lambda: isDone(first))
    with steps.context() as context:
        first.delete(context)
    steps.runUntil(lambda: isDone(second))


@pytest.mark.parametrize('state', [State.HOLD, State.FAILED])
@by_name
def test_shared_machine_is_free_after_failed_node_but_not_held_one(
        steps, names, state):
    setLayouts(steps, names)
    steps.setLayout(sharedStaticNode(names[0]), 'tenant')
    node = use(steps, 'big')
    request = steps.addRequest('big', tenant='second')
    steps.runUntilWaiting(request)
    giveBack(steps, node, state,
             delete_state={'state': 'start', 'start_time': 0})
    if state == State.HOLD:
        steps.runUntilWaiting(request)
        return
    steps.runUntil(lambda: isDone(request))


def test_slots_of_shared_machine_serve_all_providers(steps):
    """So many jobs use the machine at the same time, by any of its records."""
    setLayouts(steps, ('one', 'two'), slots=2)
    requests = [steps.addRequest('big', tenant=tenant)
                for tenant in ('first', 'second', 'first')]
    steps.runUntil(lambda: isDone(requests[0]) and isDone(requests[1]))
    steps.runUntilWaiting(requests[2])
    finish(steps, requests[1])
    steps.runUntil(lambda: isDone(requests[2]))
    steps.runUntilWaiting(steps.addRequest('big', tenant='second'))


def test_machine_of_two_providers_counts_once_for_a_nodeset(steps):
    """A tenant with both providers has one machine, and not two."""
    steps.setLayout(sharedStaticNode('one', 'two'))
    steps.runUntil(lambda: len(getFree(steps)) == 2)
    several = steps.addRequest('big', 'big')
    requests = [steps.addRequest('big') for _ in range(2)]
    steps.runUntil(lambda: isDone(several) and any(map(isDone, requests)))
    steps.run()
    assert several.state == several.State.FAILED
    assert sorted(map(isDone, requests)) == [False, True]


@pytest.mark.parametrize('numbers', [(1, 2), (2, 1)])
def test_nodeset_leaves_machine_to_the_label_that_only_it_has(steps, numbers):
    machines = {1: '[big]', 2: '[big, other]'}
    steps.setLayout('''
- image: {name: debian, type: cloud}
- flavor: {name: local}
- label: {name: big, image: debian, flavor: local}
- label: {name: other, image: debian, flavor: local}
- section:
    name: desk
    connection: null
    images: [debian]
    flavors: [local]
    nodes:
''' + ''.join(f'''
      - {{name: 127.0.0.{number}, connection-port: 22, username: zuul,
          label: {machines[number]}}}
''' for number in numbers) + ''.join(f'''
- provider:
    name: {name}
    section: desk
    label-defaults: {{host-key-checking: false}}
    labels: [{name}]
''' for name in ('big', 'other')))
    steps.runUntil(lambda: len(getFree(steps)) == 3)
    request = steps.addRequest('big', 'other')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FULFILLED


def test_machines_with_different_ports_are_not_shared(steps):
    steps.setLayout(sharedStaticNode('one'), 'first')
    steps.setLayout(sharedStaticNode('two', port=23), 'second')
    steps.runUntil(lambda: len(getFree(steps)) == 2)
    requests = addRequests(steps)
    steps.runUntil(lambda: all(map(isDone, requests)))


def test_job_keeps_shared_machine_of_removed_provider(steps):
    setLayouts(steps, ('one', 'two'))
    first, second = addRequests(steps)
    steps.runUntil(lambda: isDone(first))
    steps.setLayout('[]', 'first')
    steps.runUntilWaiting(second)
    finish(steps, first)
    steps.runUntil(lambda: isDone(second))


def begin(pair, names):
    """Have two tenants with ready nodes.

    :param names: of their providers.
    :return: a request of the first.
    """
    tenants = ('first', 'second')
    for tenant, name in zip(tenants, names, strict=True):
        pair.setLayout(sharedStaticNode(name), tenant)
    pair.waitForReady(len(set(names)))
    return pair.addRequest(pair.launchers[0], 'big', tenant='first')


@pytest.mark.crash
@pytest.mark.parametrize('known', [False, True])
@by_name
def test_deposed_planner_does_not_grant_shared_machine_again(
        pair, names, known, monkeypatch):
    """Whether or not the first launcher knows by then what the second has
    granted."""
    request = begin(pair, names)
    first = pair.launchers[0]
    others = []

    def decide(decision):
        others.append(pair.depose('big', tenant='second'))
        node = first.api.getProviderNode(others[0].nodes[0])
        end = time.monotonic() + TIMEOUT
        while known and not node.request_id:
            assert time.monotonic() < end
    decisions = pair.interrupt(monkeypatch, decide)
    pair.runUntil(lambda: others)
    pair.run()
    assert decisions == [Grant]
    assert not isDone(request)
    pair.finish(*others)
    pair.runUntil(lambda: isDone(request))


@pytest.mark.crash
def test_launcher_does_not_grant_shared_machine_that_is_renewed(
        pair, monkeypatch):
    """The node is not ready any more, and its machine may serve another
    request."""
    request = begin(pair, ('one', 'two'))
    first = pair.launchers[0]
    others = []

    def renew(decision):
        node = decision.slots[0].node
        assert first.session.acquire(node)
        transaction = first.session.transaction()
        transaction.update(node, state=State.REBUILDING)
        transaction.commit()
        others.append(pair.depose('big', tenant='second'))
    decisions = pair.interrupt(monkeypatch, renew)
    pair.runUntil(lambda: others)
    pair.run()
    assert decisions == [Grant]
    assert not isDone(request)
    pair.finish(*others)
    pair.runUntil(lambda: isDone(request))
