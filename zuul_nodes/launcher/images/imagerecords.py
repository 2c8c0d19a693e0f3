"""The records of images: builds, uploads, and what is said of them."""

import operator

from zuul_nodes.imageremarks import Remarks
from zuul_nodes.launcher.images.steering import Steering
from zuul_nodes.launcher.zookeeper import Builds, Uploads


class ImageRecords:
    """
    :param Session session: in which they are written.
    :param tell: called when any of them has changed.
    :ivar Builds builds: the cache of all artifacts.
    :ivar Uploads uploads: the cache of all uploads.
    :ivar Remarks remarks: why uploads are not in service.
    :ivar Steering steering: what operators want of images.
    """

    def __init__(self, session, tell):
        self.session = session
        self.client = session.client
        self.builds = Builds(session.zk_client, tell)
        self.uploads = Uploads(session.zk_client, tell)
        self.remarks = Remarks(self.client)
        self.steering = Steering(session.zk_client, tell)

    def stop(self):
        for cache in (self.steering, self.builds, self.uploads):
            cache.stop()

    def getUploads(self, name):
        """
        :param str name: the canonical name of an image.
        :return: a list of its uploads, that of the oldest build first; but
            none of a build that is being deleted.  The time of an upload is
            that of its validation.
        """
        aged = []
        for upload in self.uploads.getUploadsForImage(name):
            artifact = self.builds.getItem(upload.artifact_uuid)
            if artifact is None or artifact.state != artifact.State.DELETING:
                aged.append((
                    (artifact.timestamp or 0) if artifact else 0, upload))
        aged.sort(key=operator.itemgetter(0))
        return [upload for _, upload in aged]
