"""What a provider does with images: its endpoint does it."""

from zuul_nodes.drivers.openstack.snapshots import SnapshotStateMachine


class ImageProvider:
    """Part of a provider."""

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        return self.endpoint.getImageImportJob(
            url, provider_image, image_name, image_format, metadata, md5,
            sha256)

    def downloadUrl(self, url, path):
        return self.endpoint.downloadImage(url, path)

    def getSnapshotStateMachine(self, node, log):
        return SnapshotStateMachine(self.endpoint, node, log)
