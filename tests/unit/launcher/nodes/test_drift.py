"""What becomes of ready nodes when their label is defined anew."""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import isDone

State = ProviderNode.State

pytestmark = pytest.mark.settings(reclaim_interval=0.01)

CLOUD = '''
- image: {{name: debian, type: cloud}}
- flavor: {{name: small}}
- label:
    name: big
    image: debian
    flavor: small
    min-ready: {min_ready}
    slots: {slots}
    max-nodes: {most}
- label: {{name: other, image: debian, flavor: small}}
- section:
    name: rack
    connection: rack
    images: [debian]
    flavors: [small]
- provider:
    name: rack
    section: rack
    resource-limits: {{instances: {limit}}}
    labels:
      - name: big
        boot-timeout: {timeout}
        host-key-checking: false
      - name: other
        host-key-checking: false
'''


def cloud(timeout, limit=10, min_ready=2, slots=1, most=99):
    """:return: configuration; by the time-out, labels differ."""
    return CLOUD.format(timeout=timeout, limit=limit, min_ready=min_ready,
                        slots=slots, most=most)


def ready(launcher, timeout):
    """:return: the ids of those that were made by that definition."""
    return {node.uuid for node in launcher.nodes(State.READY)
            if node.boot_timeout == timeout}


def make(steps, **options):
    """:return: the ids of two ready nodes with a definition."""
    steps.setLayout(cloud(10, **options))
    steps.runUntil(lambda: len(ready(steps, 10)) == 2)
    return ready(steps, 10)


def test_ready_nodes_are_used_again_when_label_change_is_reverted(steps):
    former = make(steps)
    steps.setLayout(cloud(20))
    steps.runUntil(lambda: len(ready(steps, 20)) == 2)
    steps.run()
    assert ready(steps, 10) == former
    # They are not given to anybody meanwhile.
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert ready(steps, 10) == former
    steps.setLayout(cloud(10))
    request = steps.addRequest('big')
    steps.runUntil(lambda: isDone(request))
    assert request.provider_node_data[0]['uuid'] in former


@pytest.mark.settings(drift_grace=0.2)
def test_superseded_ready_nodes_go_after_grace_time(steps, monkeypatch):
    make(steps)
    steps.setLayout(cloud(20))
    steps.runUntil(lambda: len(ready(steps, 20)) == 2)
    steps.runUntil(lambda: len(steps.nodes()) == 2)


@pytest.mark.settings(drift_grace=0)
def test_superseded_ready_nodes_stay_for_min_retention_time(
        steps, monkeypatch, jump):
    text = cloud(10).replace(
        'min-ready', 'min-retention-time: 3600\n    min-ready')
    steps.setLayout(text)
    steps.runUntil(lambda: len(ready(steps, 10)) == 2)
    former = ready(steps, 10)
    steps.setLayout(text.replace('timeout: 10', 'timeout: 20'))
    steps.runUntil(lambda: len(ready(steps, 20)) == 2)
    steps.run()
    assert ready(steps, 10) == former
    jump(3601)
    for node_id in former:
        steps.queue.add(('node', node_id))
    steps.runUntil(lambda: len(steps.nodes()) == 2)


def test_grace_time_begins_anew_with_each_change(steps):
    former = make(steps)
    node_id = min(former)
    times = steps.drift.since
    steps.setLayout(cloud(20))
    steps.runUntil(lambda: former <= set(times))
    steps.setLayout(cloud(10))
    steps.runUntil(lambda: node_id not in times)


@pytest.mark.parametrize('options', [
    {'limit': 2}, {'most': 2}, {'limit': 1, 'slots': 2},
    {'most': 2, 'slots': 2}],
    ids=['limit', 'max-nodes', 'slots', 'max-nodes and slots'])
def test_superseded_ready_nodes_make_room_for_their_replacements(
        steps, options):
    make(steps, **options)
    steps.setLayout(cloud(20, **options))
    steps.runUntil(lambda: len(ready(steps, 20)) == 2)
    assert not ready(steps, 10)


@pytest.mark.crash
def test_superseded_ready_nodes_make_room_for_other_launchers(several, racks):
    launcher = several.add('first')
    several.add('second')
    several.setLayout(cloud(10, limit=7, min_ready=7))
    several.runUntil(lambda: len(ready(launcher, 10)) == 7)
    several.setLayout(cloud(20, limit=7, min_ready=7))
    several.runUntil(lambda: len(ready(launcher, 20)) == 7)


def test_superseded_ready_node_makes_room_for_a_request(steps):
    former = make(steps, limit=3)
    steps.setLayout(cloud(20, limit=3, min_ready=0))
    request = steps.addRequest('other')
    steps.runUntil(lambda: isDone(request))
    assert ready(steps, 10) == former
    request = steps.addRequest('other')
    steps.runUntil(lambda: isDone(request))
    assert ready(steps, 10) < former


def test_ready_nodes_go_with_their_provider(steps):
    make(steps)
    steps.setLayout('')
    steps.runUntil(lambda: not steps.nodes())
