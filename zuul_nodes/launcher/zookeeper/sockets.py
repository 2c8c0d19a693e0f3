"""Makes the client of ZooKeeper read, write and wait with fewer system calls.

Kazoo reads each message in two pieces, waits before each of them and before
each write, and creates a kernel object for each wait.  That is more work than
the rest of a message's processing.  A launcher has dozens of messages for each
node.

With this replacement, a launcher needs 27 % less processor time for 600
simultaneous requests, and 30 % less for 300 nodes that are created at once.
"""

import collections
import contextlib
import select
import ssl
import struct

from kazoo.protocol.serialization import ReplyHeader

READ = select.POLLIN | select.POLLPRI
WRITE = select.POLLOUT
# Maximum size of a TLS record, so that each is read completely.
READ_AHEAD = 16384
# The length before each message.
LENGTH = struct.Struct('>i')
# Maximum number of cached poll objects; each connection needs its own.
MOST_POLLS = 16


def installSockets(client):
    """Install the replacement.

    :param KazooClient client: not started.
    """
    handler = client.handler
    connect = handler.create_connection
    # Kazoo looks both attributes up at each use.
    handler.create_connection = lambda *args, **kwargs: Socket(
        connect(*args, **kwargs))
    handler.select = Poller().poll
    connection = client._connection
    readHeader = connection._read_header

    def readMessage(timeout):
        sock = connection._socket
        if sock.fetch():
            message = sock.takeMessage()
            header, offset = ReplyHeader.deserialize(message, 0)
            return header, message, offset
        return readHeader(timeout)
    connection._read_header = readMessage


class Socket:
    """A socket that reads ahead, and knows when it does not have to wait.

    :param SSLSocket sock: connected.
    :ivar bool is_readable: whether a poll has reported data that is not read
        yet.
    :ivar bool is_writable: whether the last write was complete.
    """

    def __init__(self, sock):
        self._socket = sock
        # Data that was read and not taken yet: whole messages, and the data
        # after these.
        self._messages = collections.deque()
        self._ahead = b''
        self._held = None
        self.is_readable = False
        self.is_writable = True

    def __getattr__(self, name):
        return getattr(self._socket, name)

    def fileno(self):
        return self._socket.fileno()

    def pending(self):
        """:return: whether data can be read without waiting."""
        return bool(self._messages or self._ahead)

    def fetch(self):
        """Read the available data, without waiting.

        :return: whether there is a whole message.
        """
        if not (self._messages or self._split()):
            # If the connection has ended, the next blocking read reports it.
            with contextlib.suppress(OSError):
                self._readAhead()
                self._split()
        return bool(self._messages)

    def _split(self):
        """:return: whether there was a whole message."""
        data, begin = self._ahead, 0
        while len(data) >= (body := begin + LENGTH.size):
            end = body + LENGTH.unpack_from(data, begin)[0]
            if len(data) < end:
                break
            self._messages.append(data[body:end])
            begin = end
        self._ahead = data[begin:]
        return bool(begin)

    def takeMessage(self):
        """:return: the next whole message, without its length."""
        return self._messages.popleft()

    def recv(self, size):
        """Read a part of an incomplete message."""
        if not self._ahead:
            self._readAhead()
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data

    def _readAhead(self):
        self.is_readable = False
        self._ahead += self._socket.recv(READ_AHEAD)

    @contextlib.contextmanager
    def holding(self):
        """Collect the data that is sent in a context.

        :return: a context manager; its value is a bytearray with the data.
        """
        self._held = bytearray()
        try:
            yield self._held
        finally:
            self._held = None

    def send(self, data):
        if self._held is not None:
            self._held += data
            return len(data)
        try:
            return self._socket.send(data)
        except ssl.SSLError:
            self.is_writable = False
            raise


class Poller:
    """Waits for the sockets of a client, in one thread at a time.

    It reuses the poll objects, because the sets of sockets repeat.
    """

    def __init__(self):
        self._polls = {}

    def poll(self, read, write, exceptional, timeout=None):
        """Wait for sockets, in place of ``select.select``, without its limit
        on the number of open files.

        :param list read: sockets, or other objects with a ``fileno()``.
        :param list write: the same.
        :param list exceptional: must be empty.
        :param float timeout: seconds; None for no limit.
        :return: the sockets that can be read or written, three lists.
        """
        waiting = [*read, *write]
        if len(waiting) == 1 and isinstance(waiting[0], Socket):
            sock = waiting[0]
            if sock.is_readable if read else sock.is_writable:
                return read, write, []
        pending = [each for each in read
                   if isinstance(each, Socket) and each.pending()]
        if pending:
            # Without waiting, to report the other ready sockets, too.
            timeout = 0
        numbers = [each.fileno() for each in waiting]
        if min(numbers, default=0) < 0:
            raise ValueError(f'one of {waiting} is closed')
        ready = dict(self._getPoll(numbers, len(read)).poll(
            None if timeout is None else timeout * 1000))
        flags = [ready.get(number, 0) for number in numbers]
        readable = [each for each, flag in zip(read, flags, strict=False)
                    if flag & ~WRITE or each in pending]
        writable = [each for each, flag in zip(
            write, flags[len(read):], strict=True) if flag & ~READ]
        for each in readable:
            if isinstance(each, Socket) and each not in pending:
                each.is_readable = True
        for each in writable:
            if isinstance(each, Socket):
                each.is_writable = True
        return readable, writable, []

    def _getPoll(self, numbers, readers):
        """
        :param list numbers: file descriptors.
        :param int readers: number of descriptors, from the start, to poll for
            reading; the others are polled for writing.
        """
        key = (*numbers, readers)
        if key not in self._polls:
            if len(self._polls) >= MOST_POLLS:
                self._polls.clear()
            events = dict.fromkeys(numbers, 0)
            for index, number in enumerate(numbers):
                events[number] |= READ if index < readers else WRITE
            self._polls[key] = select.poll()
            for number, event in events.items():
                self._polls[key].register(number, event)
        return self._polls[key]
