"""Attributes of images of type ``zuul``."""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional

WEB_DOWNLOAD = 'web-download'
GLANCE_DIRECT = 'glance-direct'
# An image that Nova creates from a node, in a format that Nova chooses.
SNAPSHOT = 'snapshot'
# https://docs.openstack.org/glance/latest/user/formats.html
FORMATS = ('qcow2', 'raw', 'vmdk', 'vhd', 'vhdx', 'vdi', 'iso', 'ploop',
           SNAPSHOT)


def oneOf(*values):
    """:return: a schema whose errors list all valid values."""
    return vs.Any(*values, msg='expected one of ' + ', '.join(values))


ZUUL_IMAGE = {
    Optional(
        'import-method',
        config=False,
        doc="""\
        How the cloud gets images: with ``web-download`` the cloud downloads
        them from their storage, if it is able to; with ``glance-direct`` the
        launcher downloads and stages them, and the cloud imports them; with
        ``none`` the launcher downloads and uploads them.""",
        default='none',
    ): oneOf(WEB_DOWNLOAD, GLANCE_DIRECT, 'none'),
    Optional(
        'image-format',
        doc="""\
        The format of the image's file, one of Glance's; ``snapshot`` if its
        builds are snapshots of nodes.  By default, the ``image_format`` of
        ``clouds.yaml``.""",
        default=vs.UNDEFINED,
    ): Nullable(oneOf(*FORMATS)),
}
