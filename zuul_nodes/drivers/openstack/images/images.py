"""Create and delete the images of an endpoint."""

import collections
import functools
from urllib.parse import urlsplit

from openstack.exceptions import (
    ForbiddenException,
    NotFoundException,
)
from zuul.driver.openstack.openstackendpoint import OpenstackImageCopyJob

from zuul_nodes.drivers.openstack.config.imageattributes import (
    GLANCE_DIRECT,
    SNAPSHOT,
    WEB_DOWNLOAD,
)
from zuul_nodes.drivers.openstack.images.imports import (
    getArtifactBlocker,
    getImportBlocker,
)
from zuul_nodes.drivers.openstack.images.jobs import (
    GLANCE_DOWNLOAD,
    GlanceDownloadJob,
    SnapshotImportJob,
    StreamJob,
    UploadJob,
    WebDownloadJob,
)
from zuul_nodes.drivers.openstack.images.newimage import ERRORS, NewImage
from zuul_nodes.drivers.openstack.images.reader import ImageReader

# Maximum number of failed imports to remember.
FAILURES = 100
# Visibilities of images that projects of a cloud can share.
SHARED = ('public', 'shared')
VISIBLE = ('public', 'community')
# Tags of every snapshot of a node.
OF_SNAPSHOTS = ('zuul_system_id', 'zuul_expiration')


