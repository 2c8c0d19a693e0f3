"""The emulated Azure, as Zuul's own client sees it."""

import concurrent.futures
import io

import pytest
import requests
from zuul.driver.azure.azul import AzureError, AzureNotFoundError

from tests.emulators.azure import REGION, Azure
from tests.emulators.azure.disks import PAGE
from tests.fixtures.kit.azure import AzureCloud, makeClient, makeMachine

VHD = AzureCloud.image
GROUP = 'zuul'


@pytest.fixture
def azure():
    emulator = Azure()
    emulator.images.add('base')
    yield emulator
    emulator.end()


@pytest.fixture
def client(azure):
    return makeClient(azure)


def create(azure, client, name='np0001', wait=True, **attributes):
    """:return: the answer."""
    answer = client.resource_group_virtual_machines.create(
        GROUP, name, makeMachine(azure, **attributes))
    if wait:
        client.wait_for_async_operation(answer)
    return answer


def delete(client, name='np0001'):
    client.wait_for_async_operation(
        client.resource_group_virtual_machines.delete(GROUP, name))


def getState(resource):
    return resource['properties']['provisioningState']


# Virtual machines

def test_life(azure, client):
    before = azure.list()
    azure.operations.polls['virtualMachines.create'] = 2
    answer = create(azure, client, wait=False, tags={'a': 'b'})
    assert (answer.response.status_code, getState(answer)) == (
        201, 'Creating')
    assert client.check_async_operation(answer)['status'] == 'InProgress'
    assert getState(client.virtual_machines.list()[0]) == 'Creating'
    vm, = client.virtual_machines.list()
    assert (getState(vm), vm['tags']) == ('Succeeded', {'a': 'b'})
    result = client.wait_for_async_operation(answer)
    assert result['properties']['output']['id'] == vm['id']
    nic, = client.network_interfaces.list()
    address, = client.public_ip_addresses.list()
    disk, = client.disks.list()
    assert nic['properties']['virtualMachine']['id'] == vm['id']
    assert address['properties']['ipAddress'] == '198.18.0.1'
    assert (disk['managedBy'], disk['tags']) == (vm['id'], {'a': 'b'})
    assert client.virtual_machines.get_by_id(vm['id'].upper()) == vm
    answer = client.virtual_machines.delete_by_id(vm['id'])
    assert answer.response.status_code == 202
    assert getState(client.virtual_machines.get_by_id(vm['id'])
                    ) == 'Deleting'
    client.wait_for_async_operation(answer)
    assert azure.list() == before
    with pytest.raises(AzureNotFoundError) as info:
        client.virtual_machines.get_by_id(vm['id'])
    assert info.value.error_code == 'ResourceNotFound'
    answer = client.virtual_machines.delete_by_id(vm['id'])
    assert answer.response.status_code == 204


def test_password_is_not_shown(azure, client):
    create(azure, client)
    assert azure.vms['np0001']['properties']['osProfile'] == {
        'computerName': 'node', 'adminUsername': 'zuul'}


def test_again(azure, client):
    """A name is a virtual machine, however often it is asked for."""
    create(azure, client)
    before = azure.list()
    answer = create(azure, client, tags={'a': 'b'})
    assert answer.response.status_code == 200
    assert azure.list() == before
    assert azure.vms['np0001']['tags'] == {'a': 'b'}
    with pytest.raises(AzureError) as info:
        create(azure, client, location='westus')
    assert info.value.error_code == 'InvalidResourceLocation'


def test_taken_interface(azure, client):
    create(azure, client)
    with pytest.raises(AzureError) as info:
        create(azure, client, 'np0002')
    assert info.value.error_code == 'NicInUse'
    assert azure.vms.names == ['np0001']


