"""Records of builds and uploads of images that no provider needs any more.

A mistake in the configuration may be the cause.  The launcher that sees it
first writes a record, by the id of the artifact or the upload.  All launchers
wait, counted from the creation of the record, before they delete
what is in a cloud or in storage.  They remove the record when a provider needs
it again.
"""

import contextlib

from kazoo.exceptions import NodeExistsError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/unneeded-images'


def write(client, uuid):
    """Record that no provider needs an artifact or an upload.

    :param KazooClient client:
    :param str uuid: the id of its record.
    """
    # Another launcher may have seen it as well.
    with contextlib.suppress(NodeExistsError):
        client.create(zkrecords.getPath(ROOT, uuid), makepath=True)


def getAge(client, uuid):
    """:return: seconds since the record was created, by ZooKeeper's clock;
        None if there is no record."""
    try:
        stat = client.set(zkrecords.getPath(ROOT, uuid), b'')
    except NoNodeError:
        return None
    return (stat.mtime - stat.ctime) / 1000


def readAll(client):
    """:return: the id of each artifact and upload -> when the record was
        created, in seconds since the epoch."""
    found = {}
    for uuid in zkrecords.getNames(client, ROOT):
        if stat := client.exists(zkrecords.getPath(ROOT, uuid)):
            found[uuid] = stat.ctime / 1000
    return found


def forget(client, uuid):
    """Delete the record, as a provider needs it again or it was deleted."""
    zkrecords.delete(client, zkrecords.getPath(ROOT, uuid))
