"""Has uploads validated by jobs, where they are not in service before."""

from zuul_nodes.launcher.caches import sync
from zuul_nodes.launcher.imageevents import Kind
from zuul_nodes.launcher.imagelook import ImagePart, alone


def isRejected(upload):
    """:return: whether a validation of an upload has failed."""
    # Without a build, it has only not happened yet: what Zuul's reporter
    # makes of "image-validated: false" in a pipeline that builds.
    return upload.validated is False and upload.build_uuid is not None


def isBad(uploads):
    """
    :param list uploads: all of one artifact.
    :return: whether the artifact has been tried, and refused everywhere.
    """
    return bool(uploads) and all(map(isRejected, uploads))


class Validation(ImagePart):

    def reconcile(self, uploads):
        """
        :param list uploads: those that are ours to look after.
        """
        waiting = {}
        for upload in uploads:
            artifact = self.builds.getItem(upload.artifact_uuid)
            if (artifact and artifact.state == artifact.State.READY
                    and self._isWaiting(upload)):
                waiting[upload.uuid] = upload, artifact
        for upload, artifact in waiting.values():
            with alone(self.launcher, upload):
                self._ask(upload, artifact)
        left = self.events.getKeys(Kind.VALIDATE) - waiting.keys()
        if left:
            # An upload has become ready when its event was sent.
            sync(self.uploads)
        for key in left:
            upload = self.uploads.getItem(key)
            if upload is None or not self._isWaiting(upload):
                self.events.forget(Kind.VALIDATE, key)

    def _isWaiting(self, upload):
        return bool(upload.state == upload.State.READY and upload.external_id
                    and not upload.validated and not isRejected(upload))

    def _ask(self, upload, artifact):
        sent = self.events.get(Kind.VALIDATE, upload.uuid)
        tenant_name, pipelines = self._findPipelines(artifact)
        # Without a scheduler that tells, it is sent once.
        if not self.events.isDue(sent) or (sent and pipelines is None):
            return
        if pipelines and self.trails.isUnderWay(
                tenant_name, pipelines, 'image_upload_uuid', upload.uuid):
            self.events.lookLater()
            return
        if pipelines == []:
            # addEvent() has said so.
            return
        transaction = self.launcher.store.transaction()
        transaction.check(upload)
        if not self._isWaiting(upload):
            return
        self._addEvent(transaction, upload, artifact, sent, tenant_name)
        self.events.commit(transaction)

    def _findPipelines(self, artifact):
        """:return: a tenant, and a list of its pipelines that validate
            images, or None if no scheduler tells."""
        tenant_name, layout = self.pipelines.findTenant(
            artifact, Kind.VALIDATE)
        if tenant_name is None:
            return None, []
        return tenant_name, layout and layout.pipelines[Kind.VALIDATE]

    def addEvent(self, transaction, upload):
        """Have an upload validated.

        :param Transaction transaction: that makes it ready.
        """
        artifact = self.builds.getItem(upload.artifact_uuid)
        if artifact is None:
            self.log.warning('Unable to find the artifact of %s', upload)
            return
        tenant_name, pipelines = self._findPipelines(artifact)
        if pipelines == []:
            self.log.warning(
                '%s is not in service until it is validated, and the tenant '
                '%s has no pipeline with the trigger event "%s"',
                upload, artifact.build_tenant_name, Kind.VALIDATE)
        else:
            self._addEvent(transaction, upload, artifact,
                           self.events.get(Kind.VALIDATE, upload.uuid),
                           tenant_name)

    def _addEvent(self, transaction, upload, artifact, sent, tenant_name):
        self.events.add(
            transaction, Kind.VALIDATE, upload.uuid, sent, tenant_name,
            artifact.name, artifact.project_canonical_name,
            artifact.project_branch)
