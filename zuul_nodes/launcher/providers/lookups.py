"""Looks up names, in one thread for each name.

The C library waits for a name server for as long as ``resolv.conf`` says, and
such a wait cannot be interrupted.  So all callers share the running look-up of
a name: however often a name is requested that hangs, there are no more threads
than names.
"""

from concurrent.futures import Future
import ipaddress
import socket
import threading

from zuul_nodes.futures import begin, fulfil


class Lookups:
    """Looks up the addresses of hosts without blocking.

    :ivar float timeout: seconds after which callers should consider a look-up
        failed.
    """

    def __init__(self, timeout=10):
        self.timeout = timeout
        self._lock = threading.Lock()
        # Host -> the Future of its look-up.
        self._running = {}

    def find(self, host):
        """
        :param str host: a name or an IP address.
        :return: a Future of a list of (family, socket address) without
            duplicates, in the order in which to try them; the port is 0.  Its
            error is an OSError if a retry may succeed.
        """
        if _isAddress(host):
            future = Future()
            fulfil(future, _find, (host,))
            return future
        with self._lock:
            future = self._running.get(host)
            if future is None:
                try:
                    future = begin(f'Lookup-{host}', self._run, host)
                except RuntimeError as error:
                    # A thread may be available at the next attempt.
                    future = Future()
                    future.set_exception(OSError(str(error)))
                else:
                    self._running[host] = future
            return future

    def _run(self, host):
        try:
            return _find(host)
        finally:
            # Before the callbacks: they may ask again at once, and must not
            # get this answer.
            with self._lock:
                del self._running[host]


def _isAddress(host):
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _find(host):
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(
        (family, address) for family, *_, address in found))
