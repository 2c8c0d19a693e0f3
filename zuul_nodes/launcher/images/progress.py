"""Progress of long work, and the limits of a download's duration."""

import logging
import threading
import time

from zuul_nodes.imagefiles import ArtifactError

log = logging.getLogger('zuul.nodes.images')


class Progress:
    """Reports the progress of long work at intervals.

    :param str what: description of the work.
    :param int total: bytes, or 0 if not known.
    :param report: called with each line, which is also logged.
    :param float interval: seconds between two lines.
    """

    def __init__(self, what, total, report=None, interval=30.0):
        self.what = what
        self.total = total
        self.report = report
        self._done = 0
        self.interval = interval
        self._next = time.monotonic() + interval
        self._lock = threading.Lock()

    def addBytes(self, size):
        """:param int size: bytes that have been processed."""
        with self._lock:
            self._done += size
            now = time.monotonic()
            if now < self._next:
                return
            self._next = now + self.interval
            line = f'{self.what}: {self}'
        log.info('%s', line)
        if self.report:
            self.report(line)

    def __str__(self):
        if not self.total:
            return f'{self._done >> 20} MiB'
        return (f'{self._done >> 20} of {self.total >> 20} MiB, '
                f'{100 * self._done // self.total} %')


class Pace:
    """Checks the duration and the rate of a download.

    :param Settings settings: has the limits.
    :param clock: returns seconds.
    """

    def __init__(self, settings, clock=time.monotonic):
        self.settings = settings
        self.clock = clock
        self.timeout = settings.image_timeout
        self.rate = settings.image_minimum_rate
        self._end = clock() + self.timeout
        self._start = clock()
        self._size = 0
        self._lock = threading.Lock()

    def addBytes(self, size):
        """:param int size: bytes that have been received."""
        with self._lock:
            self._size += size

    def check(self, name):
        """
        :param str name: of the download, for people.
        :raises ArtifactError: the download takes too long or is too slow.
        """
        now = self.clock()
        if now >= self._end:
            raise ArtifactError(
                f'Downloading {name} has not ended in {self.timeout:g} '
                'seconds, the value of "image_timeout" in the section '
                '"launcher" of zuul.conf')
        with self._lock:
            seconds, size = now - self._start, self._size
            if seconds < self.settings.download_window:
                return
            self._start, self._size = now, 0
        if size < self.rate * seconds:
            raise ArtifactError(
                f'Downloading {name} is given up: {size} bytes have come in '
                f'{seconds:.0f} seconds, which is less than the {self.rate} '
                'bytes per second of "image_minimum_rate" in the section '
                '"launcher" of zuul.conf')
