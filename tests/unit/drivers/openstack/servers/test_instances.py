"""Nodes, made and removed."""

import base64
import logging
import types

from openstack.cloud import meta
import pytest
from zuul.driver.openstack.openstackmodel import OpenstackProviderNode

from tests.unit.drivers.openstack.nodesites import addImage, change
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)
from zuul_nodes.drivers.openstack.cloud.failures import (
    ExistsError,
    NotFoundError,
)

SERVERS = '/compute/v2.1/servers'


def test_node(nodes, cloud):
    node = nodes.makeNode()
    nodes.create(node)
    server, = nodes.servers
    floating, = cloud.neutron.floatingips.values()
    port, = cloud.neutron.ports.values()
    assert (node.interface_ip, node.public_ipv4, node.private_ipv4) == (
        *[floating['floating_ip_address']] * 2,
        port['fixed_ips'][0]['ip_address'])
    assert node.az in ('east', 'west')
    assert server['image']['id'] == 'new'
    assert cloud.nova.flavors[server['flavor']['id']]['name'] == 'm1.small'
    assert (server['name'], server['key_name'], server['config_drive']) == (
        f'np{node.uuid[:13]}', 'zuul', 'True')
    assert server['security_groups'] == [{'name': 'default'}]
    assert server['metadata'] == node.tags | {
        'owner': 'ci', 'tenant': 'tenant', 'request': 'of request-1'}
    # Zuul's own driver finds it by these.
    assert type(node) is OpenstackProviderNode
    assert (node.openstack_server_id, node.openstack_floating_ip_id) == (
        server['id'], floating['id'])
    nodes.delete(node)
    assert not nodes.getLeft()
    # Whoever comes next does it again.
    nodes.delete(node)


def test_volume_group_and_port_security(nodes, cloud):
    node = nodes.makeNode('lab')
    nodes.create(node)
    server, = nodes.servers
    volume, = cloud.cinder.volumes.values()
    assert cloud.nova.flavors[server['flavor']['id']]['name'] == 'm1.medium'
    assert server['image'] == ''
    assert (volume['size'], volume['volume_type']) == (40, 'fast')
    assert volume['metadata'] == node.tags
    group, = cloud.nova.groups.values()
    assert group['members'] == [server['id']]
    ports = {cloud.neutron.networks[port['network_id']]['name']: port
             for port in cloud.neutron.ports.values()}
    assert ports['lab']['port_security_enabled'] is False
    assert ports.keys() == {'private', 'lab'}
    floating, = cloud.neutron.floatingips.values()
    assert floating['port_id'] == ports['private']['id']
    nodes.delete(node)
    assert not nodes.getLeft()


def test_volume_that_nova_leaves(nodes, cloud, monkeypatch):
    monkeypatch.setattr(
        cloud.cinder, 'detach',
        lambda volume_id, delete: cloud.cinder.volumes[volume_id].update(
            status='available', attachments=[]))
    # As usual, the cloud is asked for a list less often than a node.
    monkeypatch.setattr(nodes.endpoint.volumes, 'interval', 0.3)
    node = nodes.makeNode('lab')
    nodes.create(node)
    volume_id, = cloud.cinder.volumes
    nodes.delete(node)
    assert not nodes.getLeft()
    # Cinder refuses it while it is being removed.
    assert cloud.calls.count(
        ('DELETE', f'/volume/v3/volumes/{volume_id}')) == 1


def test_volume_that_can_not_be_tagged(nodes, cloud):
    cloud.inject('POST', '/volume/v3/volumes/[^/]+/metadata', 403)
    node = nodes.makeNode('lab')
    nodes.create(node)
    assert node.create_state['volumes'] == list(cloud.cinder.volumes)
    nodes.delete(node)
    assert not nodes.getLeft()