def test_deletion_comes_before_creation(azure, client):
    azure.operations.polls['virtualMachines.create'] = None
    creation = create(azure, client, wait=False)
    azure.operations.polls['virtualMachines.delete'] = None
    client.resource_group_virtual_machines.delete(GROUP, 'np0001')
    assert client.check_async_operation(creation)['error']['code'] == (
        'OperationPreempted')
    with pytest.raises(AzureError) as info:
        create(azure, client)
    assert info.value.error_code == 'OperationNotAllowed'
    client.resource_group_virtual_machines.delete(GROUP, 'np0001')
    azure.finish('np0001')
    assert not azure.vms.names


def test_what_stays(azure, client):
    """Without the deleteOption, all but the virtual machine does."""
    before = azure.list()
    wanted = makeMachine(azure)
    del wanted['properties']['storageProfile']['osDisk']['deleteOption']
    del wanted['properties']['networkProfile'][
        'networkInterfaceConfigurations'][0]['properties']['deleteOption']
    client.wait_for_async_operation(
        client.resource_group_virtual_machines.create(
            GROUP, 'np0001', wanted))
    disk, = client.disks.list()
    nic, = client.network_interfaces.list()
    address, = client.public_ip_addresses.list()
    for crud, resource, code in (
            (client.disks, disk, 'OperationNotAllowed'),
            (client.network_interfaces, nic, 'NicInUse'),
            (client.public_ip_addresses, address,
             'PublicIPAddressCannotBeDeleted')):
        with pytest.raises(AzureError) as info:
            crud.delete_by_id(resource['id'])
        assert info.value.error_code == code
    delete(client)
    assert azure.disks[disk['name']]['properties']['diskState'] == (
        'Unattached')
    for crud, resource in ((client.disks, disk),
                           (client.network_interfaces, nic),
                           (client.public_ip_addresses, address)):
        client.wait_for_async_operation(crud.delete_by_id(resource['id']))
    assert azure.list() == before


def test_failure(azure, client):
    """What could not be made is there, and Failed."""
    azure.fail('virtualMachines.create')
    answer = create(azure, client, wait=False)
    client.check_async_operation(answer)
    result = client.check_async_operation(answer)
    assert (result['status'], result['error']['code']) == (
        'Failed', 'AllocationFailed')
    vm, = client.virtual_machines.list()
    assert getState(vm) == 'Failed'
    delete(client)
    assert not azure.vms.names


@pytest.mark.parametrize('name, usage', [
    ('cores', 2), ('virtualMachines', 1)])
def test_quota(azure, client, name, usage):
    azure.limits[name] = usage
    create(azure, client)
    with pytest.raises(AzureError, match=r'exceeding approved .* quota'
                       ) as info:
        create(azure, client, 'np0002')
    assert (info.value.status_code, info.value.error_code) == (
        409, 'OperationNotAllowed')
    assert azure.nics.names == ['interface']
    assert {each['name']['value']: each['currentValue']
            for each in client.compute_usages.list(REGION)
            }[name] == usage
    delete(client)
    create(azure, client, 'np0002')


def change(wanted, *path, value):
    *parents, last = path
    for name in parents:
        wanted = wanted[name]
    wanted[last] = value


@pytest.mark.parametrize('path, value, code', [
    (['location'], None, 'LocationRequired'),
    (['tags'], {'a/b': 'c'}, 'InvalidTagNameCharacters'),
    (['tags'], {'a': 'b' * 257}, 'BadRequest'),
    (['zones'], ['9'], 'InvalidAvailabilityZone'),
    (['properties', 'userData'], '#cloud-config', 'InvalidParameter'),
    (['properties', 'osProfile', 'customData'], 'YQ==' * 30000,
     'InvalidParameter'),
    (['properties', 'networkProfile', 'networkApiVersion'], None,
     'InvalidParameter'),
    (['properties', 'networkProfile', 'networkInterfaceConfigurations', 0,
      'properties', 'ipConfigurations', 0, 'properties',
      'privateIPAddressVersion'], 'IPv6', 'BadRequest'),
    (['properties', 'storageProfile', 'imageReference'],
     {'sharedGalleryImageId': '/SharedGalleries/a/Images/b/Versions/None'},
     'InvalidParameter'),
    (['properties', 'hardwareProfile', 'vmSize'], 'Big', 'InvalidParameter'),
    (['properties', 'osProfile', 'adminUsername'], '', 'InvalidParameter'),
    (['properties', 'osProfile'], {
        'computerName': 'a', 'adminUsername': 'b'}, 'InvalidParameter'),
    (['properties', 'storageProfile', 'imageReference', 'id'], '/none',
     'NotFound'),
])
def test_wrong(azure, client, path, value, code):
    before = azure.list()
    wanted = makeMachine(azure)
    change(wanted, *path, value=value)
    with pytest.raises(AzureError) as info:
        client.resource_group_virtual_machines.create(
            GROUP, 'np0001', wanted)
    assert info.value.error_code == code
    assert azure.list() == before


