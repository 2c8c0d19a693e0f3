"""What of a layout has to do with images."""

import itertools

from zuul.driver.zuul import (
    IMAGE_BUILD,
    IMAGE_DELETE,
    IMAGE_VALIDATE,
    zuulreporter,
    zuultrigger,
)
from zuul.model import SEVERITY_ERROR

from zuul_nodes.imagelayouts import ImageLayout

EVENTS = (IMAGE_BUILD, IMAGE_VALIDATE, IMAGE_DELETE)
BUILT = 'image-built'


def makeImageLayout(tenant):
    """
    :param Tenant tenant: with its layout.
    :return: :class:`zuul_nodes.imagelayouts.ImageLayout`
    """
    layout = tenant.layout
    pipelines = [manager.pipeline
                 for manager in layout.pipeline_managers.values()]
    return ImageLayout(
        layout_uuid=layout.uuid,
        pipelines={
            **{event: _getNames(pipelines, _isTriggeredBy, event)
               for event in EVENTS},
            BUILT: _getNames(pipelines, _reportsImages)},
        images=_getImages(layout),
        broken=sorted({
            error.key.context.project_canonical_name
            for error in layout.loading_errors
            if error.severity == SEVERITY_ERROR and error.key.context}))


def _getNames(pipelines, predicate, *arguments):
    return sorted(pipeline.name for pipeline in pipelines
                  if predicate(pipeline, *arguments))


def _isTriggeredBy(pipeline, event):
    return any(
        isinstance(event_filter.trigger, zuultrigger.ZuulTrigger)
        # Nothing of images comes from a pipeline.
        and not event_filter.pipelines
        and (not event_filter.types
             or any(each.match(event) for each in event_filter.types))
        for event_filter in pipeline.event_filters)


def _reportsImages(pipeline):
    return any(isinstance(reporter, zuulreporter.ZuulReporter)
               and reporter.image_built for reporter in pipeline.actions)


def _getImages(layout):
    built = {job.image_build_name for job in _getJobs(layout)}
    return {
        image.canonical_name: {
            'name': image.name, 'project': image.project_canonical_name,
            'branch': image.branch, 'jobs': image.name in built}
        for image in layout.images.values() if image.type == 'zuul'}


def _getJobs(layout):
    """:return: yields those of any kind, each of its variants."""
    yield from itertools.chain(*layout.jobs.values())
    for project_config in itertools.chain(*layout.project_configs.values(),
                                          *layout.project_templates.values()):
        yield from project_config.embeddedJobs()
