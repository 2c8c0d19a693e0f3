"""The rules that decide about images and assign their work to tenants.

They tell which images are in service, kept or rejected, and which tenants
build, validate and delete them.

All decisions follow from the current records and layouts.  Several tenants may
have the same image, each with its own providers and pipelines.  A tenant
counts for a task only if it is able to execute it.
"""

from urllib.parse import unquote_plus

from zuul_nodes.imageuse import isGood, isUsable
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.transfers import findProvider, getProviders

# Uploads

def isRejected(upload):
    """:return: whether the validation of an upload has failed."""
    # Zuul's reporter also sets "validated" to False, without a build, for
    # "image-validated: false" in a pipeline that builds.
    return upload.validated is False and upload.build_uuid is not None


def isBad(uploads):
    """
    :param list uploads: all uploads of an artifact.
    :return: whether all of them were validated and rejected.
    """
    return bool(uploads) and all(map(isRejected, uploads))


def isWaiting(upload):
    """:return: whether an upload is ready and waits for its validation."""
    return bool(upload.state == upload.State.READY and upload.external_id
                and not upload.validated and not isRejected(upload))


def isInService(upload, image, provider):
    """:return: whether the provider may use an upload for new nodes."""
    return isGood(upload) and isUsable(upload, image, provider)


def isUsed(scope, upload):
    """
    :param Scope scope: has the providers of all tenants.
    :return: whether one of the upload's providers is still at its endpoint,
        or another provider there has the same configuration of the image.
    """
    return any(provider.getEndpoint().canonical_name == upload.endpoint_name
               for provider in getProviders(scope, upload)) \
        or findProvider(scope, upload) is not None


def getKept(uploads, image, provider):
    """
    :param list uploads: of the image, that of the oldest build first.
    :return: the ids of the uploads that the provider keeps.
    """
    uploads = [upload for upload in uploads
               if isUsable(upload, image, provider)]
    valid = [upload for upload in uploads
             if isInService(upload, image, provider)]
    # A build has several uploads if the configuration has changed.
    builds = list(dict.fromkeys(
        upload.artifact_uuid for upload in valid))[-image.retain_count:]
    valid = [upload for upload in valid if upload.artifact_uuid in builds]
    newer = uploads[uploads.index(valid[0]):] if valid else uploads
    # A validation may be running.  The number is limited in case that all of
    # them fail.
    complete = [upload for upload in newer
                if upload.state == upload.State.READY and upload.external_id
                and not isRejected(upload)]
    unvalidated = [upload for upload in complete
                   if not upload.validated][-image.retain_count:]
    # They may be completed, and failed ones show an operator the reason.
    incomplete = [upload for upload in newer if upload not in complete]
    return {upload.uuid for upload in (*valid, *unvalidated, *incomplete)}


# Files

def findSource(artifacts, uploads, gone):
    """Find the newest build that an endpoint has or can get.

    :param list artifacts: builds of an image in a format, neither rejected
        nor being deleted.
    :param uploads: of these builds, at the endpoint.
    :param set gone: the ids of artifacts whose files are gone.
    :return: the newest artifact; None if the image has to be built again.
    """
    # Without its file, a build may be copied from another cloud.  An operator
    # may also have restored the file and requested a retry.
    there = {upload.artifact_uuid for upload in uploads
             if upload.state in (upload.State.PENDING, upload.State.UPLOADING,
                                 upload.State.READY)}
    return findNewest(
        artifact for artifact in artifacts
        if artifact.uuid not in gone or artifact.uuid in there)


def findNewest(artifacts):
    """:return: the newest of several artifacts; None if there are none."""
    return max(artifacts, key=lambda each: each.timestamp or 0, default=None)


# Tenants

def choose(pipelines, sent):
    """Choose the tenant that gets the next event: each one in turn.

    :param dict pipelines: tenant -> its pipelines for the task; the preferred
        tenant first.
    :param Sent sent: the last event for the task, which was not successful,
        or None.
    :return: the name of the tenant; None if there is none.
    """
    names = list(pipelines)
    if not names:
        return None
    asked = sent.tenant_name if sent else None
    turn = names.index(asked) + 1 if asked in names else 0
    return names[turn % len(names)]


