"""With the launcher: from a request to a node and back."""

import pytest
from zuul.lib.connections import ConnectionRegistry
from zuul.model import ProviderNode

from tests.fixtures import launcher as launcher_module
from tests.fixtures.launcher import Steps
from tests.fixtures.racks import finish, isDone
from tests.unit.drivers.gce.sites import LAYOUT
from zuul_nodes.drivers.gce import GceDriver
from zuul_nodes.drivers.gce.adapter import GceAdapter
from zuul_nodes.plugin import registry
from zuul_nodes.plugin.extensions import Extensions

State = ProviderNode.State
CONFIGURATION = LAYOUT.replace(
    'label-defaults:', 'label-defaults:\n      host-key-checking: false')


@pytest.fixture
def steps(gce, zuul_conf, tmp_path, monkeypatch):
    def makeRegistry(config):
        connections = ConnectionRegistry()
        registry.wrapConfigure(
            ConnectionRegistry.configure,
            Extensions({'gce': GceDriver}, {}, {}))(
                connections, config, providers=True)
        return connections

    monkeypatch.setattr(launcher_module, 'makeRegistry', makeRegistry)
    monkeypatch.setattr(GceAdapter, 'list_interval', 0.05)
    gce.buckets.create('images', gce.project)
    zuul_conf.read_dict({
        'connection gce': {
            'driver': 'gce', 'project': gce.project, 'bucket': 'images',
            'api_endpoint': gce.url, 'storage_endpoint': gce.storage_url},
        'launcher': {'temp_dir': tmp_path}})
    launcher = Steps(zuul_conf)
    yield launcher
    launcher.end()


def serve(steps, *requests):
    """:return: the nodes of requests, a list for each."""
    steps.runUntil(lambda: all(map(isDone, requests)))
    for request in requests:
        assert request.state == request.State.FULFILLED
    return [[steps.api.getProviderNode(name) for name in request.nodes]
            for request in requests]


def finishAll(gce, steps, *requests):
    for request in requests:
        finish(steps, request)
    steps.runUntil(lambda: not steps.nodes())
    assert not gce.instances.names
    assert not gce.disks.names


def test_node(gce, steps):
    steps.setLayout(CONFIGURATION)
    request = steps.addRequest('debian')
    (node,), = serve(steps, request)
    instance = gce.instances[f'np{node.uuid}']
    interface, = instance['networkInterfaces']
    assert node.interface_ip == node.public_ipv4 == (
        interface['accessConfigs'][0]['natIP'])
    assert node.private_ipv4 == interface['networkIP']
    assert node.create_state['instance_id'] == (
        f'{node.az}/{instance["name"]}')
    assert (node.username, node.connection_type) == ('zuul', 'ssh')
    assert node.quota.getResources() == {
        'instances': 1, 'cores': 2, 'ram': 8192, 'CPUS': 2,
        'SSD_TOTAL_GB': 40, 'IN_USE_ADDRESSES': 1}
    listed, = steps.getProvider('gce-us').getEndpoint().listInstances()
    assert listed.tags == node.tags
    assert listed.problem is None
    assert node.tags.items() >= instance['labels'].items()
    finishAll(gce, steps, request)


def test_an_instance_that_is_preempted_is_told(gce, steps):
    steps.setLayout(CONFIGURATION)
    request = steps.addRequest('debian')
    (node,), = serve(steps, request)
    gce.preempt(f'np{node.uuid}')
    listed, = steps.getProvider('gce-us').getEndpoint().listInstances()
    assert listed.problem
    finishAll(gce, steps, request)


def test_one_list_serves_all(gce, steps):
    gce.jobs.polls['instances.insert'] = 3
    steps.setLayout(CONFIGURATION)
    before = gce.calls.copy()
    requests = [steps.addRequest('debian') for _ in range(20)]
    serve(steps, *requests)
    finishAll(gce, steps, *requests)
    calls = gce.calls - before
    assert calls['instances.insert'] == 20
    assert calls['instances.delete'] == 20
    assert not calls['zoneOperations.get']
    # For a node alone it is as many.
    assert calls['instances.aggregatedList'] < 100


