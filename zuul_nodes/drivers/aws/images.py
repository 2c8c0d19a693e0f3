"""Images that are in the cloud already."""

import json
import re

from zuul_nodes.drivers import PermanentError

ID = re.compile(r'ami-[0-9a-f]+$')
# Fleets may also be told where AWS finds the id.
RESOLVED = 'resolve:ssm:'
# Anybody can give an image any name, and make it public.
TRUSTED = ['self', 'amazon']


def isId(text):
    """:return: whether that is the id of an image, and not its name."""
    return bool(ID.match(text)) or text.startswith(RESOLVED)


def findImage(endpoint, image):
    """
    :param AwsEndpoint endpoint: where it is.
    :param AwsImage image: as it is configured, of the type ``cloud``.
    :return: the id of the newest image that it stands for.
    :raises PermanentError: there is none.
    """
    owners = endpoint.connection.image_owners
    if owners is None and image.image_id and isId(image.image_id):
        return image.image_id
    query = makeQuery(image, owners)
    key = json.dumps(query, sort_keys=True)
    if found := endpoint.image_id_by_filter_cache.get(key):
        return found
    with endpoint.non_mutating_rate_limiter:
        images = [each for page in endpoint.ec2_client.get_paginator(
            'describe_images').paginate(**query) for each in page['Images']]
    # Those that are made now are not there yet.
    images = [each for each in images if each['State'] == 'available']
    if not images:
        raise PermanentError(
            f'Image "{image.name}": there is no image with '
            f'{describeQuery(query)}')
    found = max(images, key=lambda each: each['CreationDate'])['ImageId']
    endpoint.image_id_by_filter_cache[key] = found
    return found


def makeQuery(image, allowed=None):
    """
    :param allowed: owners that the operator allows, None for all.
    :return: what DescribeImages is asked for.
    :raises PermanentError: it is an image of none of the owners that are
        allowed.
    """
    owners = given = list(getattr(image, 'image_owners', None) or ())
    if image.image_id and isId(image.image_id):
        filters = [{'Name': 'image-id', 'Values': [image.image_id]}]
    elif image.image_id:
        filters = [{'Name': 'name', 'Values': [image.image_id]}]
        owners = owners or TRUSTED
    else:
        filters = [{key.capitalize(): value for key, value in each.items()
                    if value is not None} for each in image.image_filters]
    if allowed is not None:
        common = allowed.intersection(owners)
        owners = sorted(common if given else common or allowed)
        # Without any, AWS would look at everybody's.
        if not owners:
            raise PermanentError(
                f'Image "{image.name}" is of no owner that "image_owners" of '
                'the connection in zuul.conf allows')
    return {'Filters': filters} | ({'Owners': owners} if owners else {})


def describeQuery(query):
    """:return: what is asked for, in words."""
    words = [f'{each["Name"]} {" or ".join(each.get("Values", ()))}'
             for each in query['Filters']]
    if owners := query.get('Owners'):
        words.append(f'owner {" or ".join(owners)}')
    return ' and '.join(words)
