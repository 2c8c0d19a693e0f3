"""The part of an AWS endpoint that creates images."""

import contextlib
import functools

import botocore.exceptions
from zuul.driver.aws import awsendpoint

from zuul_nodes.drivers import DriverError, reportGone
from zuul_nodes.drivers.aws import allowed, errors, images, names, sources
from zuul_nodes.drivers.aws.waits import Waits

# The format of artifacts that are snapshots of nodes.
SNAPSHOT = 'snapshot'
# States of failed import tasks.
FAILED = ('deleting', 'deleted')


class ImageEndpoint(awsendpoint.AwsProviderEndpoint):
    """Zuul's endpoint, with time-outs for jobs and valid names for images."""

    def __init__(self, zk_client, driver, connection, region, system_id):
        super().__init__(zk_client, driver, connection, region, system_id)
        self.waits = Waits()

    def stopEndpoint(self):
        self.waits.stop()
        super().stopEndpoint()

    def _getClients(self):
        super()._getClients()
        self.ssm_client = self.aws.client(
            'ssm', region_name=self.region,
            endpoint_url=self.connection.endpoint_url,
            config=self.ec2_client.meta.config)

    def _getImageId(self, image):
        return images.findImage(self, image)

    def _getImage(self, image_id):
        """:return: an image as AWS describes it, with its root device first;
            empty without an id."""
        if image_id is None:
            return {}
        image = super()._getImage(image_id)
        return {**image, 'BlockDeviceMappings': sorted(
            image.get('BlockDeviceMappings', ()), key=lambda mapping: (
                mapping['DeviceName'] != image.get('RootDeviceName')))}

    def _listAmis(self):
        amis = super()._listAmis()
        for ami in amis:
            # AWS omits an empty list of tags.
            ami.setdefault('Tags', [])
        return amis

    def _listImportSnapshotTasks(self):
        return _yieldHopeful(
            super()._listImportSnapshotTasks(),
            lambda task: task['SnapshotTaskDetail'])

    def _listImportImageTasks(self):
        return _yieldHopeful(
            super()._listImportImageTasks(), lambda task: task)

    def pause(self):
        """Wait in a job before the next request to AWS.

        :raises DriverError: the time of the job is over.
        """
        self.waits.pause(super().IMAGE_UPLOAD_SLEEP)

    @property
    def IMAGE_UPLOAD_SLEEP(self):
        """Wait in place of Zuul's jobs, which sleep for this number of
        seconds before the next request."""
        self.pause()
        return 0

    def _uploadImageToS3(self, image_name, filename, image_format, metadata,
                         bucket_name):
        # S3 accepts ten tags with fewer characters; these identify the object.
        return super()._uploadImageToS3(
            names.fit(image_name, names.OBJECTS), filename, image_format,
            {key: value for key, value in metadata.items()
             if key.startswith('zuul_')}, bucket_name)

    def _registerImage(self, provider_image, image_name, metadata,
                       volume_size, snapshot_id):
        with self._findMade(image_name, metadata) as made:
            made.append(super()._registerImage(
                provider_image, image_name, metadata, volume_size,
                snapshot_id)['ImageId'])
        # Until the image is available, AWS refuses nodes with it.
        images.awaitImage(self, made[0])
        return {'ImageId': made[0]}

    def _getOrStartCopyImage(self, image_name, source_ami, source_region,
                             metadata):
        with self._findMade(image_name, metadata) as made:
            made.append(super()._getOrStartCopyImage(
                image_name, source_ami, source_region, metadata))
        return made[0]

    @contextlib.contextmanager
    def _findMade(self, image_name, metadata):
        """
        :return: a list for the id of the created image; it receives the id of
            an existing image if that was created before.
        :raises DriverError: AWS has refused the request.
        """
        made = []
        try:
            yield made
        except botocore.exceptions.ClientError as error:
            found = errors.exists(error) and images.findOwn(
                self, image_name, metadata)
            if not found:
                raise errors.translate(error) from error
            made.append(found)

    def getImageImportJob(self, url, provider_image, image_name,
                          image_format, metadata, md5, sha256):
        allowed.checkUrl(self.connection, url)
        if not self._isVerified(url, image_format, md5, sha256):
            # The launcher downloads the artifact and verifies its checksum.
            return None
        return self.waits.limit(super().getImageImportJob(
            url, provider_image, names.fit(image_name, names.IMAGES),
            image_format, names.fitTags(metadata), md5, sha256),
            provider_image,
            functools.partial(
                reportGone, 'AWS', url,
                functools.partial(sources.look, self, url), errors.isGone,
                self.log))

    def _isVerified(self, url, image_format, md5, sha256):
        """:return: whether AWS may create an image of what a URL names."""
        if image_format == SNAPSHOT:
            # The caller has verified that it is a snapshot of a node.  It has
            # no file to download, and no checksum.
            return True
        return url.startswith('s3:') and sources.isVerified(
            self, url, md5, sha256)

    def downloadUrl(self, url, path):
        allowed.checkUrl(self.connection, url)
        with errors.translated():
            return super().downloadUrl(url, path)

    def getImageCopyJob(self, source_provider, provider_image, image_name,
                        image_format, metadata, md5, sha256):
        return self.waits.limit(super().getImageCopyJob(
            source_provider, provider_image,
            names.fit(image_name, names.IMAGES), image_format,
            names.fitTags(metadata), md5, sha256), provider_image)

    def getImageUploadJob(self, provider_image, image_name, image_format,
                          metadata, md5, sha256, bucket_name):
        return self.waits.limit(super().getImageUploadJob(
            provider_image, names.fit(image_name, names.IMAGES),
            image_format, names.fitTags(metadata), md5, sha256, bucket_name),
            provider_image)

    def _createSnapshot(self, volume_id, tags):
        with errors.translated():
            return super()._createSnapshot(volume_id, names.fitTags(tags))

    def deleteImage(self, external_id):
        # A failed upload may have no image.
        if not external_id:
            return
        self.log.debug('Deleting image %s', external_id)
        images = []
        with self.non_mutating_rate_limiter, errors.suppressGone():
            images = self.ec2_client.describe_images(
                ImageIds=[external_id])['Images']
        snapshots = [
            mapping['Ebs']['SnapshotId'] for image in images
            for mapping in image.get('BlockDeviceMappings', ())
            if mapping.get('Ebs', {}).get('SnapshotId')]
        self._deleteAmi(external_id)
        for snapshot in snapshots:
            try:
                self._deleteSnapshot(snapshot)
            except DriverError as error:
                # Several images can share a snapshot.
                if errors.getCode(error) != 'InvalidSnapshot.InUse':
                    raise
                self.log.info('Keeping snapshot %s: %s', snapshot, error)


def _yieldHopeful(tasks, getDetail):
    """
    :return: yields those tasks that have succeeded or may succeed.  AWS lists
        failed tasks for days, and no job should wait for these.
    """
    for task in tasks:
        if getDetail(task)['Status'].lower() not in FAILED:
            yield {'Tags': [], **task}
