"""Bounds that the operator sets for tenants within an AWS account.

The options of a connection contain names, separated by commas.  Without an
option, everything is allowed.
"""

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.aws.images import RESOLVED

# Allowed owners of images: ids of accounts, "self", "amazon", …
OWNERS = 'image_owners'
# Allowed instance profiles: names or ARNs, as in labels.
PROFILES = 'instance_profiles'
# Allowed buckets, for uploads on their way to AWS and for artifacts.
BUCKETS = 'buckets'
OPTIONS = (OWNERS, PROFILES, BUCKETS)


def check(connection, config):
    """
    :param AwsConnection connection:
    :param dict config: the flat configuration of a provider.
    :raises BoundError: the operator does not allow the configuration.
    """
    for image in config['images']:
        if image.get('type') == 'cloud':
            _checkImage(connection, image)
    for label in config['labels']:
        bounds.checkNames(
            connection, PROFILES,
            (label.get('iam-instance-profile') or {}).values(),
            f'its label "{label["name"]}" has the instance profile')
    bounds.checkNames(
        connection, BUCKETS,
        [(config.get('object-storage') or {}).get('bucket-name')],
        'its "object-storage" has the bucket')


def _checkImage(connection, image):
    owners = image.get('image-owners') or ()
    bounds.checkNames(
        connection, OWNERS, [owners] if isinstance(owners, str) else owners,
        f'its image "{image["name"]}" has the owner')
    if (bounds.getNames(connection, OWNERS) is not None
            and (image.get('image-id') or '').startswith(RESOLVED)):
        raise bounds.BoundError(
            f'its image "{image["name"]}" is "{image["image-id"]}", whose '
            'owner is unknown until it is used, so '
            f'{bounds.describe(connection, OWNERS)} does not allow it')


def checkUrl(connection, url):
    """
    :param str url: of an artifact.
    :raises PermanentError: it is in a bucket that the operator does not
        allow.
    """
    scheme, _, rest = url.partition('://')
    if scheme == 's3':
        bounds.checkBucket(
            connection, BUCKETS, rest.partition('/')[0], url)
