"""Which machine with slots a job gets, and when such a machine goes.

As the documentation says it for those who come from Nodepool's metastatic
driver.
"""

import pytest
from zuul.model import ProviderNode

from tests.fixtures.racks import cloud, finish

State = ProviderNode.State


def slots(more=''):
    """:return: configuration with a label that has two slots."""
    return cloud('one').replace(
        'name: big,', f'name: big, slots: 2, reuse: true{more},', 1)


def serve(launcher, label='big'):
    """:return: a request, and the uuid of the machine that it gets."""
    request, (node,) = launcher.serveNew(label)
    return request, node.main_node_id


def giveBack(launcher, request):
    nodes = [launcher.api.getProviderNode(node) for node in request.nodes]
    finish(launcher, request)
    launcher.runUntil(lambda: all(
        launcher.isGone(node) or (
            node.state == State.READY and not node.request_id)
        for node in nodes))


def test_a_machine_is_full_before_there_is_another(steps, racks):
    steps.setLayout(slots())
    hosts = [serve(steps)[1] for _ in range(4)]
    assert hosts[0] == hosts[1] != hosts[2] == hosts[3]
    assert len(racks.created) == 2


def test_slot_that_has_been_free_longest_is_first(steps, racks):
    steps.setLayout(slots())
    served = [serve(steps) for _ in range(4)]
    for index in (3, 0):
        giveBack(steps, served[index][0])
    assert [serve(steps)[1] for _ in range(2)] == [
        served[3][1], served[0][1]]
    assert len(racks.created) == 2


def test_labels_share_a_machine_by_aliases(steps, racks):
    """As those of Nodepool with one backing label."""
    steps.setLayout(slots(', aliases: [other]'))
    assert serve(steps)[1] == serve(steps, 'other')[1]
    assert len(racks.created) == 1


@pytest.mark.parametrize('reuse', [True, False])
def test_slot_is_used_again_with_reuse_alone(steps, racks, reuse):
    text = slots()
    if not reuse:
        text = text.replace('reuse: true', 'reuse: false')
    steps.setLayout(text)
    (first, host), (_, same) = serve(steps), serve(steps)
    giveBack(steps, first)
    assert same == host
    assert (serve(steps)[1] == host) is reuse


def test_unused_machine_goes_after_max_ready_age(steps, racks, jump):
    """As after Nodepool's grace-time: counted from the last job on."""
    steps.setLayout(slots(', max-ready-age: 60'))
    (first, host), (second, _) = serve(steps), serve(steps)
    giveBack(steps, first)
    jump(50)
    giveBack(steps, second)
    jump(100)
    lookAtAll(steps)
    assert racks.instances.keys() == {host}
    jump(120)
    lookAtAll(steps)
    steps.runUntil(lambda: not steps.nodes())
    assert racks.instances == {}


def test_machine_gets_no_job_after_max_age(steps, racks, jump):
    """It goes when its last job has ended."""
    steps.setLayout(slots(', max-age: 60'))
    request, host = serve(steps)
    jump(61)
    _, other = serve(steps)
    assert other != host
    assert racks.instances.keys() == {host, other}
    giveBack(steps, request)
    steps.runUntil(lambda: racks.instances.keys() == {other})


def test_machine_stays_for_min_retention_time(steps, racks, jump):
    steps.setLayout(slots(', max-ready-age: 60, min-retention-time: 3600'))
    request, host = serve(steps)
    giveBack(steps, request)
    jump(120)
    lookAtAll(steps)
    assert serve(steps)[1] == host


def lookAtAll(launcher):
    launcher.lookAt(*launcher.nodes())
