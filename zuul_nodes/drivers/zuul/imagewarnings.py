"""Warnings about images that cannot come into service.

The warnings depend on the records of all tenants' layouts, not only on the
layout with the image.  They change without it, so they are not part of the
layout, but computed when they are requested.
"""

import itertools

from zuul.configloader import LocalAccumulator
from zuul.driver.zuul import IMAGE_BUILD
from zuul.exceptions import ConfigurationSyntaxWarning

from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.imageproblems import explainNoJob, findCircles


class UnbuiltImageWarning(ConfigurationSyntaxWarning):
    zuul_error_name = 'Image Not Built'
    zuul_error_problem = 'image that no tenant builds'


class ValidationCircleWarning(ConfigurationSyntaxWarning):
    zuul_error_name = 'Image Never Validated'
    zuul_error_problem = 'image whose validation needs itself'


def findWarnings(tenant, pipelines):
    """
    :param Tenant tenant: with its layout.
    :param ImagePipelines pipelines: the image layouts of all tenants.
    :return: a list of :class:`zuul.model.ConfigurationError`, for the images
        of type ``zuul`` of the tenant that no tenant would build when they
        are missing, or could validate as long as all of them are missing;
        empty while the layout of a tenant is unknown.
    """
    try:
        layouts = pipelines.getAll()
    except ValueError:
        return []
    if tenant.name not in layouts or layouts.keys() != {
            *pipelines.getTenants()}:
        return []
    circles = findCircles(layouts, tenant.name)
    warnings = []
    for image in tenant.layout.images.values():
        if image.type != 'zuul':
            continue
        name = image.canonical_name
        add = LocalAccumulator(
            warnings, image.source_context, 'image', image).addError
        if _isUnbuilt(name, tenant, layouts):
            add(UnbuiltImageWarning(
                f'No tenant builds the image "{image.name}" when it is '
                'missing. ' + explainNoJob(
                    layouts[tenant.name], tenant.name, name, IMAGE_BUILD)))
        if name in circles:
            add(ValidationCircleWarning(_explainCircle(circles[name])))
    return warnings


def _isUnbuilt(name, tenant, layouts):
    having = [layout for layout in layouts.values() if name in layout.images]
    return (layouts[tenant.name] in having
            # Schedulers of the last release do not record runs.
            and all('runs' in layout.images[name] for layout in having)
            and not any(layout.getRuns(name, IMAGE_BUILD)
                        for layout in having))


def _explainCircle(names):
    names = list(map(getShortName, names))
    steps = ', '.join(f'that of "{name}" needs one of "{needed}"'
                      for name, needed in itertools.pairwise(names[1:]))
    return (
        f'No job can validate the image "{names[0]}" before it is in service: '
        f'its validation needs a node of the image "{names[1]}", and {steps}. '
        'In the nodesets of validation jobs, use labels of the image itself, '
        'or of an image that does not need it')
