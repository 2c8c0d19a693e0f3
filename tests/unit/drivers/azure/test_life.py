"""Nodes, made and removed."""

import base64
import logging
import types

import pytest
from zuul.driver.azure.azuremodel import AzureProviderNode

from tests.fixtures.waiting import finish, waitFor
from tests.unit.drivers.azure.sites import IMAGE, SUBNET, change
from zuul_nodes.drivers import (
    CapacityError,
    DriverError,
    LoginError,
    PermanentError,
    QuotaError,
    TemporaryError,
)

VMS = r'.*/virtualMachines/np.*'


def test_node(site, azure):
    node = site.makeNode()
    site.create(node)
    vm = azure.vms[f'np{node.uuid}']
    assert isinstance(node, AzureProviderNode)
    assert node.azure_vm_id == vm['id'].lower()
    assert (node.interface_ip, node.public_ipv4, node.private_ipv4) == (
        '198.18.0.1', '198.18.0.1', '10.0.0.4')
    assert (node.cloud, node.region) == ('Azure', 'eastus')
    assert vm['tags'] == node.tags
    assert len(vm['properties']['osProfile']['computerName']) == 15
    assert node.quota.getResources() == {
        'instances': 1, 'cores': 2, 'ram': 8192, 'standardDSv3Family': 2}
    site.delete(node)
    assert not site.left


def test_without_a_public_address(makeSite):
    site = makeSite(change('public-ipv4: true', 'ipv6: true'))
    node = site.create(site.makeNode())
    assert node.public_ipv4 is None
    # Azure has no interfaces with IPv6 alone.
    assert node.interface_ip == node.private_ipv4 == '10.0.0.4'
    assert node.private_ipv6 == 'fd00::4'


@pytest.mark.parametrize(('flavor', 'public'), [
    ('public-ipv4: true', True), ('ipv4: true', False)])
def test_internal_address(makeSite, azure, flavor, public):
    site = makeSite(change('public-ipv4: true', flavor).replace(
        'region:', 'use-internal-ip: true\n    region:'))
    node = site.create(site.makeNode())
    assert node.interface_ip == node.private_ipv4 == '10.0.0.4'
    # It is made, and told to jobs, if it is asked for.
    assert (node.public_ipv4 is not None) == public
    assert len(azure.addresses.names) == public


def test_data_is_encoded(makeSite):
    site = makeSite(change(
        SUBNET, SUBNET + '\n        userdata: "#cloud-config: ü"').replace(
            'public-ipv4: true',
            'public-ipv4: true\n        custom-data: of the flavor\n'
            '        userdata: not used'))
    site.create(site.makeNode())
    properties = site.getMachine()
    assert base64.b64decode(properties['userData']).decode() == (
        '#cloud-config: ü')
    assert base64.b64decode(
        properties['osProfile']['customData']) == b'of the flavor'


@pytest.mark.parametrize(('image', 'expected'), [
    ('shared-gallery-image: {gallery-name: ci, name: debian}',
     {'sharedGalleryImageId': '/SharedGalleries/ci/Images/debian'}),
    ('community-gallery-image: {gallery-name: c, name: d, version: 1.0.0}',
     {'communityGalleryImageId':
      '/CommunityGalleries/c/Images/d/Versions/1.0.0'}),
    ('community-gallery-image: {gallery-name: c, name: d}',
     {'communityGalleryImageId': '/CommunityGalleries/c/Images/d'}),
    ('image-reference: {publisher: p, offer: o, sku: s, version: latest}',
     {'publisher': 'p', 'offer': 'o', 'sku': 's', 'version': 'latest'})])
def test_references_to_images(makeSite, image, expected):
    site = makeSite(change(IMAGE, image))
    site.create(site.makeNode())
    assert site.getMachine()['storageProfile'][
        'imageReference'] == expected


