"""Create images from nodes.

Nova creates an image from the disk of a server.  If the server boots from a
volume, Nova's image would have no file, and could not be used elsewhere.  So
the driver then creates a volume snapshot, a volume from that, and an image
from the new volume.

Each of these has a name by which the driver finds it again, and tags with its
expiration.

Compute API, "Create Image (createImage Action)"; Block Storage API,
"Volume snapshots", "Upload volume to image":
https://docs.openstack.org/api-ref/
"""

import sys

from zuul.provider import statemachine

from zuul_nodes.drivers import DriverError, TemporaryError
from zuul_nodes.drivers.openstack.cloud.errors import Translation, check
from zuul_nodes.drivers.openstack.cloud.marks import SNAPSHOT
from zuul_nodes.drivers.openstack.cloud.names import fitMetadata

# Tags of the node's image that a snapshot must not inherit.
NOT_INHERITED = {'zuul_upload_uuid': '', 'zuul_node_uuid': ''}
FAILED = ('error', 'killed', 'deleted', 'deactivated')
# Maximum number of consecutive temporary errors.
MOST_FAILURES = 10


class SnapshotStateMachine(statemachine.StateMachine):
    """Creates an image from a node.

    :param OpenstackEndpoint endpoint:
    :param ProviderNode node: the source of the image.
    """

    SNAPSHOT = 'the volume is snapshotted'
    VOLUME = 'a volume is made of the snapshot'
    IMAGE = 'the image is made'

    def __init__(self, endpoint, node, log):
        state = node.snapshot.snapshot_state
        super().__init__(state)
        self.endpoint = endpoint
        self.node = node
        self.log = log
        self.name = f'{SNAPSHOT}{node.uuid}'
        self.tags = fitMetadata(node.snapshot.tags or {})
        # The volume that the server boots from, if any.
        self.volume_id = state.get('volume_id')
        # Resources whose creation was requested.
        self.begun = list(state.get('begun', ()))
        self._failures = 0

    def toDict(self):
        return super().toDict() | {
            'volume_id': self.volume_id, 'begun': self.begun}

    def advance(self):
        """:return: the URL for the artifact, once the image exists."""
        try:
            with Translation():
                result = self._advance()
            self._failures = 0
            return result
        except TemporaryError:
            # The launcher gives up after any error.
            self._failures += 1
            if self._failures > MOST_FAILURES:
                raise
            self.log.info('Node %s: retrying after: %r', self.node.uuid,
                          sys.exception())
            return None

    def _advance(self):
        if self.state == self.START:
            self.volume_id = self._findVolume()
            self.state = self.SNAPSHOT if self.volume_id else self.IMAGE
        if self.state == self.SNAPSHOT and self._getSnapshot():
            self.state = self.VOLUME
        if self.state == self.VOLUME and self._getVolume():
            self.state = self.IMAGE
        if self.state == self.IMAGE and (image := self._getImage()):
            self._cleanUp()
            self.state = self.COMPLETE
            self.complete = True
            return self.endpoint.images.getImageUrl(image.id)
        return None

    @property
    def _client(self):
        return self.endpoint.client

    def _findVolume(self):
        """:return: the id of the volume that the server boots from, or
            None."""
        server_id = self.node.openstack_server_id
        server = self._client.compute.get(f'/servers/{server_id}')
        if check(server).json()['server']['image']:
            return None
        attachments = check(self._client.compute.get(
            f'/servers/{server_id}/os-volume_attachments')).json()
        volumes = [self._client.block_storage.get_volume(each['volumeId'])
                   for each in attachments['volumeAttachments']]
        for volume in volumes:
            if volume.is_bootable:
                return volume.id
        raise DriverError(f'Server {server_id} has neither an image nor a '
                          'bootable volume')

    # Each of these returns the resource once it is ready, and requests it if
    # it does not exist.

    def _getSnapshot(self):
        return self._get('volume snapshot', 'available',
                         self._findSnapshots, self._makeSnapshot)

    def _getVolume(self):
        return self._get('volume', 'available', self._findVolumes,
                         self._makeVolume)

    def _getImage(self):
        make = (self._makeImageOfVolume if self.volume_id
                else self._makeImageOfServer)
        return self._get('image', 'active', self._findImages, make)

    def _get(self, what, status, find, make):
        found = self._findFirst(find)
        if found is None:
            if what in self.begun:
                raise DriverError(f'The {what} of node {self.node.uuid} has '
                                  'vanished during its creation')
            self.log.info('Creating a %s of node %s', what, self.node.uuid)
            make()
            self.begun.append(what)
            return None
        if found.status in FAILED:
            raise DriverError(f'The {what} {found.id} of node '
                              f'{self.node.uuid} is {found.status}')
        return found if found.status == status else None

    def _findFirst(self, find):
        return next((each for each in find() if each.name == self.name),
                    None)

    def _findSnapshots(self):
        return self._client.block_storage.snapshots(
            details=True, name=self.name)

    def _findVolumes(self):
        return self._client.block_storage.volumes(
            details=True, name=self.name)

    def _findImages(self):
        return self._client.image.images(
            name=self.name, owner=self._client.current_project_id)

    def _makeSnapshot(self):
        # Required, because the volume stays attached to the server.
        self._client.block_storage.create_snapshot(
            volume_id=self.volume_id, name=self.name, force=True,
            metadata=self.tags)

    def _makeVolume(self):
        snapshot = self._findFirst(self._findSnapshots)
        self._client.block_storage.create_volume(
            snapshot_id=snapshot.id, size=snapshot.size, name=self.name,
            metadata=self.tags)

    def _makeImageOfVolume(self):
        volume = self._findFirst(self._findVolumes)
        # The image inherits these from the volume.
        for action in (
                {'os-set_image_metadata': {
                    'metadata': self.tags | NOT_INHERITED}},
                {'os-volume_upload_image': {
                    'image_name': self.name, 'force': False,
                    'container_format': 'bare',
                    'disk_format': self.endpoint.getImageFormat()}}):
            check(self._client.block_storage.post(
                f'/volumes/{volume.id}/action', json=action))

    def _makeImageOfServer(self):
        check(self._client.compute.post(
            f'/servers/{self.node.openstack_server_id}/action', json={
                'createImage': {'name': self.name,
                                'metadata': self.tags | NOT_INHERITED}}))

    def _cleanUp(self):
        """Delete the volume and its snapshot; after an error, they are deleted
        when they have expired."""
        if not self.volume_id:
            return
        storage = self._client.block_storage
        try:
            for find, delete in (
                    (self._findVolumes, storage.delete_volume),
                    (self._findSnapshots, storage.delete_snapshot)):
                if found := self._findFirst(find):
                    delete(found)
        except Exception as error:
            self.log.info('Unable to delete parts of the snapshot of node '
                          '%s: %s', self.node.uuid, error)
