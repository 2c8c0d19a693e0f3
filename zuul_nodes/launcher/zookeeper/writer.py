"""How requests go to ZooKeeper: all that wait, in one piece.

With kazoo, whoever asks for something puts a byte into a pipe, and the
thread of the connection takes it out and writes that request.  Each of
these steps lets another thread take Python.  While there is no connection
nobody takes bytes out of kazoo's pipe, and when it is full, whoever asks
waits for that.

With this, a launcher needs 28 % less processor time for 300 nodes that are
created in no time.
"""

import contextlib
import errno
import os

# So many are written at once; then what has come has its turn.
MOST_REQUESTS = 50


def installWriter(client):
    """
    :param KazooClient client: stopped and closed; its connections shall
        have :meth:`zuul_nodes.launcher.zookeeper.sockets.Socket.holding`.
    """
    connection = client._connection
    sendRequest = connection._send_request

    def sendRequests(read_timeout, connect_timeout):
        bell = connection._read_sock
        bell.hush()
        try:
            with connection._socket.holding() as held:
                for _ in range(min(len(client._queue), MOST_REQUESTS)):
                    sendRequest(read_timeout, connect_timeout)
            connection._write(held, connect_timeout)
        finally:
            if client._queue:
                bell.send(b'\0')

    # Both are looked up at each use.
    connection._send_request = sendRequests
    client.handler.create_socket_pair = lambda: (Bell(),) * 2


class Bell:
    """Tells the thread of a connection that requests wait; both ends of
    what is kazoo's pipe.

    It rings until it is hushed, however often it was rung.
    """

    def __init__(self):
        self._file = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._is_rung = False

    def fileno(self):
        return self._file

    def send(self, data):
        """A request was put where it is found."""
        if self._file < 0:
            raise OSError(errno.EBADF, 'The connection is closed')
        # Who sees that it is rung has been in time for the requests that
        # are taken after it is hushed.
        if not self._is_rung:
            self._is_rung = True
            os.eventfd_write(self._file, 1)
        return len(data)

    def hush(self):
        """All requests are about to be taken."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._file)
        self._is_rung = False

    def recv(self, size):
        """Asked by kazoo for each request that it has taken: there is no
        byte for it."""
        return b''

    def close(self):
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
