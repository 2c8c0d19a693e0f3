"""Naming, listing and writing of this plugin's own records in ZooKeeper."""

import urllib.parse

from kazoo.exceptions import NoNodeError


def getPath(root, *names):
    """:return: the path below a root; names may contain any characters."""
    return '/'.join((root, *map(urllib.parse.quote_plus, names)))


def getChildren(client, path):
    """
    :param KazooClient client:
    :return: a list of the children of a path; empty if it does not exist.
    """
    try:
        return client.get_children(path)
    except NoNodeError:
        return []


def getNames(client, path):
    """:return: a set of the names in paths that :func:`getPath` made."""
    return decode(getChildren(client, path))


def decode(children):
    """:return: a set of the names from which :func:`getPath` made some
        children."""
    return set(map(urllib.parse.unquote_plus, children))


def read(client, path):
    """:return: the data of a record, bytes; None if it does not exist."""
    try:
        data, _ = client.get(path)
    except NoNodeError:
        return None
    return data


def write(client, path, data):
    """Create or update a record.

    :param bytes data:
    :raises NodeExistsError: another process has just created it.
    """
    try:
        client.set(path, data)
    except NoNodeError:
        client.create(path, data, makepath=True)


def delete(client, path):
    """:return: whether the record existed."""
    try:
        client.delete(path)
    except NoNodeError:
        return False
    return True
