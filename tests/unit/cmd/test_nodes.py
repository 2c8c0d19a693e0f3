"""What ``zuul-nodes nodes`` shows and writes."""

import functools
import json
import logging
import pathlib
import time

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import ProviderNode, QuotaInformation
from zuul.zk.zkobject import ZKContext

from tests.fixtures.programs import writeConf
from tests.unit.cmd.conftest import readNotes
from zuul_nodes import orders, zkrecords
from zuul_nodes.orders import Order

ROOT = pathlib.Path(__file__).parents[3]
State = ProviderNode.State
PROVIDER = 'example.com%2Frepo/rack-one'


@pytest.fixture
def nodes(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'nodes')


@pytest.fixture
def add(zk_client):
    """:return: a function that writes the record of a node, which a request
        of a tenant may use."""
    context = ZKContext(zk_client, None, None, logging.getLogger())

    def addNode(tenant=None, state=State.READY, state_age=7300, **attributes):
        now = time.time()
        attributes = {
            'label': 'big', 'provider': PROVIDER, 'request_time': now - 9000,
            'connection_name': 'rack', **attributes}
        node = StaticProviderNode.new(
            context, state=state, state_time=now - state_age, **attributes)
        if tenant:
            node.assign(context, 'f' * 32, tenant)
        return node
    addNode.context = context
    return addNode


def getRows(text):
    return [[cell.strip() for cell in line.split('|')[1:-1]]
            for line in text.splitlines() if line.startswith('|')][1:]


def getNames(text):
    return [each['uuid'] for each in json.loads(text)]


def test_list_has_the_oldest_first_in_100_columns(nodes, add):
    young = add('tenant', State.IN_USE, interface_ip='192.0.2.1',
                request_time=time.time())
    old = add(state=State.FAILED, comment='no such flavor')
    text = nodes()
    assert getRows(text) == [
        [old.uuid[:8], 'big', 'rack-one', 'failed', '2 h', '-', '-',
         'no such flavor'],
        [young.uuid[:8], 'big', 'rack-one', 'in-use', '2 h', 'tenant',
         '192.0.2.1', '-']]
    assert max(map(len, text.splitlines())) <= 100


def test_it_prints_what_the_documentation_shows(nodes, add):
    for uuid, state, hours, comment in (
            ('5a0d91c4', State.HOLD, 2, 'look at it'),
            ('c37e2b60', State.IN_USE, 4, None)):
        add('local', state, 3600 * hours + 10, uuid=uuid + 24 * '0',
            label='debian-local', provider='example.com%2Fnodes/machine',
            interface_ip='127.0.0.1', comment=comment)
    page = (ROOT / 'doc/source/howto/manage-nodes.rst').read_text()
    _, _, shown = page.partition('    $ zuul-nodes nodes\n')
    expected, _, _ = shown.partition('\n\n')
    assert nodes().splitlines() == [
        line.strip() for line in expected.splitlines()]


@pytest.mark.parametrize('arguments', [
    ('--tenant', 'tenant'), ('--label', 'small'), ('--provider', 'rack-two'),
    ('--provider', 'example.com%2Frepo/rack-two'), ('--state', 'in-use'),
    ('--older-than', '8000')])
def test_filters(nodes, add, arguments):
    add()
    wanted = add('tenant', State.IN_USE, 8500, label='small',
                 provider='example.com%2Frepo/rack-two')
    assert getNames(nodes('list', '--format', 'json', *arguments)) == [
        wanted.uuid]


def test_one_node_is_shown_with_the_command_to_log_in(nodes, add):
    node = add('tenant', State.HOLD, interface_ip='192.0.2.1', comment='why',
               connection_port=2222, username='zuul', hold_expiration=7200,
               label_aliases=['large'], az='a',
               quota=QuotaInformation(cores=4, instances=1))
    lines = nodes('show', node.uuid[:8]).splitlines()
    for line in (f'Node:     {node.uuid}', 'Label:    big, large',
                 'Zone:     a', 'State:    hold for 2 h',
                 'Expires:  the hold ends after 2 h', 'Tenant:   tenant',
                 'Uses:     4 cores, 1 instances', 'Comment:  why',
                 'Log in:   ssh -p 2222 zuul@192.0.2.1'):
        assert line in lines