def test_volumes_in_a_zone_without_room(nodes, cloud, monkeypatch):
    """They go, also those that Nova leaves."""
    monkeypatch.setattr(
        cloud.cinder, 'detach',
        lambda volume_id, delete: cloud.cinder.volumes[volume_id].update(
            status='available', attachments=[]))
    cloud.nova.full = {'east', 'west'}
    node = nodes.makeNode('lab')
    with pytest.raises(CapacityError):
        nodes.create(node)
    assert len(cloud.cinder.volumes) == 2
    nodes.delete(node)
    assert not nodes.getLeft()


def test_volume_of_somebody_else_stays(nodes, cloud):
    """A job has attached it."""
    node = nodes.makeNode('lab')
    nodes.create(node)
    volume = cloud.cinder.addVolume(b'', 1)
    volume['status'] = 'available'
    nodes.servers[0]['os-extended-volumes:volumes_attached'].append({
        'id': volume['id'], 'delete_on_termination': False})
    nodes.delete(node)
    assert nodes.getLeft() == [volume['id']]


def test_cloud_too_old_for_volume_types(nodes, cloud):
    cloud.nova.newest = '2.60'
    with pytest.raises(PermanentError, match=r'volume-type.*2\.67'):
        nodes.create(nodes.makeNode('lab'))
    # The rest of it works.
    nodes.create(nodes.makeNode())


def test_userdata(makeNodes, cloud):
    nodes = makeNodes(change('username: debian',
                             'username: debian\n      userdata: "ä"'))
    nodes.create(nodes.makeNode())
    server, = nodes.servers
    assert base64.b64decode(
        server['OS-EXT-SRV-ATTR:user_data']).decode() == 'ä'
    nodes = makeNodes(change(
        'username: debian',
        f'username: debian\n      userdata: {65536 * "a"}'))
    with pytest.raises(PermanentError, match='has 65536 bytes'):
        nodes.create(nodes.makeNode())


def test_port_to_which_no_router_leads(nodes, cloud):
    cloud.inject('POST', '/network/v2.0/floatingips', 404,
                 'External network is not reachable from subnet')
    nodes.create(nodes.makeNode('lab'))
    floating, = cloud.neutron.floatingips.values()
    port = cloud.neutron.ports[floating['port_id']]
    assert cloud.neutron.networks[port['network_id']]['name'] == 'lab'


def test_no_router_leads_anywhere(nodes, cloud):
    cloud.inject('POST', '/network/v2.0/floatingips', 404,
                 'External network is not reachable from subnet', times=9)
    node = nodes.makeNode()
    with pytest.raises(PermanentError, match='not reachable'):
        nodes.create(node)
    nodes.delete(node)
    assert not nodes.getLeft()


def test_no_floating_ip(makeNodes, cloud):
    nodes = makeNodes(change('key-name: zuul',
                             'key-name: zuul\n      auto-floating-ip: false'))
    node = nodes.makeNode()
    nodes.create(node)
    assert node.interface_ip == node.private_ipv4
    assert not cloud.neutron.floatingips
    nodes.delete(node)
    assert not nodes.getLeft()


def test_floating_ip_takes_time(nodes, cloud):
    cloud.neutron.floating_polls = 3
    nodes.create(nodes.makeNode())
    floating, = cloud.neutron.floatingips.values()
    assert floating['status'] == 'ACTIVE'


# Networks

NO_NETWORKS = change('      networks: [private]\n', '')


@pytest.fixture
def tried(monkeypatch):
    """:return: a list of the addresses that openstacksdk has looked up to
        connect to them."""
    tried = []

    def getaddrinfo(address, *args):
        tried.append(address)
        return []
    monkeypatch.setattr(meta, 'socket', types.SimpleNamespace(
        getaddrinfo=getaddrinfo, AF_UNSPEC=0, SOCK_STREAM=0))
    return tried


