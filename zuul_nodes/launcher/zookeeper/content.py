"""What records say, as it is written."""

import copy
import threading
import zlib

from kazoo.protocol.states import ZnodeStat
from zuul.zk.zkobject import PolymorphicZKObjectMixin

# What is read and what has been written must not be mixed in a record.
RECORDS_LOCK = threading.RLock()

# ZooKeeper does not say more of what it has created.
CREATED = ZnodeStat(*[0] * len(ZnodeStat._fields))


class UnwritableError(Exception):
    """A record can't be written as it is, however often that is tried."""


class Content:
    """What a record is to say, as it is written.

    :param ZKObject record: as it is now.
    :param dict attributes: what it is to say instead.
    """

    def __init__(self, record, context, attributes=None):
        self.record = record
        self.attributes = attributes or {}
        if attributes:
            # Until it is written, nobody must see it.
            record = copy.copy(record)
            record._set(**attributes)
        self.data = serialize(record, context)
        self.raw = compress(record, self.data)

    def getUpdate(self, version=None):
        """
        :param int version: of the record that is replaced; by default what
            it is by now.
        :return: the operation that writes it over what it was.
        """
        if version is None:
            version = self.record.getZKVersion() or 0
        return 'set_data', (self.record.getPath(), self.raw, version)

    def setWritten(self, stat):
        """Let the record say so, if the watch has not got further."""
        record = self.record
        if isSeen(record) and record._zstat.mzxid >= stat.mzxid:
            return
        record._set(
            **self.attributes, _zstat=stat, _zkobject_hash=hash(self.data),
            _zkobject_compressed_size=len(self.raw),
            _zkobject_uncompressed_size=len(self.data))


def serialize(record, context):
    """
    :return: bytes that say what a record is.
    :raises UnwritableError: there are none.
    """
    try:
        return record._trySerialize(context)
    except Exception as error:
        raise UnwritableError(
            f'{record} can not be written: {error}') from error


def compress(record, data):
    """What Zuul's records do, with as little memory as small ones need:
    most of the time is spent on having that.

    :return: bytes as they are written.
    """
    compressor = zlib.compressobj(level=3, wbits=12, memLevel=5)
    compressed = compressor.compress(data) + compressor.flush()
    if isinstance(record, PolymorphicZKObjectMixin):
        return b'\0'.join((record._subclass_id, compressed))
    return compressed


def isSeen(record):
    """:return: whether a record is in ZooKeeper, as opposed to that we are
        about to write it, or the watch is to tell of it."""
    return getattr(record, '_zstat', None) is not None
