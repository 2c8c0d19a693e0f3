"""What tenants may use of what an account can reach.

Options of a connection have names with commas between them.  Without an
option, all is allowed.
"""

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.aws.images import RESOLVED

# Who has to own images: ids of accounts, "self", "amazon" or the like.
OWNERS = 'image_owners'
# Names or ARNs, as labels have them.
PROFILES = 'instance_profiles'
# Where images are put on their way, and where they come from.
BUCKETS = 'buckets'
OPTIONS = (OWNERS, PROFILES, BUCKETS)


def check(connection, config):
    """
    :param AwsConnection connection:
    :param dict config: the flat configuration of a provider.
    :raises BoundError: it is more than the operator allows.
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
        f'its image "{image["name"]}" is of the owner')
    if (bounds.getNames(connection, OWNERS) is not None
            and (image.get('image-id') or '').startswith(RESOLVED)):
        raise bounds.BoundError(
            f'its image "{image["name"]}" is "{image["image-id"]}", whose '
            'owner is not known before it is used, so '
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
