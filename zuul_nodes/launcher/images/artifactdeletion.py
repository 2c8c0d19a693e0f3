"""Deletion of artifacts: a job deletes the file, the launcher the record.

The record stays until a job has deleted the file.  When jobs of all tenants
have failed too often, a record of the file is left behind for the operator.
"""

import logging

from zuul_nodes import audit, leftfiles, snapshotrecords
from zuul_nodes.drivers import addresses
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imagetenants import explainDenied
from zuul_nodes.launcher.images.artifacts import getName
from zuul_nodes.launcher.images.deletion import remove
from zuul_nodes.launcher.images.schedule import getAge
from zuul_nodes.launcher.images.tenants import choose
from zuul_nodes.launcher.zookeeper import inState, sync
from zuul_nodes.leftfiles import Cause

NO_JOB = 'no tenant has a job that deletes the file'
# Instead of the name of a tenant.
WAIT = object()
# The id of an artifact, in an event.
ATTRIBUTE = 'image_build_uuid'


class ArtifactDeletion:
    """Deletes artifacts by the jobs of tenants.

    :param ImageRecords records: of all images.
    :param Schedule schedule: of checks and back-offs.
    :param ImageJobs jobs: the jobs that delete files.
    """

    log = logging.getLogger('zuul.nodes.images')

    def __init__(self, records, schedule, jobs):
        self.records = records
        self.schedule = schedule
        self.settings = schedule.settings
        self.events = jobs.events
        self.pipelines = jobs.pipelines
        self.tenants = jobs.tenants
        self.event_tracker = jobs.event_tracker

    def isWaiting(self, artifact, known):
        """
        :param dict known: tenant -> its events, the same for all artifacts of
            a check.
        :return: whether a job is deleting the file, or is asked later.
        """
        return artifact.state == artifact.State.DELETING and (
            self._isUnderWay(artifact, known)
            or self._findDeleter(artifact) is WAIT)

    def _isUnderWay(self, artifact, known=None):
        """:param dict known: as of :meth:`isWaiting`; None to look again."""
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        # No result of another tenant counts.
        if sent is None or sent.hasResult() or not self.tenants.isAllowed(
                EventKind.DELETE, sent.tenant_name, artifact.canonical_name):
            return False
        # The event is lost if the tenant is gone.
        layout = self.pipelines.get(sent.tenant_name)
        if layout is None:
            return False
        where = sent.tenant_name, layout.pipelines[EventKind.DELETE], ATTRIBUTE
        path = None
        if known is not None:
            if sent.tenant_name not in known:
                known[sent.tenant_name] = self.event_tracker.findAll(*where)
            path = known[sent.tenant_name].get(artifact.uuid)
            if path is None:
                return False
        # It may have moved on since.
        is_there = (path is not None and self.event_tracker.watch(path)) or (
            self.event_tracker.isUnderWay(*where, artifact.uuid))
        if is_there:
            self.schedule.checkLater()
        return is_there

    def delete(self, context, artifact):
        """Take the next step to delete a locked artifact.

        The uploads go first, then the file in storage, then the record.
        """
        # The former owner of the lock may have added uploads.
        sync(self.records.uploads, self.records.builds)
        if any(upload.artifact_uuid == artifact.uuid
               for upload in self.records.uploads.getItems()):
            self._begin(context, artifact, 'Deleting all uploads of %s')
            return
        # Another launcher may have sent the event since the decision.  A
        # scheduler records the result before the item goes.
        if self._isUnderWay(artifact):
            return
        deleter = self._findDeleter(artifact)
        if deleter is WAIT:
            self._begin(context, artifact, 'Waiting for a tenant with a job '
                        'that deletes the file of %s')
            return
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        if deleter:
            self._send(artifact, sent, deleter)
            return
        users = self._getUsers(artifact)
        if not users and self._hasFile(artifact, sent):
            self._leave(artifact, sent)
        self.log.info('Deleting %s, which has no uploads left', artifact)
        audit.tell(audit.Event.DELETED, artifact,
                   launcher=self.records.session.identifier)
        # One of them may go at the same time, and rely on this one.
        remove(context, artifact, users)

    def _begin(self, context, artifact, message):
        """Write that an artifact is being deleted, and log why."""
        if artifact.state != artifact.State.DELETING:
            self.log.info(message, artifact)
            with artifact.activeContext(context):
                artifact.state = artifact.State.DELETING

    def _findDeleter(self, artifact):
        """Find out who deletes the file next.

        :return: the name of a tenant; WAIT to look again later; None if there
            is nothing to delete, or no tenant left to ask.
        """
        sent = self.events.get(EventKind.DELETE, artifact.uuid)
        if not self._hasFile(artifact, sent) or self._getUsers(artifact):
            return None
        deleters = self.tenants.getDeleters(artifact)
        if sent and sent.attempt >= max(
                self.settings.image_delete_attempts, len(deleters)):
            return None
        if not deleters:
            # A mistake in the project of the image may hide its jobs, but
            # that of one tenant does not keep all builds forever.
            is_over = self.pipelines.isComplete(
                {artifact.project_canonical_name}) or (
                artifact.state == artifact.State.DELETING
                and self.schedule.isOver(
                    self.settings.unneeded_image_delay
                    - getAge(artifact.state_time or 0)))
            return None if is_over else WAIT
        if sent and sent.tenant_name in deleters and not self.events.isDue(
                sent):
            return WAIT
        return choose(deleters, sent)

    def _hasFile(self, artifact, sent):
        """:return: whether there may be a file in storage."""
        return not (
            (sent and sent.is_deleted)
            # The launcher deletes snapshots itself.
            or artifact.format == snapshotrecords.FORMAT)

    def _getUsers(self, artifact):
        """:return: a list of other artifacts that need the file of one that is
            being deleted."""
        return [each for each in self.records.builds.getItems()
                if _isUserOf(artifact, each)]

    def _send(self, artifact, sent, tenant_name):
        if sent:
            self.log.warning(
                'The file of %s is still there after %s attempts: %s; asking '
                'the tenant %s to delete it', artifact, sent.attempt,
                _getProblem(sent), tenant_name)
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

    def _leave(self, artifact, sent):
        """Record for operators that a file is left behind."""
        if artifact.uuid in self.records.gone_files.get():
            return
        cause, reason = (Cause.FAILED, _getProblem(sent)) if sent else (
            Cause.NO_JOB, NO_JOB + explainDenied(
                EventKind.DELETE, self.tenants.getDenied(
                    EventKind.DELETE, artifact.canonical_name)))
        is_listed = leftfiles.write(
            self.records.client, artifact, cause, reason)
        self.log.warning(
            'The file %s of %s is left behind in its storage: %s; %s',
            getName(artifact.url), artifact, reason,
            '"zuul-nodes images leaks" shows it' if is_listed else
            f'"zuul-nodes images leaks" has no room for more than '
            f'{leftfiles.MOST} such files')


def _getProblem(sent):
    return sent.problem or (
        f'the job of the tenant {sent.tenant_name} has ended without result')


def _isUserOf(artifact, other):
    """:return: whether another artifact needs the file of an artifact that is
        being deleted."""
    normalize = addresses.normalizeUrl
    return (other.uuid != artifact.uuid
            and normalize(other.url) == normalize(artifact.url)
            # One of several that are being deleted deletes the file.
            and (other.state != other.State.DELETING
                 or other.uuid > artifact.uuid))
