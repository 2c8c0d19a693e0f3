"""zuul-web tells why a node has failed."""

import logging

import pytest
from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import ProviderNode
from zuul.web import ProviderNodeConverter
from zuul.zk import ZooKeeperClient
from zuul.zk.zkobject import ZKContext

from zuul_nodes.plugin.nodecomments import wrapToDict

State = ProviderNode.State


@pytest.fixture
def node(zuul_conf):
    """A failed node, and the context to change it with."""
    zk_client = ZooKeeperClient.fromConfig(zuul_conf)
    zk_client.connect()
    context = ZKContext(zk_client, None, None, logging.getLogger())
    yield StaticProviderNode.new(
        context, label='debian', state=State.FAILED,
        comment='no such flavor'), context
    zk_client.disconnect()


@pytest.fixture
def convert(monkeypatch):
    monkeypatch.setattr(ProviderNodeConverter, 'toDict', wrapToDict(
        ProviderNodeConverter.toDict, None))
    return ProviderNodeConverter.toDict


def test_comment_of_a_failed_node_is_shown(node, convert):
    assert convert(node[0])['comment'] == 'no such flavor'


def test_what_a_user_asks_for_is_shown_first(node, convert):
    node, context = node
    node.setNextState(context, State.HOLD, 'it is odd')
    assert convert(node)['comment'] == 'it is odd'
