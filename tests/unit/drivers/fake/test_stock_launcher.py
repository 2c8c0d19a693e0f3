"""Zuul's own launcher, with a driver that is nothing but an adapter."""

import uuid

import pytest
from zuul.launcher.server import Launcher
from zuul.model import NodesetRequest, ProviderNode
from zuul.zk.layout import LayoutState

from tests.fixtures.launcher import makeProviders, makeRegistry
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.fake.layout import LAYOUT


@pytest.fixture
def launcher(zuul_conf, tmp_path):
    zuul_conf.read_dict({
        'launcher': {'temp_dir': tmp_path,
                     'command_socket': tmp_path / 'socket'},
        'connection fake': {'driver': 'fake', 'path': str(tmp_path / 'cloud'),
                            'create_delay': '0.2'}})
    launcher = Launcher(zuul_conf, makeRegistry(zuul_conf))
    launcher.start()
    yield launcher
    launcher.stop()
    launcher.join()


def test_stock_launcher_makes_and_deletes_nodes(launcher):
    providers = makeProviders(
        launcher.connections, LAYOUT, zk_client=launcher.zk_client)
    endpoint = providers[0].getEndpoint()
    with launcher.createZKContext(None, launcher.log) as context:
        launcher.layout_providers_store.set(context, 'tenant', providers)
        launcher.tenant_layout_state['tenant'] = LayoutState(
            'tenant', 'scheduler', 0, uuid.uuid4().hex, {}, 1)
        request = NodesetRequest.new(
            context, tenant_name='tenant', pipeline_name='check',
            labels=['label', 'label'])
        waitFor(lambda: (found := launcher.api.getNodesetRequest(
            request.uuid)) and found.state == found.State.FULFILLED)
        nodes = list(launcher.api.getProviderNodes())
        assert len(nodes) == len(endpoint.adapter.cloud.listInstances()) == 2
        for node in nodes:
            assert node.acquireLock(context, blocking=False)
            with node.activeContext(context):
                node.setState(ProviderNode.State.USED)
            node.releaseLock(context)
        launcher.api.getNodesetRequest(request.uuid).delete(context)
    waitFor(lambda: not list(launcher.api.getProviderNodes()))
    assert not endpoint.adapter.cloud.listInstances()
    assert not endpoint.driver.steps_have_threads