def test_pages(azure, client):
    azure.page_size = 2
    for number in range(5):
        azure.images.add(f'more-{number}')
    assert [image['name'] for image in client.images.list()] == [
        'base', *(f'more-{number}' for number in range(5))]


def test_sizes(client):
    sku, = (sku for sku in client.compute_skus.list()
            if sku['name'] == 'Standard_D2s_v3')
    assert sku['locations'] == [REGION]
    assert {'name': 'vCPUs', 'value': '2'} in sku['capabilities']


def test_name_that_is_too_long(azure, client):
    with pytest.raises(AzureError, match='validation rule'):
        create(azure, client, 'n' * 65)


def test_what_can_not_be_changed(azure, client):
    create(azure, client)
    wanted = makeMachine(azure)
    change(wanted, 'properties', 'osProfile', 'adminPassword', value='new')
    with pytest.raises(AzureError) as info:
        client.resource_group_virtual_machines.create(
            GROUP, 'np0001', wanted)
    assert info.value.error_code == 'PropertyChangeNotAllowed'


def test_instance_view_says_why(azure, client):
    azure.vms.full = {'2'}
    answer = create(azure, client, wait=False, zones=['2'])
    azure.finish('np0001')
    view = client.get(client.virtual_machines.id_url(answer['id'])
                      + '&$expand=instanceView')
    status, = view['properties']['instanceView']['statuses']
    assert status['code'] == (
        'ProvisioningState/failed/ZonalAllocationFailed')


# Power states

def listCodes(client):
    """:return: name -> the codes of its statuses, of all there are."""
    url = client.virtual_machines.url(resourceName='')
    return {vm['name']: [status['code'] for status in vm['properties'][
        'instanceView']['statuses']]
        for vm in client.paginate(client.get(f'{url}&statusOnly=true'))}


@pytest.mark.parametrize(('action', 'meanwhile', 'then'), [
    ('powerOff', 'stopping', 'stopped'),
    ('deallocate', 'deallocating', 'deallocated'),
    ('start', 'starting', 'running')])
def test_power_states(azure, client, action, meanwhile, then):
    create(azure, client)
    assert listCodes(client) == {'np0001': [
        'ProvisioningState/succeeded', 'PowerState/running']}
    azure.operations.polls[f'virtualMachines.{action}'] = None
    client.resource_group_virtual_machines.post(GROUP, 'np0001', action, {})
    assert listCodes(client) == {'np0001': [
        'ProvisioningState/updating', f'PowerState/{meanwhile}']}
    azure.finish('np0001')
    assert listCodes(client) == {'np0001': [
        'ProvisioningState/succeeded', f'PowerState/{then}']}


def test_only_who_asks_sees_power_states(azure, client):
    vm = create(azure, client, tags={'a': 'b'})
    for shown in (client.virtual_machines.list()[0],
                  client.virtual_machines.get_by_id(vm['id'])):
        assert 'instanceView' not in shown['properties']
    url = client.virtual_machines.url(resourceName='')
    shown, = client.get(f'{url}&statusOnly=true')['value']
    assert 'tags' not in shown
    assert 'networkProfile' not in shown['properties']
    assert shown['id'] != vm['id']
    assert shown['id'].lower() == vm['id'].lower()
    for option in ('statusOnly=false', 'statusOnly=1'):
        shown, = client.get(f'{url}&{option}')['value']
        assert 'instanceView' not in shown['properties']
    with pytest.raises(AzureError, match='needs a filter'):
        client.get(f'{url}&$expand=instanceView')


