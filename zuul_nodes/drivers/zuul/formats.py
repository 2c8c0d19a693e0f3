"""In which formats an image is wanted: those of the providers that have it,
of all tenants.

A change under review leaves providers as they are until it has merged.
But the image that it builds should be of use then, so its jobs are told
the formats that the change asks for.

A provider in error may want a format, too, but nobody knows which one.  A
build is not told then that none is wanted.
"""

import collections
import logging

from zuul.model import SEVERITY_ERROR

log = logging.getLogger('zuul.nodes.images')

# Where a layout keeps what becomes of it when the change has merged.
KEPT = 'image_formats'


def getLayout(sched, item):
    """
    :param Scheduler sched: or None in a process that is none.
    :param QueueItem item: while the scheduler works on it.
    :return: the layout that the item's jobs are of.
    """
    # What zuul-web has is no real item.
    layout = item.manager.getLayout(item) if sched else None
    return layout or item.manager.tenant.layout


def getFormats(sched, item, name):
    """
    :param Scheduler sched: or None in a process that is none, which knows
        only the item's tenant.
    :param QueueItem item: while the scheduler works on it.
    :param str name: of an image.
    :return: a sorted list of the formats that providers of all tenants want
        which have the image; None if there may be formats that can't be
        known, and none is known.
    """
    layout = getLayout(sched, item)
    image = layout.images.get(name)
    if image is None:
        return []
    layouts = [layout, *_getOthers(sched, layout.tenant, image)]
    formats = set().union(*(
        _getKnownFormats(each, image.canonical_name) for each in layouts))
    if not formats and any(map(_hasProviderInError, layouts)):
        log.warning(
            'In which formats the image %s is wanted can not be known, for a '
            'provider of a tenant that has it is in error', name)
        return None
    return sorted(formats)


def _getOthers(sched, tenant, image):
    """:return: yields the layouts of other tenants that have an image."""
    tenants = dict(sched.abide.tenants) if sched else {}
    for name, other in tenants.items():
        if name != tenant.name and other.layout:
            found = other.layout.images.get(image.name)
            if found and found.canonical_name == image.canonical_name:
                yield other.layout


def _getKnownFormats(layout, canonical_name):
    found = getattr(layout, KEPT, None)
    if found is None:
        found = _findFormats(layout)
    return found.get(canonical_name, set())


def _hasProviderInError(layout):
    """Any stanza will do: what is in error does not tell its images."""
    return any(
        error.severity == SEVERITY_ERROR and error.key.mark
        and error.key.mark.snippet.lstrip().startswith('provider:')
        for error in layout.loading_errors)


def keepFormats(layout, proposed):
    """
    :param Layout layout: of a change.
    :param Layout proposed: with the providers as they are to be.
    """
    setattr(layout, KEPT, _findFormats(proposed))


def _findFormats(layout):
    """:return: canonical name of an image -> a set."""
    found = collections.defaultdict(set)
    for provider in layout.providers.values():
        for image in provider.images.values():
            if image_format := getFormat(image):
                found[image.canonical_name].add(image_format)
    return found


def getFormat(image):
    """
    :param BaseProviderImage image: of any driver.
    :return: the format that the provider takes; None if it takes none, as
        where nodes have no disk.
    """
    return getattr(image, 'format', None)
