"""In which formats an image is wanted: those of the providers that have it.

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


def getFormats(layout, name):
    """
    :param Layout layout: of a tenant, or of a change.
    :param str name: of an image.
    :return: a sorted list; None if there may be formats that can't be known,
        and none is known.
    """
    formats = _getKnownFormats(layout, name)
    if not formats and _hasProviderInError(layout):
        log.warning(
            'In which formats the image %s is wanted can not be known, for a '
            'provider of the tenant %s is in error', name, layout.tenant.name)
        return None
    return formats


def _getKnownFormats(layout, name):
    image = layout.images.get(name)
    if image is None:
        return []
    found = getattr(layout, KEPT, None)
    if found is None:
        found = _findFormats(layout)
    return sorted(found.get(image.canonical_name, ()))


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