class Tenants:
    """Tells which tenants can execute a task for an image.

    :param Layouts layouts: of all tenants.
    :param ImagePipelines pipelines: the schedulers' records of pipelines.
    """

    def __init__(self, layouts, pipelines):
        self.layouts = layouts
        self.pipelines = pipelines

    def getBuilders(self, name):
        """
        :param str name: canonical name of an image.
        :return: a dict of tenant -> its pipelines that build the image on
            request.
        """
        return self._getRunning(name, EventKind.BUILD)

    def getDeliverers(self, name, formats, found):
        """Exclude the builders without any of the missing formats.

        :param set formats: in which the image is missing.
        :param dict found: tenant -> the
            :class:`zuul_nodes.undelivered.Undelivered` of its builds.
        :return: as :meth:`getBuilders`.
        """
        return {
            tenant_name: pipelines for tenant_name, pipelines
            in self.getBuilders(name).items()
            if not ((last := found.get(tenant_name))
                    and formats <= last.formats and last.layout_uuid
                    == self.pipelines.get(tenant_name).layout_uuid)}

    def getValidators(self, artifact, upload):
        """
        :return: as :meth:`getBuilders`, of tenants that can boot and validate
            the upload; the tenant of the build comes first.  A tenant without
            a scheduler's record has None for its pipelines.
        """
        return _begin(artifact.build_tenant_name, {
            name: pipelines for name, pipelines in self._getRunning(
                artifact.canonical_name, EventKind.VALIDATE).items()
            if self.canBoot(name, upload)
        } or self._getUnknown(artifact))

    def getDeleters(self, artifact):
        """
        :return: as :meth:`getBuilders`, of tenants that delete the file of an
            artifact; the tenant of the build comes first.
        """
        running = self._getRunning(artifact.canonical_name, EventKind.DELETE)
        name = artifact.build_tenant_name
        layout = self.pipelines.get(name)
        if layout and artifact.canonical_name not in layout.images and (
                layout.pipelines[EventKind.DELETE]):
            # The record has no jobs for an image that is gone.
            running[name] = layout.pipelines[EventKind.DELETE]
        return _begin(name, running)

    def canBoot(self, tenant_name, upload):
        """:return: whether the tenant has a label that boots an upload."""
        return any(
            image.canonical_name == upload.canonical_name
            and isUsable(upload, image, provider)
            and any(label.image == image.name
                    for label in provider.labels.values())
            for provider in self.layouts.scope.by_tenant.get(
                tenant_name, {}).values()
            for image in provider.images.values())

    def isPointless(self, sent, name, kind, upload=None):
        """Tell whether the last event has become pointless.

        :param Sent sent: the last event for a task, or None.
        :param str name: canonical name of the image.
        :param upload: the upload to validate, if that is the task.
        :return: whether the tenant that got the event is no longer able to
            execute the task, so that another one may be asked at once.
        """
        if sent is None:
            return False
        if sent.tenant_name not in self.layouts.states:
            return True
        layout = self.pipelines.get(sent.tenant_name)
        return layout is not None and not (
            layout.getRuns(name, kind) and (
                upload is None or self.canBoot(sent.tenant_name, upload)))

    def isAbandoned(self, upload):
        """Tell whether no provider of any tenant uses an upload any more.

        :return: whether the upload's providers are removed or at other
            endpoints; False if this may be due to an error of configuration
            or to providers that this launcher cannot read.
        """
        scope = self.layouts.scope
        names = upload.providers or ()
        return (not scope.unread and scope.unreadable.isdisjoint(names)
                and not isUsed(scope, upload)
                and self.pipelines.isComplete({
                    unquote_plus(name.partition('/')[0]) for name in names}))

    def _getRunning(self, name, kind):
        return {tenant_name: runs for tenant_name, layout
                in self.pipelines.getAll().items()
                if (runs := layout.getRuns(name, kind))}

    def _getUnknown(self, artifact):
        name = artifact.build_tenant_name
        known = name not in self.layouts.states or (
            self.pipelines.get(name))
        return {} if known else {name: None}


def _begin(name, several):
    """:return: a dict with the same items, that of a name first."""
    return ({name: several[name]} if name in several else {}) | several
