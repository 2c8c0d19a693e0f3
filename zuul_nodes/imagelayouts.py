"""What a layout says of images, for all services that deal with them.

Launchers know the providers of all tenants, but neither their images that
no provider has nor their pipelines.  Schedulers and zuul-web have layouts, but
those of other tenants may not be the last ones.  Schedulers write down here
what of a new layout has to do with images: a record for each tenant, in JSON.
It stays there when a tenant is removed, and says nothing about tenants that
Zuul does not have.
"""

import contextlib
import dataclasses
import json
import logging

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-layouts'
# How often others may get in between.
ATTEMPTS = 5

log = logging.getLogger('zuul.nodes.imagelayouts')


@dataclasses.dataclass(frozen=True)
class ImageLayout:
    """
    :ivar str layout_uuid: of the layout that this is of.
    :ivar dict pipelines: ``image-build``, ``image-validate`` and
        ``image-delete`` -> the pipelines that such an event triggers;
        ``image-built`` -> those that report images.  Sorted lists of
        names.
    :ivar dict images: canonical name of an image that Zuul builds -> a
        dict of its ``name``, its ``project`` (the canonical name), its
        ``branch``, its ``formats`` (those that providers of the tenant
        want, sorted; None if they can't be known), and ``runs``:
        ``image-build``, ``image-validate`` and ``image-delete`` -> those of
        the pipelines that would run a job for such an event of that image,
        and could report what comes of it.
    :ivar list broken: canonical names of projects with errors in their
        configuration, which may be why an image is missing.
    """
    layout_uuid: str
    pipelines: dict
    images: dict
    broken: list = dataclasses.field(default_factory=list)

    def getRuns(self, canonical_name, event):
        """
        :param str canonical_name: of an image.
        :param str event: its type.
        :return: a sorted list of the pipelines that do something for it.
        """
        image = self.images.get(canonical_name, {})
        # Schedulers of the last release do not say so.
        return image.get('runs', {}).get(event, [])

    def getFormats(self, canonical_name):
        """
        :param str canonical_name: of an image.
        :return: a sorted list of the formats in which the tenant wants it;
            None if they can't be known.
        """
        image = self.images.get(canonical_name, {'formats': []})
        # Schedulers of the last release do not say so.
        return image.get('formats')


def getPath(tenant_name):
    return zkrecords.getPath(ROOT, tenant_name)


def publish(client, tenant_name, image_layout):
    """Write a tenant's record, also if there is nothing to say: who has
    all of them knows of all images.

    Nothing is written if the record says the same.

    :param KazooClient client:
    :param ImageLayout image_layout:
    :raises KazooException: it may not be written.
    """
    path = getPath(tenant_name)
    data = json.dumps(dataclasses.asdict(image_layout),
                      sort_keys=True).encode()
    for _ in range(ATTEMPTS):
        # Schedulers that load the same layout do this at the same time.
        with contextlib.suppress(
                BadVersionError, NodeExistsError, NoNodeError):
            if client.exists(path) is None:
                client.create(path, data, makepath=True)
                return
            current, stat = client.get(path)
            if current != data:
                client.set(path, data, version=stat.version)
            return
    raise BadVersionError(f'{path} changes all the time')


def parse(data):
    """
    :param bytes data: of a record.
    :return: the :class:`ImageLayout`, or None if it can't be read.
    """
    try:
        record = json.loads(data)
        # A later release may say more.
        image_layout = ImageLayout(**{
            field.name: record[field.name]
            for field in dataclasses.fields(ImageLayout)})
        for name, value in vars(image_layout).items():
            if not isinstance(value, ImageLayout.__annotations__[name]):
                raise TypeError(f'"{name}" is {value!r}')
    except (ValueError, KeyError, TypeError) as error:
        log.error('Unable to read the record of the images of a layout: %r',
                  error)
        return None
    return image_layout
