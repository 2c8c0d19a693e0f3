"""Scans the host keys of many machines in one thread.

The steps of a scan are Zuul's: it connects until the machine answers, and then
once for each type of host key.  This module decides when a scan takes its next
step: as soon as its connection, its negotiation or its due time is ready.
Only paramiko, which negotiates, and name look-ups use threads of their own
while they run.

Temporary problems do not fail a scan before ``boot-timeout``: the scan retries
a name server that has an error and a name that is not known yet, and tries
each address of a name in turn.

The number of simultaneous connections is limited.  After each attempt, a
machine that does not answer yields its place to the next one, so that machines
that never answer do not delay the others.
"""

import collections
import concurrent.futures
import contextlib
import heapq
import itertools
import logging
import math
import os
import select
import threading
import time

from zuul.exceptions import ConnectionTimeoutException

from zuul_nodes.drivers import bounds
from zuul_nodes.launcher.nodes.scanrequests import ATTEMPT, Request
from zuul_nodes.launcher.providers import Lookups

# Maximum seconds of one wait: the kernel's timers are limited.
LONGEST_WAIT = 3600
SSH_TYPES = ('ssh', 'network_cli')


def needsScan(node):
    """
    :param ProviderNode node: a node whose instance exists.
    :return: whether the launcher has to connect to the node before it is used.
    """
    return bool(node.host_key_checking and node.interface_ip
                and node.connection_port)


class HostKeyScanner:
    """Connects to machines and reads their host keys.

    :param done: called as ``done(key, scan)`` from the scanner's thread when a
        scan is complete, unless the scan was cancelled before.
    :param checkAddress: called with a node and an address of its host; raises
        a BoundError if the launcher must not connect to the address.
    :param int max_active: maximum number of simultaneous connections.
    :param Lookups names: finds the addresses of hosts.
    :param float retry: seconds between a failed attempt and the next one.
    """

    log = logging.getLogger('zuul.nodes.nodes')

    def __init__(self, done, checkAddress=lambda node, address: None,
                 max_active=100, names=None, retry=1.0):
        self.done = done
        self.checkAddress = checkAddress
        self.max_active = max_active
        self.names = names or Lookups()
        self.retry = retry
        # Key -> Scan, of the scans that are not complete.
        self._scans = {}
        self._lock = threading.Lock()
        self._sockets = Sockets()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._run, name='HostKeyScanner', daemon=True)
        # Scans without a running attempt: those whose turn is next, and a heap
        # of those whose next attempt is due later.
        self._pending = collections.deque()
        self._waiting = []
        self._numbers = itertools.count()
        self._active = []

    def start(self):
        self._thread.start()

    def stop(self):
        """Cancel all scans, without calling ``done``."""
        self._stopped = True
        self._sockets.wake()

    def join(self):
        """Wait until all connections are closed."""
        if self._thread.ident is not None:
            self._thread.join()

    def add(self, key, node, log, request_class=None):
        """Start a scan, or return the scan that runs under the same key.

        :param key: identifies the scan.
        :param ProviderNode node: the node to scan.
        :param log: logger of the scan.
        :param request_class: class of the scan's steps; :class:`Request` if
            None.
        :return: the :class:`Scan`.
        """
        with self._lock:
            if key in self._scans:
                return self._scans[key]
            scan = self._scans[key] = Scan(
                key, node, log, self._sockets, request_class or Request,
                self.checkAddress, self.names)
            scan.retry = self.retry
        self._pending.append(scan)
        self._sockets.wake()
        return scan

    def cancel(self, key):
        """Cancel a scan, if there is one."""
        with self._lock:
            scan = self._scans.pop(key, None)
            if scan is None:
                return
            scan.cancelled = True
        self._sockets.wake()

    def length(self):
        """:return: number of scans that are not complete."""
        return len(self._scans)

    def _run(self):
        try:
            while not self._stopped:
                self._step(self._sockets.wait(self._getTimeout()))
        finally:
            for scan in self._active:
                scan.close()
            self._sockets.close()

    def _getTimeout(self):
        """:return: seconds until a scan is due; None if none is."""
        if self._pending and len(self._active) < self.max_active:
            return 0
        times = [scan.due for scan in self._active]
        if self._waiting:
            times.append(self._waiting[0][0])
        if not times:
            return None
        return min(max(0, min(times) - time.monotonic()), LONGEST_WAIT)

    def _step(self, ready):
        """:param set ready: the descriptors of sockets that are ready."""
        # For all scans first: a closed descriptor may become another scan's.
        for scan in self._active:
            scan.noteReady(ready)
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            self._pending.append(heapq.heappop(self._waiting)[-1])
        while self._pending and len(self._active) < self.max_active:
            self._active.append(self._pending.popleft())
        for scan in list(self._active):
            if scan.cancelled:
                scan.close()
                self._active.remove(scan)
            elif scan.isDue(now) and not scan.advance(now):
                self._active.remove(scan)
                if scan.complete:
                    self._reportScan(scan)
                else:
                    heapq.heappush(self._waiting, (
                        scan.due, next(self._numbers), scan))

    def _reportScan(self, scan):
        with self._lock:
            if scan.cancelled:
                return
            del self._scans[scan.key]
        try:
            self.done(scan.key, scan)
        except Exception:
            self.log.exception('Error after the scan of %s:', scan.key)


