"""Records in ZooKeeper besides Zuul's: how they are named, listed, written."""

import urllib.parse

from kazoo.exceptions import NoNodeError


def getPath(root, *names):
    """:return: the path below a root; names may have any characters."""
    return '/'.join((root, *map(urllib.parse.quote_plus, names)))


def getChildren(client, path):
    """
    :param KazooClient client:
    :return: a list of what is right below a path; empty if that is not there.
    """
    try:
        return client.get_children(path)
    except NoNodeError:
        return []


def getNames(client, path):
    """:return: a set of the names that :func:`getPath` has made paths of."""
    return set(map(urllib.parse.unquote_plus, getChildren(client, path)))


def read(client, path):
    """:return: the data of a record, bytes; None if it is not there."""
    try:
        data, _ = client.get(path)
    except NoNodeError:
        return None
    return data


def write(client, path, data):
    """Write a record, be it there or not.

    :param bytes data:
    :raises NodeExistsError: somebody else has just made it.
    """
    try:
        client.set(path, data)
    except NoNodeError:
        client.create(path, data, makepath=True)


def delete(client, path):
    """:return: whether the record was there."""
    try:
        client.delete(path)
    except NoNodeError:
        return False
    return True
