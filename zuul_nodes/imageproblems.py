"""Why images have no builds, or none in service."""

import collections

from zuul_nodes import imageevents
from zuul_nodes.canonicalnames import getShortName
from zuul_nodes.imageevents import EventKind
from zuul_nodes.imagetenants import explain, explainDenied

BUILD = 'image-build'
VALIDATE = 'image-validate'
# Event -> the reporter without which the jobs of a pipeline have no effect.
REPORTERS = {BUILD: 'image-built: true', VALIDATE: 'image-validated'}
NO_BUILDER = (
    'no tenant builds it: none has a pipeline with the trigger event '
    '"image-build" and the reporter "image-built" in which a job with that '
    'image-build-name runs for its project. If the job of another image of '
    'its project returns it, too, request a build of that image once')


def getBuilders(layouts, name):
    """
    :param dict layouts: tenant -> :class:`.imagelayouts.ImageLayout`, of all
        tenants.
    :param name: the canonical name of an image.
    :return: a list of the tenants that build the image on request.
    """
    return [tenant_name for tenant_name, layout in layouts.items()
            if layout.getRuns(name, BUILD)]


def getDenied(layouts, name):
    """
    :param layouts, name: as of :func:`getBuilders`.
    :return: a list of the tenants with the image that the operator does not
        allow to build it.
    """
    return [tenant_name for tenant_name, layout in layouts.items()
            if layout.isDenied(name, BUILD)]


def explainNoJob(layout, tenant_name, name, event):
    """
    :param ImageLayout layout: of a tenant.
    :param name: the canonical name of an image of the layout.
    :param event: ``image-build`` or ``image-validate``.
    :return: why the tenant runs no job for such an event of the image, and
        what to do about it.
    """
    image = layout.images[name]
    if layout.isDenied(name, event):
        return explain(event, tenant_name, image['project'])
    source = layout.getSource(name)
    if event == BUILD and source != name:
        return (f'The image "{image["name"]}" comes from jobs of the image '
                f'"{getShortName(source)}". Request a build of that image')
    names = [each for each in layout.pipelines[event]
             if event != BUILD or each in layout.pipelines['image-built']]
    there = ('This tenant has such pipelines: ' + ', '.join(names) if names
             else 'This tenant has no such pipeline')
    return (f'Attach a job with "image-build-name: {image["name"]}" to a '
            f'pipeline with the trigger event "{event}" and the reporter '
            f'"{REPORTERS[event]}", in the configuration of the project '
            f'{image["project"]} on the branch {image["branch"]}. {there}')


def findCircles(layouts, tenant_name):
    """Find images whose validations wait for one another.

    A node of an image can be launched only after a validation of the image,
    except in the jobs of this validation.

    :param layouts: as of :func:`getBuilders`.
    :param tenant_name: the tenant that reads the names, which are of its own
        images.
    :return: dict, canonical name of each image that no tenant can validate as
        long as no image is in service -> a list of canonical names, each of
        which needs the next one: the image is the first, and the last occurs
        twice.
    """
    # Image -> the images that its validation needs, in each tenant.
    needs = collections.defaultdict(list)
    for layout in layouts.values():
        for each in layout.images:
            if layout.getRuns(each, VALIDATE):
                needs[each].append(layout.getNeeds(each))
    stuck = set(needs)
    # The others do not need validations, or have other problems.
    while ready := {each for each in stuck if any(
            stuck.isdisjoint(needed) for needed in needs[each])}:
        stuck -= ready
    shown = stuck.intersection(layouts[tenant_name].images)
    following = {each: min(needed) for each in shown if (
        needed := shown.intersection(set().union(*needs[each])))}
    circles = {}
    for name in shown:
        path = [name]
        while path[-1] in following and path[-1] not in path[:-1]:
            path.append(following[path[-1]])
        if path[-1] in path[:-1]:
            circles[name] = path
    return circles


def findProblem(client, layouts, name, reader=None):
    """
    :param KazooClient client:
    :param layouts, name: as of :func:`getBuilders`.
    :param reader: the name of the tenant that reads the text, which names no
        other; None for operators.
    :return: why an image has no build; None if unknown.
    """
    if not getBuilders(layouts, name):
        return NO_BUILDER + explainDenied(
            BUILD, getDenied(layouts, name), reader)
    return findRequest(client, name, reader)


def findRequest(client, name, reader=None):
    """
    :param client, name, reader: as of :func:`findProblem`.
    :return: who was asked to build an image, and why; None if no launcher
        finds it missing.
    """
    sent = imageevents.read(client, EventKind.BUILD, name)
    if sent is None:
        return None
    tenant = (f'the tenant {sent.tenant_name}'
              if reader in (None, sent.tenant_name) else 'another tenant')
    text = f'{tenant} was asked to build it (attempt {sent.attempt})'
    # It names endpoints, which may be those of other tenants.
    return f'{text}; {sent.problem}' if sent.problem and not reader else text