def test_references_without_a_resource_group(makeSite, azure):
    site = makeSite(change(SUBNET, '''subnet-reference: {network: zuul}
        user-assigned-identities: [{name: ci}, {name: ci}]'''))
    label = site.provider.labels['small']
    assert site.endpoint.adapter.references.getIdentities(label, 'zuul') == [
        f'/subscriptions/{azure.subscription}/resourceGroups/zuul/providers/'
        'Microsoft.ManagedIdentity/userAssignedIdentities/ci']
    site.create(site.makeNode())
    config, = site.getMachine()['networkProfile'][
        'networkInterfaceConfigurations'][0]['properties'][
            'ipConfigurations']
    assert config['properties']['subnet']['id'] == (
        azure.subnets['default']['id'])


def test_no_such_image(makeSite):
    site = makeSite(change(IMAGE, 'image-filter: {name: none}'))
    with pytest.raises(PermanentError, match="no image with name 'none'"):
        site.create(site.makeNode())


# Zones

ZONES = SUBNET + "\n        availability-zones: ['1', '2']"


def test_zone_without_capacity(makeSite, azure):
    azure.vms.full = {'1'}
    site = makeSite(change(SUBNET, ZONES))
    for number in range(2):
        node = site.create(site.makeNode(request_time=float(number)))
        assert node.az == '2'
        assert azure.vms[f'np{node.uuid}']['zones'] == ['2']
        site.delete(node)
    assert not site.left


def test_no_zone_has_capacity(makeSite, azure):
    azure.vms.full = {'1', '2'}
    site = makeSite(change(SUBNET, ZONES))
    node = site.makeNode()
    with pytest.raises(CapacityError, match='ZonalAllocationFailed'):
        site.create(node)
    site.delete(node)
    assert not site.left


def test_capacity_that_never_comes(site, azure):
    azure.vms.full = {None}
    refusals = site.endpoint.refusals
    clock = types.SimpleNamespace(now=0.0)
    refusals.clock = lambda: clock.now
    for clock.now, kind in ((0.0, CapacityError),
                            (refusals.limit + 1, DriverError)):
        node = site.makeNode()
        with pytest.raises(kind, match='AllocationFailed') as info:
            site.create(node)
        assert type(info.value) is kind
        site.delete(node)


# What fails

@pytest.mark.parametrize(('status', 'code', 'kind'), [
    (409, 'QuotaExceeded', QuotaError),
    (409, 'SkuNotAvailable', CapacityError),
    (409, 'AllocationFailed', CapacityError),
    (409, 'OverconstrainedAllocationRequest', CapacityError),
    (429, 'TooManyRequests', TemporaryError),
    (500, None, TemporaryError),
    (403, 'AuthorizationFailed', DriverError),
    (400, 'InvalidParameter', PermanentError)])
def test_refusals(site, azure, status, code, kind):
    azure.inject('PUT', VMS, status, 'injected', code=code)
    with pytest.raises(kind, match='injected') as info:
        site.create(site.makeNode())
    assert type(info.value) is kind


@pytest.mark.parametrize('name', ['cores', 'standardDSv3Family'])
def test_quota(site, azure, name):
    azure.limits[name] = 2
    site.create(site.makeNode())
    with pytest.raises(QuotaError, match=r'exceeding approved .* quota'):
        site.create(site.makeNode())


def test_quota_of_nothing(site, azure):
    azure.limits['standardDSv3Family'] = 0
    with pytest.raises(PermanentError, match='Current Limit: 0'):
        site.create(site.makeNode())


def test_failed_machine_says_why_and_is_asked_once(site, azure):
    azure.fail('virtualMachines.create', 'OSProvisioningTimedOut', 'Late')
    node = site.makeNode()
    with pytest.raises(DriverError, match=r'Late \(OSProvisioningTimedOut\)'
                       ) as info:
        site.create(node)
    assert type(info.value) is DriverError
    site.endpoint.listing.getNow()
    asked = [path for method, path in azure.calls
             if method == 'GET' and path.lower() == node.azure_vm_id]
    assert len(asked) == 1
    site.delete(node)
    assert not site.left


def test_machine_that_somebody_deletes(site, azure):
    azure.operations.polls['virtualMachines.create'] = None
    node = site.makeNode()
    machine = site.makeMachine(node)
    waitFor(lambda: machine.advance() or azure.vms.names)
    azure.operations.polls['virtualMachines.delete'] = None
    site.endpoint.calls.call('deleteInstance', node.azure_vm_id)
    with pytest.raises(DriverError, match='deleting'):
        finish(machine, node, 'create_state')


