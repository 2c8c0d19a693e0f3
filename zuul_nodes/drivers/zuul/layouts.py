"""The parts of a layout that concern images."""

import functools
import logging
import types
from typing import NamedTuple

from zuul.driver.zuul import (
    IMAGE_BUILD,
    IMAGE_DELETE,
    IMAGE_VALIDATE,
    zuulreporter,
    zuultrigger,
)
from zuul.model import SEVERITY_ERROR, Branch, NoMatchingParentError

from zuul_nodes.drivers.zuul.formats import Wanted
from zuul_nodes.imagelayouts import ImageLayout
from zuul_nodes.imagetenants import UNLIMITED

EVENTS = (IMAGE_BUILD, IMAGE_VALIDATE, IMAGE_DELETE)
BUILT = 'image-built'

log = logging.getLogger('zuul.nodes.drivers.zuul')
# Discards Zuul's log lines of these searches.
_silent = logging.Logger('silent', logging.CRITICAL)


def makeImageLayout(tenant, image_tenants=UNLIMITED, sources=None):
    """
    :param Tenant tenant: with its layout.
    :param dict image_tenants: as of :func:`zuul_nodes.imagetenants.read`.
    :param dict sources: canonical names of images that were built by the jobs
        of other images -> canonical names of these.
    :return: :class:`zuul_nodes.imagelayouts.ImageLayout`
    """
    layout = tenant.layout
    pipelines = [manager.pipeline
                 for manager in layout.pipeline_managers.values()]
    return ImageLayout(
        layout_uuid=layout.uuid,
        pipelines={
            **{event: _getNames(pipelines, isTriggeredBy, event)
               for event in EVENTS},
            BUILT: _getNames(pipelines, _reportsImages)},
        images=_addSources(_getImages(tenant, pipelines, image_tenants),
                           sources or {}),
        broken=sorted({
            error.key.context.project_canonical_name
            for error in layout.loading_errors
            if error.severity == SEVERITY_ERROR and error.key.context}))


def _getNames(pipelines, predicate, *arguments):
    return sorted(pipeline.name for pipeline in pipelines
                  if predicate(pipeline, *arguments))


def isTriggeredBy(pipeline, event):
    return any(
        isinstance(event_filter.trigger, zuultrigger.ZuulTrigger)
        # Events of images have no pipeline.
        and not event_filter.pipelines
        and (not event_filter.types
             or any(each.match(event) for each in event_filter.types))
        for event_filter in pipeline.event_filters)


def _reportsImages(pipeline):
    return any(isinstance(reporter, zuulreporter.ZuulReporter)
               and reporter.image_built for reporter in pipeline.actions)


def _reportsValidations(pipeline):
    return any(isinstance(reporter, zuulreporter.ZuulReporter)
               and reporter.image_validated and not reporter.image_built
               for reporter in pipeline.actions)


def _declaresValid(pipeline):
    return any(isinstance(reporter, zuulreporter.ZuulReporter)
               and reporter.image_validated and reporter.image_built
               for reporter in pipeline.actions)


# Event -> whether a pipeline has the reporter without which its jobs have no
# effect.
REPORTS = {IMAGE_BUILD: _reportsImages, IMAGE_VALIDATE: _reportsValidations}


def _getImages(tenant, pipelines, image_tenants):
    # Cached, because projects define many images.
    find_jobs = functools.cache(functools.partial(_findJobs, tenant))
    pipeline_names = {event: _getNames(pipelines, isTriggeredBy, event)
                      for event in EVENTS}
    for event, reports in REPORTS.items():
        reporting = {*_getNames(pipelines, reports)}
        pipeline_names[event] = [
            name for name in pipeline_names[event] if name in reporting]
    valid = {*_getNames(pipelines, _declaresValid)}
    wanted = Wanted(tenant.layout)
    images = {}
    for image in tenant.layout.images.values():
        if image.type != 'zuul':
            continue
        project_name = image.project_canonical_name
        denied = [event for event in EVENTS if not image_tenants[event].allows(
            tenant.name, project_name)]
        jobs = {name: find_jobs(project_name, image.branch, name)
                for name in set().union(*pipeline_names.values())}
        runs = {event: [name for name in names if event not in denied
                        and _isAny(image, event, jobs[name])]
                for event, names in pipeline_names.items()}
        needs = [_getNeeds(image, jobs[name]) for name in runs[IMAGE_VALIDATE]]
        if valid.intersection(runs[IMAGE_BUILD]):
            needs.append([])
        images[image.canonical_name] = {
            'name': image.name, 'project': project_name,
            'branch': image.branch, 'denied': denied, 'runs': runs,
            'formats': wanted.getFormats(image.canonical_name),
            'needs': min(needs, key=len, default=[])}
    return images


