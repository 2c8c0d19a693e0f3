"""Zuul's own launcher, with a driver that is nothing but an adapter."""

import pytest
from zuul.model import NodesetRequest

from tests.fixtures import executor
from tests.fixtures.waiting import waitFor
from tests.unit.drivers.fake import stock


@pytest.fixture
def started(zuul_conf, tmp_path):
    stock.configure(zuul_conf, tmp_path)
    launcher, providers = stock.start(zuul_conf)
    yield launcher, providers[0].getEndpoint()
    launcher.stop()
    launcher.join()


def test_stock_launcher_makes_and_deletes_nodes(started):
    launcher, endpoint = started
    with launcher.createZKContext(None, launcher.log) as context:
        request = NodesetRequest.new(
            context, tenant_name='tenant', pipeline_name='check',
            labels=['label', 'label'])
        nodes = stock.waitUntilServed(launcher, request)
        assert len(nodes) == len(endpoint.adapter.cloud.listInstances()) == 2
        executor.use(context, nodes)
        launcher.api.getNodesetRequest(request.uuid).delete(context)
    waitFor(lambda: not list(launcher.api.getProviderNodes()))
    assert not endpoint.adapter.cloud.listInstances()
    assert not endpoint.driver.steps_have_threads
