"""The changes to images that operators request, written to the records.

Each change is safe beside running launchers, which see it at once.  The
command locks a record while it changes it.
"""

import contextlib

from zuul.model import ImageBuildArtifact, ImageUpload

from zuul_nodes import imagecontrols, imageevents, leftfiles, zkrecords
from zuul_nodes.cmd.common.recordlocks import locked, makeContext
from zuul_nodes.cmd.images.records import (
    findBuild,
    findImage,
    getConnection,
    getLastInService,
    getName,
    readImages,
    readLayouts,
)
from zuul_nodes.exceptions import UserError
from zuul_nodes.imagecontrols import Control
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imageproblems import BUILD, NO_BUILDER
from zuul_nodes.imagetenants import explainDenied


class Changes:
    """The actions of ``zuul-nodes images``; each returns a message.

    :param ZooKeeperClient zk_client: connected.
    :param float timeout: seconds to wait for the lock of a record.
    :param set connections: the names of the connections in zuul.conf.
    """

    def __init__(self, zk_client, timeout, connections):
        self.timeout = timeout
        self.connections = connections
        self.client = zk_client.client
        self.context = makeContext(zk_client)
        self.images = readImages(
            self.client, connections, readLayouts(self.client))

    def pause(self, args):
        image = findImage(self.images, args.image)
        imagecontrols.add(self.client, Control.PAUSED,
                          image['canonical_name'], args.reason)
        return (f'The image {getName(image)} is paused: launchers request '
                f'no builds and start no uploads of it')

    def resume(self, args):
        image = findImage(self.images, args.image)
        if not imagecontrols.remove(
                self.client, Control.PAUSED, image['canonical_name']):
            raise UserError(f'the image {getName(image)} is not paused')
        return f'The image {getName(image)} is no longer paused'

    def build(self, args):
        image = findImage(self.images, args.image)
        if image['paused'] is not None:
            raise UserError(
                f'the image {getName(image)} is paused; "zuul-nodes images '
                f'resume {image["name"]}" ends that')
        if not image['builders']:
            raise UserError(f'the image {getName(image)} cannot be built: '
                            f'{NO_BUILDER}'
                            f'{explainDenied(BUILD, image["denied"])}')
        imagecontrols.add(
            self.client, Control.ORDERED, image['canonical_name'],
            args.reason)
        return f'A launcher requests a build of the image {getName(image)}'

    def keep(self, args):
        build = findBuild(self.images, args.build)
        imagecontrols.add(
            self.client, Control.KEPT, build['uuid'], args.reason)
        return f'The build {describe(build)} is kept when newer ones exist'

    def release(self, args):
        build = findBuild(self.images, args.build)
        if not imagecontrols.remove(
                self.client, Control.KEPT, build['uuid']):
            raise UserError(f'the build {describe(build)} is not kept')
        return (f'The build {describe(build)} is deleted when newer ones '
                f'have replaced it')

    def delete(self, args):
        build = findBuild(self.images, args.build)
        self._requireOther(build, None, args.force, 'deleted')
        with self._change(ImageBuildArtifact, build['uuid']) as artifact:
            artifact.state = artifact.State.DELETING
        return f'Launchers will delete the build {describe(build)}'

    def forget(self, args):
        """Remove the records of what no launcher can delete."""
        if args.endpoint is None:
            return self._forgetFile(args.build)
        # Its import takes long.
        from zuul_nodes.launcher.images import remove
        build = findBuild(self.images, args.build)
        uploads = self._getUploads(build, args.endpoint)
        connection = getConnection(args.endpoint)
        if connection in self.connections:
            raise UserError(
                f'the connection {connection} of the endpoint '
                f'{args.endpoint} is in zuul.conf, so launchers can delete '
                f'the uploads; use "zuul-nodes images delete"')
        for record in uploads:
            with locked(self.context, ImageUpload, record['uuid'],
                        self.timeout) as upload:
                remove(self.context, upload)
        return (f'Removed the records of the uploads of the build '
                f'{describe(build)} at {args.endpoint}; images in that cloud '
                f'are not deleted')

    def _forgetFile(self, build_id):
        files = [each for each in leftfiles.readAll(self.client)
                 if each['uuid'].startswith(build_id)]
        if not files:
            raise UserError(
                f'"zuul-nodes images leaks" lists no file of a build '
                f'"{build_id}". With --endpoint, "forget" removes the records '
                f'of uploads of a build')
        build = findBuild([{'builds': files}], build_id)
        leftfiles.forget(self.client, build['uuid'])
        return (f'Removed the record of the file of the build '
                f'{describe(build)}; the file is not deleted')

    def reject(self, args):
        """Mark a build as if its validation had failed."""
        build = findBuild(self.images, args.build)
        self._requireOther(build, args.endpoint, args.force, 'rejected')
        number = 0
        for record in self._getUploads(build, args.endpoint):
            with self._change(ImageUpload, record['uuid']) as upload:
                if upload.state == upload.State.READY:
                    upload.validated = False
                    upload.build_uuid = build['build_uuid'] or ''
                    number += 1
        if not number:
            raise UserError(f'the build {describe(build)} has no ready '
                            f'upload that could be rejected')
        return (f'Launchers will delete {number} uploads of the build '
                f'{describe(build)}, as if their validation had failed')

    def validate(self, args):
        """Reset uploads as if they had never been validated."""
        build = findBuild(self.images, args.build)
        number = 0
        for record in self._getUploads(build, args.endpoint):
            with self._change(ImageUpload, record['uuid']) as upload:
                if upload.state not in (
                        upload.State.READY, upload.State.FAILED):
                    continue
                upload.validated = upload.build_uuid = None
                if upload.state == upload.State.FAILED:
                    # No cloud has a failed upload.
                    upload.external_id = None
                    upload.attempt = 0
                    upload.state = upload.State.PENDING
                number += 1
            # A new validation starts without the back-off of the old one.
            zkrecords.delete(self.client, imageevents.getPath(
                EventKind.VALIDATE, record['uuid']))
        if not number:
            raise UserError(f'the build {describe(build)} has no upload that '
                            f'is ready or has failed')
        return (f'Launchers will validate {number} uploads of the build '
                f'{describe(build)}')

    def _requireOther(self, build, endpoint_name, force, what):
        names = getLastInService(self.images, build, endpoint_name)
        if names and not force:
            raise UserError(
                f'the build {describe(build)} is the only one in service at '
                f'{", ".join(names)}: without it, jobs get no nodes there. '
                f'With --force it is {what} anyway')

    def _getUploads(self, build, endpoint_name):
        uploads = [upload for upload in build['uploads']
                   if endpoint_name in (None, upload['endpoint_name'])]
        if endpoint_name and not uploads:
            names = sorted({each['endpoint_name']
                            for each in build['uploads']})
            raise UserError(
                f'the build {describe(build)} has no upload at '
                f'{endpoint_name}. It has uploads at: '
                f'{", ".join(names) or "none"}')
        return uploads

    @contextlib.contextmanager
    def _change(self, record_class, uuid):
        """Lock a record, and write the changes made in the ``with`` block."""
        with locked(self.context, record_class, uuid, self.timeout) as (
                record), record.activeContext(self.context):
            yield record


def describe(build):
    """:return: the short id and the image of a build, for messages."""
    return f'{build["uuid"][:8]} of the image {getName(build)}'