class Scan:
    """The scan of one machine.

    :ivar bool complete: whether there is a result.
    :ivar bool cancelled: whether the scan was cancelled.
    :ivar bool host_key_checking: whether the node is scanned.
    :ivar bool gather_hostkeys: whether the scan reads host keys.  If not, it
        only checks that the port accepts a connection.
    :ivar float due: when to advance unless a socket is ready before, by the
        monotonic clock.
    """

    def __init__(self, key, node, log, sockets, request_class, checkAddress,
                 names):
        self.key = key
        self.node = node
        self.log = log
        self.request_class = request_class
        self.checkAddress = checkAddress
        self.names = names
        self.host_key_checking = node.host_key_checking
        self.gather_hostkeys = node.connection_type in SSH_TYPES
        self.complete = False
        self.cancelled = False
        self.due = -math.inf
        self._sockets = sockets
        self._start_time = None
        self._deadline = None
        self._lookup = None
        self._lookup_end = None
        # Why the last look-up has failed.
        self._problem = None
        self._request = None
        self._ready = False
        self._paused = False
        self._keys = []
        self._exception = None

    def result(self):
        """:return: a list of host keys, such as ``ssh-ed25519 AAAA...``.
        :raises ConnectionTimeoutException: the machine did not answer in time.
        :raises BoundError: the launcher may not connect to any of the node's
            addresses.
        """
        if self._exception:
            raise self._exception
        return self._keys

    def noteReady(self, descriptors):
        """:param set descriptors: descriptors of the sockets that are ready.
        """
        sock = self._request and self._request.sock
        if sock and sock.fileno() in descriptors:
            self._ready = True

    def isDue(self, now):
        """:return: whether the scan can advance."""
        if now >= self.due:
            return True
        if self._request is None:
            return self._lookup is not None and self._lookup.done()
        event = self._request.event
        return not self._paused and (
            self._ready or (event is not None and event.is_set()))

    def advance(self, now):
        """Take the next step.

        :return: whether an attempt is running.  If not, the scan is complete,
            or its next attempt is due later.
        """
        try:
            if needsScan(self.node):
                return self._advance(now)
            self._finish()
        except Exception as error:
            self._exception = error
            self.complete = True
            self._giveUp(error)
        return False

    def close(self):
        """Cancel the scan."""
        self._giveUp(concurrent.futures.CancelledError())

    def _advance(self, now):
        if self._start_time is None:
            # The time-out does not include the wait for the first attempt.
            self._start_time = now
            self._deadline = now + self.node.boot_timeout
        if now >= self._deadline:
            raise ConnectionTimeoutException(
                f'Timeout connecting to {self.node.interface_ip} '
                f'on port {self.node.connection_port}'
                + (f': {self._problem}' if self._problem else ''))
        if self._request is None:
            addresses = self._lookUp(now)
            if addresses is None:
                return self._lookup is not None
            self._request = self._makeRequest(addresses)
        return self._advanceRequest(now)

    def _lookUp(self, now):
        """:return: the addresses of the host, in the form of
            :meth:`.Lookups.find`; None while the look-up is running."""
        if self._lookup is None:
            self._lookup_end = now + self.names.timeout
            self._lookup = self.names.find(self.node.interface_ip)
            self._lookup.add_done_callback(lambda _: self._sockets.wake())
        if self._lookup.done():
            try:
                return self._lookup.result()
            except OSError as error:
                self._problem = error.strerror or str(error)
        elif now < self._lookup_end:
            self.due = min(self._lookup_end, self._deadline)
            return None
        else:
            self._problem = (f'no answer from a name server in '
                             f'{self.names.timeout:g} seconds')
        self.log.debug('Unable to look up %s: %s',
                       self.node.interface_ip, self._problem)
        self._lookup = None
        self.due = min(now + self.retry, self._deadline)
        return None

    def _makeRequest(self, addresses):
        """Create a request that connects to the allowed addresses.

        :param list addresses: of the host.
        :raises BoundError: the launcher may not connect to any of them.
        """
        allowed, refused = [], None
        for family, address in addresses:
            try:
                self.checkAddress(self.node, address[0])
            except bounds.BoundError as error:
                refused = error
                self.log.debug('Not connecting to %s: %s', address[0], error)
            else:
                allowed.append((family, address))
        if not allowed:
            raise refused
        request = self.request_class(self.node, self.log, allowed)
        request.start_time = self._start_time
        request.setWorker(self._sockets)
        return request

    def _advanceRequest(self, now):
        request = self._request
        failures = request.key_connection_failures
        ready, self._ready = self._ready, False
        request.advance(ready)
        if request.complete:
            self._finish()
            return False
        # After the first answer, Zuul's request reconnects immediately,
        # however often the machine refuses the connection.
        self._paused = request.key_connection_failures > failures
        if request.state == request.START and not request.isRoundOver():
            due = now
        elif self._paused or request.state == request.START:
            due = now + self.retry
        elif request.state in (request.CONNECTING_INIT,
                               request.CONNECTING_KEY):
            due = request.connect_start_time + ATTEMPT
        else:
            due = self._deadline
        self.due = min(due, self._deadline)
        return request.state != request.START

    def _finish(self):
        if self._request:
            self._request.cleanup()
            self._keys = self._request.keys
        self.complete = True

    def _giveUp(self, error):
        try:
            if self._request:
                self._request.fail(error)
        except Exception:
            # The error of one scan must not end the scanner's thread.
            self.log.exception('Unable to end the scan of %s:', self.key)