def test_default_network(makeNodes, cloud, clouds_yaml, tried):
    """If a label names none, it is that of clouds.yaml.

    The node is reached by its floating IP, without a try.
    """
    cloud.writeConfig(clouds_yaml, networks=[
        {'name': 'private', 'default_interface': True}])
    nodes = makeNodes(NO_NETWORKS)
    node = nodes.makeNode()
    nodes.create(node)
    port, = cloud.neutron.ports.values()
    assert port['network_id'] == cloud.neutron.private['id']
    floating, = cloud.neutron.floatingips.values()
    assert node.interface_ip == floating['floating_ip_address']
    assert node.private_ipv4 == port['fixed_ips'][0]['ip_address']
    assert tried == []


def makeAddress(address, kind='fixed', mac='m1'):
    return {'addr': address, 'version': 6 if ':' in address else 4,
            'OS-EXT-IPS:type': kind, 'OS-EXT-IPS-MAC:mac_addr': mac}


@pytest.mark.parametrize(('private', 'addresses', 'expected'), [
    (False, {'private': [makeAddress('10.0.0.3'),
                         makeAddress('192.0.2.1', 'floating')]},
     ('192.0.2.1', None, '10.0.0.3', '192.0.2.1')),
    (True, {'private': [makeAddress('10.0.0.3'),
                        makeAddress('192.0.2.1', 'floating')]},
     ('192.0.2.1', None, '10.0.0.3', '10.0.0.3')),
    # The private address is the one that the floating IP leads to.
    (False, {'private': [makeAddress('10.0.0.3'),
                         makeAddress('10.0.0.4', mac='m2'),
                         makeAddress('192.0.2.1', 'floating', 'm2'),
                         makeAddress('192.0.2.2', 'floating')]},
     ('192.0.2.1', None, '10.0.0.4', '192.0.2.1')),
    (False, {'private': [makeAddress('10.0.0.3'), makeAddress('fd00::3')],
             'public': [makeAddress('192.0.2.1'), makeAddress('192.0.2.2'),
                        makeAddress('2a00::1')]},
     ('192.0.2.1', '2a00::1', '10.0.0.3', '192.0.2.1')),
])
def test_addresses_are_not_chosen_by_connecting_to_them(
        nodes, tried, private, addresses, expected):
    """A cloud may show any address: the launcher does not connect to it."""
    adapter = nodes.endpoint.adapter
    adapter.client.private = private
    # As on a machine without IPv6.
    adapter.client._local_ipv6 = False
    found, _ = adapter.getAddresses({'addresses': addresses}, [])
    assert (found['public_ipv4'], found['public_ipv6'],
            found['private_ipv4'], found['interface_ip']) == expected
    assert tried == []


@pytest.mark.parametrize('settings', [
    {}, {'compute_default_microversion': '2.60'}])
def test_nova_chooses_the_network(makeNodes, cloud, clouds_yaml, settings):
    cloud.writeConfig(clouds_yaml, **settings)
    nodes = makeNodes(NO_NETWORKS)
    with pytest.raises(PermanentError, match='Multiple possible networks'):
        nodes.create(nodes.makeNode())
    cloud.nova.newest = '2.30'
    del cloud.neutron.networks[nodes.lookups.getNetwork('lab')['id']]
    if settings:
        cloud.nova.newest = '2.60'
    nodes = makeNodes(NO_NETWORKS)
    nodes.create(nodes.makeNode())
    assert len(nodes.servers) == 1


def test_neutron_without_routers(makeNodes, cloud):
    cloud.neutron.quota = {'port': 9}
    cloud.neutron.networks.pop(cloud.neutron.public['id'])
    cloud.inject('GET', '/network/v2.0/floatingips', 404, times=99)
    nodes = makeNodes()
    node = nodes.makeNode()
    nodes.create(node)
    assert node.interface_ip == node.private_ipv4
    limits = nodes.endpoint.getQuotaLimits().getResources()
    assert limits == {'ports': 9}
    nodes.delete(node)
    assert not nodes.getLeft()


# Crashes and lost answers

@pytest.mark.parametrize(('method', 'path'), [
    ('POST', SERVERS), ('POST', '/network/v2.0/floatingips'),
    ('POST', '/network/v2.0/ports')])
