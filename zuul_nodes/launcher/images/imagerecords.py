"""The records of images: builds, uploads, remarks and operators' requests."""

from zuul_nodes import (
    gonefiles,
    imageremarks,
    leftfiles,
    undelivered,
    unneededimages,
    uploadboots,
)
from zuul_nodes.imageremarks import Remarks
from zuul_nodes.launcher.images.policy import sortByAge
from zuul_nodes.launcher.images.steering import Steering
from zuul_nodes.launcher.zookeeper import Builds, Names, Uploads


class ImageRecords:
    """The caches and stores of all records of images.

    :param Session session: for writes.
    :param notify: called when a record has changed.
    :ivar Builds builds: the cache of all artifacts.
    :ivar Uploads uploads: the cache of all uploads.
    :ivar Remarks remarks: why uploads are not in service.
    :ivar Names remarked: the ids of uploads with remarks.
    :ivar Names booted: the ids of uploads with records of their nodes.
    :ivar Names gone_files: the ids of artifacts whose files are gone.
    :ivar Names unneeded: the ids of uploads and artifacts that no provider
        needs any more.
    :ivar dict left_files: :class:`.leftfiles.Cause` -> Names of the ids of
        artifacts whose files were left behind.
    :ivar Names undelivered: the canonical names of images with formats that
        builds fail to deliver.
    :ivar Steering steering: what operators have paused or kept.
    """

    def __init__(self, session, notify):
        self.session = session
        self.client = session.client
        self.builds = Builds(session.zk_client, notify)
        self.uploads = Uploads(session.zk_client, notify)
        self.remarks = Remarks(self.client)
        self.remarked = Names(self.client, imageremarks.ROOT)
        self.booted = Names(self.client, uploadboots.ROOT)
        self.gone_files = Names(self.client, gonefiles.ROOT)
        self.unneeded = Names(self.client, unneededimages.ROOT)
        self.left_files = {
            cause: Names(self.client, leftfiles.getPath(cause))
            for cause in leftfiles.Cause}
        self.undelivered = Names(self.client, undelivered.ROOT)
        self.steering = Steering(session.zk_client, notify)

    def stop(self):
        for cache in (self.steering, self.builds, self.uploads):
            cache.stop()

    def getUndelivered(self, name):
        """:return: as of :func:`.undelivered.read`."""
        return (undelivered.read(self.client, name)
                if name in self.undelivered.get() else {})

    def count(self):
        """:return: gauges of the whole system: name -> value."""
        return {'zuul.images.unneeded': len(self.unneeded.get()), **{
            f'zuul.images.left_files.{cause}': len(names.get())
            for cause, names in self.left_files.items()}}

    def isDistributed(self, artifact_id):
        """:return: whether an artifact still gets its uploads.

        It does not wait for the cache.
        """
        artifact = self.builds.peek(artifact_id)
        return artifact is not None and (
            artifact.state != artifact.State.DELETING)

    def getUploads(self, name):
        """List the uploads of an image, without those of deleted builds.

        It does not wait for the caches, as it may be called by the planner.

        :param str name: canonical name of the image.
        :return: a list of uploads, that of the oldest build first.
        """
        return sortByAge(
            self.uploads.getUploadsForImage(name), self.builds.peek)