def test_nodeset_is_in_one_zone(gce, steps):
    steps.setLayout(CONFIGURATION)
    request = steps.addRequest('debian', 'debian', 'debian')
    nodes, = serve(steps, request)
    assert len({node.az for node in nodes}) == 1
    finishAll(gce, steps, request)


def test_zone_that_the_label_says(gce, steps):
    steps.setLayout(CONFIGURATION.replace(
        'volume-size:', 'az: us-central1-f\n      volume-size:'))
    request = steps.addRequest('debian')
    (node,), = serve(steps, request)
    assert node.az == 'us-central1-f'
    finishAll(gce, steps, request)


def test_zone_has_no_room_at_once(gce, steps):
    steps.setLayout(CONFIGURATION)
    fault = gce.inject(
        'POST', '.*/instances', 503, 'no room',
        reason='ZONE_RESOURCE_POOL_EXHAUSTED')
    request = steps.addRequest('debian')
    (node,), = serve(steps, request)
    assert fault.times == 0
    assert len(node.create_state['full']) == 1
    assert node.az not in node.create_state['full']
    finishAll(gce, steps, request)


@pytest.mark.parametrize('code', [
    'ZONE_RESOURCE_POOL_EXHAUSTED', 'RESOURCE_POOL_EXHAUSTED'])
def test_zone_has_no_room_in_the_end(gce, steps, code):
    steps.setLayout(CONFIGURATION)
    gce.fail('instances.insert', code, 'no room')
    request = steps.addRequest('debian')
    (node,), = serve(steps, request)
    first, second = (
        operation for operation in gce.zone_operations.resources.values()
        if operation['operationType'] == 'insert')
    assert gce.calls['instances.insert'] == 2
    # It is the same node.
    for operation in (first, second):
        assert operation['targetLink'].endswith(f'/np{node.uuid}')
    assert second['zone'].endswith(f'/{node.az}')
    zone, = node.create_state['full']
    assert first['zone'].endswith(f'/{zone}') and zone != node.az
    assert node.create_state['instance_id'] == f'{node.az}/np{node.uuid}'
    # The next ones go where there is room at once.
    others = [steps.addRequest('debian') for _ in range(3)]
    assert {each.az for each, in serve(steps, *others)} <= {
        *steps.getProvider('gce-us').getAZs()} - {zone}
    assert gce.calls['instances.insert'] == 5
    finishAll(gce, steps, request, *others)


def test_region_has_no_room_at_first(gce, steps):
    """That is no failure of the request, however often."""
    steps.setLayout(CONFIGURATION)
    for _ in range(3):
        gce.fail('instances.insert', 'RESOURCE_POOL_EXHAUSTED', 'no room')
    request = steps.addRequest('debian')
    steps.runUntil(lambda: isDone(request) or (
        gce.calls['instances.insert'] == 3 and not steps.nodes()))
    assert not isDone(request)


def test_family_of_machines_that_there_is_not_in_the_region(gce, steps):
    """It will not be there when other instances go: the second answer confirms
    the first."""
    gce.quota.families['C4'] = 0
    steps.setLayout(CONFIGURATION.replace('e2-standard-2', 'c4-standard-2'
                    ).replace('pd-balanced', 'hyperdisk-balanced'))
    request = steps.addRequest('debian')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    assert gce.calls['instances.insert'] == 2
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: not steps.nodes())


def test_quota_is_kept_to(gce, steps):
    gce.quota.regional['CPUS'] = 5
    steps.setLayout(CONFIGURATION)
    requests = [steps.addRequest('debian') for _ in range(3)]
    steps.runUntil(lambda: sum(map(isDone, requests)) == 2)
    steps.run()
    assert gce.calls['instances.insert'] == 2
    done = [request for request in requests if isDone(request)]
    for request in done:
        finish(steps, request)
    last, = (request for request in requests if request not in done)
    serve(steps, last)
    finishAll(gce, steps, last)


def test_image_that_there_is_not(gce, steps):
    steps.setLayout(CONFIGURATION.replace(
        'image-family: debian-12', 'image-family: debian-1'))
    request = steps.addRequest('debian')
    steps.runUntil(lambda: isDone(request))
    assert request.state == request.State.FAILED
    # The second answer confirms the first.
    assert gce.calls['instances.insert'] == 2
    with steps.context() as context:
        request.delete(context)
    steps.runUntil(lambda: not steps.nodes())
