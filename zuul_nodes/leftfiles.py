"""Records of image files that no job has deleted from their storage.

A launcher writes such a record before it removes that of the build.  An
operator deletes the file by hand, or leaves it, and then removes the record.
"""

import enum
import json
import time

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/left-files'
# Maximum number of records of each cause.
MOST = 2000


class Cause(enum.StrEnum):
    """Why files were left behind."""
    FAILED = 'failed'  # jobs have failed to delete it
    NO_JOB = 'no-job'  # no tenant has a job that would


def write(client, artifact, cause, reason):
    """Record that the file of a build was left behind.

    :param KazooClient client:
    :param ImageBuildArtifact artifact: of the build.
    :param Cause cause:
    :param str reason: one line, for people.
    :return: whether it is recorded; not if there are already too many.
    """
    names = zkrecords.getNames(client, getPath(cause))
    if len(names) >= MOST and artifact.uuid not in names:
        return False
    zkrecords.write(client, getPath(cause, artifact.uuid), json.dumps({
        'uuid': artifact.uuid, 'canonical_name': artifact.canonical_name,
        'name': artifact.name, 'format': artifact.format,
        'url': artifact.url, 'build_uuid': artifact.build_uuid,
        'build_tenant_name': artifact.build_tenant_name,
        'cause': cause, 'reason': reason, 'time': time.time()}).encode())
    return True


def readAll(client):
    """:return: a list of the records, each a dict, the oldest first."""
    found = []
    for cause in Cause:
        for uuid in zkrecords.getNames(client, getPath(cause)):
            if data := zkrecords.read(client, getPath(cause, uuid)):
                found.append(json.loads(data))
    return sorted(found, key=lambda each: (each['time'], each['uuid']))


def forget(client, uuid):
    """Delete the record, as the file was deleted or may stay."""
    for cause in Cause:
        zkrecords.delete(client, getPath(cause, uuid))


def getPath(cause, *uuid):
    """:return: the path of the records of a cause, or of one of them."""
    return zkrecords.getPath(ROOT, cause, *uuid)
