"""What a scan does with one machine: Zuul's state machine, at any address.

Zuul's knows one address of a host, the first; ours takes each in turn.
"""

import contextlib
import math

from zuul.launcher import server

# Seconds after which Zuul's request gives up an attempt to connect.
ATTEMPT = 10


class Request(server.NodescanRequest):
    """Zuul's state machine of a scan; each attempt is at the next address.

    Once one has answered, the scan goes on there.

    :param ProviderNode node:
    :param log: where it says what happens.
    :param list addresses: of the host, as of :meth:`.Lookups.find`, one at
        least.
    """

    def __init__(self, node, log, addresses):
        # Zuul's looks up the address, which must not take any time.
        super().__init__(Target(node, addresses[0][1][0]), log)
        self.node = node
        self.ip = node.interface_ip
        self._addresses = [(family, (host, self.port, *rest))
                           for family, (host, _, *rest) in addresses]
        self._turn = -1
        # One that swallows what is sent to it leaves time for the others,
        # twice.
        self._polling = ATTEMPT if len(addresses) == 1 else min(
            ATTEMPT, node.boot_timeout / 2 / len(addresses))

    def isRoundOver(self):
        """:return: whether each address has had its turn."""
        return self._turn == len(self._addresses) - 1

    def _connect(self):
        is_new = self.state == self.START
        if is_new:
            self._turn = (self._turn + 1) % len(self._addresses)
            self.family, self.sockaddr = self._addresses[self._turn]
        try:
            super()._connect()
        except OSError as error:
            # No route at present, for example: an attempt that failed
            # before it could wait.
            self.log.debug('Unable to connect to %s (%s) on port %s: %s',
                           self.ip, self.sockaddr[0], self.port, error)
            self.connect_start_time = -math.inf
        else:
            if is_new:
                # Zuul ends an attempt that has taken ATTEMPT seconds.
                self.connect_start_time -= ATTEMPT - self._polling

    def _close(self):
        transport = self.transport
        super()._close()
        # If paramiko did not come to an end of the handshake, its thread
        # for the time-out of that would wait on.
        with contextlib.suppress(AttributeError):
            transport.packetizer.complete_handshake()


class Check(Request):
    """Looks for one of the host keys that the node has in its record.

    It ends with the first: as a rule, it connects once.  If the record has
    none, it ends when the machine has shown any.
    """

    def _nextKey(self):
        if self.key_index == -1:
            # Zuul has connected to learn that it answers, and goes on with
            # all types of keys.
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
    """:return: the type of the keys of a signature algorithm (RFC 8332,
        section 3)."""
    return 'ssh-rsa' if algorithm.startswith('rsa-sha2-') else algorithm


class Target:
    """A node at one of its addresses.

    :param ProviderNode node:
    :param str address: in place of its name.
    """

    def __init__(self, node, address):
        self._node = node
        self.interface_ip = address

    def __getattr__(self, name):
        return getattr(self._node, name)