@pytest.mark.parametrize('goes_on', [True, False])
def test_answer_is_lost(nodes, cloud, method, path, goes_on):
    """Whoever goes on, or gives up, finds what there is."""
    node = nodes.makeNode('lab')
    cloud.inject(method, path, acts=True)
    with pytest.raises(TemporaryError):
        nodes.create(node)
    if goes_on:
        nodes.create(node)
        assert len(nodes.servers) == 1
        assert len(cloud.neutron.floatingips) == 1
        assert len(cloud.neutron.ports) == 2
    nodes.delete(node)
    assert not nodes.getLeft()


@pytest.mark.parametrize('label', ['debian', 'lab'])
def test_nobody_has_written_anything_down(nodes, label):
    node = nodes.makeNode(label)
    nodes.create(node)
    node._set(create_state={}, openstack_server_id=None,
              openstack_floating_ip_id=None)
    nodes.delete(node)
    assert not nodes.getLeft()


def test_node_that_zuuls_driver_has_begun(nodes):
    node = nodes.makeNode()
    nodes.create(node)
    node._set(create_state={'state': 'creating server'})
    nodes.create(node)
    assert len(nodes.servers) == 1
    node._set(create_state={}, delete_state={'state': 'deleting server'})
    nodes.delete(node)
    assert not nodes.getLeft()


def test_server_that_has_left_a_zone(nodes):
    """It is no more in the record of who has come to the next zone."""
    node = nodes.makeNode(openstack_server_id='gone', create_state={
        'state': 'asked for an instance', 'instance_id': None,
        'full': ['east']})
    nodes.create(node)
    assert node.az == 'west'


@pytest.mark.parametrize('path', [
    SERVERS + '/[^/]+', '/network/v2.0/floatingips/[^/]+'])
def test_deletion_is_tried_again(nodes, cloud, path):
    node = nodes.makeNode()
    nodes.create(node)
    cloud.inject('DELETE', path, 503)
    with pytest.raises(TemporaryError):
        nodes.delete(node)
    nodes.delete(node)
    assert not nodes.getLeft()


# Zones

def test_zone_without_room(nodes, cloud):
    cloud.nova.full = {'east'}
    made = [nodes.makeNode(request_time=float(number)) for number in range(8)]
    for node in made:
        nodes.create(node)
    assert {node.az for node in made} == {'west'}
    for node in made:
        nodes.delete(node)
    assert not nodes.getLeft()


def test_nodeset_is_in_one_zone(nodes):
    """And others in another one."""
    zones = []
    for number in range(12):
        made = [nodes.makeNode(request_time=float(number))
                for _ in range(2)]
        for node in made:
            nodes.create(node)
        first, second = made
        assert first.az == second.az
        zones.append(first.az)
    assert set(zones) == {'east', 'west'}


def test_zones_of_the_cloud(makeNodes, cloud):
    cloud.nova.full = {'east'}
    nodes = makeNodes(change('    availability-zones: [east, west]\n', ''))
    node = nodes.makeNode()
    nodes.create(node)
    assert node.az == 'west'


def test_closed_zone(nodes, cloud):
    cloud.nova.closed = {'east'}
    made = [nodes.makeNode(request_time=float(number)) for number in range(8)]
    for node in made:
        nodes.create(node)
    assert {node.az for node in made} == {'west'}
    cloud.nova.closed = {'east', 'west'}
    with pytest.raises(CapacityError, match=r'zone "[a-z]+" is closed'):
        nodes.create(nodes.makeNode())


def test_unknown_zone(makeNodes):
    nodes = makeNodes(change('availability-zones: [east, west]', 'az: north'))
    with pytest.raises(PermanentError, match='zone is not available'):
        nodes.create(nodes.makeNode())


def test_cloud_that_does_not_tell_its_zones(makeNodes, cloud):
    cloud.inject('GET', '/compute/v2.1/os-availability-zone', 403, times=9)
    nodes = makeNodes(change('    availability-zones: [east, west]\n', ''))
    node = nodes.makeNode()
    nodes.create(node)
    assert node.az == 'east'


