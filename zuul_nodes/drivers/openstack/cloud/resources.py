"""What there is in the cloud that could leak.

All that is listed here as ours says so itself: by metadata, or by a
description where there is no metadata.  Ports that Nova makes have neither;
so it is remembered which servers are ours.
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

# The most that Glance puts into one page of a list, as it is set up
# unless somebody has changed that.
PAGE = 1000
# Of a volume that nothing uses, nor is about to, and that can be deleted.
IDLE = ('available', 'error', 'error_deleting', 'error_restoring',
        'error_extending')
# How many servers are remembered.
SERVERS = 10000


class OpenstackResource(openstackmodel.OpenstackResource):
    """:cvar ResourceType: names in metrics; Zuul's ``snapshot`` is that of
        a volume."""

    ResourceType = enum.StrEnum('ResourceType', {
        **{each.name: each.value
           for each in openstackmodel.OpenstackResource.ResourceType},
        'IMAGE': 'image', 'FLOATING_IP': 'floatingip', 'PORT': 'port'})


Type = OpenstackResource.ResourceType
# How the adapter removes them.
_DELETES = {Type.INSTANCE: 'deleteInstance', Type.VOLUME: 'deleteVolume',
            Type.FLOATING_IP: 'deleteFloatingIp', Type.PORT: 'deletePort'}


class Resources:
    """
    :param OpenstackEndpoint endpoint: where they are.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        # Id of a server of ours -> the tags of its node.
        self._known_servers = collections.OrderedDict()

    @property
    def client(self):
        return self.endpoint.client

    def list(self, providers):
        """
        :return: yields all that could be Zuul's.
        :raises ExceptionGroup: after that, if something could not be
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
                f'Not all of {self.endpoint.name} is listed', errors)

    def delete(self, resource):
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
            # Others can't be removed, and Nova may be about to do it.
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
        # With this, all that nobody uses is Zuul's.
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
    """:return: tags of an image that is ours; or nothing.

    A snapshot that somebody has made of a node has the properties of the
    image that the node was made of.  So its name has to be right, too.
    """
    tags = image.properties
    name = image.name or ''
    upload_uuid = tags.get('zuul_upload_uuid')
    if upload_uuid and name.endswith(f'-{upload_uuid}'):
        return tags
    if tags.get(EXPIRATION) and name.startswith(SNAPSHOT):
        return {tag: tags.get(tag) for tag in ('zuul_system_id', EXPIRATION)}
    return {}
