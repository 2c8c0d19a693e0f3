"""Nodes of a driver that is nothing but an adapter."""

import json

from zuul.driver.static.staticmodel import StaticProviderNode
from zuul.model import ProviderNode

from tests.fixtures import executor
from tests.unit.drivers.fake.layout import LAYOUT


def getEndpoint(launcher):
    return launcher.getProvider('provider').getEndpoint()


def serve(launcher, number):
    """:return: so many nodes of as many requests."""
    requests = [launcher.addRequest('label') for _ in range(number)]
    launcher.runUntil(lambda: all(
        request.state == request.State.FULFILLED for request in requests))
    return [launcher.api.getProviderNode(request.nodes[0])
            for request in requests], requests


def use(launcher, nodes, requests):
    """Have nodes used, as by executors and the scheduler."""
    for node, request in zip(nodes, requests, strict=True):
        with launcher.context() as context:
            executor.use(context, [node])
            request.delete(context)


def test_nodes_are_made_and_removed(launchFake):
    launcher = launchFake(zones='here')
    launcher.setLayout(LAYOUT)
    (node,), requests = serve(launcher, 1)
    (name, tags, zone, needs, is_ready), = (
        getEndpoint(launcher).adapter.cloud.listInstances())
    assert node.create_state['instance_id'] == name == f'np{node.uuid}'
    assert tags == node.tags
    assert tags['zuul_node_uuid'] == node.uuid
    assert node.az == zone == 'here'
    assert node.interface_ip == '127.0.0.1'
    assert node.quota.getResources() == needs == {'instances': 1, 'cores': 2}
    assert is_ready
    use(launcher, [node], requests)
    launcher.runUntil(lambda: not launcher.nodes())
    assert not getEndpoint(launcher).adapter.cloud.listInstances()


def test_one_list_serves_all(launchFake):
    launcher = launchFake(create_delay='0.5')
    launcher.setLayout(LAYOUT)
    numbers = getEndpoint(launcher).calls.numbers
    use(launcher, *serve(launcher, 30))
    launcher.runUntil(lambda: not launcher.nodes())
    assert numbers['createInstance'] == numbers['deleteInstance'] == 30
    assert numbers['getNeeds'] == 1
    # As many as there are intervals of 0.05 seconds, on a quick machine;
    # each node has asked several times.
    assert numbers['listInstances'] < 60, numbers


def test_failed_calls_are_retried(launchFake):
    launcher = launchFake(failure_rate='0.2')
    launcher.setLayout(LAYOUT)
    use(launcher, *serve(launcher, 5))
    launcher.runUntil(lambda: not launcher.nodes())
    cloud = getEndpoint(launcher).adapter.cloud
    cloud.failure_rate = 0
    assert not cloud.listInstances()


def test_request_waits_while_the_cloud_has_no_quota(launchFake):
    launcher = launchFake(cores='5')
    launcher.setLayout(LAYOUT)
    nodes, requests = serve(launcher, 2)
    third = launcher.addRequest('label')
    launcher.run()
    assert third.state != third.State.FULFILLED
    assert len(getEndpoint(launcher).adapter.cloud.listInstances()) == 2
    use(launcher, nodes[:1], requests[:1])
    launcher.runUntil(lambda: third.state == third.State.FULFILLED)


def test_records_of_nodes_are_of_a_class_that_executors_know(launchFake):
    launcher = launchFake()
    launcher.setLayout(LAYOUT)
    (node,), _ = serve(launcher, 1)
    data, _ = launcher.zk_client.client.get(node.getPath())
    assert data.startswith(b'static\0')
    # An executor without any driver of ours reads it, and writes it.
    with launcher.context() as context:
        read = StaticProviderNode.fromZK(context, node.getPath())
        assert json.loads(read.serialize(context)) == json.loads(
            ProviderNode._decompressData(data)[1])


def test_next_launcher_reads_the_records(launchFake, caplog):
    launcher = launchFake()
    launcher.setLayout(LAYOUT)
    _, (request,) = serve(launcher, 1)
    second = launchFake()
    second.runUntil(lambda: second.api.getNodesetRequest(request.uuid))
    assert 'Error' not in caplog.text