# What fails

def test_no_zone_has_room(nodes, cloud):
    cloud.nova.full = {'east', 'west'}
    node = nodes.makeNode()
    with pytest.raises(CapacityError, match='No valid host'):
        nodes.create(node)
    nodes.delete(node)
    assert not nodes.getLeft()


@pytest.mark.parametrize(('message', 'kind'), [
    ('Build of instance 1 aborted: VolumeLimitExceeded: Maximum number of '
     'volumes allowed (10) exceeded for quota', QuotaError),
    ('Build of instance 1 aborted: Maximum number of ports exceeded',
     QuotaError),
    ('Build of instance 1 aborted: No fixed IP addresses available for '
     'network: 2', QuotaError),
    ('Exceeded maximum number of retries. Exhausted all hosts available for '
     'retrying build failures for instance 1.', CapacityError),
    ('Build of instance 1 aborted: Failed to allocate the network(s), not '
     'rescheduling.', TemporaryError),
    ('Build of instance 1 aborted: Image 1 is unacceptable: Image too large',
     PermanentError),
    ('Build of instance 1 aborted: Volume 1 did not finish being created even '
     'after we waited 3 seconds or 2 attempts. And its status is error.',
     TemporaryError),
    ('Something else', DriverError)])
def test_faults(makeNodes, cloud, message, kind):
    nodes = makeNodes(change('availability-zones: [east, west]', 'az: east'))
    cloud.nova.faults = [message]
    node = nodes.makeNode()
    with pytest.raises(kind) as info:
        nodes.create(node)
    assert type(info.value) is kind
    assert message in str(info.value)
    nodes.delete(node)
    assert not nodes.getLeft()


NO_HOST = 'No valid host was found. There are not enough hosts available.'
UNFINISHED = ('Build of instance 1 aborted: Volume 1 did not finish being '
              'created even after we waited 3 seconds or 2 attempts. And its '
              'status is error.')


@pytest.mark.parametrize(('message', 'kind'), [
    (NO_HOST, CapacityError), (UNFINISHED, TemporaryError)])
def test_refusals_without_end_are_failed_attempts(
        makeNodes, cloud, message, kind):
    nodes = makeNodes(change('availability-zones: [east, west]', 'az: east'))
    refusals = nodes.endpoint.refusals
    clock = types.SimpleNamespace(now=0.0)
    refusals.clock = lambda: clock.now
    for clock.now, expected in ((0.0, kind), (refusals.limit - 1, kind),
                                (refusals.limit + 1, DriverError)):
        cloud.nova.faults = [message]
        with pytest.raises(expected, match=message[:20]) as info:
            nodes.create(nodes.makeNode())
        assert type(info.value) is expected
    assert 'm1.small' in str(info.value)


def test_flavor_that_runs_is_waited_for(makeNodes, cloud):
    """The cloud is full, of servers that the flavor fits."""
    nodes = makeNodes(change('availability-zones: [east, west]', 'az: east'))
    refusals = nodes.endpoint.refusals
    clock = types.SimpleNamespace(now=0.0)
    refusals.clock = lambda: clock.now
    nodes.create(nodes.makeNode())
    for clock.now in (0.0, refusals.limit + 1, 2 * refusals.limit + 2):
        cloud.nova.faults = [NO_HOST]
        with pytest.raises(CapacityError):
            nodes.create(nodes.makeNode())


def test_quota(nodes, cloud):
    cloud.nova.limits['cores'] = 0
    with pytest.raises(QuotaError, match='Quota exceeded for cores'):
        nodes.create(nodes.makeNode())
    cloud.nova.limits['cores'] = -1
    cloud.neutron.quota['floatingip'] = 0
    node = nodes.makeNode()
    with pytest.raises(QuotaError, match='floatingip'):
        nodes.create(node)
    nodes.delete(node)
    assert not nodes.getLeft()


