"""Order in which a client of ZooKeeper delivers what it has read.

Kazoo wakes a waiting thread as soon as it has read the answer, and runs a
thread for each event.  These threads compete with the one that reads the next
message.  This module has the client read all available messages first, and
then deliver them in the order of their arrival.

It saves a launcher 16 % of the processor time for 300 nodes that are created
immediately.  In addition, the caches know the launcher's own writes when the
launcher continues, so that it does not check records in vain.
"""

import functools
import logging
import threading

from kazoo.handlers.threading import AsyncResult
from kazoo.protocol.connection import CLOSE_RESPONSE

from zuul_nodes.launcher.zookeeper.sockets import Socket

# The client sends waiting requests after it has read so many messages.
MOST_MESSAGES = 50


def takenAtOnce(watcher):
    """Mark a watcher or a method that the reading thread calls.  It must
    neither wait nor raise."""
    watcher.taken_at_once = True
    return watcher


def installDispatch(client):
    """Have a client read all available messages before it delivers them.

    :param KazooClient client: unchanged if it does so already.
    """
    if not isOrdered(client):
        client.delivery = Delivery(client)


def isOrdered(client):
    """:return: whether a client delivers the event of a write before its
        answer."""
    return hasattr(client, 'delivery')


class Delivery:
    """Delivers the messages of a client after it has read all of them.

    :param KazooClient client: uses this object from now on.
    """

    log = logging.getLogger('zuul.nodes.zookeeper')

    def __init__(self, client):
        self.connection = client._connection
        # The thread that is reading, or None.
        self._reader = None
        self._waiting = []
        self._read = self.connection._read_socket
        self._dispatch = client.handler.dispatch_callback
        # Kazoo looks these attributes up at each use.
        self.connection._read_socket = self._readSocket
        client.handler.dispatch_callback = self._dispatchLater
        client.handler.async_result = functools.partial(
            Answer, client.handler, self.doWhenRead)

    def doWhenRead(self, function, *args):
        """Call a function after the reading thread has read all messages.  In
        another thread, call it immediately."""
        if threading.get_ident() == self._reader:
            self._waiting.append((function, args))
        else:
            function(*args)

    def _dispatchLater(self, callback):
        if getattr(callback.func, 'taken_at_once', False):
            self.doWhenRead(callback.func, *callback.args)
        else:
            self.doWhenRead(self._dispatch, callback)

    def _readSocket(self, timeout):
        """Read the available messages, and deliver them even if the
        connection fails."""
        self._reader = threading.get_ident()
        try:
            for _ in range(MOST_MESSAGES):
                response = self._read(timeout)
                if response == CLOSE_RESPONSE or not self._hasMore():
                    break
            return response
        finally:
            self._reader = None
            waiting, self._waiting = self._waiting, []
            for function, args in waiting:
                self._deliver(function, *args)

    def _deliver(self, function, *args):
        # An error of one delivery must not affect the others.
        try:
            function(*args)
        except Exception:
            # The log gets no content of messages, which may be secret.
            self.log.exception('Unable to deliver a message of ZooKeeper:')

    def _hasMore(self):
        sock = self.connection._socket
        return isinstance(sock, Socket) and sock.fetch()


class Answer(AsyncResult):
    """An answer that the client delivers in order.

    :param doWhenRead: as :meth:`Delivery.doWhenRead`.
    """

    def __init__(self, handler, doWhenRead):
        super().__init__(handler)
        self._do_when_read = doWhenRead

    def set(self, value=None):
        self._do_when_read(super().set, value)

    def set_exception(self, exception):
        self._do_when_read(super().set_exception, exception)
