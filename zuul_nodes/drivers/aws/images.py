"""Find images that exist in the cloud."""

import json
import re

from botocore.exceptions import ClientError
from zuul.driver.aws.util import tag_list_to_dict

from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.aws import errors

ID = re.compile(r'ami-[0-9a-f]+')
# Prefix of the name of a Systems Manager parameter that contains the id.
RESOLVED = 'resolve:ssm:'
# States of images that never become available.
FAILED = ('deregistered', 'error', 'failed', 'invalid')
# Default owners, because any account can publish an image of any name.
TRUSTED = ['self', 'amazon']


def isId(text):
    """:return: whether a text is the id of an image, rather than its name."""
    return bool(ID.fullmatch(text)) or text.startswith(RESOLVED)


def findImage(endpoint, image):
    """
    :param AwsEndpoint endpoint: of the image.
    :param AwsImage image: the configuration of an image of type ``cloud``.
    :return: the id of the newest image that matches.
    :raises PermanentError: there is none.
    """
    owners = endpoint.connection.image_owners
    if owners is None and image.image_id and isId(image.image_id):
        return _resolve(endpoint, image)
    query = makeQuery(image, owners)
    key = json.dumps(query, sort_keys=True)
    if found := endpoint.image_id_by_filter_cache.get(key):
        return found
    with endpoint.non_mutating_rate_limiter:
        images = [each for page in endpoint.ec2_client.get_paginator(
            'describe_images').paginate(**query) for each in page['Images']]
    # Skip images that are still being created.
    images = [each for each in images if each['State'] == 'available']
    if not images:
        raise PermanentError(
            f'Image "{image.name}": there is no image with '
            f'{describeQuery(query)}')
    found = max(images, key=lambda each: each['CreationDate'])['ImageId']
    endpoint.image_id_by_filter_cache[key] = found
    return found


def _resolve(endpoint, image):
    """:return: the id of an image in a parameter.  RunInstances could resolve
        it, but requests for the image itself accept only ids."""
    _, is_named, name = image.image_id.partition(RESOLVED)
    if not is_named:
        return image.image_id
    if found := endpoint.image_id_by_filter_cache.get(image.image_id):
        return found
    try:
        with endpoint.non_mutating_rate_limiter:
            found = endpoint.ssm_client.get_parameter(
                Name=name)['Parameter']['Value']
    except ClientError as error:
        raise errors.translate(error) from error
    if not ID.fullmatch(found):
        # Omit the value, which may be a secret.
        raise PermanentError(
            f'Image "{image.name}": the parameter {name} of Systems Manager '
            'does not contain the id of an image, such as '
            'ami-0123456789abcdef0')
    endpoint.image_id_by_filter_cache[image.image_id] = found
    return found


def findOwn(endpoint, name, tags):
    """
    :param str name: of an image that was created by a call whose answer was
        lost.
    :param dict tags: of the image.
    :return: its id; None if there is none.
    """
    with endpoint.non_mutating_rate_limiter:
        found = endpoint.ec2_client.describe_images(
            Owners=['self'],
            Filters=[{'Name': 'name', 'Values': [name]}])['Images']
    return next((
        image['ImageId'] for image in found
        if tags.items() <= tag_list_to_dict(image.get('Tags')).items()), None)


def awaitImage(endpoint, image_id):
    """Wait until an image is available that AWS has agreed to create.

    :raises DriverError: the creation has failed, or the time is over.
    """
    while True:
        # A filter accepts an id that is not known everywhere yet.
        with endpoint.non_mutating_rate_limiter:
            found = endpoint.ec2_client.describe_images(Filters=[
                {'Name': 'image-id', 'Values': [image_id]}])['Images']
        state = found[0]['State'] if found else ''
        if state == 'available':
            return
        if state in FAILED:
            raise DriverError(f'AWS: image {image_id} is {state}')
        endpoint.pause()


def makeQuery(image, allowed=None):
    """
    :param allowed: owners that the operator allows, None for all.
    :return: the request for DescribeImages.
    :raises PermanentError: the operator does not allow any of the image's
        owners.
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
        # Without any owner, AWS would search the images of all accounts.
        if not owners:
            raise PermanentError(
                f'"image_owners" of the connection in zuul.conf allows no '
                f'owner of image "{image.name}"')
    return {'Filters': filters} | ({'Owners': owners} if owners else {})


def describeQuery(query):
    """:return: a description of the request for DescribeImages."""
    words = [f'{each["Name"]} {" or ".join(each.get("Values", ()))}'
             for each in query['Filters']]
    if owners := query.get('Owners'):
        words.append(f'owner {" or ".join(owners)}')
    return ' and '.join(words)
