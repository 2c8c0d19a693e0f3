"""What operators want of images, in records that every launcher honours.

One record each: an image that is paused, by its canonical name; a build that
is kept, by the id of its artifact.
"""

import enum
import json
import time
import urllib.parse

from kazoo.exceptions import NoNodeError

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
    try:
        client.set(getPath(control, key), data)
    except NoNodeError:
        client.create(getPath(control, key), data, makepath=True)


def remove(client, control, key):
    """:return: whether there was one."""
    try:
        client.delete(getPath(control, key))
    except NoNodeError:
        return False
    return True


def readAll(client, control):
    """:return: a dict: key -> reason."""
    try:
        names = client.get_children(f'{ROOT}/{control}')
    except NoNodeError:
        return {}
    found = {}
    for name in names:
        try:
            data, _ = client.get(f'{ROOT}/{control}/{name}')
        except NoNodeError:
            continue
        found[urllib.parse.unquote_plus(name)] = json.loads(data)['reason']
    return found


def getPath(control, key):
    return f'{ROOT}/{control}/{urllib.parse.quote_plus(key)}'
