"""What Nova is asked for: a server, as a label wants it.

Compute API, "Create server":
https://docs.openstack.org/api-ref/compute/#create-server
"""

import base64

from zuul_nodes.drivers import PermanentError
from zuul_nodes.drivers.openstack.cloud.flavors import getFirst, getVolumeSize
from zuul_nodes.drivers.openstack.cloud.names import fitMetadata
from zuul_nodes.drivers.openstack.config.properties import checkMetadata

# Characters of base64 that Nova takes.
MOST_USERDATA = 65535
# Of hosts' names, for whatever runs on them.
LONGEST_NAME = 15
# Nova chooses the network; the first version of the API in which it can be
# asked to.
AUTO = 'auto'
WITH_AUTO = '2.37'
# The first version in which volumes have types.
WITH_VOLUME_TYPE = '2.67'


def makeRequest(spec, lookups, networks):
    """
    :param InstanceSpec spec: of the server.
    :param Lookups lookups: in the cloud.
    :param networks: as Nova takes them; empty for whatever a cloud has that
        is too old for :data:`AUTO`.
    :return: what is sent, and the version of the API that it needs, or
        None for any.
    :raises PermanentError: it can not be.
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
    """:return: the name of a server, good for a host of any kind."""
    return spec.name[:LONGEST_NAME]


def _encode(userdata, label):
    encoded = base64.b64encode(userdata.encode()).decode()
    if len(encoded) > MOST_USERDATA:
        raise PermanentError(
            f'The userdata of the label "{label.name}" has '
            f'{len(userdata.encode())} bytes; Nova takes '
            f'{MOST_USERDATA * 3 // 4} at most')
    return encoded
