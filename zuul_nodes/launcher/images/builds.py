"""Requests for builds of images that are missing, or missing in a format, or
that an operator has ordered.

An image is also missing at an endpoint if the files of all its builds are gone
and no other cloud can copy it there.

One launcher sends one event for each missing image.  It sends none while the
image is being built for any reason: a change that adds an image and its job
may build it in another pipeline.  After a failed build, whatever its cause,
the launcher waits before it requests the next one.
"""

import collections
import logging

from zuul_nodes import imagecontrols, undelivered
from zuul_nodes.imagecontrols import Control
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imageproblems import NO_BUILDER
from zuul_nodes.imagetenants import explainDenied
from zuul_nodes.launcher.images.needs import findUploads, getGood, getNeeds
from zuul_nodes.launcher.images.policy import findSource, isRejected
from zuul_nodes.launcher.images.tenants import choose
from zuul_nodes.launcher.zookeeper import sync

# Why an image is missing.
NO_BUILD = 'there is no build that was not rejected'
LOST = 'the builds were rejected at {}, or their files are gone'


class ImageBuilds:
    """Requests builds of missing images.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks and back-offs.
    :param Layouts layouts: has the images that are needed.
    :param ImageJobs jobs: the jobs that build images.
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
        # Canonical name of a missing image -> since when, of the monotonic
        # clock.
        self._since = {}
        # Images that no tenant builds; logged once.
        self._unbuildable = set()
        # Images that no tenant builds in a needed format; logged once.
        self._undelivered = set()

    def reconcile(self):
        """Request missing builds; the layouts of all tenants must be known.
        """
        missing = self._getMissing()
        now = self.schedule.clock()
        self._since = {name: self._since.get(name, now) for name in missing}
        for name in sorted(missing):
            with self.schedule.isolate(name):
                self._ask(name)
        for name in sorted(self.records.steering.getOrdered()):
            with self.schedule.isolate(name):
                self._obey(name)
        known = (self.events.getKeys(EventKind.BUILD)
                 | self.records.undelivered.get())
        self._forget(known - missing.keys())
        self._unbuildable &= missing.keys()
        self._undelivered &= missing.keys()

    def _forget(self, names):
        """Remove the records of images that are no longer missing.

        :param set names: of images with events on record that this launcher
            does not find missing.
        """
        scope = self.layouts.scope
        # A provider that this launcher cannot read may need the image.
        if not names or scope.unread or scope.unreadable:
            return
        # Another launcher may have seen them missing since.
        sync(self.builds, self.uploads)
        for name in names - self._getMissing().keys():
            if self._isValid(name):
                self.events.forgetEvent(EventKind.BUILD, name)
                undelivered.forget(self.records.client, name)

    def _getMissing(self):
        """:return: canonical name of each missing image -> the formats in
            which it is missing -> why."""
        good = getGood(self.builds, self.uploads)
        lost = self._getLost(good)
        missing = collections.defaultdict(dict)
        for name, formats in self.layouts.scope.getImageFormats().items():
            if self.records.steering.isPaused(name):
                continue
            for each in sorted(formats):
                if not good[name, each]:
                    missing[name][each] = NO_BUILD
                elif endpoints := lost[name, each]:
                    missing[name][each] = LOST.format(
                        ', '.join(sorted(endpoints)))
        return dict(missing)

    def _getLost(self, good):
        """
        :param dict good: as of :func:`getGood`.
        :return: (canonical name, format) -> a set of the endpoints that need
            it and cannot get it, because the files of the builds are gone or
            they have rejected them.
        """
        gone = self.records.gone_files.get()
        doubtful = gone | {
            upload.artifact_uuid for upload in self.uploads.getItems()
            if isRejected(upload)}
        touched = {key for key, artifacts in good.items()
                   if any(each.uuid in doubtful for each in artifacts)}
        lost = collections.defaultdict(set)
        for need, wanted in self._getNeeds(touched):
            if not findSource(good[need[:2]],
                              findUploads(self.uploads, need, wanted), gone):
                lost[need[:2]].add(need.endpoint_name)
        return lost

    def _getNeeds(self, keys):
        """:return: a list of (Need, Wanted) for some images in some formats.
        """
        if not keys:
            return []
        needs = getNeeds(self.layouts, self.schedule)
        return [each for each in needs.items() if each[0][:2] in keys]

    def _isValid(self, name):
        """:return: whether an image has validated uploads everywhere, so
            that neither a failed validation nor a file that is gone can make
            it missing again."""
        return all(
            any(upload.validated and upload.state == upload.State.READY
                for upload in findUploads(self.uploads, need, wanted))
            for need, wanted in self._getNeeds({
                (name, each) for each
                in self.layouts.scope.getImageFormats()[name]}))

    def _obey(self, name):
        """Request a build that an operator has ordered, even if the image is
        not missing, or is being built."""
        tenant_name = choose(self.tenants.getBuilders(name), None)
        # A layout that can build it may come.
        if not tenant_name or self.records.steering.isPaused(name):
            return
        image = _getBuilt(self.pipelines.getAll()[tenant_name], name)
        transaction = self.records.session.transaction()
        self.events.send(
            transaction, EventKind.BUILD, name, tenant_name, image['name'],
            image['project'], image['branch'])
        # Another launcher that obeys fails, as the order is gone.
        transaction.deletePath(imagecontrols.getPath(Control.ORDERED, name))
        self.events.commit(transaction)

    def _ask(self, name):
        sent = self.events.get(EventKind.BUILD, name)
        tenants = {
            tenant_name: layout for tenant_name, layout
            in self.pipelines.getAll().items() if name in layout.images}
        denied = self.tenants.getDenied(EventKind.BUILD, name)
        for tenant_name, layout in tenants.items():
            # No result of a denied tenant counts.
            if tenant_name not in denied and self._isBuilding(
                    tenant_name, layout, name):
                self.events.noteUnderWay(
                    EventKind.BUILD, name, sent, tenant_name)
                self.schedule.checkLater()
                return
        if not (self.events.isDue(sent)
                or self.tenants.isPointless(sent, name, EventKind.BUILD)):
            return
        if not self._isSettled(name):
            return
        # A known change of a layout is pending, and causes a check when read.
        if tenants.keys() - self.pipelines.getCurrent().keys():
            return
        # A build writes its records before its item is removed.
        sync(self.builds, self.uploads)
        missing = self._getMissing()
        if name not in missing:
            return
        formats = ', '.join(missing[name])
        found = self.records.getUndelivered(name)
        tenant_name = choose(self.tenants.getDeliverers(
            name, missing[name].keys(), found), sent)
        if tenant_name:
            self._undelivered.discard(name)
            reason = '; '.join(f'{image_format}: {why}' for image_format, why
                               in missing[name].items())
            self.log.info('The image %s is missing: %s', name, reason)
            image = _getBuilt(tenants[tenant_name], name)
            transaction = self.records.session.transaction()
            self.events.addEvent(
                transaction, EventKind.BUILD, name, sent, tenant_name,
                image['name'], image['project'], image['branch'], reason)
            self.events.commit(transaction)
        elif builders := self.tenants.getBuilders(name):
            if name not in self._undelivered:
                self._undelivered.add(name)
                self.log.warning(
                    'The image %s is missing in the format %s, which '
                    'successful builds of the tenants %s do not have; the '
                    'launcher asks them again when their layouts change',
                    name, formats, ', '.join(builders))
        elif tenants and name not in self._unbuildable:
            self._unbuildable.add(name)
            self.log.warning(
                'The image %s is missing in the format %s, and %s%s', name,
                formats, NO_BUILDER, explainDenied(EventKind.BUILD, denied))

    def _isSettled(self, name):
        """:return: whether an image has been missing for long enough."""
        return self.schedule.isOver(
            self._since[name] + self.settle_time - self.schedule.clock())

    def _isBuilding(self, tenant_name, layout, name):
        pipelines = {*layout.pipelines['image-build'],
                     *layout.pipelines['image-built']}
        return self.event_tracker.isBuilding(
            tenant_name, sorted(pipelines), _getBuilt(layout, name)['name'])


def _getBuilt(layout, name):
    """:return: the record of the image whose jobs build an image."""
    return layout.images[layout.getSource(name)]
