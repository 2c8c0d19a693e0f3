"""Serializes records."""

import copy
import threading
import zlib

from kazoo.protocol.states import ZnodeStat
from zuul.zk.zkobject import PolymorphicZKObjectMixin

# Held while the values of a record change, so that values that were read and
# values that were written do not mix.
RECORDS_LOCK = threading.RLock()


class UnwritableError(Exception):
    """A record has a value that cannot be written; retries are useless."""


class Content:
    """The new content of a record, serialized.

    :param ZKObject record: with its current values.
    :param dict attributes: values that replace the current ones.
    """

    def __init__(self, record, context, attributes=None):
        self.record = record
        self.attributes = attributes or {}
        if attributes:
            # In a copy, because other threads must not see unwritten values.
            record = copy.copy(record)
            record._set(**attributes)
        self.data = serialize(record, context)
        self.raw = compress(record, self.data)

    def getUpdate(self, version=None):
        """
        :param int version: the version to replace; by default the current one.
        :return: the operation that writes the content.
        """
        if version is None:
            version = self.record.getZKVersion() or 0
        return 'set_data', (self.record.getPath(), self.raw, version)

    def setWritten(self, stat):
        """Set the written values in the record, unless the watch has read a
        later version."""
        record = self.record
        if isSeen(record) and record._zstat.mzxid >= stat.mzxid:
            return
        record._set(
            **self.attributes, _zstat=stat, _zkobject_hash=hash(self.data),
            _zkobject_compressed_size=len(self.raw),
            _zkobject_uncompressed_size=len(self.data))


def serialize(record, context):
    """Serialize a record.

    :return: bytes.
    :raises UnwritableError: the record has a value that cannot be serialized.
    """
    try:
        return record._trySerialize(context)
    except Exception as error:
        raise UnwritableError(
            f'{record} cannot be written: {error}') from error


def compress(record, data):
    """Compress a record's data as Zuul's records do, but with a smaller memory
    level: allocating memory takes most of the time, and small records do not
    need more.

    :return: the bytes to write.
    """
    compressor = zlib.compressobj(level=3, wbits=12, memLevel=5)
    compressed = compressor.compress(data) + compressor.flush()
    if isinstance(record, PolymorphicZKObjectMixin):
        return b'\0'.join((record._subclass_id, compressed))
    return compressed


def makeStat():
    """:return: the stat of a record or part that the launcher creates, of
        which ZooKeeper returns none.  Each is another object, so that one
        that was created, deleted and created again has another stat."""
    return ZnodeStat(*[0] * len(ZnodeStat._fields))


def isMade(stat):
    """:return: whether a stat, or None, is one of :func:`makeStat`."""
    return stat is not None and not stat.czxid


def isSeen(record):
    """:return: whether the record has been read from ZooKeeper or written; if
        not, the launcher is about to write it, or its watch is late."""
    return getattr(record, '_zstat', None) is not None
