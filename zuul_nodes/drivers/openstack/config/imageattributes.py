"""What is configured of images that Zuul makes."""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional

WEB_DOWNLOAD = 'web-download'
GLANCE_DIRECT = 'glance-direct'
# Made of nodes; Nova chooses the format.
SNAPSHOT = 'snapshot'
# https://docs.openstack.org/glance/latest/user/formats.html
FORMATS = ('qcow2', 'raw', 'vmdk', 'vhd', 'vhdx', 'vdi', 'iso', 'ploop',
           SNAPSHOT)


def oneOf(*values):
    """:return: a schema, whose errors name all that there is."""
    return vs.Any(*values, msg='expected one of ' + ', '.join(values))


ZUUL_IMAGE = {
    Optional(
        'import-method',
        config=False,
        doc="""\
        How the cloud gets images: ``web-download`` if it may download them
        from where they are stored, if it can; ``glance-direct`` if the
        launcher has to download and stage them, and the cloud imports them
        then; ``none`` if the launcher has to download and upload them.""",
        default='none',
    ): oneOf(WEB_DOWNLOAD, GLANCE_DIRECT, 'none'),
    Optional(
        'image-format',
        doc="""\
        The format of the image's file, one of Glance's; or ``snapshot`` if
        its builds are snapshots of nodes.  By default it is the
        ``image_format`` of ``clouds.yaml``.""",
        default=vs.UNDEFINED,
    ): Nullable(oneOf(*FORMATS)),
}
