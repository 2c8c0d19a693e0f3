"""Validation of uploads by jobs before they are in service."""

import logging
import urllib.parse

from zuul_nodes.imageevents import EventKind
from zuul_nodes.imagetenants import OPTIONS, SECTION
from zuul_nodes.launcher.images.policy import findBad, isWaiting
from zuul_nodes.launcher.images.tenants import choose
from zuul_nodes.launcher.zookeeper import sync

# Remark about an upload that stays out of service.
NO_VALIDATOR = (
    'no tenant validates it: a tenant needs a label for its nodes (of the '
    'providers {providers}) and a pipeline with the trigger event '
    '"{event}" in which a job with the image-build-name "{name}" runs for the '
    'project of the image')
# Tenants read the remark, so it names none.
DENIED = (f'. "{OPTIONS[EventKind.VALIDATE]}" in [{SECTION}] of zuul.conf '
          'does not list every tenant with the image')


class Validation:
    """Requests validations of uploads.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks and back-offs.
    :param ImageJobs jobs: the jobs that validate images.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, jobs):
        self.records = records
        self.schedule = schedule
        self.events = jobs.events
        self.pipelines = jobs.pipelines
        self.tenants = jobs.tenants
        self.event_tracker = jobs.event_tracker

    def reconcile(self, uploads):
        """Request the validations that are due.

        :param list uploads: the uploads that this launcher handles.
        """
        waiting = {}
        bad = findBad(self.records.uploads.getItems())
        for upload in uploads:
            artifact = self.records.builds.getItem(upload.artifact_uuid)
            if (artifact and artifact.state == artifact.State.READY
                    and isWaiting(upload)
                    and artifact.uuid not in bad):
                waiting[upload.uuid] = upload, artifact
        for upload, artifact in waiting.values():
            with self.schedule.isolate(upload):
                self._ask(upload, artifact)
        left = self.events.getKeys(EventKind.VALIDATE) - waiting.keys()
        if left:
            # The transaction that sends an event makes its upload ready.
            sync(self.records.uploads)
        for key in left:
            upload = self.records.uploads.getItem(key)
            if upload is None or not isWaiting(upload):
                self.events.forgetEvent(EventKind.VALIDATE, key)

    def _ask(self, upload, artifact):
        sent = self.events.get(EventKind.VALIDATE, upload.uuid)
        if not (self.events.isDue(sent) or self.tenants.isPointless(
                sent, artifact.canonical_name, EventKind.VALIDATE, upload)):
            return
        if sent and self._isUnderWay(sent.tenant_name, upload):
            self.schedule.checkLater()
            return
        validators = self.tenants.getValidators(artifact, upload)
        tenant_name = choose(validators, sent)
        if tenant_name is None:
            self._noteNoValidator(upload, artifact)
            return
        # Without a scheduler's record of the tenant, send it only once.
        if sent and validators[tenant_name] is None:
            return
        # A user may have requested the validation.
        if self._isUnderWay(tenant_name, upload):
            self.schedule.checkLater()
            return
        transaction = self.records.session.transaction()
        transaction.check(upload)
        if not isWaiting(upload):
            return
        self._addEvent(transaction, upload, artifact, sent, tenant_name)
        self.events.commit(transaction)

    def _isUnderWay(self, tenant_name, upload):
        layout = self.pipelines.get(tenant_name)
        return (layout is not None
                # No result of another tenant counts.
                and self.tenants.isAllowed(
                    EventKind.VALIDATE, tenant_name, upload.canonical_name)
                and self.event_tracker.isUnderWay(
                    tenant_name, layout.pipelines[EventKind.VALIDATE],
                    'image_upload_uuid', upload.uuid))

    def addEvent(self, transaction, upload):
        """Request the validation of an upload that becomes ready.

        :param Transaction transaction: makes the upload ready.
        """
        artifact = self.records.builds.getItem(upload.artifact_uuid)
        if artifact is None:
            self.log.warning('Unable to find the artifact of %s', upload)
            return
        if (artifact.state == artifact.State.DELETING
                or artifact.uuid in findBad(
                    self.records.uploads.getUploadsForImage(
                        artifact.canonical_name))):
            return
        sent = self.events.get(EventKind.VALIDATE, upload.uuid)
        tenant_name = choose(
            self.tenants.getValidators(artifact, upload), sent)
        if tenant_name is None:
            self._noteNoValidator(upload, artifact)
        else:
            self._addEvent(transaction, upload, artifact, sent, tenant_name)

    def _noteNoValidator(self, upload, artifact):
        """Record and log, once, that no tenant validates an upload."""
        text = NO_VALIDATOR.format(
            name=artifact.name, event=EventKind.VALIDATE,
            providers=', '.join(map(urllib.parse.unquote_plus,
                                    upload.providers or ())))
        if self.tenants.getDenied(
                EventKind.VALIDATE, artifact.canonical_name):
            text += DENIED
        if self.records.remarks.getRemark(upload.uuid) != text:
            self.records.remarks.setRemark(upload.uuid, text)
            self.log.warning('%s is not in service: %s', upload, text)

    def _addEvent(self, transaction, upload, artifact, sent, tenant_name):
        self.records.remarks.deleteRemark(upload.uuid)
        self.events.addEvent(
            transaction, EventKind.VALIDATE, upload.uuid, sent, tenant_name,
            artifact.name, artifact.project_canonical_name,
            self.tenants.getBranch(tenant_name, artifact))
