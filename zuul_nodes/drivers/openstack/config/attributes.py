"""Attributes of labels, flavors and images of type ``cloud``."""

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
        The name of the image; if several active images have it, the newest
        is used.  The driver looks up a name again after five minutes, and when
        Nova refuses the image.""",
    ): Nullable(str),
    Optional(
        'image-filters', default={},
        doc="""\
        Properties that the image must have, in addition to or instead of a
        name: query parameter of Glance's list of images -> value, such as
        ``owner``, ``visibility``, ``os_distro`` or ``tag``.  Any user of the
        cloud can share an image of any name, so set the owner.""",
    ): {str: str},
}

FLAVOR = {
    Optional(
        'flavor-name',
        doc="""\
        The exact name or the id of a flavor of the cloud; with ``min-ram``, a
        part of its name.""",
    ): Nullable(str),
    Optional(
        'min-ram',
        doc="""\
        MiB of RAM.  Selects the flavor with the least RAM that is at least
        this much; of several, the one with the fewest processors, the smallest
        disk, and the first name.""",
    ): Nullable(vs.All(int, vs.Range(min=1))),
}

VOLUME_TYPE = {
    Optional(
        'volume-type',
        doc="""\
        The type of the volume when booting from volume.  By default, the
        default of the cloud.  It needs Nova of the release Stein or
        newer.""",
    ): Nullable(str),
}

LABEL = {
    **VOLUME_TYPE,
    Optional(
        'networks', default=[],
        doc="""\
        The networks of the node, in this order: names, ids, or mappings.  By
        default the network with ``default_interface: true`` in
        ``clouds.yaml``, or what Nova chooses.""",
    ): AsList(vs.Any(str, {
        Required('name', doc='Name or id of the network.'): str,
        Optional(
            'port-security', default=True,
            doc="""\
            Whether the cloud restricts the node to its own addresses and to
            security groups.  The project has to be allowed to create ports
            without that."""): bool,
    })),
    Optional(
        'security-groups', default=[],
        doc="""\
        Names or ids of the security groups of the node.""",
    ): AsList(str),
    Optional(
        'floating-network',
        doc="""\
        The network of floating IPs, name or id.  By default, the one with
        ``nat_source`` in ``clouds.yaml``, or an external network that a router
        leads to.  With several networks, ``nat_destination: true`` in
        ``clouds.yaml`` chooses the one that the floating IP belongs to.""",
    ): Nullable(str),
    Optional(
        'server-group',
        doc="""\
        The existing server group of the node, name or id.  Its policy
        decides which nodes share a host.""",
    ): Nullable(str),
    Optional(
        'instance-properties', default={},
        doc="""\
        Metadata of the server besides ``tags``, key -> value, which programs
        on the node can read.""",
    ): PROPERTIES,
    Optional(
        'dynamic-instance-properties', default={},
        doc="""\
        As ``instance-properties``, with fields in braces:
        ``{request.id}``, ``{request.event_id}``, ``{request.tenant_name}``,
        ``{request.created_time}``, ``{node.id}``, ``{label.name}``,
        ``{image.name}``, ``{flavor.name}``, ``{provider.name}``.  A property
        with an unknown field is omitted.""",
    ): DYNAMIC_PROPERTIES,
    Optional(
        'console-log', default=False,
        doc="""\
        Whether to write the console output of a node to the launcher's log if
        the node does not boot.""",
    ): bool,
}


PROVIDER = {
    # Without a default, because Zuul's own launchers do not know it.
    Optional(
        'ignore-provider-quota', default=vs.UNDEFINED,
        doc="""\
        Whether the launcher ignores the limits that the cloud reports for the
        project, for instance because they are wrong.  Only
        ``resource-limits`` and the quota of sections apply then.""",
    ): bool,
}

# Fields of images in Glance, which a tag cannot have as its name:
# https://docs.openstack.org/api-ref/image/v2/#create-image
RESERVED = frozenset((
    'id', 'name', 'status', 'owner', 'checksum', 'os_hash_algo',
    'os_hash_value', 'size', 'virtual_size', 'disk_format',
    'container_format', 'created_at', 'updated_at', 'tags', 'locations',
    'direct_url', 'self', 'file', 'schema', 'store', 'stores',
    'validation_data'))


def checkTags(image):
    """:return: the image of type ``zuul``, if its tags are valid in Glance."""
    if image.get('type') == 'zuul':
        reserved = RESERVED & (image.get('tags') or {}).keys()
        if reserved:
            name = min(reserved)
            raise vs.Invalid(
                f'"{name}" is a field of images in Glance; use another name '
                'for the tag', path=['tags', name])
    return image


def needsImage(image):
    """:return: the image of type ``cloud``, if it selects an image."""
    if image.get('type') == 'cloud' and not any(
            image.get(name) for name in (
                'image-id', 'image_id', 'image-name', 'image_name',
                'image-filters', 'image_filters')):
        raise vs.Invalid('an image of type "cloud" needs "image-name", '
                         '"image-id" or "image-filters"')
    return image


def needsFlavor(flavor):
    """:return: the flavor, if it selects a flavor of the cloud."""
    if not any(flavor.get(name) for name in (
            'flavor-name', 'flavor_name', 'min-ram', 'min_ram')):
        raise vs.Invalid('a flavor needs "flavor-name" or "min-ram"')
    return flavor
