"""The reporter of pipelines that build or validate images."""

import functools
import logging

from kazoo.exceptions import NoNodeError
from zuul.driver.zuul import IMAGE_BUILD, IMAGE_VALIDATE, zuulreporter
from zuul.model import ImageUpload
from zuul.zk.exceptions import LockException

from zuul_nodes import (
    audit,
    imagelayouts,
    snapshotrecords,
    undelivered,
    uploadboots,
)
from zuul_nodes.canonicalnames import getProjectName, getShortName
from zuul_nodes.drivers.zuul import records
from zuul_nodes.drivers.zuul.artifacts import chooseImages, findImages
from zuul_nodes.drivers.zuul.formats import getLayout, getOnlyFormats
from zuul_nodes.drivers.zuul.variables import readRecord

log = logging.getLogger('zuul.nodes.drivers.zuul')
SUCCESS = 'SUCCESS'
# The only result that means that an image is bad.
FAILURE = 'FAILURE'
# Maximum number of images that a warning about several of them names.
MOST_NAMES = 10


class ZuulReporter(zuulreporter.ZuulReporter):
    """
    ``image-built: true``
        records the images in the results of builds.  With
        ``image-validated: true`` they are used without a validation.
    ``image-validated``
        on its own, records the result of a validation.
    """

    def reportImageBuilt(self, item):
        sched = self.driver.sched
        layout = getLayout(sched, item)
        found, problems = [], []
        builds = _getBuilds(item)
        is_complete = all(build.result == SUCCESS for build in builds)
        for build in builds:
            if build.result != SUCCESS:
                log.info('Ignoring the images of %s, whose result is %s',
                         build, build.result)
                continue
            built, wrong = findImages(
                build, layout,
                functools.partial(self._isSnapshot, item, build))
            found += built
            problems += [(build, problem) for problem in wrong]
        images, repeated = chooseImages(found)
        built, denied = self._dropDenied(item, images)
        problems += [*repeated, *denied]
        validated, unvalidated = self._getValidated(item, built)
        problems += unvalidated
        missing = self._getMissing(item, layout, built)
        images, unwanted = self._dropUnwanted(layout, built)
        problems += unwanted
        for build, problem in problems:
            tellRefused(item, problem, build)
        warn(item, [*(problem for _, problem in problems), *(
            f'The image "{image.name}" is needed in the format '
            f'{", ".join(formats)}, but no artifact of these builds has it. '
            'Jobs find the formats in "zuul.image.formats"'
            for image, formats in missing if formats)])
        if is_complete:
            self._keepMissing(item, missing)
        # Create all artifacts first: launchers wait for the uploads of all
        # images of a build.
        with sched.createZKContext(None, log) as context:
            artifacts = [
                records.createArtifact(
                    context, image, item.manager.tenant.name,
                    # False would mean that a validation has failed.
                    image.image.canonical_name in validated or None)
                for image in images]
        for artifact in artifacts:
            records.createUploads(sched, artifact)
        if is_complete:
            # A provider may need them later.
            self._keepSources(item, built)

    def _dropDenied(self, item, built):
        """
        :return: a list of the images that the tenant may build, and a list of
            pairs: a build, and the message about another image.
        """
        allowed, problems = [], []
        for each in built:
            reason = self.driver.explainDenied(
                item, IMAGE_BUILD, each.image.project_canonical_name)
            if reason is None:
                allowed.append(each)
            else:
                problems.append((each.build, (
                    f'The image "{each.image.name}" of the job '
                    f'{each.build.job.name} in the format {each.format} is '
                    f'ignored: {reason}')))
        return allowed, problems

    def _getValidated(self, item, built):
        """
        :return: the canonical names of the images that need no validation, and
            a list of pairs: a build, and the message about an image that needs
            one nevertheless.
        """
        validated, problems = set(), []
        for each in built if self.image_validated else ():
            reason = self.driver.explainDenied(
                item, IMAGE_VALIDATE, each.image.project_canonical_name)
            if reason is None:
                validated.add(each.image.canonical_name)
            else:
                problems.append((each.build, (
                    f'The image "{each.image.name}" of the job '
                    f'{each.build.job.name} in the format {each.format} '
                    'needs a validation, in spite of "image-validated: true" '
                    f'in the pipeline {item.manager.pipeline.name}: '
                    f'{reason}')))
        return validated, problems

    def _dropUnwanted(self, layout, built):
        """
        :return: a list of the images in formats that a provider needs, or that
            are unknown, and a list of pairs: a build, and the message about
            its other images.
        """
        images = {each.image.canonical_name: each.image for each in built}
        wanted = {name: getOnlyFormats(layout, self.driver.pipelines, image)
                  for name, image in images.items()}
        kept, dropped = [], {}
        for each in built:
            formats = wanted[each.image.canonical_name]
            if formats is None or each.format in formats:
                kept.append(each)
            else:
                dropped.setdefault(each.build.uuid, []).append(each)
        return kept, [(several[0].build, _describeUnwanted(several))
                      for several in dropped.values()]

    def _getMissing(self, item, layout, built):
        """
        :param list built: the images that the item's builds have built.
        :return: a list of pairs: each of these images, and of those that the
            jobs are for, and a list of the formats in which it is needed but
            was not built.
        """
        names = {build.job.image_build_name for build in _getBuilds(item)
                 if build.result == SUCCESS}
        images = {name: image for name in names
                  if (image := layout.images.get(name))
                  and image.type == 'zuul' and not self.driver.explainDenied(
                      item, IMAGE_BUILD, image.project_canonical_name)}
        images |= {each.image.name: each.image for each in built}
        return [(image, [
            each for each in self.driver.findFormats(item, name) or ()
            if each not in {one.format for one in built
                            if one.image.name == name}])
            for name, image in sorted(images.items())]

    def _keepMissing(self, item, missing):
        """Record the missing formats, which another build would lack too."""
        tenant = item.manager.tenant
        for image, formats in missing:
            undelivered.write(
                self.driver.sched.zk_client.client, image.canonical_name,
                tenant.name, undelivered.Undelivered(
                    tenant.layout.uuid, set(formats)))

    def _keepSources(self, item, built):
        """Record which images the jobs of other images have built.

        Launchers then request builds of these for an image without jobs.
        """
        tenant = item.manager.tenant
        last = imagelayouts.read(
            self.driver.sched.zk_client.client, tenant.name)
        if last is None:
            return
        known, images = last.getSources(), tenant.layout.images
        own = {image.canonical_name for build in _getBuilds(item)
               if (image := images.get(build.job.image_build_name))}
        found = {each.image.canonical_name: source.canonical_name
                 for each in built
                 if (source := images.get(each.build.job.image_build_name))
                 and source.name != each.image.name
                 and not last.getRuns(each.image.canonical_name, IMAGE_BUILD)}
        # Their jobs do not build these any more.
        kept = {name: source for name, source in known.items()
                if source not in own or not self.driver.findFormats(
                    item, getShortName(name))}
        if (sources := kept | found) != known:
            self.driver.publishImages(tenant, sources)

    def _isSnapshot(self, item, build, url):
        """:return: whether a URL is a snapshot of a node of the build."""
        info = item.current_build_set.getJobNodeSetInfo(build.job)
        nodes = snapshotrecords.find(
            self.driver.sched.zk_client.client, url, item.manager.tenant.name)
        return bool(info) and not nodes.isdisjoint(info.nodes)

    def reportImageValidated(self, item):
        upload_id = getattr(item.event, 'image_upload_uuid', None)
        builds = _getBuilds(item)
        if not (upload_id and builds):
            log.debug('%s has no validated image', item)
            return
        failed = [build for build in builds if build.result != SUCCESS]
        warn(item, [
            f'The job {build.job.name} of the image upload {upload_id} has '
            f'the result {build.result}, which rejects no image because the '
            'job is not voting. Let it vote if it has to decide'
            for build in failed if not build.job.voting])
        failed = [build for build in failed if build.job.voting]
        if self.image_validated and failed:
            log.warning('%s has not validated the upload %s, because not all '
                        'of its builds succeeded: %s', item, upload_id, failed)
            return
        results = {build.result
                   for build in item.current_build_set.getBuilds()
                   if build.job.voting}
        if not self.image_validated and FAILURE not in results:
            # A node or Zuul has failed, so another attempt may succeed.
            warn(item, [
                f'The validation of the image upload {upload_id} has no '
                f'result: no voting job has the result {FAILURE}, only '
                f'{", ".join(sorted(map(str, results))) or "others"}. Zuul '
                'retries the validation'])
            return
        sched = self.driver.sched
        if _getNodes(item, builds).isdisjoint(
                uploadboots.find(sched.zk_client.client, upload_id)):
            warn(item, [
                f'The validation of the image upload {upload_id} has no '
                'result: no job of an image had a node that was created from '
                'it. The nodeset of such a job must have a label with that '
                'image. Zuul retries the validation'])
            return
        try:
            with sched.createZKContext(None, log) as context:
                upload = readRecord(context, ImageUpload, upload_id)
            if upload.state == upload.State.DELETING:
                log.info('%s was validated, but is being deleted', upload)
                return
            # The record has a field for one build.
            build, *_ = failed or builds
            if denied := self.driver.explainDenied(
                    item, IMAGE_VALIDATE,
                    getProjectName(upload.canonical_name)):
                message = (
                    f'The validation of the image upload {upload_id} of the '
                    f'image "{getShortName(upload.canonical_name)}" is '
                    f'ignored: {denied}')
                tellRefused(item, message, build)
                warn(item, [message])
                return
            audit.tell(
                audit.Event.VALIDATED, upload,
                tenant=item.manager.tenant.name, job=build.job.name,
                buildset=item.current_build_set.uuid, build=build.uuid,
                result=audit.Result.DONE if self.image_validated
                else audit.Result.FAILED)
            sched.validateImageUpload(
                upload_id, build, self.image_validated)
        except (NoNodeError, LockException) as error:
            log.warning('The upload %s, which %s has validated, does not '
                        'exist any more: %r',
                        upload_id, item, error)


