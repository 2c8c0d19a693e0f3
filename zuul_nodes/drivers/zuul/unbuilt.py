"""Warnings about images that no tenant would build.

The warnings depend on the records of all tenants' layouts, not only on the
layout with the image.  They change without it, so they are not part of the
layout, but computed when they are requested.
"""

from zuul.configloader import LocalAccumulator
from zuul.driver.zuul import IMAGE_BUILD
from zuul.exceptions import ConfigurationSyntaxWarning

from zuul_nodes.imageproblems import explainNoJob


class UnbuiltImageWarning(ConfigurationSyntaxWarning):
    zuul_error_name = 'Image Not Built'
    zuul_error_problem = 'image that no tenant builds'


def findWarnings(tenant, pipelines):
    """
    :param Tenant tenant: with its layout.
    :param ImagePipelines pipelines: the image layouts of all tenants.
    :return: a list of :class:`zuul.model.ConfigurationError`, one for each
        image of type ``zuul`` of the tenant that no tenant would build when it
        is missing; empty while the layout of a tenant is unknown.
    """
    try:
        layouts = pipelines.getAll()
    except ValueError:
        return []
    if tenant.name not in layouts or layouts.keys() != {
            *pipelines.getTenants()}:
        return []
    warnings = []
    for image in tenant.layout.images.values():
        if image.type == 'zuul' and _isUnbuilt(image, tenant, layouts):
            LocalAccumulator(
                warnings, image.source_context, 'image', image).addError(
                    UnbuiltImageWarning(
                        f'No tenant builds the image "{image.name}" when it '
                        'is missing. ' + explainNoJob(
                            layouts[tenant.name], tenant.name,
                            image.canonical_name, IMAGE_BUILD)))
    return warnings


def _isUnbuilt(image, tenant, layouts):
    name = image.canonical_name
    having = [layout for layout in layouts.values() if name in layout.images]
    return (layouts[tenant.name] in having
            # Schedulers of the last release do not record runs.
            and all('runs' in layout.images[name] for layout in having)
            and not any(layout.getRuns(name, IMAGE_BUILD)
                        for layout in having))
