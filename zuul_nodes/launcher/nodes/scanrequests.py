"""Scans one machine with Zuul's state machine, at each of its addresses.

Zuul's request connects only to the first address of a host; this one tries
each in turn.
"""

import contextlib
import math

from zuul.launcher import server

# Seconds after which Zuul's request gives up an attempt to connect.
ATTEMPT = 10


class Request(server.NodescanRequest):
    """Zuul's state machine of a scan, whose attempts go to the addresses in
    turn.

    After an address has answered, the scan continues there.

    :param ProviderNode node:
    :param log: logger of the scan.
    :param list addresses: of the host, in the form of :meth:`.Lookups.find`;
        at least one.
    """

    def __init__(self, node, log, addresses):
        # Zuul's request would look up a name here, which could block.
        super().__init__(Target(node, addresses[0][1][0]), log)
        self.node = node
        self.ip = node.interface_ip
        self._addresses = [(family, (host, self.port, *rest))
                           for family, (host, _, *rest) in addresses]
        self._turn = -1
        # Even if one address never answers, each of the others gets two
        # attempts within the node's boot time-out.
        self._polling = ATTEMPT if len(addresses) == 1 else min(
            ATTEMPT, node.boot_timeout / 2 / len(addresses))

    def isRoundOver(self):
        """:return: whether each address has been tried in this round."""
        return self._turn == len(self._addresses) - 1

    def _connect(self):
        is_new = self.state == self.START
        if is_new:
            self._turn = (self._turn + 1) % len(self._addresses)
            self.family, self.sockaddr = self._addresses[self._turn]
        try:
            super()._connect()
        except OSError as error:
            # For example, there is no route at present.  Such an attempt fails
            # at once.
            self.log.debug('Unable to connect to %s (%s) on port %s: %s',
                           self.ip, self.sockaddr[0], self.port, error)
            self.connect_start_time = -math.inf
        else:
            if is_new:
                # Zuul's request ends an attempt after ATTEMPT seconds.
                self.connect_start_time -= ATTEMPT - self._polling

    def _close(self):
        transport = self.transport
        super()._close()
        # If the handshake is not complete, paramiko's thread for its time-out
        # would continue to wait.
        with contextlib.suppress(AttributeError):
            transport.packetizer.complete_handshake()


class Check(Request):
    """Checks that the machine still shows one of the host keys in the node's
    record.

    It ends with the first match, usually after one connection.  If the record
    has no host key, any key ends it.
    """

    def _nextKey(self):
        if self.key_index == -1:
            # Zuul's request has connected to see whether the machine answers;
            # it then continues with all types of keys.
            key = self.transport.get_remote_server_key()
            self.keys.append(f'{key.get_name()} {key.get_base64()}')
            wanted = {known.split()[0] for known in self.node.host_keys}
            self.key_types = [
                name for name in self.key_types
                if _getKeyType(name) in wanted - {key.get_name()}]
        if not self.node.host_keys or not set(self.keys).isdisjoint(
                self.node.host_keys):
            self.state = self.COMPLETE
        else:
            super()._nextKey()


def _getKeyType(algorithm):
    """:return: the key type of a signature algorithm (RFC 8332, section 3)."""
    return 'ssh-rsa' if algorithm.startswith('rsa-sha2-') else algorithm


class Target:
    """Replaces the name of a node by one of its addresses.

    :param ProviderNode node:
    :param str address: replaces the node's name.
    """

    def __init__(self, node, address):
        self._node = node
        self.interface_ip = address

    def __getattr__(self, name):
        return getattr(self._node, name)
