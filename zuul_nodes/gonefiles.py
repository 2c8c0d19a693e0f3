"""Records of image builds whose files are gone from their storage.

The record of a build stays when its file disappears, for example because
someone cleaned up the storage.  The launcher that learns this from the storage
server writes a record here, by the id of the artifact.  For all launchers,
such a build no longer prevents another build of the image for an endpoint that
still needs it.
"""

import json
import time

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/gone-files'


def write(client, artifact_id, reason):
    """Record that the file of an artifact is gone.

    :param KazooClient client:
    :param str artifact_id:
    :param str reason: one line, which tenants may read.
    """
    data = json.dumps({'reason': reason, 'time': time.time()}).encode()
    zkrecords.write(client, _getPath(artifact_id), data)


def read(client, artifact_id):
    """:return: the reason; None if the file is not recorded as gone."""
    data = zkrecords.read(client, _getPath(artifact_id))
    return json.loads(data)['reason'] if data else None


def getIds(client):
    """:return: a set of the ids of artifacts whose files are gone."""
    return zkrecords.getNames(client, ROOT)


def forget(client, artifact_id):
    """Delete the record, as the file is back or the build was deleted."""
    zkrecords.delete(client, _getPath(artifact_id))


def _getPath(artifact_id):
    return zkrecords.getPath(ROOT, artifact_id)