def _isAny(image, event, jobs):
    """:return: whether any of the jobs handles an event of an image."""
    # Jobs without an image run for each of these events, but only jobs of an
    # image have an effect on it; deletion is the exception.
    return any(job.image_name == image.name
               or (event == IMAGE_DELETE and not job.image_name)
               for job in jobs)


def _getNeeds(image, jobs):
    """:return: a sorted list of the other images without which jobs for an
        event of an image cannot be successful."""
    return sorted(set().union(*(
        job.images for job in jobs
        if job.is_voting and job.image_name in ('', image.name)))
        - {image.canonical_name})


def _addSources(images, sources):
    """:return: the images, with the runs of the sources of those that have
        none."""
    for name, source in sources.items():
        if name in images and source in images and (
                IMAGE_BUILD not in images[name]['denied']
                and not images[name]['runs'][IMAGE_BUILD]):
            images[name]['source'] = source
            images[name]['runs'][IMAGE_BUILD] = (
                images[source]['runs'][IMAGE_BUILD])
    return images


def _findJobs(tenant, project_name, branch_name, pipeline_name):
    """
    :return: a list of :class:`_Job`, those that Zuul finds for the item of a
        branch.
    """
    _, project = tenant.getProject(project_name)
    if project is None:
        return []
    branch = Branch(project)
    branch.branch = branch_name
    branch.ref = f'refs/heads/{branch_name}'
    item = _Item(pipeline_name)
    layout = tenant.layout
    try:
        found = layout.getProjectPipelineConfig(item, branch)
        jobs = found.job_list.jobs if found else {}
        return [job for name, own in jobs.items()
                if (job := _makeJob(layout, item, name, branch, own))]
    except Exception:
        # Zuul reports the error, and no item of the project gets jobs.
        log.debug('Unable to find the jobs of %s:', project, exc_info=True)
        return []


class _Job(NamedTuple):
    """
    :ivar image_name: the name of the job's image; empty if it has none.
    :ivar images: canonical names of the images of its nodes, a set.
    """
    image_name: str
    is_voting: bool
    images: set


def _makeJob(layout, item, job_name, branch, own):
    """
    :param list own: variants of the job in the configuration of the project.
    :return: a :class:`_Job`; None if the job does not run.
    """
    own = [variant for variant in own
           if variant.changeMatchesBranch(layout.tenant, branch)]
    try:
        variants = [*layout.collectJobs(item, job_name, branch), *own]
    except NoMatchingParentError:
        return None
    if not own:
        return None
    names = [variant.image_build_name for variant in variants
             if variant.image_build_name]
    for variant in own if names else ():
        # Only the project of the image may attach the job.
        variant.assertImagePermissions(names[-1], variant, layout)
    votes = _getSetting(variants, 'voting')
    return _Job(names[-1] if names else '',
                not votes or bool(votes[-1].voting),
                _getImagesOfNodes(layout, _getSetting(variants, 'nodeset')))


def _getSetting(variants, attribute):
    """:return: a list of the variants of a job that set an attribute."""
    return [variant for variant in variants
            if vars(variant).get(attribute) is not None]


def _getImagesOfNodes(layout, variants):
    """
    :param list variants: those of a job that set its nodeset; the last one
        counts.
    :return: a set of the canonical names of the images of its nodes; of the
        alternative with the fewest.
    """
    try:
        alternatives = (variants[-1].flattenNodesetAlternatives(layout)
                        if variants else ())
    except Exception:
        # Zuul reports the error.
        log.debug('Unable to find the nodes of a job:', exc_info=True)
        alternatives = ()
    return min(({
        image.canonical_name for node in nodeset.getNodes()
        if (label := layout.labels.get(node.label))
        and (image := layout.images.get(label.image))
        and image.type == 'zuul'} for nodeset in alternatives),
        key=len, default=set())


class _Item:
    """The attributes of an item that Zuul reads when it finds its jobs."""

    def __init__(self, pipeline_name):
        self.manager = types.SimpleNamespace(
            pipeline=types.SimpleNamespace(name=pipeline_name))

    @staticmethod
    def annotateLogger(logger):
        return _silent
