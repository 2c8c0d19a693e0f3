"""Has uploads validated by jobs, where they are not in service before."""

import logging
import urllib.parse

from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.policy import choose, isWaiting
from zuul_nodes.launcher.zookeeper import sync

# Why an upload stays out of service.
NOBODY = (
    'nobody validates it: no tenant that has a label for its nodes (of the '
    'providers {providers}) also has a pipeline with the trigger event '
    '"{event}" in which a job with the image-build-name "{name}" runs for the '
    'project of the image')


class Validation:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param ImageJobs jobs: that validate them.
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
        """
        :param list uploads: those that are ours to look after.
        """
        waiting = {}
        for upload in uploads:
            artifact = self.records.builds.getItem(upload.artifact_uuid)
            if (artifact and artifact.state == artifact.State.READY
                    and isWaiting(upload)):
                waiting[upload.uuid] = upload, artifact
        for upload, artifact in waiting.values():
            with self.schedule.alone(upload):
                self._ask(upload, artifact)
        left = self.events.getKeys(EventKind.VALIDATE) - waiting.keys()
        if left:
            # An upload has become ready when its event was sent.
            sync(self.records.uploads)
        for key in left:
            upload = self.records.uploads.getItem(key)
            if upload is None or not isWaiting(upload):
                self.events.forget(EventKind.VALIDATE, key)

    def _ask(self, upload, artifact):
        sent = self.events.get(EventKind.VALIDATE, upload.uuid)
        if not (self.events.isDue(sent) or self.tenants.isInVain(
                sent, artifact.canonical_name, EventKind.VALIDATE, upload)):
            return
        if sent and self._isUnderWay(sent.tenant_name, upload):
            self.schedule.lookLater()
            return
        validators = self.tenants.getValidators(artifact, upload)
        tenant_name = choose(validators, sent)
        if tenant_name is None:
            self._tellNobody(upload, artifact)
            return
        # Without a scheduler that tells, it is sent once.
        if sent and validators[tenant_name] is None:
            return
        # A user may have asked for it.
        if self._isUnderWay(tenant_name, upload):
            self.schedule.lookLater()
            return
        transaction = self.records.session.transaction()
        transaction.check(upload)
        if not isWaiting(upload):
            return
        self._addEvent(transaction, upload, artifact, sent, tenant_name)
        self.events.commit(transaction)

    def _isUnderWay(self, tenant_name, upload):
        layout = self.pipelines.get(tenant_name)
        return layout is not None and self.event_tracker.isUnderWay(
            tenant_name, layout.pipelines[EventKind.VALIDATE],
            'image_upload_uuid', upload.uuid)

    def addEvent(self, transaction, upload):
        """Have an upload validated.

        :param Transaction transaction: that makes it ready.
        """
        artifact = self.records.builds.getItem(upload.artifact_uuid)
        if artifact is None:
            self.log.warning('Unable to find the artifact of %s', upload)
            return
        sent = self.events.get(EventKind.VALIDATE, upload.uuid)
        tenant_name = choose(
            self.tenants.getValidators(artifact, upload), sent)
        if tenant_name is None:
            self._tellNobody(upload, artifact)
        else:
            self._addEvent(transaction, upload, artifact, sent, tenant_name)

    def _tellNobody(self, upload, artifact):
        """Say, once, that nobody validates an upload."""
        text = NOBODY.format(
            name=artifact.name, event=EventKind.VALIDATE,
            providers=', '.join(map(urllib.parse.unquote_plus,
                                    upload.providers or ())))
        if self.records.remarks.getRemark(upload.uuid) != text:
            self.records.remarks.setRemark(upload.uuid, text)
            self.log.warning('%s is not in service: %s', upload, text)

    def _addEvent(self, transaction, upload, artifact, sent, tenant_name):
        self.records.remarks.deleteRemark(upload.uuid)
        self.events.add(
            transaction, EventKind.VALIDATE, upload.uuid, sent, tenant_name,
            artifact.name, artifact.project_canonical_name,
            artifact.project_branch)
