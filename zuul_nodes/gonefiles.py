"""Which builds of images have no file any more where it was stored.

The record of a build stays when its file is gone: somebody has tidied the
storage up, say.  A launcher that has been told so by the server writes it
down here, by the id of the artifact, and all launchers go by it: such a build
is no reason not to build the image for an endpoint that has not got it yet.
"""

import json
import time

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/gone-files'


def write(client, artifact_id, reason):
    """
    :param KazooClient client:
    :param str artifact_id:
    :param str reason: one line, which tenants may read.
    """
    data = json.dumps({'reason': reason, 'time': time.time()}).encode()
    zkrecords.write(client, _getPath(artifact_id), data)


def read(client, artifact_id):
    """:return: the reason, None if the file is not known to be gone."""
    data = zkrecords.read(client, _getPath(artifact_id))
    return json.loads(data)['reason'] if data else None


def getIds(client):
    """:return: a set of the ids of artifacts whose files are gone."""
    return zkrecords.getNames(client, ROOT)


def forget(client, artifact_id):
    """The file is there again, or the record of the build is gone, too."""
    zkrecords.delete(client, _getPath(artifact_id))


def _getPath(artifact_id):
    return zkrecords.getPath(ROOT, artifact_id)
