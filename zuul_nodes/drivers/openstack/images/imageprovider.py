"""What a provider does with images: its endpoint does it."""

from zuul_nodes.drivers.openstack.images.snapshots import SnapshotStateMachine


class ImageProvider:
    """Part of a provider."""

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        return self.endpoint.getImageImportJob(
            url, provider_image, image_name, image_format, metadata, md5,
            sha256)

    def downloadSnapshot(self, url, path):
        """
        :param str url: of an artifact that is a snapshot of a node.
        :param str path: of the file to write.
        :return: the path, or None if this cloud does not have it.
        """
        return self.endpoint.downloadSnapshot(url, path)

    def getSnapshotStateMachine(self, node, log):
        return SnapshotStateMachine(self.endpoint, node, log)