@pytest.mark.parametrize('generates', [True, False])
def test_answer_is_lost(makeSite, azure, generates):
    site = makeSite(change(
        SUBNET, f'{SUBNET}\n        generate-password: {generates}'))
    azure.inject('PUT', VMS, acts=True)
    node = site.makeNode()
    with pytest.raises(TemporaryError, match='does not answer'):
        site.create(node)
    # The call comes again before the machine is in any list.
    provider = site.provider
    spec = provider.makeSpec(
        provider.labels['small'], name=f'np{node.uuid}', tags=node.tags)
    again = site.endpoint.calls.call('createInstance', spec)
    assert again.id == azure.vms[f'np{node.uuid}']['id'].lower()
    site.create(node)
    assert azure.vms.names == [f'np{node.uuid}']


def test_name_that_is_taken(makeSite, azure):
    site = makeSite(change(
        SUBNET, f'{SUBNET}\n        generate-password: true'))
    node, other = site.makeNode(), site.makeNode()
    site.create(node)
    spec = site.provider.makeSpec(
        site.provider.labels['small'], name=f'np{node.uuid}',
        tags=other.tags)
    with pytest.raises(DriverError, match='PropertyChangeNotAllowed'):
        site.endpoint.calls.call('createInstance', spec)


@pytest.mark.parametrize('state', [
    'submit creating vm', 'creating vm', 'querying nic', 'querying pip'])
def test_node_that_zuuls_driver_has_begun(site, azure, state):
    node = site.makeNode()
    site.create(node)
    vm_id = azure.vms[f'np{node.uuid}']['id']
    left = site.left
    again = site.makeNode(
        uuid=node.uuid, tags=node.tags,
        create_state={'state': state, 'attempts': 0})
    if state != 'submit creating vm':
        again.azure_vm_id = vm_id
    site.create(again)
    assert (again.interface_ip, again.az) == (node.interface_ip, node.az)
    assert site.left == left
    again._set(create_state={'state': state})
    site.delete(again)
    assert not site.left


def test_launcher_dies_while_addresses_are_looked_for(site, azure):
    """The next one asks for nothing anew."""
    azure.inject('GET', '.*/networkInterfaces/?', 500, times=100)
    node = site.makeNode()
    machine = site.makeMachine(node)
    waitFor(lambda: machine.advance() or (
        azure.vms.names and azure.vms[f'np{node.uuid}'][
            'properties']['provisioningState'] == 'Succeeded'))
    node._set(create_state=machine.toDict())
    for fault in azure._faults:
        fault.times = 0
    before = len(azure.calls)
    site.create(node)
    assert node.interface_ip
    assert not [method for method, _ in azure.calls[before:]
                if method == 'PUT']


# Who is let in

def test_wrong_secret(makeSite, azure):
    azure.credentials['client_secret'] = 'wrong'
    site = makeSite()
    azure.credentials['client_secret'] = 'secret'
    with pytest.raises(LoginError, match='Unable to log in: AADSTS7'):
        site.endpoint.listInstances()


def test_calls_do_not_hang(makeSite, azure):
    site = makeSite(api_timeout='0.3')
    fault = azure.inject('PUT', VMS, hangs=True)
    with pytest.raises(TemporaryError, match='ReadTimeout'):
        site.create(site.makeNode())
    fault.release()


def test_secrets_are_not_logged(makeSite, azure, caplog):
    caplog.set_level(logging.DEBUG)
    site = makeSite(change(
        SUBNET, f'{SUBNET}\n        generate-password: true\n'
                '        userdata: key=1234'))
    site.create(site.makeNode())
    properties = site.getMachine()
    for secret in (properties['userData'],
                   properties['osProfile']['adminPassword'],
                   *azure.login.tokens):
        assert secret not in caplog.text


def test_links_lead_to_azure(site):
    client = site.endpoint._client
    for url in ('https://management.azure.com.example/',
                'https://management.azure.com@example/',
                'http://management.azure.com/'):
        with pytest.raises(DriverError, match='an address that is not below'):
            client.get(url)
