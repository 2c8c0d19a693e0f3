"""Resources in the cloud that can leak.

Each resource of ours identifies itself: by metadata, or by a description if
it has no metadata.  Ports that Nova creates have neither, so the driver
remembers which servers are ours.
"""

import collections
import enum
import functools

from zuul.driver.openstack import openstackmodel

from zuul_nodes.drivers import State
from zuul_nodes.drivers.openstack.cloud.errors import Translation, isAbsent
from zuul_nodes.drivers.openstack.cloud.marks import (
    EXPIRATION,
    SNAPSHOT,
    TAGS,
    getTags,
)
from zuul_nodes.drivers.openstack.cloud.pages import getPages

# Glance's default limit for a page of a list.
PAGE = 1000
# Status of a volume that is unused and can be deleted.
IDLE = ('available', 'error', 'error_deleting', 'error_restoring',
        'error_extending')
# Maximum number of servers to remember.
SERVERS = 10000


class OpenstackResource(openstackmodel.OpenstackResource):
    """A resource of a project.

    :cvar ResourceType: names in metrics; Zuul's ``snapshot`` is that of a
        volume.
    """

    ResourceType = enum.StrEnum('ResourceType', {
        **{each.name: each.value
           for each in openstackmodel.OpenstackResource.ResourceType},
        'IMAGE': 'image', 'FLOATING_IP': 'floatingip', 'PORT': 'port'})


Type = OpenstackResource.ResourceType
# Type -> method of the adapter that deletes it.
_DELETES = {Type.INSTANCE: 'deleteInstance', Type.VOLUME: 'deleteVolume',
            Type.FLOATING_IP: 'deleteFloatingIp', Type.PORT: 'deletePort'}


class Resources:
    """Lists and deletes resources of a project.

    :param OpenstackEndpoint endpoint: of the project.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        # Id of a server of ours -> the tags of its node.
        self._known_servers = collections.OrderedDict()

    @property
    def client(self):
        return self.endpoint.client

    def listResources(self, providers):
        """
        :return: yields all resources that could be ours.
        :raises ExceptionGroup: at the end, if some resources could not be
            listed.
        """
        errors = []
        for function in (
                self._yieldServers, self._yieldImages, self._yieldVolumes,
                self._yieldSnapshots,
                functools.partial(self._yieldFloatingIps, providers),
                functools.partial(self._yieldPorts, providers)):
            try:
                with Translation():
                    yield from function()
            except Exception as error:
                if not isAbsent(error):
                    errors.append(error)
        if errors:
            raise ExceptionGroup(
                f'Unable to list all resources of {self.endpoint.name}',
                errors)

    def deleteResource(self, resource):
        self.endpoint.log.info(
            'Deleting leaked %s: %s', resource.type, resource.id)
        if resource.type in _DELETES:
            self.endpoint.calls.call(_DELETES[resource.type], resource.id)
        elif resource.type == Type.IMAGE:
            self.endpoint.deleteImage(resource.id)
        elif resource.type == Type.SNAPSHOT:
            with Translation():
                self.client.block_storage.delete_snapshot(resource.id)

    def _yieldServers(self):
        for instance in self.endpoint.listing.getNow():
            if instance.state is State.DELETED:
                continue
            if all(instance.metadata.get(tag) for tag in TAGS):
                self._rememberServer(instance)
            yield OpenstackResource(
                instance.metadata, Type.INSTANCE, instance.id)

    def _rememberServer(self, instance):
        known = self._known_servers
        known[instance.id] = {tag: instance.metadata[tag] for tag in TAGS}
        known.move_to_end(instance.id)
        while len(known) > SERVERS:
            known.popitem(last=False)

    def _yieldImages(self):
        service = self.client.image
        for hidden in (False, True):
            for image in service.images(
                    owner=self.client.current_project_id, limit=PAGE,
                    is_hidden=hidden):
                if tags := _getImageTags(image):
                    yield OpenstackResource(tags, Type.IMAGE, image.id)

    def _yieldVolumes(self):
        for volume in self.endpoint.calls.call('listVolumes'):
            # Others cannot be deleted, or Nova may be about to delete them.
            if volume['status'] in IDLE:
                yield OpenstackResource(
                    volume.get('metadata') or {}, Type.VOLUME, volume['id'])

    def _yieldSnapshots(self):
        for snapshot in getPages(self.client.block_storage,
                                 '/snapshots/detail', 'snapshots'):
            yield OpenstackResource(
                snapshot.get('metadata') or {}, Type.SNAPSHOT,
                snapshot['id'])

    def _yieldFloatingIps(self, providers):
        # With this option, all unused floating IPs are Zuul's.
        is_alone = any(provider.floating_ip_cleanup
                       for provider in providers)
        for floating_ip in self.endpoint.calls.call('listFloatingIps'):
            tags = getTags(floating_ip.get('description'))
            if is_alone and not tags and not floating_ip['port_id']:
                tags = {'zuul_system_id': self.endpoint.system_id}
            yield OpenstackResource(
                tags, Type.FLOATING_IP, floating_ip['id'])

    def _yieldPorts(self, providers):
        if not any(provider.port_cleanup_interval for provider in providers):
            return
        for port in self.endpoint.calls.call('listPorts'):
            if port['status'] != 'DOWN':
                continue
            tags = getTags(port.get('description'))
            if (port['device_owner'] or '').startswith('compute:'):
                tags = tags or self._known_servers.get(port['device_id'], {})
            yield OpenstackResource(tags, Type.PORT, port['id'])


def _getImageTags(image):
    """:return: tags of an image of ours; otherwise empty.

    A snapshot of a node that others have made has the properties of the node's
    image.  So the name has to match, too.
    """
    tags = image.properties
    name = image.name or ''
    upload_uuid = tags.get('zuul_upload_uuid')
    if upload_uuid and name.endswith(f'-{upload_uuid}'):
        return tags
    if tags.get(EXPIRATION) and name.startswith(SNAPSHOT):
        return {tag: tags.get(tag) for tag in ('zuul_system_id', EXPIRATION)}
    return {}