@pytest.mark.parametrize(('status', 'message', 'kind'), [
    (500, 'Unexpected API Error.', TemporaryError),
    (503, 'no servers', TemporaryError),
    (429, 'slowly', TemporaryError),
    (409, 'Somebody is at it', ExistsError),
    (403, 'Policy does not allow it', DriverError),
    (401, 'Please log in', LoginError),
    (404, 'Not here', NotFoundError),
    (404, 'Flavor 1 could not be found.', PermanentError),
    (403, 'Quota exceeded for instances', QuotaError),
    (413, 'Quota exceeded', QuotaError),
    (409, 'Multiple security_group matches found for name \'default\', use '
     'an ID to be more specific.', PermanentError),
    (400, 'Invalid input for field/attribute name.', PermanentError),
    (400, 'Bad', DriverError)])
def test_refusals(nodes, cloud, status, message, kind):
    cloud.inject('POST', SERVERS, status, message, times=9)
    with pytest.raises(kind, match=message) as info:
        nodes.create(nodes.makeNode())
    assert type(info.value) is kind


def test_servers_can_not_be_listed(nodes, cloud):
    cloud.inject('GET', SERVERS + '/detail', 403, 'Policy')
    with pytest.raises(DriverError, match='Policy'):
        nodes.endpoint.listing.getNow()


def test_calls_do_not_hang(makeNodes, cloud):
    nodes = makeNodes(api_timeout='0.3')
    fault = cloud.inject('POST', SERVERS, hangs=True)
    node = nodes.makeNode()
    with pytest.raises(TemporaryError, match='timed out'):
        nodes.create(node)
    fault.release()


def test_what_the_cloud_remembers_is_not_what_it_has(nodes, cloud):
    """An image is replaced while we know the old one."""
    nodes.create(nodes.makeNode())
    for name in ('old', 'new'):
        del cloud.glance.images[name]
    addImage(cloud, 'other', '2020-01-01T00:00:00Z')
    node = nodes.makeNode()
    nodes.create(node)
    assert nodes.servers[-1]['image']['id'] == 'other'


def test_console(nodes, cloud):
    node = nodes.makeNode()
    nodes.create(node)
    cloud.nova.consoles[node.openstack_server_id] = 'panic'
    label = nodes.provider.labels['debian']
    assert label.console_log
    assert nodes.provider.getConsoleLog(label, node) == 'panic'


# How often the cloud is called

def test_one_list_serves_all(nodes, cloud):
    made = [nodes.makeNode() for _ in range(5)]
    machines = [nodes.makeMachine(node) for node in made]
    before = len(cloud.calls)
    while not all(machine.complete for machine in machines):
        for machine in machines:
            if not machine.complete:
                machine.advance()
    calls = [f'{method} {path}' for method, path in cloud.calls[before:]]
    assert calls.count(f'POST {SERVERS}') == 5
    assert calls.count('POST /network/v2.0/floatingips') == 5
    # Nothing is asked of one of them.
    assert not [call for call in calls if call.startswith('GET')
                and any(server in call for server in cloud.nova.servers)]


def test_foreign_servers_use_up_limits(nodes, cloud):
    node = nodes.makeNode('lab')
    nodes.create(node)
    nodes.servers[0]['metadata'] = {}
    instance, = nodes.endpoint.listInstances()
    quota = instance.getQuotaInformation().getResources()
    assert quota.items() >= {'instances': 1, 'cores': 2, 'ram': 4096,
                             'volumes': 1, 'volume-gb': 40}.items()


def test_secrets_are_not_logged(makeNodes, cloud, caplog):
    caplog.set_level(logging.DEBUG)
    nodes = makeNodes(change('username: debian',
                             'username: debian\n      userdata: key=1234'))
    nodes.create(nodes.makeNode())
    for secret in (cloud.keystone.users['zuul']['password'],
                   'admin-password', base64.b64encode(b'key=1234').decode()):
        assert secret not in caplog.text
