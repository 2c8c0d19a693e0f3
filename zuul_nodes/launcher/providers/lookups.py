"""Look-ups of names: in threads of their own, one for each name.

The C library waits for a name server as long as ``resolv.conf`` says, and
nothing can end such a wait.  So all who ask for a name while it is looked up
share that look-up: there are no more threads than names, however often one
that hangs is asked for.
"""

import concurrent.futures
import ipaddress
import socket
import threading


class Lookups:
    """Finds the addresses of hosts without waiting for them.

    :ivar float timeout: seconds after which a look-up without an answer has
        failed for who asked.
    """

    def __init__(self, timeout=10):
        self.timeout = timeout
        self._lock = threading.Lock()
        # Host -> the Future of its look-up.
        self._running = {}

    def find(self, host):
        """
        :param str host: a name or an IP address.
        :return: a Future of a list of (family, socket address), none twice,
            in the order in which to try them; the port is 0.  Its error is
            an OSError if another attempt may succeed.
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
                    # There may be room for another thread the next time.
                    future.set_exception(OSError(str(error)))
                else:
                    self._running[host] = future
            return future

    def _run(self, future, host):
        try:
            set_outcome, outcome = future.set_result, _find(host)
        except Exception as error:
            set_outcome, outcome = future.set_exception, error
        # First, for who is told of the end may ask again at once, and that
        # is not to get this answer.
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
