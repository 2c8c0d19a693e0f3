"""The options of an Azure subscription in ``zuul.conf``.

Zuul's connection and ours read them one by one; this schema describes them.
"""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers import bounds

# Default time-out of a call, in seconds.
API_TIMEOUT = 60
# Resource groups that tenants may use.
GROUPS = 'resource_groups'
# User-assigned identities that tenants may use, by name.
IDENTITIES = 'identities'
SCHEMA = vs.Schema({
    Optional(
        'tenant_id',
        doc='The id of the directory (Microsoft Entra) of the application.',
    ): Nullable(str),
    Optional(
        'client_id',
        doc='The id of the application that Zuul logs in as.',
    ): Nullable(str),
    Optional(
        'client_secret',
        doc='The secret of the application.',
    ): Nullable(str),
    Optional(
        'subscription_id',
        doc='The id of the subscription of the nodes.',
    ): Nullable(str),
    Optional(
        'shared_credentials_file',
        doc="""The path of a file, JSON, that has the four options above as
        ``tenantId``, ``clientId``, ``clientSecret`` and
        ``subscriptionId``.""",
    ): Nullable(str),
    Optional(
        'federated_token_file',
        doc="""The path of a file with a token of a federated identity,
        instead of a secret.""",
    ): Nullable(str),
    Optional(
        'rate',
        doc="""Maximum number of calls per second, in all regions together.
        The launchers that handle the connection have equal shares of the
        rate.""",
        default=2,
    ): vs.Coerce(float),
    Optional(
        'api_timeout',
        doc='Seconds that a call may take.',
        default=API_TIMEOUT,
    ): vs.Coerce(float),
    Optional(
        GROUPS,
        doc="""The resource groups of nodes, and those of the subnets, images
        and identities that they use, separated by commas; by default
        all.""",
    ): Nullable(str),
    Optional(
        IDENTITIES,
        doc="""The user-assigned identities that nodes may have, by name,
        separated by commas; by default all.""",
    ): Nullable(str),
    **bounds.SCHEMA,
}, extra=vs.ALLOW_EXTRA)
