"""Bounds that the operator sets for tenants within a project.

The credentials of a connection may allow access to images, service accounts
and buckets that not every tenant may use.
"""

import re

from zuul.lib.voluputil import Nullable, Optional

from zuul_nodes.drivers import bounds
from zuul_nodes.drivers.gce.urls import split

SCHEMA = {
    Optional(
        'image_projects',
        doc="""The projects whose images tenants may use besides the
        connection's own, separated by commas; by default all.""",
    ): Nullable(str),
    Optional(
        'service_accounts',
        doc="""The addresses of the service accounts that nodes may have,
        ``default`` for the project's own, separated by commas; by default all.
        Empty: none.""",
    ): Nullable(str),
    Optional(
        'service_account_scopes',
        doc="""The scopes that service accounts of nodes may have, separated
        by commas; by default all.""",
    ): Nullable(str),
    Optional(
        'buckets',
        doc="""The buckets from which images may be imported and downloaded
        with the connection's credentials, separated by commas; by default all.
        Empty: none.""",
    ): Nullable(str),
}
# The default service account of a label, and its default scopes.
DEFAULT_EMAIL = 'default'
ALL_SCOPES = 'https://www.googleapis.com/auth/cloud-platform'
# All forms of references to images that the API accepts.
IMAGE = re.compile(
    r'(https://(www|compute)\.googleapis\.com/compute/[a-z0-9]+/)?'
    r'projects/(?P<project>[a-z0-9.:-]+)/global/images/(family/)?[a-z0-9-]+')


def check(connection, config):
    """
    :param AdapterConnection connection:
    :param dict config: the flat configuration of a provider.
    :raises BoundError: the operator does not allow the configuration.
    """
    for image in config['images']:
        if image.get('type') == 'cloud':
            _checkImage(connection, image)
    for label in config['labels']:
        if (account := label.get('service-account')) is None:
            continue
        bounds.checkNames(
            connection, 'service_accounts',
            [account.get('email', DEFAULT_EMAIL)],
            f'its label "{label["name"]}" has the service account')
        scopes = account.get('scopes', ALL_SCOPES)
        bounds.checkNames(
            connection, 'service_account_scopes',
            [scopes] if isinstance(scopes, str) else scopes,
            f'its label "{label["name"]}" has the scope')


def _checkImage(connection, image):
    if bounds.getNames(connection, 'image_projects') is None:
        return
    name, family = image.get('image-id'), image.get('image-family')
    if not (name or family):
        # The image does not exist in Google's cloud.
        return
    path = makePath(
        name, family, image.get('image-project') or connection.project)
    match = IMAGE.fullmatch(path)
    if match is None:
        raise bounds.BoundError(
            f'its image "{image["name"]}" is "{path}", which is not the path '
            'of an image, projects/PROJECT/global/images/NAME, as required by '
            + bounds.describe(connection, 'image_projects'))
    bounds.checkNames(
        connection, 'image_projects', [match['project']],
        f'its image "{image["name"]}" is in the project',
        frozenset({connection.project}))


def makePath(name, family, project):
    """
    :param str name: of an image, or its path; None for a family.
    :return: the path of an image or a family of images.
    """
    if name and '/' in name:
        return name
    images = f'projects/{project}/global/images'
    return f'{images}/{name}' if name else f'{images}/family/{family}'


def checkUrl(connection, url):
    """
    :param str url: of an artifact in Cloud Storage.
    :raises PermanentError: the operator does not allow its bucket.
    """
    bucket, _ = split(url)
    bounds.checkBucket(connection, 'buckets', bucket, url)
