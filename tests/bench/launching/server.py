"""The ZooKeeper that both launchers use, and what it knows of them.

A launcher is measured from outside.  What it asked of ZooKeeper is counted
by the server: the number of its sessions' last operation, which the
four-letter command ``cons`` tells, and the transaction log, in which each
write has the number of the session that it came from.
"""

import contextlib
import dataclasses
import os
import re
import socket
import ssl
import struct

from kazoo.exceptions import NoNodeError, NotEmptyError
import psutil

from zuul_nodes.quickstart import ports
from zuul_nodes.quickstart.certificates import Certificates
from zuul_nodes.quickstart.zookeeper import ZooKeeper

# Whether a disk is slow today is not to be measured.
JAVA_OPTIONS = ('-Dzookeeper.4lw.commands.whitelist=cons,srvr'
                ' -Dzookeeper.forceSync=no')
CONNECTION = re.compile(r'/[\d.]+:(\d+)\[\d+\]\((.*)\)')
# A file: this many bytes, then one transaction after the other.
LOG_HEADER = 16
# A transaction: checksum, length; session, number of the operation in it,
# number of the transaction.
LOG_ENTRY = struct.Struct('>qiqiq')


@dataclasses.dataclass(frozen=True)
class Usage:
    """What a process has used up to some moment.

    :ivar float cpu: seconds of CPU.
    :ivar dict operations: session -> number of its last operation.
    :ivar dict packets: session -> how many packets the server received.
    :ivar int zxid: the last transaction of the server.
    """
    cpu: float
    operations: dict
    packets: dict
    zxid: int


@dataclasses.dataclass(frozen=True)
class Difference:
    """What a process has used from one moment to another.

    :ivar float cpu: seconds of CPU.
    :ivar int operations: what it asked of ZooKeeper, heartbeats not
        counted, a transaction being one.
    :ivar int packets: the same with heartbeats.
    :ivar int writes: those that were to change something.
    """
    cpu: float
    operations: int
    packets: int
    writes: int


class Server(ZooKeeper):
    """
    :param Path directory: for all that it writes.
    """

    def __init__(self, directory):
        super().__init__(
            directory, Certificates(directory / 'certificates'),
            ports.freePort(),
            environment={**os.environ, 'JAVA_TOOL_OPTIONS': JAVA_OPTIONS})

    def makeRoot(self, name):
        """Make a path below which somebody has ZooKeeper to himself."""
        client = self.client()
        client.start()
        client.create(f'/{name}')
        client.stop()
        client.close()

    def removeRoot(self, name):
        """Remove it with all that is below."""
        client = self.client()
        client.start()
        levels = [[f'/{name}']]
        while levels[-1]:
            results = [(path, client.get_children_async(path))
                       for path in levels[-1]]
            levels.append([f'{path}/{child}' for path, result in results
                           for child in self._take(result) or ()])
        for level in reversed(levels):
            for result in [client.delete_async(path) for path in level]:
                self._take(result)
        client.stop()
        client.close()

    @staticmethod
    def _take(result):
        # What was in use a moment ago may go, or come, by itself.
        with contextlib.suppress(NoNodeError, NotEmptyError):
            return result.get()

    def ask(self, word):
        """:return: the answer to a four-letter command."""
        context = ssl.create_default_context(cafile=self.certificates.ca)
        context.load_cert_chain(self.certificates.client_cert,
                                self.certificates.client_key)
        with socket.create_connection((ports.LOOPBACK, self.port), 10) \
                as sock, context.wrap_socket(
                    sock, server_hostname=ports.LOOPBACK) as stream:
            stream.sendall(word.encode())
            return stream.makefile().read()

    def getOperations(self, pid):
        """
        :return: two dicts for the sessions of a process: session -> number
            of its last operation, and session -> packets received.
        """
        local_ports = {
            connection.laddr.port
            for connection in psutil.Process(pid).net_connections('tcp')
            if connection.raddr and connection.raddr.port == self.port}
        operations, packets = {}, {}
        for port, text in CONNECTION.findall(self.ask('cons')):
            fields = dict(field.split('=', 1) for field in text.split(',')
                          if '=' in field)
            if int(port) in local_ports and 'sid' in fields:
                session = int(fields['sid'], 16)
                operations[session] = int(fields['lcxid'], 16)
                packets[session] = int(fields['recved'])
        return operations, packets

    def getUsage(self, pid):
        """:return: :class:`Usage` of a process."""
        times = psutil.Process(pid).cpu_times()
        zxid = re.search(r'Zxid: 0x([0-9a-f]+)', self.ask('srvr'))
        return Usage(times.user + times.system, *self.getOperations(pid),
                     int(zxid[1], 16))

    def getDifference(self, before, after):
        """
        :param Usage before: of a process.
        :param Usage after: of the same process, later.
        :return: :class:`Difference`
        """
        def count(earlier, later):
            return sum(number - earlier.get(session, 0)
                       for session, number in later.items())

        sessions = before.operations.keys() | after.operations.keys()
        return Difference(
            after.cpu - before.cpu,
            count(before.operations, after.operations),
            count(before.packets, after.packets),
            sum(1 for session, zxid in self._readLog(before.zxid)
                if before.zxid < zxid <= after.zxid and session in sessions))

    def _readLog(self, begin):
        """:return: yields session and number of each transaction after
            that number, and of some before it."""
        files = sorted((int(path.suffix[1:], 16), path) for path in
                       self.directory.glob('data/version-2/log.*'))
        for index, (_, path) in enumerate(files):
            if index + 1 < len(files) and files[index + 1][0] <= begin:
                continue
            data = path.read_bytes()
            offset = LOG_HEADER
            while offset + LOG_ENTRY.size <= len(data):
                _, length, session, _, zxid = LOG_ENTRY.unpack_from(
                    data, offset)
                if not length:
                    # Made longer in advance.
                    break
                yield session, zxid
                # Checksum and length before it, a letter behind it.
                offset += 12 + length + 1
