"""The history of ZooKeeper, read from the transaction logs of its servers.

The format is that of ZooKeeper 3.6 and later, which describes it in
``zookeeper.jute``.
"""

import collections
import dataclasses
import struct

# A file: this many bytes, then one transaction after the other.
FILE_HEADER = 16
# Before a transaction: its checksum and its length; after it, one byte.
ENTRY_HEADER = struct.Struct('>qi')
# Session, number in the session, zxid, time in ms, type
HEADER = struct.Struct('>qiqqi')
CREATE, DELETE, SET, CHECK, MULTI = 1, 2, 5, 13, 14
CREATE_2, CREATE_CONTAINER, DELETE_CONTAINER, CREATE_TTL = 15, 19, 20, 21
ERROR = -1
OPEN_SESSION, CLOSE_SESSION = -10, -11
# A transaction that so many members have logged was committed: each later
# leader has it.
MAJORITY = 2


@dataclasses.dataclass(frozen=True)
class Operation:
    """
    :ivar str kind: ``create``, ``set``, ``delete``, ``check``, ``open`` or
        ``close``, of a session.
    :ivar bytes data: that is written, or None.
    :ivar bool is_ephemeral: whether the session's end deletes what this
        creates.
    """
    kind: str
    path: str = ''
    data: bytes | None = None
    is_ephemeral: bool = False


@dataclasses.dataclass(frozen=True)
class Transaction:
    """
    :ivar int zxid: orders all transactions.
    :ivar float time: by the clock of the leader.
    :ivar int session: of the client.
    :ivar list operations: all of them have been done.
    """
    zxid: int
    time: float
    session: int
    operations: list


def read(directory):
    """
    :param Path directory: the data of one server.
    :return: yields what the server has logged.
    """
    for path in sorted(directory.glob('version-2/log.*')):
        with path.open('rb') as stream:
            stream.seek(FILE_HEADER)
            yield from _readFile(stream)


def merge(logs):
    """
    :param list logs: of each server, a list of transactions.
    :return: a list of those that were committed, in order.
    """
    copies = collections.Counter(
        zxid for log in logs for zxid in {each.zxid for each in log})
    known = {each.zxid: each for log in logs for each in log}
    return [known[zxid] for zxid in sorted(known)
            if copies[zxid] >= MAJORITY]


def _readFile(stream):
    while len(header := stream.read(ENTRY_HEADER.size)) == ENTRY_HEADER.size:
        _, length = ENTRY_HEADER.unpack(header)
        data = stream.read(length + 1)
        if not length or len(data) <= length:
            # Made longer in advance, or the server has died.
            return
        session, _, zxid, time, kind = HEADER.unpack_from(data)
        yield Transaction(
            zxid, time / 1000, session & (1 << 64) - 1,
            list(_readOperations(kind, _Reader(data[HEADER.size:-1]))))


class _Reader:
    """Takes values from the serialized form of a record."""

    def __init__(self, data):
        self.data = data
        self.position = 0

    def takeNumber(self, form='>i'):
        value, = struct.unpack_from(form, self.data, self.position)
        self.position += struct.calcsize(form)
        return value

    def takeBytes(self):
        length = self.takeNumber()
        if length < 0:
            return None
        self.position += length
        return self.data[self.position - length:self.position]

    def takeText(self):
        return (self.takeBytes() or b'').decode()

    def isAtEnd(self):
        return self.position == len(self.data)


def _readOperations(kind, reader):
    if kind in (CREATE, CREATE_2, CREATE_CONTAINER, CREATE_TTL):
        path, data = reader.takeText(), reader.takeBytes()
        for _ in range(reader.takeNumber()):
            # An entry of the list of who may do what.
            reader.takeNumber()
            reader.takeText()
            reader.takeText()
        yield Operation('create', path, data, kind in (
            CREATE, CREATE_2) and reader.takeNumber('>?'))
    elif kind in (DELETE, DELETE_CONTAINER):
        yield Operation('delete', reader.takeText())
    elif kind == SET:
        yield Operation('set', reader.takeText(), reader.takeBytes())
    elif kind == CHECK:
        yield Operation('check', reader.takeText())
    elif kind == MULTI:
        parts = [(reader.takeNumber(), reader.takeBytes())
                 for _ in range(reader.takeNumber())]
        # One that has failed still has what was before the error.
        if ERROR not in (part for part, _ in parts):
            for part, data in parts:
                yield from _readOperations(part, _Reader(data))
    elif kind == OPEN_SESSION:
        yield Operation('open')
    elif kind == CLOSE_SESSION:
        # A server of the old version does not list what is deleted.
        for _ in range(0 if reader.isAtEnd() else reader.takeNumber()):
            yield Operation('delete', reader.takeText())
        yield Operation('close')
