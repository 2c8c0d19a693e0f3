"""Build Azure's request for a virtual machine from a label.

https://learn.microsoft.com/rest/api/compute/virtual-machines/create-or-update
"""

import base64

from zuul.driver.azure.azureendpoint import generate_password

from zuul_nodes.drivers.azure.names import fitTags, getHost

SPOT = 'spot'


def makeRequest(spec, region, image, subnet_id, identities, network_version):
    """
    :param InstanceSpec spec:
    :param str region: of the virtual machine.
    :param dict image: reference of the API.
    :param str subnet_id:
    :param list identities: ids of its identities.
    :param str network_version: version of the API for interfaces.
    :return: a dict, as JSON.
    """
    flavor, tags = spec.flavor, fitTags(spec.tags)
    properties = {
        'osProfile': _makeProfile(spec),
        'hardwareProfile': {'vmSize': flavor.vm_size},
        'storageProfile': {'imageReference': image,
                           'osDisk': _makeDisk(spec)},
        'networkProfile': {
            'networkApiVersion': network_version,
            'networkInterfaceConfigurations': [
                _makeInterface(spec, subnet_id, tags)]}}
    if userdata := getFirst(spec, 'userdata'):
        properties['userData'] = _encode(userdata)
    if flavor.priority == SPOT:
        properties |= {'priority': 'Spot', 'evictionPolicy': 'Delete'}
    request = {'location': region, 'tags': tags, 'properties': properties}
    if spec.zone:
        request['zones'] = [spec.zone]
    if identities:
        request['identity'] = {
            'type': 'UserAssigned',
            'userAssignedIdentities': {each: {} for each in identities}}
    return request


def getFirst(spec, name):
    """:return: an attribute of the label, the flavor or the image, from the
        first that sets it; or None."""
    return next((value for part in (spec.label, spec.flavor, spec.image)
                 if (value := getattr(part, name, None)) is not None), None)


def _makeProfile(spec):
    image = spec.image
    profile = {'computerName': getHost(spec.name)}
    if image.username:
        profile['adminUsername'] = image.username
    if getFirst(spec, 'generate_password'):
        profile['adminPassword'] = generate_password()
    if spec.label.key_data:
        profile['linuxConfiguration'] = {
            'disablePasswordAuthentication': 'adminPassword' not in profile,
            'ssh': {'publicKeys': [{
                'path': f'/home/{image.username}/.ssh/authorized_keys',
                'keyData': spec.label.key_data}]}}
    if custom_data := getFirst(spec, 'custom_data'):
        profile['customData'] = _encode(custom_data)
    return profile


def _makeDisk(spec):
    disk = {'createOption': 'FromImage', 'deleteOption': 'Delete'}
    if size := getFirst(spec, 'volume_size'):
        disk['diskSizeGB'] = size
    if getFirst(spec, 'ephemeral_disk'):
        # Azure requires this value.
        disk |= {'caching': 'ReadOnly',
                 'diffDiskSettings': {'option': 'Local'}}
    return disk


def _makeInterface(spec, subnet_id, tags):
    flavor = spec.flavor
    # Azure does not support interfaces with IPv6 only.
    wanted = [('IPv4', flavor.public_ipv4)]
    if flavor.ipv6 or flavor.public_ipv6:
        wanted.append(('IPv6', flavor.public_ipv6))
    configs = [_makeConfig(f'{spec.name}-{version.lower()}', version,
                           subnet_id, is_public, tags)
               for version, is_public in wanted]
    return {'name': f'{spec.name}-nic', 'tags': tags, 'properties': {
        'primary': True, 'deleteOption': 'Delete',
        'ipConfigurations': configs}}


def _makeConfig(name, version, subnet_id, is_public, tags):
    properties = {
        'primary': version == 'IPv4', 'privateIPAddressVersion': version,
        'subnet': {'id': subnet_id}}
    if is_public:
        properties['publicIPAddressConfiguration'] = {
            'name': f'{name}-ip', 'tags': tags, 'sku': {'name': 'Standard'},
            'properties': {
                'deleteOption': 'Delete',
                'publicIPAllocationMethod': 'Static',
                'publicIPAddressVersion': version}}
    return {'name': f'{name}-config', 'properties': properties}


def _encode(text):
    return base64.b64encode(text.encode()).decode()
