"""URLs of the sources of images; does not import Google's libraries."""

import urllib.parse

# Formats for uploads: a disk, or Google's archive of a disk.
RAW = 'raw'
ARCHIVE = 'tar.gz'
HOST = 'storage.googleapis.com'
# The format of a snapshot of an instance, and the prefix of its URL.
SNAPSHOT = 'snapshot'
IMAGE = 'gce-image:'


def split(url):
    """
    :return: (bucket, name) of the object of a URL, or None if the URL is not
        one of Cloud Storage.
    """
    parts = urllib.parse.urlsplit(url)
    path = urllib.parse.unquote(parts.path).lstrip('/')
    if parts.scheme == 'gs':
        found = parts.netloc, path
    elif parts.scheme == 'https' and parts.netloc == HOST:
        bucket, _, name = path.partition('/')
        found = bucket, name
    else:
        return None
    return found if all(found) else None


def getUrl(bucket, name):
    """:return: a URL in the form that Compute Engine accepts."""
    return f'https://{HOST}/{bucket}/{name}'


def canImport(url, image_format):
    """:return: whether Google can create an image from a URL itself."""
    if url.startswith(IMAGE):
        return image_format == SNAPSHOT
    # Google's own account cannot use a signed URL.
    return image_format == ARCHIVE and '?' not in url and bool(split(url))
