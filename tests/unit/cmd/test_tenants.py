"""What ``zuul-nodes tenants`` shows."""

import functools
import json
import logging

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import NodesetRequest, ProviderNode, QuotaInformation
from zuul.zk.zkobject import ZKContext

from tests.fixtures.racks import cloud
from tests.unit.cmd.conftest import getRows, getShown

State = ProviderNode.State


@pytest.fixture
def tenants(runCommand):
    """:return: a function that runs the command, without errors."""
    return functools.partial(runCommand, 'tenants')


@pytest.fixture
def context(zk_client):
    return ZKContext(zk_client, None, None, logging.getLogger())


@pytest.fixture
def add(context):
    """:return: a function that writes the record of a node."""
    def addNode(state, tenant=None, quota=None, **attributes):
        node = StaticProviderNode.new(
            context, label='big', state=state, connection_name='rack',
            provider='example.com%2Fnodes/one',
            quota=QuotaInformation(**(quota or {})), **attributes)
        if tenant:
            node.assign(context, 'f' * 32, tenant)
        return node
    return addNode


def request(context, tenant, *labels, state=NodesetRequest.State.REQUESTED):
    NodesetRequest.new(context, tenant_name=tenant, labels=list(labels),
                       pipeline_name='check', state=state)


def test_it_sums_up_what_the_nodes_of_a_tenant_use(
        tenants, offer, add, context):
    offer(cloud('one', labels='[big]'))
    add(State.IN_USE, 'tenant', {'instances': 1, 'cores': 4})
    add(State.BUILDING, 'tenant', {'instances': 1, 'cores': 2})
    add(State.READY, 'tenant', {'instances': 1, 'cores': 1.5})
    # No tenant has it yet.
    add(State.READY, None, {'instances': 1, 'cores': 8})
    request(context, 'tenant', 'big', 'big')
    request(context, 'tenant', 'big', state=NodesetRequest.State.ACCEPTED)
    assert getRows(tenants()) == [
        ['tenant', '2', '1', '2', 'cores', '7.5', '-'],
        ['', '', '', '', 'instances', '3', '-']]


def test_slot_uses_its_share_of_its_machine(tenants, add):
    slots = ['a' * 32, 'b' * 32]
    host = add(State.SLOT_HOST, subnodes=slots,
               quota={'instances': 1, 'cores': 8})
    add(State.IN_USE, 'tenant', uuid=slots[0], main_node_id=host.uuid)
    add(State.IN_USE, 'other', uuid=slots[1], main_node_id=host.uuid)
    found = {each['tenant']: each for each in json.loads(
        tenants('--format', 'json'))}
    assert found['tenant']['resources'] == found['other']['resources'] == {
        'cores': {'used': 4, 'limit': None},
        'instances': {'used': 0.5, 'limit': None}}


def test_tenant_without_nodes_is_listed_with_its_limits(
        tenants, offer, limitTenant):
    limitTenant('tenant', instances=10)
    limitTenant('other', instances=2.5)
    offer(cloud('one', labels='[big]'))
    offer(cloud('two', labels='[big]'), 'other')
    assert getRows(tenants()) == [
        ['other', '0', '0', '0', 'instances', '0', '2.5'],
        ['tenant', '0', '0', '0', 'instances', '0', '10']]
    assert getRows(tenants('--tenant', 'other')) == [
        ['other', '0', '0', '0', 'instances', '0', '2.5']]


def test_tenant_without_anything_is_listed(tenants, offer):
    offer(cloud('one', labels='[big]'))
    assert getRows(tenants()) == [['tenant', '0', '0', '0', '-', '-', '-']]


def test_it_prints_what_the_documentation_shows(
        tenants, offer, add, context, limitTenant):
    limitTenant('kernel', instances=20, cores=80)
    limitTenant('website', instances=100)
    offer(cloud('one', labels='[big]'), 'kernel')
    offer(cloud('two', labels='[big]'), 'website')
    for _ in range(20):
        add(State.IN_USE, 'kernel', {'instances': 1, 'cores': 2})
    add(State.BUILDING, 'website', {'instances': 1, 'cores': 4})
    request(context, 'kernel', *['big'] * 3)
    assert tenants().splitlines() == getShown(
        'howto/share-quota.rst', 'zuul-nodes tenants')