class Images:
    """Creates the jobs that bring images into a project, and deletes images.

    :param OpenstackEndpoint endpoint: of the project.
    """

    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.log = endpoint.log
        self.reader = ImageReader(endpoint)
        # Imports that have failed; the image is uploaded instead.
        self._failures = collections.deque(maxlen=FAILURES)

    @property
    def client(self):
        return self.endpoint.client

    def makeUploadJob(self, provider_image, *args):
        """
        :param args: of :class:`NewImage`, after the image.
        :return: a job with which the launcher sends a file.
        """
        return UploadJob(
            NewImage(self.endpoint, provider_image, *args),
            staged=provider_image.import_method == GLANCE_DIRECT)

    def makeImportJob(self, url, provider_image, image_name, image_format,
                      metadata, md5, sha256):
        """
        :return: a job with which the cloud imports an image, or None if the
            launcher has to download and upload it.
        """
        new_image = NewImage(
            self.endpoint, provider_image, image_name, image_format, metadata,
            md5, sha256, secret=url)
        if image_format == SNAPSHOT:
            snapshot = self._findSnapshot(url)
            copy = snapshot and self._makeGlanceDownload(
                new_image, self, snapshot.id, provider_image)
            return copy and SnapshotImportJob(copy, snapshot.id)
        if provider_image.import_method != WEB_DOWNLOAD:
            return None
        attempt = WEB_DOWNLOAD, url, md5, sha256
        if not self._mayTry(attempt, provider_image):
            return None
        if blocker := (getArtifactBlocker(
                url, md5, sha256, self.endpoint.driver.image_sources)
                       or getImportBlocker(self.client, WEB_DOWNLOAD)):
            self.log.info('Not importing image %s: %s', image_name,
                          blocker)
            return None
        return WebDownloadJob(
            new_image, url,
            functools.partial(self._failures.append, attempt))

    def makeCopyJob(self, source, provider_image, image_name, image_format,
                    metadata, md5, sha256):
        """
        :param Images source: of the endpoint that has the image.
        :return: a job that copies the image from there, or None if that is
            impossible or no better than an upload of the artifact.
        """
        new_image = NewImage(
            self.endpoint, provider_image, image_name, image_format, metadata,
            md5, sha256)
        try:
            if self._getGlance() == source._getGlance():
                return self._makeShare(source, new_image, provider_image)
            if self._isFederated(source, provider_image):
                subject = (source.endpoint.canonical_name,
                           provider_image.name, md5)
                if job := self._makeGlanceDownload(
                        new_image, source, subject, provider_image):
                    return job
        except ERRORS as error:
            self.log.info('Not copying image %s from %s: %s', image_name,
                          source.endpoint.name, error)
            return None
        # If uploads are allowed, they are cheaper: the launcher downloads the
        # artifact once for all clouds.
        if 'upload' in provider_image.upload_methods:
            return None
        return StreamJob(new_image, source.reader)

    def deleteImage(self, external_id):
        """Delete an image if it exists; reject an image that another project
        shares with ours."""
        if not external_id:
            # A failed upload may have no image.
            return
        self.log.debug('Deleting image %s', external_id)
        try:
            image = self.client.image.get_image(external_id)
            if image.owner != self.client.current_project_id:
                self._rejectImage(image)
                return
            if image.is_protected:
                self.client.image.update_image(image, is_protected=False)
            self.client.image.delete_image(image)
        except NotFoundException:
            self.log.debug('Image %s has been deleted already', external_id)

    def downloadSnapshot(self, url, path):
        """
        :param str url: of an artifact that is a snapshot of a node.
        :param str path: of the file to write.
        :return: the path, or None if the snapshot is not in this cloud.
        """
        image = self._findSnapshot(url)
        if image is None:
            return None
        with self.reader.openImage(image) as read, open(path, 'wb') as file:
            for block in read():
                file.write(block)
        return path

    def getImageUrl(self, image_id):
        """:return: the URL of an image's file in Glance."""
        return f'{self._getGlance()}/images/{image_id}/file'

    def _findSnapshot(self, url):
        """:return: the image of a URL, if it is a snapshot of a node;
            otherwise None."""
        parts = urlsplit(url)
        if parts.scheme not in ('http', 'https') or parts.query:
            return None
        before, found, image_id = url.removesuffix('/file').rpartition(
            '/images/')
        try:
            if not (found and url.endswith('/file')
                    and before == self._getGlance()):
                return None
            image = self.client.image.get_image(image_id)
        except ERRORS as error:
            self.log.info('Unable to read image %s: %s', image_id, error)
            return None
        # The author of a job can return the URL of any image that Zuul's user
        # may read.
        if all(image.properties.get(tag) for tag in OF_SNAPSHOTS):
            return image
        self.log.warning('Image %s is not a snapshot of a node', image_id)
        return None

    def _getGlance(self):
        """:return: the URL of the image service."""
        return self.client.image.get_endpoint().rstrip('/')

    def _mayTry(self, attempt, provider_image):
        # The launcher retries a failed upload as a new upload.
        return (attempt not in self._failures
                or 'upload' not in provider_image.upload_methods)

    def _makeShare(self, source, new_image, provider_image):
        """:return: a job that shares the image of another project of the same
            cloud with ours, or None."""
        ours, theirs = (each.client.current_project_id
                        for each in (self, source))
        if (ours == theirs or provider_image.tags.get('visibility')
                not in SHARED):
            return None
        return OpenstackImageCopyJob(
            self.endpoint, provider_image, new_image.name,
            new_image.disk_format, new_image.metadata, source.endpoint,
            theirs, ours)

    def _isFederated(self, source, provider_image):
        """:return: whether Zuul's user can read the image in another region of
            the cloud."""
        urls = {each.client.config.get_auth_args().get('auth_url')
                for each in (self, source)}
        return len(urls) == 1 and (
            provider_image.tags.get('visibility') in VISIBLE
            or self.client.current_project_id
            == source.client.current_project_id)

    def _makeGlanceDownload(self, new_image, source, subject,
                            provider_image):
        attempt = GLANCE_DOWNLOAD, subject
        if not self._mayTry(attempt, provider_image):
            return None
        if blocker := getImportBlocker(self.client, GLANCE_DOWNLOAD):
            self.log.info('The cloud cannot copy image %s: %s',
                          new_image.name, blocker)
            return None
        return GlanceDownloadJob(
            new_image, source.reader,
            functools.partial(self._failures.append, attempt))

    def _rejectImage(self, image):
        if image.visibility != 'shared':
            return
        try:
            self.client.image.update_member(
                self.client.current_project_id, image.id,
                status='rejected')
        except ForbiddenException:
            self.log.info('Image %s is not shared with our project', image.id)
