"""How far something is that takes its time, and how long it may take."""

import logging
import threading
import time

from zuul_nodes.imagefiles import ArtifactError

# Seconds in which a download has to get on.
WINDOW = 60
# Seconds between two lines about it in the log.
PROGRESS_INTERVAL = 30

log = logging.getLogger('zuul.nodes.images')


class Progress:
    """Lines about something that takes its time.

    :param str what: is done.
    :param int total: bytes, or 0 if that is not known.
    :param tell: called with each line, which also goes to the log.
    """

    def __init__(self, what, total, tell=None):
        self.what = what
        self.total = total
        self.tell = tell
        self._done = 0
        self._next = time.monotonic() + PROGRESS_INTERVAL
        self._lock = threading.Lock()

    def add(self, size):
        """:param int size: bytes that have been done."""
        with self._lock:
            self._done += size
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + PROGRESS_INTERVAL
            line = f'{self.what}: {self}'
        log.info('%s', line)
        if self.tell:
            self.tell(line)

    def __str__(self):
        if not self.total:
            return f'{self._done >> 20} MiB'
        return (f'{self._done >> 20} of {self.total >> 20} MiB, '
                f'{100 * self._done // self.total} %')


class Pace:
    """How long a download may take.

    :param float timeout: seconds in all.
    :param int rate: bytes in a second that have to come at least.
    """

    def __init__(self, timeout, rate=0):
        self.timeout = timeout
        self.rate = rate
        self._end = time.monotonic() + timeout
        self._start = time.monotonic()
        self._size = 0
        self._lock = threading.Lock()

    def add(self, size):
        """:param int size: bytes that have come."""
        with self._lock:
            self._size += size

    def check(self, name):
        """
        :param str name: what is downloaded, for people.
        :raises ArtifactError: it takes too long.
        """
        now = time.monotonic()
        if now >= self._end:
            raise ArtifactError(
                f'Downloading {name} has not ended in {self.timeout:g} '
                'seconds, which is "image_timeout" in the section "launcher" '
                'of zuul.conf')
        with self._lock:
            seconds, size = now - self._start, self._size
            if seconds < WINDOW:
                return
            self._start, self._size = now, 0
        if size < self.rate * seconds:
            raise ArtifactError(
                f'Downloading {name} is given up: {size} bytes have come in '
                f'{seconds:.0f} seconds, fewer than "image_minimum_rate" in '
                'the section "launcher" of zuul.conf demands, which is '
                f'{self.rate} a second')
