"""What ``zuul-nodes labels`` shows."""

import functools
import json
import logging

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import NodesetRequest, ProviderNode, QuotaInformation
from zuul.zk.zkobject import ZKContext

from tests.fixtures.racks import addProvider, cloud
from tests.unit.cmd.conftest import DOCUMENTATION, getRows, getShown

State = ProviderNode.State
ONE = cloud('one', labels='[{name: big, min-ready: 2}, other]')


@pytest.fixture
def labels(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'labels')


@pytest.fixture
def context(zk_client):
    return ZKContext(zk_client, None, None, logging.getLogger())


@pytest.fixture
def add(context):
    """:return: a function that writes records of nodes."""
    def addNodes(label, *states, provider='one', tenant=None, **attributes):
        for state in states:
            node = StaticProviderNode.new(
                context, label=label, state=state, connection_name='rack',
                provider=f'example.com%2Fnodes/{provider}', **attributes)
            if tenant:
                node.assign(context, 'f' * 32, tenant)
    return addNodes


def request(context, *labels, tenant='tenant',
            state=NodesetRequest.State.REQUESTED):
    return NodesetRequest.new(context, tenant_name=tenant, labels=list(labels),
                              pipeline_name='check', state=state)


def test_each_provider_of_a_label_has_its_numbers_of_nodes(
        labels, offer, add, context):
    offer(ONE + addProvider('two', '[big]'))
    add('big', State.BUILDING, State.REQUESTED, State.READY)
    add('big', State.READY, State.IN_USE, tenant='tenant')
    add('big', State.HOLD, provider='two')
    add('big', State.SLOT_HOST, subnodes=['a' * 32])
    request(context, 'big', 'big', 'other')
    request(context, 'big', state=NodesetRequest.State.FULFILLED)
    text = labels()
    assert getRows(text) == [
        ['big', 'one', 'tenant', '2', '2', '1', '2', '2', '0'],
        ['', 'two', 'tenant', '', '0', '0', '0', '0', '1'],
        ['other', 'one', 'tenant', '1', '0', '0', '0', '0', '0']]
    assert max(map(len, text.splitlines())) <= 100


def test_number_of_ready_nodes_is_that_of_the_time(labels, offer):
    offer(cloud('one', labels='''[{name: big, min-ready: 2,
        min-ready-times: [{from: "00:00", to: "24:00", min-ready: 7}]}]'''))
    text = labels()
    row, = getRows(text)
    assert row[6] == '7'
    assert text.splitlines()[-1] == (
        'Min-ready of big at one: 7 on mon-sun 00:00-24:00 UTC, otherwise 2')
    found, = json.loads(labels('--format', 'json'))
    assert (found['providers'][0]['min_ready_times']
            in text.splitlines()[-1])


def test_tenants_of_a_label_are_shown_with_their_limits(
        labels, offer, add, context, limitTenant):
    offer(ONE)
    offer(cloud('third', labels='[big]'), 'other')
    add('big', State.IN_USE, tenant='tenant',
        quota=QuotaInformation(instances=1, cores=2))
    limitTenant('tenant', instances=5.5, ram=4096)
    limitTenant('other', instances=3)
    # Of which no label is listed.
    limitTenant('stranger', instances=3)
    assert labels().splitlines()[-2:] == [
        'Tenant other uses 0 of 3 instances',
        'Tenant tenant uses 1 of 5.5 instances, 0 of 4096 ram']
    shown = labels('--tenant', 'tenant')
    assert 'Tenant tenant uses' in shown
    assert 'Tenant other uses' not in shown
    found = {each['label']: each['tenant_limits'] for each in json.loads(
        labels('--format', 'json'))}
    assert found['other'] == {'tenant': {
        'instances': {'used': 1, 'limit': 5.5},
        'ram': {'used': 0, 'limit': 4096}}}


def test_label_that_nobody_offers_is_listed_if_requests_wait_for_it(
        labels, offer, context):
    offer(ONE)
    request(context, 'bog')
    request(context, 'big', tenant='stranger')
    assert getRows(labels('--label', 'bog')) == [
        ['bog', 'none', '-', '1', *['-'] * 5]]
    # The label of another tenant is not this one.
    found = json.loads(labels('--format', 'json', '--label', 'big'))
    assert [(each['waiting'], len(each['providers'])) for each in found] == [
        (1, 0), (0, 1)]


@pytest.mark.parametrize('arguments, expected', [
    (('--tenant', 'other'), ['big']), (('--label', 'other'), ['other']),
    (('--provider', 'one'), ['big', 'other'])])
def test_filters(labels, offer, context, arguments, expected):
    offer(ONE)
    offer(cloud('third', labels='[big]'), 'other')
    request(context, 'missing')
    found = json.loads(labels('--format', 'json', *arguments))
    assert [each['label'] for each in found] == expected


def test_it_prints_what_the_documentation_shows(
        labels, offer, add, context, limitTenant):
    limitTenant('tenant', instances=20)
    offer(cloud('west', labels='[{name: big, min-ready: 2}]')
          + addProvider('east', '[big]'))
    add('big', State.READY, State.BUILDING, provider='west')
    add('big', *[State.IN_USE] * 8, provider='east', tenant='tenant',
        quota=QuotaInformation(instances=1))
    for _ in range(3):
        request(context, 'big')
    assert labels().splitlines() == getShown(
        'howto/watch-providers.rst', 'zuul-nodes labels')


def test_it_prints_the_times_that_the_documentation_shows(labels, offer):
    offer(cloud('west', labels="""[{
        name: big, min-ready: 1, min-ready-times: [{
            days: [mon, tue, wed, thu, fri], from: "07:00", to: "19:00",
            time-zone: Europe/Berlin, min-ready: 10}]}]"""))
    shown = (DOCUMENTATION / 'howto/ready-nodes.rst').read_text()
    assert f'    {labels().splitlines()[-1]}\n' in shown
