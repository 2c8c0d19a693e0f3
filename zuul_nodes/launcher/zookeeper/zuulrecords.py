"""What a launcher needs of Zuul's records that has no public name in Zuul.

Zuul's records let their attributes be set only while they are written.  A
launcher also keeps in them what is not written, or not yet.
"""

import json
import time
import types

from zuul.launcher.uploadplanner import UploadPlanner
from zuul.provider import BaseProvider
from zuul.zk.zkobject import ZKObject


def setAttributes(record, **attributes):
    """Give a record attributes in this process; nothing is written."""
    record._set(**attributes)


def makeRecord(record_class, **attributes):
    """:return: a record that is not in ZooKeeper yet."""
    record = record_class()
    record._set(_zstat=None, **attributes)
    return record


def setContext(record, context):
    """Let the attributes of a record be set as long as a context is true.

    :param context: anything that has a truth value; None for no longer.
    """
    record._set(_active_context=context)


def getPath(record_class, record_id):
    """:return: the path of the record of a node or a request."""
    return record_class._getPath(record_id)


def getCreationTime(record):
    """:return: the time when a record was created, in seconds."""
    return record._zstat.created


def getVersion(component):
    """:return: how often a component of the registry has been written."""
    return component._zstat.version


def getLock(record):
    """:return: the lock of a record that is held here, or None."""
    return record._lock


def hasExpired(node):
    """:return: whether a node is too old to be used, whatever its host or
        its slots are."""
    return node._hasExpired()


def getProviderNode(node):
    """:return: the record behind a node of a nodeset that a job uses."""
    return node._provider_node


def isWrittenAs(record, data):
    """:return: whether a record has these data, bytes, in ZooKeeper."""
    return hash(data) == record._zkobject_hash


def writeData(record, context, data):
    """Write data, bytes, to a record, whatever the record itself says.

    :raises Exception: as of Zuul's methods that write records.
    """
    record._save(context, data)


def inState(state):
    """:return: the attributes of the record of an artifact or an upload
        that is in a state from now on."""
    return {'_state': state, 'state_time': time.time()}


def decompress(raw):
    """
    :param bytes raw: of a record.
    :return: bytes that say what the record is.
    """
    return ZKObject._decompressData(raw)[1]


def loadProvider(context, path):
    """
    :param ZKContext context: to read with.
    :param str path: of a provider's record.
    :return: the name of the provider's driver, or what the record has in
        its place, bytes, and what the record says, a dict.
    :raises KazooException: it cannot be read.
    :raises Exception: it is none of a provider.
    """
    raw, _ = BaseProvider._loadData(context, path)
    return (raw.partition(b'\0')[0],
            json.loads(BaseProvider._decompressData(raw)[1]))


def isProviderOfDriver(name):
    """
    :param bytes name: of a driver.
    :return: whether records of its providers can be read here.
    """
    return name in BaseProvider._subclasses


def makeUploadPlanner(system_id, providers, artifact, pending, known):
    """
    :param str system_id: Zuul's; images are tagged with it.
    :param dict providers: the id of an upload's first provider, as Zuul's
        planner asks for it -> provider.
    :param ImageBuildArtifact artifact:
    :param list pending: uploads to be planned, each with ``config_hash``,
        ``providers`` and ``uuid``.
    :param list known: all uploads of the artifact.
    :return: Zuul's planner of these uploads.
    """
    return UploadPlanner(
        types.SimpleNamespace(
            system=types.SimpleNamespace(system_id=system_id),
            _getProviderByCanonicalName=providers.__getitem__),
        artifact, pending, known)
