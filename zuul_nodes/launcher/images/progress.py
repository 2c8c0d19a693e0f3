"""How far something is that takes its time, and how long it may take."""

import logging
import threading
import time

from zuul_nodes.imagefiles import ArtifactError

log = logging.getLogger('zuul.nodes.images')


class Progress:
    """Lines about something that takes its time.

    :param str what: is done.
    :param int total: bytes, or 0 if that is not known.
    :param tell: called with each line, which also goes to the log.
    :param float interval: seconds between two lines.
    """

    def __init__(self, what, total, tell=None, interval=30.0):
        self.what = what
        self.total = total
        self.tell = tell
        self._done = 0
        self.interval = interval
        self._next = time.monotonic() + interval
        self._lock = threading.Lock()

    def add(self, size):
        """:param int size: bytes that have been done."""
        with self._lock:
            self._done += size
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + self.interval
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
    """How a download goes on, and how long it may take.

    :param Settings settings:
    """

    def __init__(self, settings):
        self.settings = settings
        self.timeout = settings.image_timeout
        self.rate = settings.image_minimum_rate
        self._end = time.monotonic() + self.timeout
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
            if seconds < self.settings.download_window:
                return
            self._start, self._size = now, 0
        if size < self.rate * seconds:
            raise ArtifactError(
                f'Downloading {name} is given up: {size} bytes have come in '
                f'{seconds:.0f} seconds, fewer than "image_minimum_rate" in '
                'the section "launcher" of zuul.conf demands, which is '
                f'{self.rate} a second')
