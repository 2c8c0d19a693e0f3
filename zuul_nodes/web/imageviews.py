"""The images of a tenant, from build to service."""

from typing import NamedTuple

from zuul_nodes import imagecontrols, imageproblems, messages
from zuul_nodes.imagecontrols import Control
from zuul_nodes.imageremarks import Remarks
from zuul_nodes.imageuse import isGood
from zuul_nodes.web.cache import Cache

# Seconds for which what was read is used.
LIFETIME = 10
# Maximum number of builds of an image that are told, the newest ones.
MOST_BUILDS = 20


class Notes(NamedTuple):
    """What zuul-nodes has recorded about images, at one time.

    :ivar paused: canonical name of an image -> the reason.
    :ivar kept: id of a build -> the reason.
    :ivar remarked: ids of the uploads with a remark.
    :ivar views: name of a tenant -> what it sees, as far as it has been asked
        for.
    """
    paused: dict
    kept: dict
    remarked: set
    views: dict


class ImageViews:
    """
    :param ZuulWeb zuulweb:
    :param ImagePipelines pipelines: the image layouts of all tenants.
    """

    def __init__(self, zuulweb, pipelines):
        self.zuulweb = zuulweb
        self.pipelines = pipelines
        self._notes = Cache(self._readNotes, LIFETIME)

    def getList(self, tenant):
        """
        :param Tenant tenant: with its layout.
        :return: a list of dicts, one for each image of the tenant that jobs
            build, sorted by name.
        """
        notes = self._notes.get()
        if tenant.name not in notes.views:
            notes.views[tenant.name] = [
                self._describe(tenant, image, notes) for image in sorted(
                    tenant.layout.images.values(), key=lambda each: each.name)
                if image.type == 'zuul']
        return notes.views[tenant.name]

    @property
    def client(self):
        return self.zuulweb.zk_client.client

    def _readNotes(self):
        return Notes(
            imagecontrols.readAll(self.client, Control.PAUSED),
            imagecontrols.readAll(self.client, Control.KEPT),
            Remarks(self.client).getKeys(), {})

    def _describe(self, tenant, image, notes):
        name = image.canonical_name
        uploads = self._findUploads(tenant.name, name)
        builds = sorted((
            each for each in self.zuulweb.image_build_registry
            .getArtifactsForImage(name)
            # A new build has no uploads yet.
            if each.uuid in uploads
            or each.build_tenant_name == tenant.name),
            key=lambda each: (each.timestamp or 0, each.uuid), reverse=True)
        paused = notes.paused.get(name)
        return {
            'name': image.name,
            'canonical_name': name,
            'paused': None if paused is None else messages.forTenants(paused),
            'problem': imageproblems.findRequest(
                self.client, name, tenant.name)
            if builds else imageproblems.findProblem(
                self.client, self.pipelines.getAll(), name, tenant.name),
            'total': len(builds),
            'builds': [{
                'uuid': build.uuid,
                'format': build.format,
                'time': build.timestamp,
                'state': build.state,
                'kept': build.uuid in notes.kept,
                'uploads': [self._describeUpload(build, each, notes)
                            for each in uploads.get(build.uuid, ())],
            } for build in builds[:MOST_BUILDS]],
        }

    def _findUploads(self, tenant_name, canonical_name):
        """:return: dict, id of a build -> its uploads that providers of the
            tenant may use, sorted, as in Zuul's own API."""
        images = [
            (provider, image)
            for provider in self.zuulweb.tenant_providers.get(tenant_name, ())
            for image in provider.images.values()
            if image.canonical_name == canonical_name]
        found = {}
        for upload in (self.zuulweb.image_upload_registry
                       .getUploadsForImage(canonical_name)):
            if any(upload.isPermittedForProvider(image, provider)
                   for provider, image in images):
                found.setdefault(upload.artifact_uuid, []).append(upload)
        for uploads in found.values():
            uploads.sort(key=lambda each: (each.endpoint_name, each.uuid))
        return found

    def _describeUpload(self, build, upload, notes):
        remark = (Remarks(self.client).getRemark(upload.uuid)
                  if upload.uuid in notes.remarked else None)
        return {
            'uuid': upload.uuid,
            'endpoint': upload.endpoint_name,
            'time': upload.timestamp,
            'state': upload.state,
            'validated': upload.validated,
            'in_service': build.state == build.State.READY and isGood(upload),
            'remark': remark and messages.forAllTenants(remark),
        }
