"""Deletion of artifacts: a job deletes the file, the launcher the record."""

import logging

from zuul_nodes import audit
from zuul_nodes.launcher.images.deletion import remove
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.tenants import choose
from zuul_nodes.launcher.zookeeper import inState, sync


class ArtifactDeletion:
    """Deletes artifacts by the jobs of tenants.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks.
    :param ImageJobs jobs: the jobs that delete files.
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
        """:return: whether a job is deleting the file, or is about to."""
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        if sent is None:
            return False
        # The event is lost if the tenant is gone.
        layout = self.pipelines.get(sent.tenant_name)
        if layout is None or not self.event_tracker.isUnderWay(
                sent.tenant_name, layout.pipelines[EventKind.DELETE],
                'image_build_uuid', artifact.uuid):
            return False
        self.schedule.checkLater()
        return True

    def delete(self, context, artifact):
        """Take the next step to delete a locked artifact.

        The uploads go first, then the file in storage, then the record.
        """
        # The former owner of the lock may have added uploads.
        sync(self.records.uploads)
        if any(upload.artifact_uuid == artifact.uuid
               for upload in self.records.uploads.getItems()):
            if artifact.state != artifact.State.DELETING:
                self.log.info('Deleting all uploads of %s', artifact)
                with artifact.activeContext(context):
                    artifact.state = artifact.State.DELETING
            return
        # Another launcher may have sent the event since the decision.
        if self.isUnderWay(artifact):
            return
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        deleters = self.tenants.getDeleters(artifact)
        if deleters and (sent is None or sent.tenant_name not in deleters):
            self._send(artifact, sent, choose(deleters, None))
            return
        self.log.info('Deleting %s, which has no uploads left', artifact)
        audit.tell(audit.Event.DELETED, artifact,
                   launcher=self.records.session.identifier)
        remove(context, artifact)

    def _send(self, artifact, sent, tenant_name):
        transaction = self.records.session.transaction()
        transaction.update(
            artifact, **inState(artifact.State.DELETING))
        transaction.audit(audit.Event.DELETED, artifact,
                          result=audit.Result.BEGUN)
        self.events.addEvent(
            transaction, EventKind.DELETE, artifact.uuid, sent, tenant_name,
            artifact.name, artifact.project_canonical_name,
            self.tenants.getBranch(tenant_name, artifact))
        transaction.commit()
