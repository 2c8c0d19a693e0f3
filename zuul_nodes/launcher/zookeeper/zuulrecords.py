"""Accesses parts of Zuul's records that have no public name in Zuul.

Attributes of Zuul's records can be set only while the records are written.  A
launcher also keeps attributes in them that are not written, or not yet.
"""

import json
import time
import types

from zuul.launcher.uploadplanner import UploadPlanner
from zuul.provider import BaseProvider
from zuul.zk.zkobject import ZKObject


def setAttributes(record, **attributes):
    """Set attributes of a record in this process, without writing them."""
    record._set(**attributes)


def makeRecord(record_class, **attributes):
    """:return: a record that is not written yet."""
    record = record_class()
    record._set(_zstat=None, **attributes)
    return record


def setContext(record, context):
    """Allow the attributes of a record to be set while a context is true.

    :param context: any object with a truth value; None to end it.
    """
    record._set(_active_context=context)


def getPath(record_class, record_id):
    """:return: the path of the record of a node or a request."""
    return record_class._getPath(record_id)


def getCreationTime(record):
    """:return: the time when a record was created, in seconds."""
    return record._zstat.created


def getVersion(component):
    """:return: number of times that a component of the registry has been
        written."""
    return component._zstat.version


def getLock(record):
    """:return: the lock of a record that this process holds, or None."""
    return record._lock


def hasExpired(node):
    """:return: whether the node itself is too old to be used, regardless of
        its host and its slots."""
    return node._hasExpired()


def getProviderNode(node):
    """:return: the record of a node of a job's nodeset."""
    return node._provider_node


def isWrittenAs(record, data):
    """:return: whether the record has this content, bytes, in ZooKeeper."""
    return hash(data) == record._zkobject_hash


def writeData(record, context, data):
    """Write data to a record, regardless of its attributes.

    :param bytes data: the new content.
    :raises Exception: as Zuul's methods that write records.
    """
    record._save(context, data)


def inState(state):
    """:return: the attributes of an artifact's or upload's record for a new
        state."""
    return {'_state': state, 'state_time': time.time()}


def decompress(raw):
    """
    :param bytes raw: a record as it is stored.
    :return: its content, bytes.
    """
    return ZKObject._decompressData(raw)[1]


def loadProvider(context, path):
    """
    :param ZKContext context: to read with.
    :param str path: of a provider's record.
    :return: the name of the provider's driver, bytes, as far as the record has
        one; and the record's content, a dict.
    :raises KazooException: it cannot be read.
    :raises Exception: it is not the record of a provider.
    """
    raw, _ = BaseProvider._loadData(context, path)
    return (raw.partition(b'\0')[0],
            json.loads(BaseProvider._decompressData(raw)[1]))


def isProviderOfDriver(name):
    """
    :param bytes name: of a driver.
    :return: whether this process can read records of the driver's providers.
    """
    return name in BaseProvider._subclasses


def makeUploadPlanner(system_id, providers, artifact, pending, known):
    """
    :param str system_id: Zuul's; in the tags of images.
    :param dict providers: id of an upload's first provider, as Zuul's planner
        looks it up -> provider.
    :param ImageBuildArtifact artifact:
    :param list pending: the uploads to plan, each with ``config_hash``,
        ``providers`` and ``uuid``.
    :param list known: all uploads of the artifact.
    :return: Zuul's planner of these uploads.
    """
    return UploadPlanner(
        types.SimpleNamespace(
            system=types.SimpleNamespace(system_id=system_id),
            _getProviderByCanonicalName=providers.__getitem__),
        artifact, pending, known)
