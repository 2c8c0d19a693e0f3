"""URLs of what images are made of; without Google's libraries."""

import urllib.parse

# What can be uploaded: a disk, or what Google makes of it, an archive.
RAW = 'raw'
ARCHIVE = 'tar.gz'
HOST = 'storage.googleapis.com'
# One that was made of an instance, and how its URL begins.
SNAPSHOT = 'snapshot'
IMAGE = 'gce-image:'


def split(url):
    """
    :return: (bucket, name of an object) that a URL stands for, or None if
        it is not one of Cloud Storage.
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
    """:return: as Compute Engine wants it."""
    return f'https://{HOST}/{bucket}/{name}'


def canImport(url, image_format):
    """:return: whether Google can make an image of that by itself."""
    if url.startswith(IMAGE):
        return image_format == SNAPSHOT
    # One that is signed is not for Google's own account.
    return image_format == ARCHIVE and '?' not in url and bool(split(url))
