"""Decide whether the cloud can import an image itself.

Image service API, "Interoperable image import":
https://docs.openstack.org/api-ref/image/v2/
"""

from urllib.parse import urlsplit

from zuul_nodes import imagefiles
from zuul_nodes.drivers import addresses
from zuul_nodes.drivers.openstack.images.newimage import ERRORS


def getImportBlocker(client, method):
    """
    :param client: a connection to the cloud.
    :param str method: of an import, in Glance's terms.
    :return: why the cloud cannot import by this method, or an empty string.
    """
    try:
        methods = client.image.get_import_info().import_methods or {}
    except ERRORS as error:
        return f'the cloud does not list its import methods: {error}'
    if method not in methods.get('value', ()):
        return f'the cloud does not offer {method}'
    return ''


def getArtifactBlocker(url, md5, sha256, sources):
    """
    :param ImageSources sources: the allowed sources; None outside of a
        launcher.
    :return: why no cloud can download an artifact, or an empty string.
    """
    parts = urlsplit(url)
    if parts.scheme not in ('http', 'https'):
        return f'the cloud cannot download from {parts.scheme}:'
    try:
        if sources:
            sources.check(url, by_others=True)
    except addresses.RefusedError as error:
        return str(error)
    if parts.path.lower().endswith(imagefiles.COMPRESSED):
        return 'the cloud cannot decompress it'
    if sha256 and not md5:
        return 'the cloud reports no SHA-256, and there is no md5sum'
    return ''
