"""Records of why requests wait, for those who cannot read the log."""

import pytest
from zuul.zk.locks import tenant_write_lock

from tests.fixtures.racks import cloud, finish, isDone
from zuul_nodes import waits
from zuul_nodes.launcher.planner import Reason
from zuul_nodes.launcher.requests.reconciler import UNREAD

pytestmark = pytest.mark.settings(reason_delay=0, reason_interval=0.02)
ONE = cloud('one', resource_limits='{instances: 1}')
REASON = ('No provider has capacity for 1 big now. one: provider one has 1 '
          'instances, 1 in use, 1 needed')


def read(launcher, tenant='tenant'):
    return waits.read(launcher.zk_client.client, tenant)


def countWaits(launcher):
    """:return: dict, reason -> the value of its gauge, without zeros."""
    return {reason: number for reason, number
            in launcher.gauges.own['waiting']().items() if number}


def test_requests_of_a_line_have_their_places_and_the_reason(steps, racks):
    steps.setLayout(ONE)
    running = steps.addRequest('big')
    steps.runUntil(lambda: isDone(running))
    waiting = [steps.addRequest('big') for _ in range(3)]
    steps.runUntil(lambda: len(read(steps)) == 3)
    found = read(steps)
    assert [found[each.uuid] for each in waiting] == [
        (REASON, ahead, waiting[0].uuid) for ahead in range(3)]
    assert str(found[waiting[2].uuid]) == (
        '2 requests with the same needs are ahead. The first, '
        f'{waiting[0].uuid}, waits: {REASON}')
    assert countWaits(steps) == {Reason.QUOTA: 3}
    finish(steps, running)
    steps.runUntil(lambda: waiting[0].uuid not in read(steps))
    assert read(steps)[waiting[1].uuid].ahead == 0
    for each in waiting:
        steps.runUntil(lambda each=each: isDone(each))
        finish(steps, each)
    steps.runUntil(lambda: not read(steps))


def test_a_tenant_reads_of_its_own_requests_only(steps, racks):
    for tenant in ('tenant', 'other'):
        steps.setLayout(ONE, tenant)
    running = steps.addRequest('big')
    steps.runUntil(lambda: isDone(running))
    waiting = {tenant: steps.addRequest('big', tenant=tenant)
               for tenant in ('tenant', 'other')}
    for tenant, request in waiting.items():
        steps.runUntil(lambda tenant=tenant: read(steps, tenant))
        assert read(steps, tenant).keys() == {request.uuid}


@pytest.mark.parametrize('has_room', [True, False])
def test_request_whose_layout_is_not_read_yet(steps, racks, has_room):
    steps.setLayout(ONE)
    if not has_room:
        steps.serve(steps.addRequest('big'))
    with tenant_write_lock(steps.zk_client, 'tenant'):
        steps.writeLayout(cloud('one', resource_limits='{instances: 1}'))
        requests = [steps.addRequest('big') for _ in range(2)]
        steps.runUntil(lambda: len(read(steps)) == 2)
        # None of them is ahead of the other as far as is known.
        assert [read(steps)[each.uuid] for each in requests] == [
            (UNREAD, 0, each.uuid) for each in requests]
        assert countWaits(steps) == {Reason.UNREADABLE: 2}
    if has_room:
        steps.serve(requests[0])
        finish(steps, requests[0])
        steps.serve(requests[1])
        steps.runUntil(lambda: not read(steps))
    else:
        steps.runUntil(lambda: [
            read(steps)[each.uuid].reason for each in requests]
            == [REASON] * 2)


@pytest.mark.crash
def test_the_next_planner_goes_on_with_the_records(pair, racks):
    pair.setLayout(ONE)
    first, second = pair.launchers
    running = pair.addRequest(first, 'big')
    pair.serve(running)
    waiting = pair.addRequest(first, 'big')
    pair.runUntil(lambda: read(second))
    first.zk_client.client.delete(first.election.getTerm())
    pair.runUntil(lambda: second.planner.getReason(waiting.uuid))
    pair.finish(running)
    pair.runUntil(lambda: not read(first))


def test_a_record_has_no_secrets_and_fits():
    record = waits.makeRecord([
        ('at https://10.0.0.1/ token=abc', [f'{number:032x}' for number
                                            in range(2 * waits.MOST)]),
        (2000 * 'x', ['f' * 32])])
    assert len(record) < 900_000


def test_a_record_names_no_request_of_another_tenant(kazoo_client):
    own, other = 'a' * 32, 'b' * 32
    kazoo_client.create(waits.getPath('tenant'), waits.makeRecord([
        (f'1 kept for request {other}', [own]),
        (f'1 kept for request {own}', ['c' * 32])]), makepath=True)
    found = waits.read(kazoo_client, 'tenant')
    assert found[own].reason == '1 kept for request [id]'
    assert found['c' * 32].reason == f'1 kept for request {own}'
