"""What operators want of images, in records that every launcher honours.

One record each: an image that is paused, by its canonical name; a build that
is kept, by the id of its artifact.
"""

import enum
import json
import time

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-controls'


class Control(enum.StrEnum):
    # Nobody asks for a build of the image, and no upload begins.
    PAUSED = 'paused'
    # No build that is newer has this one deleted.
    KEPT = 'kept'


def add(client, control, key, reason):
    """
    :param KazooClient client:
    :param Control control:
    :param str key: see above.
    :param str reason: one line for people; may be empty.
    """
    data = json.dumps({'reason': reason, 'time': time.time()}).encode()
    zkrecords.write(client, _getPath(control, key), data)


def remove(client, control, key):
    """:return: whether there was one."""
    return zkrecords.delete(client, _getPath(control, key))


def readAll(client, control):
    """:return: a dict: key -> reason."""
    return {
        key: json.loads(data)['reason']
        for key in zkrecords.getNames(client, f'{ROOT}/{control}')
        if (data := zkrecords.read(client, _getPath(control, key)))}


def _getPath(control, key):
    return zkrecords.getPath(ROOT, control, key)
