"""The audit log has a line for each change that a command makes."""

import getpass
import socket

import pytest

from tests.fixtures.racks import cloud
from zuul_nodes import orders, zkrecords
from zuul_nodes.orders import Order


def hasNotes(launcher):
    return bool(zkrecords.getNames(
        launcher.zk_client.client, f'{orders.ROOT}/{Order.NOTE}'))


def test_the_launcher_that_plans_writes_the_line(steps, audited):
    steps.setLayout(cloud('one'))
    orders.note(steps.zk_client.client, 'nodes hold', node='f' * 32,
                reason='look at it', image=None)
    steps.runUntil(audited.read)
    line, = audited.read()
    assert {key: line[key] for key in line if key != 'time'} == {
        'event': 'ordered', 'result': 'done', 'action': 'nodes hold',
        'user': f'{getpass.getuser()}@{socket.gethostname()}',
        'node': 'f' * 32, 'reason': 'look at it',
        'launcher': steps.session.identifier}
    steps.runUntil(lambda: not hasNotes(steps))


@pytest.mark.parametrize('data', [b'-', b'[]', b'{"fields": 1}', (
    b'{"fields": {"event": "created", "launcher": "x", "things": 1}}')])
def test_note_that_is_wrong_names_nothing_else(steps, audited, data):
    steps.setLayout(cloud('one'))
    zkrecords.write(steps.zk_client.client, orders.getPath(
        Order.NOTE, 'a'), data)
    steps.runUntil(audited.read)
    line, = audited.read()
    assert line.keys() == {'time', 'event', 'result', 'launcher'}
    assert (line['event'], line['launcher']) == (
        'ordered', steps.session.identifier)


@pytest.mark.crash
def test_only_one_launcher_writes_it(pair, audited):
    pair.setLayout(cloud('one'))
    orders.note(pair.launchers[0].zk_client.client, 'nodes hold')
    pair.runUntil(audited.read)
    pair.runUntil(lambda: not hasNotes(pair.launchers[1]))
    assert len(audited.read()) == 1