def test_no_secret_of_a_node_is_shown(nodes, add):
    node = add(kubernetes_connection={'token': 'confidential'})
    for arguments in ((), ('show', node.uuid), (
            'show', '--format', 'json', node.uuid)):
        assert 'confidential' not in nodes(*arguments)


@pytest.mark.parametrize('action, state, message', [
    ('hold', State.HOLD, 'is put on hold'),
    ('delete', State.OUTDATED, 'is deleted')])
def test_change_of_an_idle_node(nodes, add, action, state, message):
    node = add()
    assert nodes(action, node.uuid[:8]) == f'The node {node.uuid} {message}.\n'
    node.refresh(add.context)
    assert node.next_state == state
    assert getRows(nodes())[0][-1] == f'to be {state}'


def test_change_is_noted_for_the_audit_log(nodes, add, zk_client):
    node = add()
    nodes('hold', '--reason', 'odd', node.uuid)
    note, = readNotes(zk_client.client)
    assert note.pop('user')
    assert note == {'action': 'nodes hold', 'node': node.uuid,
                    'provider': PROVIDER, 'reason': 'odd'}


def test_change_of_a_used_node_waits_for_the_request(nodes, add):
    node = add('tenant', State.IN_USE)
    assert nodes('hold', '--reason', 'odd', node.uuid) == (
        f'The node {node.uuid} is put on hold when request {32 * "f"} of '
        'tenant tenant has ended.\n')
    node.refresh(add.context)
    assert node.next_comment == 'odd'
    assert 'Next state: hold (odd)' in nodes(
        'show', node.uuid).splitlines()


def test_all_slots_of_a_host_change(nodes, add):
    slots = [add(state=State.HOLD) for _ in range(2)]
    host = add(state=State.SLOT_HOST, subnodes=[
        *(slot.uuid for slot in slots), 'a' * 32])
    nodes('delete', host.uuid)
    for slot in slots:
        slot.refresh(add.context)
        assert slot.next_state == State.OUTDATED
    host.refresh(add.context)
    assert host.next_state is None


@pytest.mark.parametrize('action, attributes, problem', [
    ('release', {}, 'is not on hold, it is ready'),
    ('recheck', {}, 'has not failed, it is ready'),
    ('recheck', {'state': State.FAILED, 'main_node_id': 32 * 'a'},
     f'is a slot: recheck its host {32 * "a"}')])
def test_action_has_to_make_sense_for_the_node(
        zuulNodes, zuul_conf, tmp_path, add, action, attributes, problem):
    node = add(**attributes)
    result = zuulNodes(
        'nodes', '-c', writeConf(zuul_conf, tmp_path / 'zuul.conf'),
        action, node.uuid)
    assert (result.returncode, result.stdout, result.stderr) == (
        1, '', f'zuul-nodes nodes: node {node.uuid} {problem}\n')


def test_a_host_is_tried_again_as_a_whole(nodes, add):
    slot = add(state=State.OUTDATED)
    host = add(state=State.FAILED, subnodes=[slot.uuid])
    assert nodes('recheck', host.uuid) == (
        f'The node {host.uuid} is tried again.\n')
    host.refresh(add.context)
    slot.refresh(add.context)
    assert host.next_state == slot.next_state == State.OUTDATED


@pytest.mark.parametrize('instance, shown', [
    ({'instance_id': 'i-1'}, 'the instance i-1'), ({}, 'an instance of it')])
def test_forced_deletion_says_what_stays_at_the_cloud(
        nodes, add, zk_client, instance, shown):
    slot = add(state=State.FAILED)
    host = add(state=State.SLOT_HOST, subnodes=[slot.uuid],
               endpoint_name='rack/a', create_state=instance)
    assert nodes('delete', '--force', host.uuid) == (
        f'The node {host.uuid} is deleted, without asking its cloud: if there '
        f'is {shown} at provider {PROVIDER}, endpoint rack/a, it stays there '
        'until the clean-up of the launcher or you delete it.\n')
    assert zkrecords.getNames(
        zk_client.client, f'{orders.ROOT}/{Order.REMOVE}') == {
            slot.uuid, host.uuid}
