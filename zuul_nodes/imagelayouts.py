"""Records of the images in each tenant's layout, for all services.

A launcher knows the providers of all tenants, but not their pipelines, nor
images that no provider uses.  A scheduler or zuul-web has the layouts, but
possibly outdated ones of other tenants.  Schedulers therefore write a JSON
record for each tenant with everything in a new layout that concerns images.
The record stays when a tenant is removed; readers ignore records of tenants
that do not exist.
"""

import contextlib
import dataclasses
import json
import logging

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-layouts'
# Maximum number of attempts when other schedulers write as well.
ATTEMPTS = 5

log = logging.getLogger('zuul.nodes.imagelayouts')


@dataclasses.dataclass(frozen=True)
class ImageLayout:
    """The content of a record.

    :ivar str layout_uuid: of the layout that the record describes.
    :ivar dict pipelines: ``image-build``, ``image-validate`` and
        ``image-delete`` -> the pipelines that such an event triggers;
        ``image-built`` -> the pipelines that report images.  Sorted lists of
        names.
    :ivar dict images: canonical name of an image that Zuul builds -> a
        dict of its ``name``, its ``project`` (the canonical name), its
        ``branch``, its ``formats`` (those that the tenant's providers need,
        sorted; None if unknown), and ``runs``: ``image-build``,
        ``image-validate`` and ``image-delete`` -> the pipelines that would
        run a job for such an event of the image and could report its result,
        and ``denied``: a list of those of these events that the operator does
        not allow to the tenant, so that they have no runs.  If only the job of
        another image builds the image as well, ``source`` is the canonical
        name of that one, and an event ``image-build`` has to name it.
        ``needs`` are the canonical names of other images that the nodes of
        its validation jobs need; a sorted list.
    :ivar list broken: canonical names of projects with errors in their
        configuration.  Such an error may be why an image is missing.
    """
    layout_uuid: str
    pipelines: dict
    images: dict
    broken: list = dataclasses.field(default_factory=list)

    def getRuns(self, canonical_name, event):
        """
        :param str canonical_name: of an image.
        :param str event: type of the event.
        :return: a sorted list of the pipelines that run a job for it.
        """
        image = self.images.get(canonical_name, {})
        # Records of the previous release have no "runs".
        return image.get('runs', {}).get(event, [])

    def isDenied(self, canonical_name, event):
        """:return: whether the operator does not allow the tenant to work on
            an event of an image."""
        image = self.images.get(canonical_name, {})
        # Records of the previous release have no "denied".
        return event in image.get('denied', [])

    def getNeeds(self, canonical_name):
        """:return: a set of the canonical names of other images that nodes of
            the jobs that validate an image need."""
        # Records of the previous release have no "needs".
        return {*self.images.get(canonical_name, {}).get('needs', [])}

    def getSource(self, canonical_name):
        """
        :return: the canonical name of the image that an event
            ``image-build`` has to name; the same unless the job of another
            image builds it.
        """
        return self.images.get(canonical_name, {}).get(
            'source', canonical_name)

    def getSources(self):
        """:return: dict, canonical name of each image with a source -> that
            of the source."""
        return {name: image['source'] for name, image in self.images.items()
                if 'source' in image}

    def getFormats(self, canonical_name):
        """
        :param str canonical_name: of an image.
        :return: a sorted list of the formats that the tenant needs; None if
            unknown.
        """
        image = self.images.get(canonical_name, {'formats': []})
        # Records of the previous release have no "formats".
        return image.get('formats')


def getPath(tenant_name):
    return zkrecords.getPath(ROOT, tenant_name)


def read(client, tenant_name):
    """
    :param KazooClient client:
    :return: the :class:`ImageLayout` of a tenant; None if there is no valid
        record.
    """
    data = zkrecords.read(client, getPath(tenant_name))
    return parse(data) if data else None


def publish(client, tenant_name, image_layout):
    """Write the record of a tenant, unless it is already up to date.

    Tenants without images get a record too: a reader that has the records of
    all tenants then knows all images.

    :param KazooClient client:
    :param ImageLayout image_layout:
    :raises KazooException: the record cannot be written.
    """
    path = getPath(tenant_name)
    data = json.dumps(dataclasses.asdict(image_layout),
                      sort_keys=True).encode()
    for _ in range(ATTEMPTS):
        # Several schedulers may load the same layout at the same time.
        with contextlib.suppress(
                BadVersionError, NodeExistsError, NoNodeError):
            if client.exists(path) is None:
                client.create(path, data, makepath=True)
                return
            current, stat = client.get(path)
            if current != data:
                client.set(path, data, version=stat.version)
            return
    raise BadVersionError(f'{path} keeps changing')


def parse(data):
    """
    :param bytes data: of a record.
    :return: the :class:`ImageLayout`; None if the data is invalid.
    """
    try:
        record = json.loads(data)
        # Ignore fields that a later release adds.
        image_layout = ImageLayout(**{
            field.name: record[field.name]
            for field in dataclasses.fields(ImageLayout)})
        for name, value in vars(image_layout).items():
            if not isinstance(value, ImageLayout.__annotations__[name]):
                raise TypeError(f'"{name}" is {value!r}')
    except (ValueError, KeyError, TypeError) as error:
        log.error('Unable to read the image record of a layout: %r',
                  error)
        return None
    return image_layout
