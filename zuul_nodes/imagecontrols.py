"""Records of operators' decisions about images, which all launchers obey.

Each paused image and each image with an ordered build has a record, by its
canonical name.  Each kept build has one, by the id of its artifact.
"""

import enum
import json
import time

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-controls'


class Control(enum.StrEnum):
    # Launchers request no builds and start no uploads of the image.
    PAUSED = 'paused'
    # Newer builds do not replace this one.
    KEPT = 'kept'
    # A launcher requests a build of the image, once.
    ORDERED = 'ordered'


def add(client, control, key, reason):
    """Write a record.

    :param KazooClient client:
    :param Control control:
    :param str key: the name of the image or the id of the artifact.
    :param str reason: one line for people; may be empty.
    """
    data = json.dumps({'reason': reason, 'time': time.time()}).encode()
    zkrecords.write(client, getPath(control, key), data)


def remove(client, control, key):
    """:return: whether there was a record."""
    return zkrecords.delete(client, getPath(control, key))


def readAll(client, control):
    """:return: a dict: key -> reason."""
    return {
        key: json.loads(data)['reason']
        for key in zkrecords.getNames(client, f'{ROOT}/{control}')
        if (data := zkrecords.read(client, getPath(control, key)))}


def getPath(control, key):
    """:return: the path of a record."""
    return zkrecords.getPath(ROOT, control, key)