def test_pages_of_power_states(azure, client):
    azure.page_size = 1
    for number in range(3):
        wanted = makeMachine(azure)
        change(wanted['properties']['networkProfile'],
               'networkInterfaceConfigurations', 0, 'name',
               value=f'nic-{number}')
        change(wanted['properties']['networkProfile'],
               'networkInterfaceConfigurations', 0, 'properties',
               'ipConfigurations', 0, 'properties',
               'publicIPAddressConfiguration', 'name',
               value=f'address-{number}')
        client.wait_for_async_operation(
            client.resource_group_virtual_machines.create(
                GROUP, f'np{number}', wanted))
    assert len(listCodes(client)) == 3


def test_failed_extension(azure, client):
    create(azure, client)
    azure.vms.failExtension('np0001')
    vm, = client.virtual_machines.list()
    assert getState(vm) == 'Failed'
    assert listCodes(client) == {'np0001': [
        'ProvisioningState/failed/VMExtensionProvisioningError',
        'PowerState/running']}


# Places

def test_groups(azure, client):
    before = azure.list()
    with pytest.raises(AzureNotFoundError) as info:
        client.resource_group_virtual_machines.create(
            'other', 'np0001', makeMachine(azure))
    assert info.value.error_code == 'ResourceGroupNotFound'
    client.resource_groups.create('other', {'location': REGION})
    client.wait_for_async_operation(
        client.resource_group_virtual_machines.create(
            'other', 'np0001', makeMachine(azure)))
    assert not client.resource_group_virtual_machines.list(GROUP)
    assert len(client.resource_group_virtual_machines.list('OTHER')) == 1
    client.wait_for_async_operation(client.resource_groups.delete('other'))
    assert [each['name'] for each in client.resource_groups.list()] == [GROUP]
    assert azure.list() == before


def test_subnets(azure, client):
    subnet = client.subnets.get(GROUP, 'zuul', 'default')
    assert subnet in client.subnets.list(GROUP, 'zuul')
    with pytest.raises(AzureNotFoundError):
        client.subnets.get(GROUP, 'zuul', 'none')
    azure.subnets.remove(subnet['id'])
    azure.subnets.add(GROUP, 'other', 'default')
    wanted = makeMachine(azure)
    change(wanted['properties']['networkProfile'],
           'networkInterfaceConfigurations', 0, 'properties',
           'ipConfigurations', 0, 'properties', 'subnet', value=subnet)
    with pytest.raises(AzureError) as info:
        client.resource_group_virtual_machines.create(
            GROUP, 'np0001', wanted)
    assert info.value.error_code == 'InvalidResourceReference'


# Images

def upload(azure, client, data=VHD):
    """:return: the id of a new disk."""
    azure.disks.smallest = PAGE
    answer = client.wait_for_async_operation(
        client.resource_group_disks.create(GROUP, 'disk', {
            'location': REGION, 'properties': {'creationData': {
                'createOption': 'Upload', 'uploadSizeBytes': len(data)}}}))
    access = client.wait_for_async_operation(
        client.resource_group_disks.post(
            GROUP, 'disk', 'beginGetAccess',
            {'access': 'Write', 'durationInSeconds': 3600}))
    client.upload_page_blob_to_sas_url(
        access['properties']['output']['accessSAS'], io.BytesIO(data),
        pagesize=PAGE)
    return answer['properties']['output']['id']


def finish(client):
    client.wait_for_async_operation(client.resource_group_disks.post(
        GROUP, 'disk', 'endGetAccess', {}))


