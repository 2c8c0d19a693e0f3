"""The seam at which zuul-web deletes a build of an image.

Zuul has the uploads of all builds of that image deleted, so that the good ones
leave service together with the bad one.  Here, they are those of this build.
"""

import functools


def wrapDeleteBuild(delete, extensions):
    @functools.wraps(delete)
    def wrapper(self, tenant_name, tenant, auth, artifact_id):
        uploads = self.zuulweb.image_upload_registry
        return delete(
            _View(self, zuulweb=_View(
                self.zuulweb, image_upload_registry=_View(
                    uploads, getUploadsForImage=lambda name: [
                        upload for upload in uploads.getUploadsForImage(name)
                        if upload.artifact_uuid == artifact_id]))),
            tenant_name, tenant, auth, artifact_id)
    return wrapper


class _View:
    """An object with some other attributes.

    :param original: whose all others are.
    """

    def __init__(self, original, **attributes):
        vars(self).update(attributes)
        self._original = original

    def __getattr__(self, name):
        return getattr(self._original, name)
