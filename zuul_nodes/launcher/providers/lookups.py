"""Looks up names, in one thread for each name.

The C library waits for a name server for as long as ``resolv.conf`` says, and
such a wait cannot be interrupted.  So all callers share the running look-up of
a name: however often a name is requested that hangs, there are no more threads
than names.
"""

import concurrent.futures
import ipaddress
import socket
import threading


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
            future = concurrent.futures.Future()
            self._run(future, host)
            return future
        with self._lock:
            future = self._running.get(host)
            if future is None:
                future = concurrent.futures.Future()
                try:
                    threading.Thread(
                        target=self._run, args=(future, host),
                        name=f'Lookup-{host}', daemon=True).start()
                except RuntimeError as error:
                    # A thread may be available at the next attempt.
                    future.set_exception(OSError(str(error)))
                else:
                    self._running[host] = future
            return future

    def _run(self, future, host):
        try:
            set_outcome, outcome = future.set_result, _find(host)
        except Exception as error:
            set_outcome, outcome = future.set_exception, error
        # Before the callbacks: they may ask again at once, and must not get
        # this answer.
        with self._lock:
            self._running.pop(host, None)
        set_outcome(outcome)


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
