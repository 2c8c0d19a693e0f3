"""What the launcher knows of all nodes between the events of their records."""

import sys
import threading
import types

import pytest
from zuul.model import ProviderNode

from zuul_nodes.launcher.nodes.nodeindex import NodeIndex

State = ProviderNode.State


def makeNode(request_id=None, state=State.READY):
    return types.SimpleNamespace(
        request_id=request_id, main_node_id=None, provider='one', state=state,
        subnodes=[], label='big', label_config_hash='', all_labels=['big'],
        connection_name='rack', endpoint_name='rack')


@pytest.fixture
def quickSwitches():
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_an_event_tells_what_it_has_changed():
    index, node = NodeIndex(), makeNode('job', State.BUILDING)
    index.note('a', node)
    # The cache updates the record in place.
    node.state = State.READY
    old, new = index.note('a', node)
    assert (old.state, new.state) == (State.BUILDING, State.READY)
    assert old.request_id == new.request_id == 'job'


def test_a_deleted_node_is_forgotten():
    index = NodeIndex()
    index.note('a', makeNode('job'))
    index.note('b', makeNode(state=State.USED))
    for node_id in 'ab':
        index.note(node_id, None)
    assert not index.facts
    assert not index.assigned
    assert not index.getCounts()
    assert not index.getLeaving(1000)


def test_events_of_several_threads_are_all_noted(quickSwitches):
    index = NodeIndex()

    def note(node_id):
        for _ in range(10000):
            index.note(node_id, makeNode('job'))
            index.note(node_id, makeNode())
        index.note(node_id, makeNode('job'))
    threads = [threading.Thread(target=note, args=(node_id,))
               for node_id in 'abc']
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.popAssigned('job') == {'a', 'b', 'c'}
    assert not index.getCounts()


def test_a_node_that_is_stuck_does_not_count_as_leaving():
    index = NodeIndex()
    index.note('a', makeNode(state=State.OUTDATED))
    assert index.getLeaving(1000) == {'one'}
    assert index.getLeaving(0) == set()


def test_a_static_machine_that_fails_again_and_again_is_stuck():
    """Attempts to reach it change nothing, until one succeeds."""
    index = NodeIndex()
    for state, is_stuck in (
            (State.REGISTERING, False), (State.FAILED, True),
            (State.REBUILDING, True), (State.FAILED, True),
            (State.REBUILDING, True), (State.READY, False),
            (State.USED, True), (State.READY, False)):
        index.note('a', makeNode(state=state))
        assert index.getStuck(0) == ({'a'} if is_stuck else set())
        assert index.getStuck(1000) == set()
    index.note('a', makeNode(state=State.FAILED))
    index.note('a', None)
    assert index.getStuck(0) == set()
