"""The options of an AWS account in ``zuul.conf``.

Zuul's connection and ours read them one by one; this schema describes them.
"""

import voluptuous as vs
from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.aws import allowed

# Default time-out of a call, in seconds.
API_TIMEOUT = 60
SCHEMA = vs.Schema({
    Optional(
        'access_key_id',
        doc="""The id of the access key that Zuul logs in with.  Without it,
        boto3 looks for credentials: the role of the machine, the
        environment, or the ``profile``.""",
    ): Nullable(str),
    Optional(
        'secret_access_key',
        doc='The secret that belongs to ``access_key_id``.',
    ): Nullable(str),
    Optional(
        'shared_credentials_file',
        doc="""The path of a file of AWS with these options in the section
        ``profile``, instead of ``zuul.conf``.""",
    ): Nullable(str),
    Optional(
        'profile',
        doc="""The section of ``shared_credentials_file``, or a profile that
        boto3 knows.""",
    ): Nullable(str),
    Optional(
        'role_arn',
        doc="""The ARN of a role that Zuul assumes with the token in
        ``web_identity_token_file``.""",
    ): Nullable(str),
    Optional(
        'web_identity_token_file',
        doc='The path of a file with a token of a federated identity.',
    ): Nullable(str),
    Optional(
        'endpoint_url',
        doc="""The URL of the API, if another cloud than AWS provides it.""",
    ): Nullable(str),
    Optional(
        'rate',
        doc="""Maximum number of calls per second that change something, of all
        regions together.  Ten times as many calls may read.  The launchers
        that handle the connection have equal shares of the rate.""",
        default=2,
    ): vs.Coerce(float),
    Optional(
        'api_timeout',
        doc="""Seconds that AWS has to accept a connection, and to answer.  A
        call that times out, or that AWS asks to repeat, is made up to five
        times.""",
        default=API_TIMEOUT,
    ): vs.Coerce(float),
    Optional(
        allowed.OWNERS,
        doc="""The owners that images must have, separated by commas: ids of
        accounts, ``self``, ``amazon`` or ``aws-marketplace``; by default any
        account.  The launcher asks AWS for images of these owners only, also
        for an ``image-id``.  An ``image-id`` that begins with
        ``resolve:ssm:`` is refused.  Empty: none.""",
    ): Nullable(str),
    Optional(
        allowed.PROFILES,
        doc="""The instance profiles that nodes may have, separated by commas,
        by the name or the ARN that a label has; by default all.  Empty:
        none.""",
    ): Nullable(str),
    Optional(
        allowed.BUCKETS,
        doc="""The buckets that ``object-storage`` may name, and from which
        images may be imported or downloaded with the connection's
        credentials, separated by commas; by default all.  Empty: none.""",
    ): Nullable(str),
    **bounds.SCHEMA,
}, extra=vs.ALLOW_EXTRA)
