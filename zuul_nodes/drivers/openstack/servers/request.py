"""Build Nova's request for a server from a label.

Compute API, "Create server":
https://docs.openstack.org/api-ref/compute/#create-server
"""

import base64

from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.openstack.cloud.flavors import getFirst, getVolumeSize
from zuul_nodes.drivers.openstack.cloud.names import fitMetadata
from zuul_nodes.drivers.openstack.config.properties import checkMetadata

# Maximum number of base64 characters in Nova.
MOST_USERDATA = 65535
# Maximum length of host names that any operating system supports.
LONGEST_NAME = 15
# Nova chooses the network; the first version of the API with this option.
AUTO = 'auto'
WITH_AUTO = '2.37'
# The first version in which volumes have types.
WITH_VOLUME_TYPE = '2.67'


def makeRequest(spec, lookups, networks):
    """
    :param InstanceSpec spec: of the server.
    :param Lookups lookups: in the cloud.
    :param networks: in the format of Nova; empty for the default of a cloud
        that does not support :data:`AUTO`.
    :return: the request, and the version of the API that it needs, or
        None for any.
    :raises PermanentError: the cloud cannot create such a server.
    """
    label = spec.label
    flavor = lookups.getFlavor(spec.flavor)
    image_id = spec.image_id or lookups.getImageId(spec.image)
    checkMetadata(spec.tags, label.name,
                  lookups.getLimits().get('maxServerMeta', -1))
    server = {
        'name': getName(spec), 'flavorRef': flavor['id'],
        'imageRef': image_id, 'metadata': fitMetadata(spec.tags),
        'min_count': 1, 'max_count': 1,
    }
    version = WITH_AUTO if networks == AUTO else None
    if label.boot_from_volume:
        volume = {
            'boot_index': '0', 'uuid': image_id, 'source_type': 'image',
            'destination_type': 'volume', 'delete_on_termination': True,
            'volume_size': getVolumeSize(spec, flavor)}
        if label.volume_type:
            volume['volume_type'] = label.volume_type
            version = WITH_VOLUME_TYPE
        server |= {'imageRef': '', 'block_device_mapping_v2': [volume]}
    if spec.image.config_drive:
        server['config_drive'] = True
    if label.key_name:
        server['key_name'] = label.key_name
    if spec.zone:
        server['availability_zone'] = spec.zone
    if label.security_groups:
        server['security_groups'] = [
            {'name': name} for name in label.security_groups]
    if networks:
        server['networks'] = networks
    if userdata := getFirst(spec, 'userdata'):
        server['user_data'] = _encode(userdata, label)
    request = {'server': server}
    if label.server_group:
        request['os:scheduler_hints'] = {
            'group': lookups.getServerGroup(label.server_group)['id']}
    return request, version


def getName(spec):
    """:return: the name of a server, valid as a host name everywhere."""
    return spec.name[:LONGEST_NAME]


def _encode(userdata, label):
    encoded = base64.b64encode(userdata.encode()).decode()
    if len(encoded) > MOST_USERDATA:
        raise PermanentError(
            f'The userdata of the label "{label.name}" has '
            f'{len(userdata.encode())} bytes; Nova accepts at most '
            f'{MOST_USERDATA * 3 // 4}')
    return encoded
