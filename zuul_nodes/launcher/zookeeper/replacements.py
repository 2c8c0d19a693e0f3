"""Replaces parts of kazoo's client by faster ones.

Each replacement is checked before use: the installed version of kazoo must be
one that the package supports, and the replaced and called functions must have
the known signatures.  Otherwise kazoo's own code stays, which is correct but
slower.
"""

from collections.abc import Callable
import dataclasses
import logging

from zuul.zk import ZooKeeperClient

from zuul_nodes.launcher.zookeeper.dispatch import installDispatch
from zuul_nodes.launcher.zookeeper.requestsize import installLimit
from zuul_nodes.launcher.zookeeper.sockets import installSockets
from zuul_nodes.launcher.zookeeper.writer import installWriter
from zuul_nodes.signatures import Known, findVersionMismatch

CONNECTION = 'kazoo.protocol.connection', 'ConnectionHandler.'
HANDLER = 'kazoo.handlers.threading', 'SequentialThreadingHandler.'


def _know(place, attribute, signature, *names):
    module, class_name = place
    return Known(module, class_name + attribute, signature, names=names)


@dataclasses.dataclass(frozen=True)
class Replacement:
    """A replacement of a part of kazoo's client.

    :ivar str name:
    :ivar str why: its effect.
    :ivar install: called with a client that is not started.
    :ivar tuple functions: the :class:`Known` functions of kazoo that it relies
        on.
    :ivar needs: a replacement that it requires, or None.
    """
    name: str
    why: str
    install: Callable
    functions: tuple
    needs: 'Replacement | None' = None

    def findMismatch(self):
        """:return: why the replacement cannot be used; None if it can."""
        mismatches = [findVersionMismatch('kazoo'),
                      *(each.findMismatch() for each in self.functions),
                      self.needs and self.needs.findMismatch()]
        return next(filter(None, mismatches), None)


SOCKETS = Replacement(
    'sockets', 'reads messages ahead, and polls only when necessary',
    installSockets, (
        _know(CONNECTION, '_read_header', '(self, timeout)', '_read'),
        _know(CONNECTION, '_read', '(self, length, timeout)', '_socket',
              'pending', 'recv', 'select'),
        _know(CONNECTION, '_write', '(self, msg, timeout)', '_socket',
              'select', 'send'),
        _know(CONNECTION, '_connect', '(self, host, hostip, port)',
              'create_connection', '_socket'),
        _know(CONNECTION, '_connect_attempt',
              '(self, host, hostip, port, retry)', '_read_socket', 'select'),
        _know(HANDLER, 'select', '(self, *args, **kwargs)'),
        _know(HANDLER, 'create_connection', '(self, *args, **kwargs)'),
        Known('kazoo.protocol.serialization', 'ReplyHeader.deserialize',
              '(bytes, offset)')))
WRITER = Replacement(
    'writer', 'sends waiting requests together',
    installWriter, (
        _know(CONNECTION, '_send_request',
              '(self, read_timeout, connect_timeout)', '_queue', '_read_sock',
              'recv', '_submit', '_pending'),
        _know(CONNECTION, '_submit', '(self, request, timeout, xid=None)',
              '_write'),
        _know(CONNECTION, 'start', '(self)', 'create_socket_pair',
              '_read_sock', '_write_sock'),
        _know(HANDLER, 'create_socket_pair', '(self)'),
        Known('kazoo.client', 'KazooClient._call',
              '(self, request, async_object)',
              names=('_queue', '_write_sock', 'send'))), needs=SOCKETS)
LIMIT = Replacement(
    'limit', 'keeps the connection when a request is too large',
    installLimit, (
        Known('kazoo.client', 'KazooClient._call',
              '(self, request, async_object)'),))
DISPATCH = Replacement(
    'dispatch', 'delivers messages after it has read all of them',
    installDispatch, (
        Known('zuul.zk.vendor.connection',
              'ZuulConnectionHandler._read_socket', '(self, read_timeout)',
              names=('_read_header', '_read_response')),
        _know(CONNECTION, '_connect_attempt',
              '(self, host, hostip, port, retry)', '_read_socket'),
        _know(HANDLER, 'dispatch_callback', '(self, callback)'),
        _know(HANDLER, 'async_result', '(self)'),
        Known('kazoo.handlers.utils', 'AsyncResult.set',
              '(self, value=None)'),
        Known('kazoo.handlers.utils', 'AsyncResult.set_exception',
              '(self, exception)')))
# Those of a client that begins a new session, and one that any can have.
AT_BEGIN = (SOCKETS, WRITER, LIMIT)
REPLACEMENTS = (*AT_BEGIN, DISPATCH)

log = logging.getLogger('zuul.nodes.zookeeper')


class ImprovedClient(ZooKeeperClient):
    """Zuul's client of ZooKeeper; that of kazoo in it has the replacements
    when it begins its session."""

    @property
    def client(self):
        return self._client

    @client.setter
    def client(self, client):
        # Zuul sets the attribute before it starts the client.
        self._client = client
        if client is not None:
            for each in AT_BEGIN:
                use(each, client)


def use(replacement, client):
    """Install a replacement, or log why it does not fit."""
    if mismatch := replacement.findMismatch():
        log.warning('Using kazoo without the replacement "%s" (%s): %s',
                    replacement.name, replacement.why, mismatch)
    else:
        replacement.install(client)