class Sockets:
    """The sockets that the scanner waits for; takes the place of the worker of
    Zuul's requests.

    :ivar int wake_write: descriptor; writing to it ends the wait.
    """

    def __init__(self):
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)
        self._poll = select.epoll()
        self._poll.register(self.wake_read, select.EPOLLIN)

    def __del__(self):
        # Not in close(): paramiko's threads may still write to the pipe, and
        # the descriptor could belong to another file by then.
        os.close(self.wake_read)
        os.close(self.wake_write)

    def wake(self):
        # A full pipe ends the wait as well.
        with contextlib.suppress(BlockingIOError):
            os.write(self.wake_write, b'\n')

    def wait(self, timeout):
        """Wait until a socket is ready or :meth:`wake` is called.

        :param float timeout: seconds; None for no limit.
        :return: a set of the descriptors of sockets whose connection succeeded
            or failed; each is reported once.
        """
        ready = {descriptor for descriptor, _ in self._poll.poll(timeout)}
        if self.wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wake_read, select.PIPE_BUF)
        return ready

    def close(self):
        """Stop waiting for sockets."""
        self._poll = None

    def registerDescriptor(self, sock):
        self._poll.register(sock, select.EPOLLOUT | select.EPOLLONESHOT)

    def unRegisterDescriptor(self, sock):
        # Paramiko may have closed the socket.
        with contextlib.suppress(ValueError, OSError):
            self._poll.unregister(sock)
