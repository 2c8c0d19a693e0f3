"""The seams at which zuul-web requests builds and validations of images.

Zuul sends the event even if the tenant has no pipeline for it, and answers
that all is well.  These seams answer with the reason why no job would run.
"""

import functools

# The web UI shows only this line of the response.
REFUSED = '409 No job of this tenant would {} the image'


def wrapBuild(build, extensions):
    @functools.wraps(build)
    def wrapper(self, tenant_name, tenant, auth, image_name):
        for provider in self.zuulweb.tenant_providers.get(tenant.name) or ():
            # As Zuul finds it.
            if image := provider.images.get(image_name):
                _requireJob(self.zuulweb, tenant, image.canonical_name,
                            'image-build')
                break
        return build(self, tenant_name, tenant, auth, image_name)
    return wrapper


def wrapValidate(validate, extensions):
    @functools.wraps(validate)
    def wrapper(self, tenant_name, tenant, auth, upload_id):
        upload = self.zuulweb.image_upload_registry.getItem(upload_id)
        artifact = upload and self.zuulweb.image_build_registry.getItem(
            upload.artifact_uuid)
        # Zuul answers itself for uploads that the tenant does not have.
        if artifact and artifact.build_tenant_name == tenant.name:
            _requireJob(self.zuulweb, tenant, upload.canonical_name,
                        'image-validate')
        return validate(self, tenant_name, tenant, auth, upload_id)
    return wrapper


def _requireJob(zuulweb, tenant, name, event):
    """
    :param ZuulWeb zuulweb:
    :param str name: canonical name of the image.
    :param str event: type of the event that the request sends.
    :raises HTTPError: no job of the tenant would run for the event.
    """
    import cherrypy
    for driver in zuulweb.connections.drivers.values():
        if hasattr(driver, 'explainNoImageJob') and (
                reason := driver.explainNoImageJob(tenant, name, event)):
            raise cherrypy.HTTPError(
                REFUSED.format(event.partition('-')[2]), reason)
