"""What is configured of nodes: of their labels, flavors and stock images."""

import voluptuous as vs
from zuul.lib.voluputil import AsList, Nullable, Optional, Required

from zuul_nodes.drivers.openstack.config.properties import (
    DYNAMIC_PROPERTIES,
    PROPERTIES,
)

CLOUD_IMAGE = {
    Optional(
        'image-id',
        doc='The id of the image.',
    ): Nullable(str),
    Optional(
        'image-name',
        doc="""\
        The name of the image: the newest one that is active, if there are
        several.""",
    ): Nullable(str),
    Optional(
        'image-filters', default={},
        doc="""\
        What the image has besides or instead of a name, as Glance's list
        of images can be asked for it: attribute -> value, such as
        ``owner``, ``visibility``, ``os_distro`` or ``tag``.  Anybody in the
        cloud can share an image of any name, so say whose it is.""",
    ): {str: str},
}

FLAVOR = {
    Optional(
        'flavor-name',
        doc="""\
        Name or id of the OpenStack flavor; with ``min-ram``, a part of its
        name.""",
    ): Nullable(str),
    Optional(
        'min-ram',
        doc="""\
        MiB of RAM.  The flavor is the one with the least RAM that has so
        much; of several, the one with the fewest processors, with the
        smallest disk, and by its name.""",
    ): Nullable(vs.All(int, vs.Range(min=1))),
}

VOLUME_TYPE = {
    Optional(
        'volume-type',
        doc="""\
        When booting from volume, the type of the volume.  By default as
        the cloud has it.""",
    ): Nullable(str),
}

LABEL = {
    **VOLUME_TYPE,
    Optional(
        'networks', default=[],
        doc="""\
        The networks that the node is connected to, in this order: names,
        ids, or these.""",
    ): AsList(vs.Any(str, {
        Required('name', doc='Name or id of the network.'): str,
        Optional(
            'port-security', default=True,
            doc="""\
            Whether the cloud keeps the node to its own addresses, and to
            security groups."""): bool,
    })),
    Optional(
        'security-groups', default=[],
        doc="""\
        Names or ids of the security groups that the node is in.""",
    ): AsList(str),
    Optional(
        'floating-network',
        doc="""\
        The network that floating IPs come from, name or id.  By default
        the one with ``nat_source`` in ``clouds.yaml``, or an external
        network that a router leads to.""",
    ): Nullable(str),
    Optional(
        'server-group',
        doc="""\
        The server group that the node is in, name or id.  Its policy says
        which nodes are on one host, and which are not.""",
    ): Nullable(str),
    Optional(
        'instance-properties', default={},
        doc="""\
        Metadata of the server besides tags, key -> value, which programs
        on the node can read.""",
    ): PROPERTIES,
    Optional(
        'dynamic-instance-properties', default={},
        doc="""\
        The same, with names in braces that are filled in:
        ``{request.id}``, ``{request.event_id}``, ``{request.tenant_name}``,
        ``{request.created_time}``, ``{node.id}``, ``{label.name}``,
        ``{image.name}``, ``{flavor.name}``, ``{provider.name}``.  A property
        with a name of which nothing is known is left out.""",
    ): DYNAMIC_PROPERTIES,
    Optional(
        'console-log', default=False,
        doc="""\
        Whether the log of the launcher has what a node has written to its
        console, if it does not come up.""",
    ): bool,
}


PROVIDER = {
    # Without a default, as Zuul's own launchers do not know it.
    Optional(
        'ignore-provider-quota', default=vs.UNDEFINED,
        doc="""\
        Whether the launcher ignores the limits that the cloud tells of the
        project, for instance because they are wrong.  Only
        ``resource-limits`` and the quota of sections count then.""",
    ): bool,
}

# What Glance itself says of an image: a tag can't be named like that.
# https://docs.openstack.org/api-ref/image/v2/#create-image
RESERVED = frozenset((
    'id', 'name', 'status', 'owner', 'checksum', 'os_hash_algo',
    'os_hash_value', 'size', 'virtual_size', 'disk_format',
    'container_format', 'created_at', 'updated_at', 'tags', 'locations',
    'direct_url', 'self', 'file', 'schema', 'store', 'stores',
    'validation_data'))


def checkTags(image):
    """:return: an image of Zuul's, if Glance can take its tags."""
    if image.get('type') == 'zuul':
        reserved = RESERVED & (image.get('tags') or {}).keys()
        if reserved:
            name = min(reserved)
            raise vs.Invalid(
                f'"{name}" is what Glance itself says of an image; name the '
                'tag differently', path=['tags', name])
    return image


def needsImage(image):
    """:return: an image that the cloud has, if it says which."""
    if image.get('type') == 'cloud' and not any(
            image.get(name) for name in (
                'image-id', 'image_id', 'image-name', 'image_name',
                'image-filters', 'image_filters')):
        raise vs.Invalid('an image of type "cloud" needs "image-name", '
                         '"image-id" or "image-filters"')
    return image


def needsFlavor(flavor):
    """:return: a flavor, if it says which."""
    if not any(flavor.get(name) for name in (
            'flavor-name', 'flavor_name', 'min-ram', 'min_ram')):
        raise vs.Invalid('a flavor needs "flavor-name" or "min-ram"')
    return flavor
