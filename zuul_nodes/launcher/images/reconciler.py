"""Reconciliation of images: builds, uploads, validation and deletion.

All decisions follow from Zuul's current records of artifacts and uploads, and
from the configuration.  Long work runs elsewhere:
:mod:`zuul_nodes.launcher.images.uploads` and
:mod:`zuul_nodes.launcher.images.deletion`.
"""

import contextlib
import functools

from zuul_nodes import gonefiles, uploadboots
from zuul_nodes.launcher.zookeeper import sync


class ImageReconciler:
    """Reconciles all images when all layouts are known.

    :param Layouts layouts: has the images that are needed.
    :param Distribution distribution: adds missing uploads.
    :param Images images: does everything else.
    :param uploads: the cache of all uploads.
    :param noteImages: called when the images of providers have changed.
    """

    def __init__(self, layouts, distribution, images, uploads, noteImages):
        self.layouts = layouts
        self.distribution = distribution
        self.images = images
        self.uploads = uploads
        self.noteImages = noteImages
        # What nodes can be made from, as it was told.
        self._told = None

    def reconcile(self):
        """Reconcile all images, if all layouts are known."""
        # Otherwise, images of an unknown tenant would be deleted.
        if self.layouts.states and self.layouts.isUpToDate():
            with contextlib.ExitStack() as steps:
                # In reverse order, and each even if another one raises.
                steps.callback(self._tell)
                steps.callback(self.images.reconcile)
                self.distribution.reconcile()

    def _tell(self):
        # Nothing is new with the progress of an upload.
        now = {(upload.uuid, upload.external_id, upload.state,
                upload.validated, frozenset(upload.providers))
               for upload in self.uploads.getItems()}
        if now != self._told:
            self._told = now
            self.noteImages()


class Images:
    """Builds, uploads, validates and deletes images.

    :param ImageRecords records: of all images.
    :param ImageBuilds builds: requests missing builds.
    :param Validation validation: requests validations.
    :param PendingUploads pending: starts uploads.
    :param Retention retention: deletes what is no longer needed.
    """

    def __init__(self, records, builds, validation, pending, retention):
        self.records = records
        self.builds = builds
        self.validation = validation
        self.pending = pending
        self.uploads = pending.uploads
        self.retention = retention

    def stop(self):
        """Start no new work, and end downloads early."""
        self.uploads.stop()
        self.retention.deletion.stop()

    def join(self, timeout):
        """Wait for calls of drivers, up to a time-out.

        They need ZooKeeper until then.

        :param float timeout: in seconds, for uploads and deletions each.
        """
        self.uploads.join(timeout)
        self.retention.deletion.join(timeout)

    def reconcile(self):
        """Start all builds, uploads, validations and deletions that are due.

        The layouts of all tenants must be known.
        """
        if self.uploads.stopping.is_set():
            return
        with contextlib.ExitStack() as steps:
            # The steps run in reverse order, and each of them runs even if
            # another one raises.
            for step in (self._forgetRemarks, self._forgetGoneFiles,
                         self.builds.reconcile,
                         self._validate, self.pending.reconcile,
                         self.retention.reconcile):
                steps.callback(step)

    def _forgetRemarks(self):
        """Remove the remarks and boot records of deleted uploads."""
        records = self.records
        for keys, forget in (
                (records.remarked.get(), records.remarks.deleteRemark),
                (records.booted.get(), functools.partial(
                    uploadboots.forget, records.client))):
            if keys - self._getUploadIds():
                # The remark of a replacement is written with its record.
                sync(records.uploads)
                for key in keys - self._getUploadIds():
                    forget(key)

    def _forgetGoneFiles(self):
        """Remove the notes about missing files of deleted builds."""
        gone = self.records.gone_files.get()
        if all(map(self.records.builds.getItem, gone)):
            return
        sync(self.records.builds)
        for key in gone:
            if self.records.builds.getItem(key) is None:
                gonefiles.forget(self.records.client, key)

    def _getUploadIds(self):
        return {upload.uuid for upload in self.records.uploads.getItems()}

    def _validate(self):
        self.validation.reconcile(list(self.pending.getHandled()))
