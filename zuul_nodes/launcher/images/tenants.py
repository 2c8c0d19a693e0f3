"""The rules that assign the work on images to tenants.

They tell which tenants build, validate and delete an image.  Several tenants
may have the same image, each with its own providers and pipelines.  A tenant
counts for a task only if it is able to execute it and the operator allows it.
"""

from zuul_nodes import imagetenants
from zuul_nodes.canonicalnames import getProjectName
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imageuse import isUsable


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
    :param Settings settings: tell which tenants the operator allows.
    """

    def __init__(self, layouts, pipelines, settings):
        self.layouts = layouts
        self.pipelines = pipelines
        self.settings = settings

    def isAllowed(self, kind, tenant_name, name):
        """
        :param EventKind kind: of the event that requests the task.
        :param str name: canonical name of an image.
        :return: whether the operator allows the task to a tenant.
        """
        allowed = getattr(self.settings, imagetenants.OPTIONS[kind])
        return allowed.allows(tenant_name, getProjectName(name))

    def getDenied(self, kind, name):
        """:return: a set of the tenants with the image that the operator does
            not allow to do the task."""
        return {tenant_name for tenant_name, layout
                in self.pipelines.getAll().items() if name in layout.images
                and not self.isAllowed(kind, tenant_name, name)}

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
            artifact; the tenant of the build comes first, unless it has lost
            the image.
        """
        name = artifact.build_tenant_name
        running = _begin(name, self._getRunning(
            artifact.canonical_name, EventKind.DELETE))
        layout = self.pipelines.get(name)
        if layout and artifact.canonical_name not in layout.images and (
                layout.pipelines[EventKind.DELETE]) and self.isAllowed(
                    EventKind.DELETE, name, artifact.canonical_name):
            # The record has no jobs for an image that is gone.
            running[name] = layout.pipelines[EventKind.DELETE]
        return running

    def getBranch(self, tenant_name, artifact):
        """:return: the branch of a tenant's definition of the image; that of
            the build if the tenant has no definition.

        Zuul runs the jobs of the branch.  A tenant may have another one than
        that of the build.
        """
        layout = self.pipelines.get(tenant_name)
        image = layout and layout.images.get(artifact.canonical_name)
        return image['branch'] if image else artifact.project_branch

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
        if (sent.tenant_name not in self.layouts.states
                or not self.isAllowed(kind, sent.tenant_name, name)):
            return True
        layout = self.pipelines.get(sent.tenant_name)
        return layout is not None and not (
            layout.getRuns(name, kind) and (
                upload is None or self.canBoot(sent.tenant_name, upload)))

    def _getRunning(self, name, kind):
        return {tenant_name: runs for tenant_name, layout
                in self.pipelines.getAll().items()
                if (runs := layout.getRuns(name, kind))
                and self.isAllowed(kind, tenant_name, name)}

    def _getUnknown(self, artifact):
        name = artifact.build_tenant_name
        known = name not in self.layouts.states or (
            self.pipelines.get(name))
        return {name: None} if not known and self.isAllowed(
            EventKind.VALIDATE, name, artifact.canonical_name) else {}


def _begin(name, several):
    """:return: a dict with the same items, that of a name first."""
    return ({name: several[name]} if name in several else {}) | several
