"""Has images built that are missing, or missing in a format.

An image is missing as well at an endpoint for which there is none but builds
whose files are gone.

One event for each image, by one launcher, when nothing builds it already
and nothing is about to: the change that has added an image and a job for it
may have it built as well, in another pipeline.  After a build that came to
nothing, whoever asked for it, the next one has to wait.
"""

import logging
import time

from zuul_nodes import gonefiles, undelivered
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.needs import findUploads, getGood, getNeeds
from zuul_nodes.launcher.images.policy import choose, findSource
from zuul_nodes.launcher.zookeeper import sync


class ImageBuilds:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param Layouts layouts: say which images are needed.
    :param ImageJobs jobs: that build them.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, layouts, jobs):
        self.records = records
        self.schedule = schedule
        self.layouts = layouts
        self.settle_time = schedule.settings.image_settle_time
        self.builds = records.builds
        self.uploads = records.uploads
        self.events = jobs.events
        self.pipelines = jobs.pipelines
        self.tenants = jobs.tenants
        self.event_tracker = jobs.event_tracker
        # The canonical name of each image that is missing -> since when, by
        # the monotonic clock.
        self._since = {}
        # Images that nobody builds; said once.
        self._unbuildable = set()
        # And those that those who build them have not in a format.
        self._undelivered = set()

    def reconcile(self):
        """To be called when the layouts of all tenants are known."""
        missing = self._getMissing()
        now = time.monotonic()
        self._since = {name: self._since.get(name, now) for name in missing}
        for name in sorted(missing):
            with self.schedule.alone(name):
                self._ask(name)
        known = self.events.getKeys(EventKind.BUILD) | undelivered.getNames(
            self.records.client)
        self._forget(known - missing.keys())
        self._unbuildable &= missing.keys()
        self._undelivered &= missing.keys()

    def _forget(self, names):
        """
        :param set names: of images for which events were sent, and which
            were not missing before.
        """
        if not names or self.layouts.scope.unread:
            return
        # They may be missing since, for another launcher.
        sync(self.builds, self.uploads)
        for name in names - self._getMissing().keys():
            if self._isValid(name):
                self.events.forget(EventKind.BUILD, name)
                undelivered.forget(self.records.client, name)

    def _getMissing(self):
        """:return: the canonical name of each image that is missing -> the
            formats in which it is."""
        good = getGood(self.builds, self.uploads)
        lost = self._getLost(good)
        needed = self.layouts.scope.getImageFormats()
        return {name: missing for name, formats in needed.items()
                if (missing := {each for each in formats
                                if not good[name, each]
                                or (name, each) in lost})
                and not self.records.steering.isPaused(name)}

    def _getLost(self, good):
        """
        :param dict good: see :func:`getGood`.
        :return: a set of images and their formats that an endpoint needs
            and can't have, as the files are gone.
        """
        gone = self._getGone()
        touched = {key for key, artifacts in good.items()
                   if any(each.uuid in gone for each in artifacts)}
        return {need[:2] for need, wanted in self._getNeeds(touched)
                if not findSource(
                    good[need[:2]],
                    findUploads(self.uploads, need, wanted), gone)}

    def _getGone(self):
        return gonefiles.getIds(self.records.client)

    def _getNeeds(self, keys):
        """:return: a list of pairs, Need and Wanted, of some images in some
            formats."""
        if not keys:
            return []
        needs = getNeeds(self.layouts, self.schedule)
        return [each for each in needs.items() if each[0][:2] in keys]

    def _isValid(self, name):
        """:return: whether an image, which is not missing, will not be
            missing again, because validation has refused it, or because the
            file of its next build is gone as well."""
        artifacts = {
            artifact.uuid: artifact for artifact in self.builds.getItems()
            if artifact.canonical_name == name}
        valid = {artifacts[upload.artifact_uuid].format
                 for upload in self.uploads.getUploadsForImage(name)
                 if upload.validated and upload.artifact_uuid in artifacts}
        gone = {(name, artifacts[key].format)
                for key in self._getGone() & artifacts.keys()}
        return self.layouts.scope.getImageFormats()[name] <= valid and all(
            any(upload.validated and upload.state == upload.State.READY
                for upload in findUploads(self.uploads, need, wanted))
            for need, wanted in self._getNeeds(gone))

    def _ask(self, name):
        sent = self.events.get(EventKind.BUILD, name)
        tenants = {
            tenant_name: layout for tenant_name, layout
            in self.pipelines.getAll().items() if name in layout.images}
        for tenant_name, layout in tenants.items():
            if self._isBuilding(tenant_name, layout, name):
                self.events.noteUnderWay(
                    EventKind.BUILD, name, sent, tenant_name)
                self.schedule.lookLater()
                return
        if not (self.events.isDue(sent)
                or self.tenants.isInVain(sent, name, EventKind.BUILD)):
            return
        if not self._isSettled(name):
            return
        # Those that we know are about to change; we are told when.
        if tenants.keys() - self.pipelines.getCurrent().keys():
            return
        # What has been built meanwhile was written before its item went.
        sync(self.builds, self.uploads)
        missing = self._getMissing()
        if name not in missing:
            return
        formats = ', '.join(sorted(missing[name]))
        found = undelivered.read(self.records.client, name)
        tenant_name = choose(self.tenants.getDeliverers(
            name, missing[name], found), sent)
        if tenant_name:
            self._undelivered.discard(name)
            self.log.info('The image %s is missing in the format %s',
                          name, formats)
            image = tenants[tenant_name].images[name]
            transaction = self.records.session.transaction()
            self.events.add(
                transaction, EventKind.BUILD, name, sent, tenant_name,
                image['name'], image['project'], image['branch'])
            self.events.commit(transaction)
        elif builders := self.tenants.getBuilders(name):
            if name not in self._undelivered:
                self._undelivered.add(name)
                self.log.warning(
                    'The image %s is missing in the format %s, which '
                    'successful builds of the tenants %s do not have; these '
                    'are asked again when they have another layout',
                    name, formats, ', '.join(builders))
        elif tenants and name not in self._unbuildable:
            self._unbuildable.add(name)
            self.log.warning(
                'The image %s is missing in the format %s, and nobody builds '
                'it: no tenant has a pipeline with the trigger event '
                '"image-build" and the reporter "image-built" in which a job '
                'whose "image-build-name" is that image runs for the project '
                'of the image', name, formats)

    def _isSettled(self, name):
        """:return: whether an image has been missing for long enough."""
        return self.schedule.isOver(
            self._since[name] + self.settle_time - time.monotonic())

    def _isBuilding(self, tenant_name, layout, name):
        pipelines = {*layout.pipelines['image-build'],
                     *layout.pipelines['image-built']}
        return self.event_tracker.isBuilding(
            tenant_name, sorted(pipelines), layout.images[name]['name'])
