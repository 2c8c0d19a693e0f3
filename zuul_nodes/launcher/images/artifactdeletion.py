"""The end of an artifact: its file in storage, which a job deletes, and then
its record."""

import logging

from zuul_nodes import audit
from zuul_nodes.launcher.images.deletion import remove
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.policy import choose
from zuul_nodes.launcher.zookeeper import inState, sync


class ArtifactDeletion:
    """
    :param ImageRecords records: of all images.
    :param Schedule schedule: when they are looked at.
    :param ImageJobs jobs: that delete files.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, jobs):
        self.records = records
        self.schedule = schedule
        self.events = jobs.events
        self.pipelines = jobs.pipelines
        self.tenants = jobs.tenants
        self.event_tracker = jobs.event_tracker

    def isUnderWay(self, artifact):
        """:return: whether an event for that, or its item, is under way."""
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        if sent is None:
            return False
        # Whatever is sent to a tenant that is gone, nobody gets.
        layout = self.pipelines.get(sent.tenant_name)
        if layout is None or not self.event_tracker.isUnderWay(
                sent.tenant_name, layout.pipelines[EventKind.DELETE],
                'image_build_uuid', artifact.uuid):
            return False
        self.schedule.lookLater()
        return True

    def delete(self, context, artifact):
        """Take the next step to delete an artifact, which is locked: its
        uploads, its file in storage, its record."""
        # Whoever had the lock before may have added some.
        sync(self.records.uploads)
        if any(upload.artifact_uuid == artifact.uuid
               for upload in self.records.uploads.getItems()):
            if artifact.state != artifact.State.DELETING:
                self.log.info('Deleting all uploads of %s', artifact)
                with artifact.activeContext(context):
                    artifact.state = artifact.State.DELETING
            return
        # Another launcher may have sent it since it was decided to delete.
        if self.isUnderWay(artifact):
            return
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        deleters = self.tenants.getDeleters(artifact)
        if deleters and (sent is None or sent.tenant_name not in deleters):
            self._send(artifact, sent, choose(deleters, None))
            return
        self.log.info('Deleting %s, which has no uploads', artifact)
        audit.tell(audit.Event.DELETED, artifact,
                   launcher=self.records.session.identifier)
        remove(context, artifact)

    def _send(self, artifact, sent, tenant_name):
        transaction = self.records.session.transaction()
        transaction.update(
            artifact, **inState(artifact.State.DELETING))
        transaction.audit(audit.Event.DELETED, artifact,
                          result=audit.Result.BEGUN)
        self.events.add(
            transaction, EventKind.DELETE, artifact.uuid, sent, tenant_name,
            artifact.name, artifact.project_canonical_name,
            artifact.project_branch)
        transaction.commit()