def _getBuilds(item):
    """:return: the builds of jobs with an image."""
    return [build for build in item.current_build_set.getBuilds()
            if build.job.image_build_name]


def _getNodes(item, builds):
    """:return: a set of the ids of the nodes that builds had."""
    return {node for build in builds
            if (info := item.current_build_set.getJobNodeSetInfo(build.job))
            for node in info.nodes}


def _describeUnwanted(built):
    """:return: the message about images of a build that no provider needs."""
    names = [f'"{each.image.name}" in the format {each.format}'
             for each in built]
    shown = ', '.join(names[:MOST_NAMES])
    if len(names) > MOST_NAMES:
        shown += f' and {len(names) - MOST_NAMES} others'
    return (f'Images of the job {built[0].build.job.name} are ignored, '
            f'because no provider of any tenant needs them: {shown}. Let the '
            'job return the formats in "zuul.image.formats"; no job deletes '
            'the other files')


def tellRefused(item, problem, build=None):
    """Write to the audit log that a result is ignored.

    :param str problem: what is ignored, and why.
    :param Build build: with the result; None for the whole buildset.
    """
    audit.tell(
        audit.Event.REFUSED, tenant=item.manager.tenant.name,
        job=build and build.job.name, buildset=item.current_build_set.uuid,
        build=build and build.uuid, reason=problem)


def warn(item, messages):
    """Add warnings to the buildset in the web UI, and to later reports of
    other reporters.

    :param list messages: those that were added before are skipped.
    """
    told = item.current_build_set.warning_messages
    if new := [message for message in messages if message not in told]:
        item.warning(new)
