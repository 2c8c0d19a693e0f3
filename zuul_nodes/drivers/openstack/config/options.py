"""The options of an OpenStack cloud in ``zuul.conf``.

Zuul's connection and ours read them one by one; this schema describes them.
"""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional, Required

from zuul_nodes.drivers import bounds

VISIBILITIES = 'image_visibilities'
# Visibilities that do not show an image to all projects.
DEFAULT_VISIBILITIES = ('private', 'shared')
SCHEMA = vs.Schema({
    Required(
        'cloud',
        doc='The name of the cloud in ``clouds.yaml``.',
    ): str,
    Optional(
        'client_config_file',
        doc="""The path of ``clouds.yaml``.  By default,
        ``OS_CLIENT_CONFIG_FILE`` in the environment names it, or openstacksdk
        looks for it.""",
    ): Nullable(str),
    Optional(
        'rate',
        doc="""Maximum number of calls per second to each service, of all
        regions together.  The launchers that handle the connection have equal
        shares of the rate.""",
        default=2,
    ): vs.Coerce(float),
    Optional(
        'api_timeout',
        doc="""Seconds that a call may take.  By default ``api_timeout`` in
        ``clouds.yaml``, or 60.""",
    ): Nullable(vs.Coerce(float)),
    Optional(
        VISIBILITIES,
        doc="""The values of the tag ``visibility`` that images made by Zuul
        may have, separated by commas.""",
        default=', '.join(DEFAULT_VISIBILITIES),
    ): str,
    **bounds.SCHEMA,
}, extra=vs.ALLOW_EXTRA)
