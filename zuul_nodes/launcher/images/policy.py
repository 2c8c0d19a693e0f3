"""The rules of images: who wants, builds, validates and deletes one, and
which of its uploads are in service, kept or refused.

All is decided from records and layouts as they are at the moment.  Several
tenants may have the same image, each with other providers and pipelines: a
tenant counts for something only if it can really do it.
"""

from urllib.parse import unquote_plus

from zuul_nodes.imageuse import isGood, isUsable
from zuul_nodes.launcher.images.events import EventKind
from zuul_nodes.launcher.images.transfers import findProvider, getProviders

# Of an upload.

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


def isWaiting(upload):
    """:return: whether an upload has to be validated before its service."""
    return bool(upload.state == upload.State.READY and upload.external_id
                and not upload.validated and not isRejected(upload))


def isInService(upload, image, provider):
    """:return: whether new nodes of the provider may have that upload."""
    return isGood(upload) and isUsable(upload, image, provider)


def isUsed(scope, upload):
    """
    :param Scope scope: the providers of all tenants.
    :return: whether one of the upload's providers is still where the upload
        is, or another one there has the image just so.
    """
    return any(provider.getEndpoint().canonical_name == upload.endpoint_name
               for provider in getProviders(scope, upload)) \
        or findProvider(scope, upload) is not None


def getKept(uploads, image, provider):
    """
    :param list uploads: of the image, that of the oldest build first.
    :return: the ids of those that the provider is to keep.
    """
    uploads = [upload for upload in uploads
               if isUsable(upload, image, provider)]
    valid = [upload for upload in uploads
             if isInService(upload, image, provider)]
    # One build may have several, as the image was configured.
    builds = list(dict.fromkeys(
        upload.artifact_uuid for upload in valid))[-image.retain_count:]
    valid = [upload for upload in valid if upload.artifact_uuid in builds]
    newer = uploads[uploads.index(valid[0]):] if valid else uploads
    # A validation may be running.  If all of them fail, there is an end
    # to what is kept for it.
    complete = [upload for upload in newer
                if upload.state == upload.State.READY and upload.external_id
                and not isRejected(upload)]
    unvalidated = [upload for upload in complete
                   if not upload.validated][-image.retain_count:]
    # They may get complete, or somebody may want to see that they failed.
    incomplete = [upload for upload in newer if upload not in complete]
    return {upload.uuid for upload in (*valid, *unvalidated, *incomplete)}


# Of files.

def findSource(artifacts, uploads, gone):
    """
    :param list artifacts: of an image in a format, in use and not bad.
    :param uploads: of those, where they are needed.
    :param set gone: the ids of artifacts that have no file any more.
    :return: the newest of them that is there, or can get there; None if the
        image has to be built anew for that.
    """
    # Those without a file may be copied from another cloud; or the file is
    # there again, and somebody wants it tried.
    there = {upload.artifact_uuid for upload in uploads
             if upload.state in (upload.State.PENDING, upload.State.UPLOADING,
                                 upload.State.READY)}
    return findNewest(
        artifact for artifact in artifacts
        if artifact.uuid not in gone or artifact.uuid in there)


def findNewest(artifacts):
    """:return: the newest of several artifacts, None if there are none."""
    return max(artifacts, key=lambda each: each.timestamp or 0, default=None)


# Of tenants.

def choose(pipelines, sent):
    """
    :param dict pipelines: tenant -> its pipelines that can do it, the
        tenant first that is to be asked first.
    :param Sent sent: the last event for that, which came to nothing, or
        None.
    :return: the tenant to be asked now: another one each time, in turn;
        None if there is none.
    """
    names = list(pipelines)
    if not names:
        return None
    asked = sent.tenant_name if sent else None
    turn = names.index(asked) + 1 if asked in names else 0
    return names[turn % len(names)]


class Tenants:
    """Which tenants can do what for an image.

    :param Layouts layouts: of all tenants.
    :param ImagePipelines pipelines: what schedulers say of them.
    """

    def __init__(self, layouts, pipelines):
        self.layouts = layouts
        self.pipelines = pipelines

    def getBuilders(self, name):
        """
        :param str name: of an image, canonical.
        :return: tenant -> its pipelines that build the image if they are
            asked to; a dict.
        """
        return self._getRunning(name, EventKind.BUILD)

    def getDeliverers(self, name, formats, found):
        """
        :param set formats: that are missing of an image.
        :param dict found: tenant -> the
            :class:`zuul_nodes.undelivered.Undelivered` of its builds.
        :return: those of :meth:`getBuilders` whose jobs are not known to
            build none of the formats.
        """
        return {
            tenant_name: pipelines for tenant_name, pipelines
            in self.getBuilders(name).items()
            if not ((last := found.get(tenant_name))
                    and formats <= last.formats and last.layout_uuid
                    == self.pipelines.get(tenant_name).layout_uuid)}

    def getValidators(self, artifact, upload):
        """
        :return: as :meth:`getBuilders`, of tenants that can boot the upload
            and try it; that of the build comes first.  A tenant of which no
            scheduler says anything has None for its pipelines.
        """
        return _begin(artifact.build_tenant_name, {
            name: pipelines for name, pipelines in self._getRunning(
                artifact.canonical_name, EventKind.VALIDATE).items()
            if self.canBoot(name, upload)
        } or self._getUnknown(artifact))

    def getDeleters(self, artifact):
        """
        :return: as :meth:`getValidators`, of tenants that delete the file of
            an artifact.
        """
        running = self._getRunning(artifact.canonical_name, EventKind.DELETE)
        name = artifact.build_tenant_name
        layout = self.pipelines.get(name)
        if layout and artifact.canonical_name not in layout.images and (
                layout.pipelines[EventKind.DELETE]):
            # Which jobs there are for an image that is gone, it can't say.
            running[name] = layout.pipelines[EventKind.DELETE]
        return _begin(name, running)

    def canBoot(self, tenant_name, upload):
        """:return: whether the tenant has a label for nodes of an upload."""
        return any(
            image.canonical_name == upload.canonical_name
            and isUsable(upload, image, provider)
            and any(label.image == image.name
                    for label in provider.labels.values())
            for provider in self.layouts.tenant_providers.get(
                tenant_name, ())
            for image in provider.images.values())

    def isInVain(self, sent, name, kind, upload=None):
        """
        :param Sent sent: the last event for that, or None.
        :param str name: of an image, canonical.
        :param upload: that is to be validated, if there is one.
        :return: whether the tenant that was asked would not do it any more,
            so another one need not wait for what becomes of the event.
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
        """
        :return: whether the providers of an upload are gone, or are
            somewhere else, in the layouts of all tenants; and neither an
            error nor a launcher that can't read them is the reason.
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
