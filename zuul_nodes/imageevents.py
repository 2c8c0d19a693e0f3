"""Records of the events that make jobs work on images.

A launcher records an event in the transaction that sends it.  A scheduler adds
what has become of an event to delete a file.
"""

import contextlib
import enum
import json
import time
import typing

from kazoo.exceptions import BadVersionError, NoNodeError

from zuul_nodes import zkrecords

ROOT = '/zuul/zuul-nodes/image-events'


class EventKind(enum.StrEnum):
    """The purposes of events; the comments say how records are named."""
    BUILD = 'image-build'  # the image's canonical name
    VALIDATE = 'image-validate'  # the id of the upload
    DELETE = 'image-delete'  # the id of the artifact


class Sent(typing.NamedTuple):
    """The record of an event that was sent.

    :ivar str tenant_name: the tenant that got it.
    :ivar int attempt: number of the event for the same purpose, from 1.
    :ivar float time: when it was sent, or when its work was last seen under
        way; in seconds since the epoch.
    :ivar int version: of the record.
    :ivar bool is_deleted: whether a job has deleted the file.
    :ivar str problem: why none has, if the jobs have ended; why an image is
        missing, if the event is to build it; or None.
    """
    tenant_name: str
    attempt: int
    time: float
    version: int
    is_deleted: bool = False
    problem: str | None = None

    def hasResult(self):
        """:return: whether the jobs of an event to delete a file have ended.
        """
        return self.is_deleted or self.problem is not None


def getPath(kind, key):
    """:return: the path of the record of an event."""
    return zkrecords.getPath(ROOT, kind, key)


def read(client, kind, key):
    """:return: the record of the last event, a :class:`Sent`; None if there
        is none."""
    try:
        data, stat = client.get(getPath(kind, key))
    except NoNodeError:
        return None
    content = json.loads(data)
    return Sent(content['tenant'], content['attempt'], content['time'],
                stat.version, content.get('deleted', False),
                content.get('problem'))


def makeRecord(sent):
    """
    :param Sent sent: its version does not matter.
    :return: the content of the record, bytes.
    """
    return json.dumps({
        'tenant': sent.tenant_name, 'attempt': sent.attempt,
        'time': sent.time, 'deleted': sent.is_deleted,
        'problem': sent.problem}).encode()


def noteDeletion(client, artifact_id, problem):
    """Record what has become of an event to delete a file.

    Without a record of the event, there is nothing to note: the artifact is
    gone, or no launcher has sent the event.

    :param KazooClient client:
    :param str artifact_id:
    :param str problem: why no job has deleted the file, one line; None if one
        has.
    """
    # A launcher may write the record at the same time.
    while sent := read(client, EventKind.DELETE, artifact_id):
        if sent.is_deleted:
            return
        with contextlib.suppress(BadVersionError, NoNodeError):
            client.set(
                getPath(EventKind.DELETE, artifact_id), makeRecord(
                    # The back-off begins now.
                    sent._replace(is_deleted=problem is None, problem=problem,
                                  time=time.time())), sent.version)
            return
