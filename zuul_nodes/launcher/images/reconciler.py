"""Images, looked at: what is to be built, uploaded, validated and deleted.

All is decided from Zuul's records of artifacts and uploads, as they are
at the moment, and from the configuration.  What is to be done takes its
time: see :mod:`zuul_nodes.launcher.images.uploads` and
:mod:`zuul_nodes.launcher.images.deletion`.
"""

import contextlib
import functools

from zuul_nodes import gonefiles, uploadboots
from zuul_nodes.launcher.zookeeper import sync


class ImageReconciler:
    """
    :param Layouts layouts: say which images there are.
    :param Distribution distribution: of builds to all endpoints.
    :param Images images:
    :param tellLimits: called when providers may have other images.
    """

    def __init__(self, layouts, distribution, images, tellLimits):
        self.layouts = layouts
        self.distribution = distribution
        self.images = images
        self.tellLimits = tellLimits

    def reconcile(self):
        """Look at all images, if all layouts are known."""
        # What a tenant wants that is not known yet must not be deleted.
        if self.layouts.states and self.layouts.isUpToDate():
            try:
                self.distribution.reconcile()
            finally:
                self.images.reconcile()
            self.tellLimits()


class Images:
    """
    :param ImageRecords records: of all images.
    :param ImageBuilds builds: those that are missing.
    :param Validation validation: of uploads.
    :param PendingUploads pending: those that are to be made.
    :param Retention retention: of what is needed no more.
    """

    def __init__(self, records, builds, validation, pending, retention):
        self.records = records
        self.builds = builds
        self.validation = validation
        self.pending = pending
        self.uploads = pending.uploads
        self.retention = retention

    def stop(self):
        """Begin nothing any more; downloads end early."""
        self.uploads.stop()
        self.retention.deletion.stop()

    def join(self, timeout):
        """Wait for what drivers do, which nobody can end, but not for ever.

        ZooKeeper is needed until then.

        :param float timeout: in seconds, for uploads and deletes each.
        """
        self.uploads.join(timeout)
        self.retention.deletion.join(timeout)

    def reconcile(self):
        """See what is to be built, uploaded, validated and deleted, and
        have it done.

        To be called when the layouts of all tenants are known.
        """
        if self.uploads.stopping.is_set():
            return
        with contextlib.ExitStack() as steps:
            # The last comes first; whatever one of them raises, all have
            # their turn.
            for step in (self._forgetRemarks, self._forgetGoneFiles,
                         self.builds.reconcile,
                         self._validate, self.pending.reconcile,
                         self.retention.reconcile):
                steps.callback(step)

    def _forgetRemarks(self):
        """Forget what is on record of uploads that are gone."""
        client, remarks = self.records.client, self.records.remarks
        for keys, forget in (
                (remarks.getKeys(), remarks.deleteRemark),
                (uploadboots.getUploads(client), functools.partial(
                    uploadboots.forget, client))):
            if keys - self._getUploadIds():
                # One that replaces another is written with what is said of
                # it.
                sync(self.records.uploads)
                for key in keys - self._getUploadIds():
                    forget(key)

    def _forgetGoneFiles(self):
        """Forget what is on record of builds that are gone themselves."""
        gone = gonefiles.getIds(self.records.client)
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
