"""Find the formats in which the providers of all tenants need an image.

A change under review has no effect on providers until it has merged.  But the
image that it builds should be usable then, so its jobs get the formats that
the change requests.

A provider in error may need a format that is unknown.  The formats are then
unknown as well, rather than none.
"""

import collections
import logging

from zuul.model import SEVERITY_ERROR

log = logging.getLogger('zuul.nodes.drivers.zuul')

# The attribute of a layout with the formats after the change has merged.
KEPT = 'image_formats'


def getLayout(sched, item):
    """
    :param Scheduler sched: or None in other processes.
    :param QueueItem item: while the scheduler works on it.
    :return: the layout of the item's jobs.
    """
    # In zuul-web, the item is not a real one.
    layout = item.manager.getLayout(item) if sched else None
    return layout or item.manager.tenant.layout


def getFormats(layout, pipelines, name):
    """
    :param Layout layout: of the job.
    :param ImagePipelines pipelines: the image layouts of other tenants; None
        in a process without them.
    :param str name: of an image.
    :return: a sorted list of the formats that providers of all tenants with
        the image need; None if no format is known but there may be unknown
        ones.
    """
    image = layout.images.get(name)
    if image is None:
        return []
    wanted = _getAll(Wanted(layout), pipelines, layout.tenant, image)
    formats = set().union(*filter(None, wanted))
    if not formats and None in wanted:
        log.warning(
            'The formats of the image %s are unknown, because a provider of a '
            'tenant with the image is in error, or no scheduler has published '
            'the layout of a tenant', name)
        return None
    return sorted(formats)


def getOnlyFormats(layout, pipelines, image):
    """
    :param layout, pipelines: as of :func:`getFormats`.
    :param Image image: of the layout.
    :return: a set of the formats that providers of all tenants with the image
        need; None if there may be unknown ones.
    """
    own = Wanted(layout)
    wanted = _getAll(own, pipelines, layout.tenant, image)
    if None in wanted or not own.is_sure:
        return None
    return set().union(*wanted)


def _getAll(own, pipelines, tenant, image):
    """
    :param Wanted own: of the tenant.
    :return: a list with an entry for each tenant: the formats in which it
        needs an image; None if they are unknown.
    """
    return [own.getFormats(image.canonical_name),
            *_getOthers(pipelines, tenant, image.canonical_name)]


def _getOthers(pipelines, tenant, canonical_name):
    """:return: yields, for each other tenant, the formats in which it needs
        an image; None if they are unknown."""
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
    """The formats in which the providers of a tenant need images.

    :param Layout layout: of the tenant.
    """

    def __init__(self, layout):
        found = getattr(layout, KEPT, None)
        self.formats = _findFormats(layout) if found is None else found
        self.is_sure = not _hasProviderInError(layout)

    def getFormats(self, canonical_name):
        """
        :param str canonical_name: of an image.
        :return: a sorted list; None if no format is known, but a provider in
            error may need one.
        """
        formats = self.formats.get(canonical_name, ())
        return sorted(formats) if formats or self.is_sure else None


def _hasProviderInError(layout):
    """:return: whether any provider is in error, because the images of such a
        provider are unknown."""
    return any(
        error.severity == SEVERITY_ERROR and error.key.mark
        and error.key.mark.snippet.lstrip().startswith('provider:')
        for error in layout.loading_errors)


def keepFormats(layout, proposed):
    """
    :param Layout layout: of a change.
    :param Layout proposed: with the providers of the change.
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
    :return: the format that the provider needs; None if it needs no file, as
        when nodes have no disk.
    """
    return getattr(image, 'format', None)