def makeImage(client, disk_id):
    return client.wait_for_async_operation(
        client.resource_group_images.create(GROUP, 'image', {
            'location': REGION, 'properties': {'storageProfile': {'osDisk': {
                'osType': 'Linux', 'osState': 'Generalized',
                'managedDisk': {'id': disk_id}}}}}))


def test_image(azure, client):
    disk_id = upload(azure, client)
    for function in (lambda: makeImage(client, disk_id),
                     lambda: client.disks.delete_by_id(disk_id)):
        with pytest.raises(AzureError, match='active shared access') as info:
            function()
        assert info.value.status_code == 409
    finish(client)
    image_id = makeImage(client, disk_id)['properties']['output']['id']
    client.wait_for_async_operation(client.disks.delete_by_id(disk_id))
    assert azure.images.contents == {image_id.lower(): VHD}
    client.wait_for_async_operation(client.images.delete_by_id(image_id))
    assert azure.images.names == ['base']
    assert not azure.disks.names


def test_image_that_is_none(azure, client):
    disk_id = upload(azure, client, b'disk' * PAGE)
    finish(client)
    with pytest.raises(AzureError) as info:
        makeImage(client, disk_id)
    assert info.value.error_code == 'InvalidVhd'


@pytest.mark.parametrize('size', [0, PAGE, 20 * 1024 ** 2 + PAGE + 1])
def test_wrong_size(client, size):
    with pytest.raises(AzureError) as info:
        client.resource_group_disks.create(GROUP, 'disk', {
            'location': REGION, 'properties': {'creationData': {
                'createOption': 'Upload', 'uploadSizeBytes': size}}})
    assert info.value.error_code == 'InvalidParameter'


def test_wrong_pages(azure, client):
    azure.disks.smallest = PAGE
    upload(azure, client)
    signature = azure.disks.uploads[
        azure.disks['disk']['id'].lower()].signature
    url = (f'{azure.url}/md-impexp{azure.disks["disk"]["id"]}'
           f'?sv=1&sig={signature}')
    for start, end in ((1, PAGE), (0, PAGE), (len(VHD),
                                              len(VHD) + PAGE - 1)):
        with pytest.raises(requests.HTTPError, match='416'):
            client.upload_sas_chunk(url, start, end, b'x' * PAGE)
    with pytest.raises(requests.HTTPError, match='403'):
        client.upload_sas_chunk(f'{url}x', 0, PAGE - 1, b'x' * PAGE)
    finish(client)
    with pytest.raises(requests.HTTPError, match='403'):
        client.upload_sas_chunk(url, 0, PAGE - 1, b'x' * PAGE)


# Who may ask, and what goes wrong

@pytest.mark.parametrize('name, value, code', [
    ('client_secret', 'wrong', 7000215),
    ('subscription_id', 'wrong', 'SubscriptionNotFound')])
def test_nobody(azure, name, value, code):
    with pytest.raises(AzureError) as info:
        makeClient(azure, **{name: value}).images.list()
    assert info.value.error_code == code


def test_no_token(azure, client):
    path = client.images.id(resourceName='')
    answer = requests.get(azure.url + path)
    assert (answer.status_code, answer.json()['error']['code']) == (
        401, 'AuthenticationFailed')
    answer = requests.get(azure.url + path, auth=client.auth)
    assert answer.json()['error']['code'] == 'MissingApiVersionParameter'


def test_faults(azure, client):
    azure.inject('GET', '.*/images/?', 429, 'slowly', times=1)
    with pytest.raises(AzureError, match='slowly') as info:
        client.images.list()
    assert info.value.error_code == 'TooManyRequests'
    azure.inject('PUT', '.*', acts=True)
    with pytest.raises(requests.ConnectionError):
        create(azure, client)
    assert azure.vms.names == ['np0001']
    fault = azure.inject('GET', '.*', hangs=True, status=500)
    with concurrent.futures.ThreadPoolExecutor() as executor:
        future = executor.submit(client.images.list)
        assert fault.reached.wait(10)
        assert not future.done()
        fault.release()
        assert isinstance(future.exception(), AzureError)
    assert client.images.list()
