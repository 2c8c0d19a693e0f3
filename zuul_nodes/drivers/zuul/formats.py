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

log = logging.getLogger('zuul.nodes.drivers.zuul')

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


def getFormats(layout, pipelines, name):
    """
    :param Layout layout: that the job is of.
    :param ImagePipelines pipelines: what schedulers say of other tenants;
        None in a process that does not know.
    :param str name: of an image.
    :return: a sorted list of the formats that providers of all tenants want
        which have the image; None if there may be formats that can't be
        known, and none is known.
    """
    image = layout.images.get(name)
    if image is None:
        return []
    wanted = [Wanted(layout).getFormats(image.canonical_name),
              *_getOthers(pipelines, layout.tenant, image.canonical_name)]
    formats = set().union(*filter(None, wanted))
    if not formats and None in wanted:
        log.warning(
            'In which formats the image %s is wanted can not be known, for a '
            'provider of a tenant that has it is in error, or no scheduler '
            'has told of the layout of a tenant', name)
        return None
    return sorted(formats)


def _getOthers(pipelines, tenant, canonical_name):
    """:return: yields, for each other tenant, the formats in which it wants
        an image; None if they can't be known."""
    if pipelines is None:
        return
    for other in {*pipelines.getTenants()} - {tenant.name}:
        try:
            layout = pipelines.get(other)
        except ValueError as error:
            log.error('%s', error)
            layout = None
        yield layout and layout.getFormats(canonical_name)


class Wanted:
    """In which formats the providers of a tenant want images.

    :param Layout layout: of the tenant.
    """

    def __init__(self, layout):
        found = getattr(layout, KEPT, None)
        self.formats = _findFormats(layout) if found is None else found
        self.is_sure = not _hasProviderInError(layout)

    def getFormats(self, canonical_name):
        """
        :param str canonical_name: of an image.
        :return: a sorted list; None if none is known, but a provider in
            error may want one.
        """
        formats = self.formats.get(canonical_name, ())
        return sorted(formats) if formats or self.is_sure else None


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
