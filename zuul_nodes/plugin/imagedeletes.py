"""The seams at which zuul-web deletes builds and uploads of an image.

For a deleted build, Zuul deletes the uploads of all builds of the image, and
so takes good builds out of service.  This seam restricts it to the build's own
uploads.

Zuul also deletes the last build in service.  Here, the last upload in service
at an endpoint stays, unless the request has ``force=true``.
"""

import functools

from zuul_nodes.imageuse import isGood
from zuul_nodes.plugin.views import View

# The web UI shows only this line of the response.
REFUSED = '409 Nothing else is in service; the API deletes it with force=true'


def wrapDeleteBuild(delete, extensions):
    @functools.wraps(delete)
    def wrapper(self, tenant_name, tenant, auth, artifact_id, force=''):
        artifact = self.zuulweb.image_build_registry.getItem(artifact_id)
        uploads = self.zuulweb.image_upload_registry

        def isMeant(upload):
            return upload.artifact_uuid == artifact_id
        _requireOther(self.zuulweb, tenant, artifact, isMeant, force)
        return delete(
            View(self, zuulweb=View(
                self.zuulweb, image_upload_registry=View(
                    uploads, getUploadsForImage=lambda name: list(filter(
                        isMeant, uploads.getUploadsForImage(name)))))),
            tenant_name, tenant, auth, artifact_id)
    return wrapper


def wrapDeleteUpload(delete, extensions):
    @functools.wraps(delete)
    def wrapper(self, tenant_name, tenant, auth, upload_id, force=''):
        upload = self.zuulweb.image_upload_registry.getItem(upload_id)
        artifact = upload and self.zuulweb.image_build_registry.getItem(
            upload.artifact_uuid)
        _requireOther(self.zuulweb, tenant, artifact,
                      lambda each: each.uuid == upload_id, force)
        return delete(self, tenant_name, tenant, auth, upload_id)
    return wrapper


def _requireOther(zuulweb, tenant, artifact, isMeant, force):
    """
    :param ZuulWeb zuulweb:
    :param artifact: the artifact to delete or that of the upload, or None.
    :param isMeant: tells whether the request deletes an upload.
    :param str force: the parameter of the request.
    :raises HTTPError: an upload is the last in service at its endpoint.
    """
    import cherrypy
    # Zuul answers itself for artifacts that the tenant does not have.
    if (force == 'true' or not artifact
            or artifact.build_tenant_name != tenant.name):
        return
    ready = {each.uuid for each
             in zuulweb.image_build_registry.getArtifactsForImage(
                 artifact.canonical_name)
             if each.state == each.State.READY}
    served = [upload for upload
              in zuulweb.image_upload_registry.getUploadsForImage(
                  artifact.canonical_name)
              if upload.artifact_uuid in ready and isGood(upload)]
    endpoints = (
        {upload.endpoint_name for upload in served if isMeant(upload)}
        - {upload.endpoint_name for upload in served if not isMeant(upload)})
    if endpoints:
        raise cherrypy.HTTPError(
            REFUSED,
            f'Nothing else of the image {artifact.name} is in service at '
            f'{", ".join(sorted(endpoints))}: without it, jobs get no nodes '
            f'there. Wait until a newer build is in service, or repeat the '
            f'request with "?force=true" to delete it anyway')
