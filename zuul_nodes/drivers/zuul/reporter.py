"""The reporter of pipelines that build or validate images."""

import functools
import logging

from kazoo.exceptions import NoNodeError
from zuul.driver.zuul import zuulreporter
from zuul.model import ImageUpload
from zuul.zk.exceptions import LockException

from zuul_nodes import audit, snapshotrecords, undelivered, uploadboots
from zuul_nodes.drivers.zuul import records
from zuul_nodes.drivers.zuul.artifacts import findImages
from zuul_nodes.drivers.zuul.formats import getLayout
from zuul_nodes.drivers.zuul.variables import readRecord

log = logging.getLogger('zuul.nodes.drivers.zuul')
SUCCESS = 'SUCCESS'
# The only one that says that an image is not good.
FAILURE = 'FAILURE'


class ZuulReporter(zuulreporter.ZuulReporter):
    """
    ``image-built: true``
        records what builds have built.  With ``image-validated: true`` it
        may be used without a validation.
    ``image-validated``
        without it, records the outcome of a validation.
    """

    def reportImageBuilt(self, item):
        sched = self.driver.sched
        layout = getLayout(sched, item)
        images, problems = [], []
        for build in _getBuilds(item):
            if build.result != SUCCESS:
                log.info('Nothing is taken from %s, whose result is %s',
                         build, build.result)
                continue
            found, wrong = findImages(
                build, layout,
                functools.partial(self._isSnapshot, item, build))
            for problem in wrong:
                audit.tell(
                    audit.Event.REFUSED, tenant=item.manager.tenant.name,
                    job=build.job.name, buildset=item.current_build_set.uuid,
                    build=build.uuid, reason=problem)
            images += found
            problems += wrong
        missing = self._getMissing(item, images)
        _warn(item, [*problems, *(
            f'The image "{image.name}" is wanted in the format '
            f'{", ".join(formats)}, too, and no artifact of these builds has '
            'it. A job learns the formats by "zuul.image.formats"'
            for image, formats in missing if formats)])
        if all(build.result == SUCCESS for build in _getBuilds(item)):
            self._keepMissing(item, missing)
        # False is to mean that a validation has failed.
        validated = self.image_validated or None
        # Launchers wait for images of one build, if they see that there
        # are more to come.
        with sched.createZKContext(None, log) as context:
            artifacts = [
                records.createArtifact(
                    context, image, item.manager.tenant.name, validated)
                for image in images]
        for artifact in artifacts:
            records.createUploads(sched, artifact)

    def _getMissing(self, item, built):
        """
        :param list built: what the item's builds have built.
        :return: a list of pairs: each image of them, and a list of the
            formats in which it is wanted, too.
        """
        images = {each.image.name: each.image for each in built}
        return [(image, [
            each for each in self.driver.findFormats(item, name) or ()
            if each not in {one.format for one in built
                            if one.image.name == name}])
            for name, image in sorted(images.items())]

    def _keepMissing(self, item, missing):
        """Another build would have no other formats."""
        tenant = item.manager.tenant
        for image, formats in missing:
            undelivered.write(
                self.driver.sched.zk_client.client, image.canonical_name,
                tenant.name, undelivered.Undelivered(
                    tenant.layout.uuid, set(formats)))

    def _isSnapshot(self, item, build, url):
        """:return: whether that is a snapshot of a node of the build."""
        info = item.current_build_set.getJobNodeSetInfo(build.job)
        nodes = snapshotrecords.find(
            self.driver.sched.zk_client.client, url, item.manager.tenant.name)
        return bool(info) and not nodes.isdisjoint(info.nodes)

    def reportImageValidated(self, item):
        upload_id = getattr(item.event, 'image_upload_uuid', None)
        builds = _getBuilds(item)
        if not (upload_id and builds):
            log.debug('%s has validated no image', item)
            return
        failed = [build for build in builds if build.result != SUCCESS]
        if self.image_validated and failed:
            log.warning('%s has not validated the upload %s, for not all of '
                        'its builds succeeded: %s', item, upload_id, failed)
            return
        results = {build.result
                   for build in item.current_build_set.getBuilds()}
        if not self.image_validated and FAILURE not in results:
            # The nodes or Zuul have failed, and may not the next time.
            _warn(item, [
                f'This does not tell whether the image upload {upload_id} is '
                f'good: no job has the result {FAILURE}, but they have '
                f'{", ".join(sorted(map(str, results)))}. Its validation is '
                'tried again'])
            return
        sched = self.driver.sched
        if _getNodes(item, builds).isdisjoint(
                uploadboots.find(sched.zk_client.client, upload_id)):
            _warn(item, [
                f'This does not tell whether the image upload {upload_id} is '
                'good: no job of an image had a node that was made of it. A '
                'nodeset of such a job has to have a label of that image. Its '
                'validation is tried again'])
            return
        try:
            with sched.createZKContext(None, log) as context:
                upload = readRecord(context, ImageUpload, upload_id)
            if upload.state == upload.State.DELETING:
                log.info('%s has been validated in vain', upload)
                return
            # The record has room for one build.
            build, *_ = failed or builds
            audit.tell(
                audit.Event.VALIDATED, upload,
                tenant=item.manager.tenant.name, job=build.job.name,
                buildset=item.current_build_set.uuid, build=build.uuid,
                result=audit.Result.DONE if self.image_validated
                else audit.Result.FAILED)
            sched.validateImageUpload(
                upload_id, build, self.image_validated)
        except (NoNodeError, LockException) as error:
            log.warning('The upload %s, which %s has validated, is gone: %r',
                        upload_id, item, error)


def _getBuilds(item):
    """:return: those of jobs that have to do with an image."""
    return [build for build in item.current_build_set.getBuilds()
            if build.job.image_build_name]


def _getNodes(item, builds):
    """:return: a set of the ids of the nodes that builds had."""
    return {node for build in builds
            if (info := item.current_build_set.getJobNodeSetInfo(build.job))
            for node in info.nodes}


def _warn(item, messages):
    """Tell those who look at the buildset in the web UI, and the other
    reporters if they come later.

    :param list messages: which may have been told before.
    """
    told = item.current_build_set.warning_messages
    if new := [message for message in messages if message not in told]:
        item.warning(new)
