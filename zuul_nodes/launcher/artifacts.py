"""Artifacts of image builds: from where a job has put them to a file.

An artifact is large.  All here works in blocks and asks before each one
whether to go on, so that a launcher that stops does not wait for it.
"""

from concurrent.futures import FIRST_EXCEPTION, wait
import contextlib
import hashlib
import logging
import os
import threading
import time

import requests
import urllib3

from zuul_nodes import imagefiles, messages
from zuul_nodes.imagefiles import (
    BLOCK_SIZE,
    ArtifactError,
    WrongArtifactError,
)
from zuul_nodes.launcher.threads import Threads
from zuul_nodes.launcher.workqueue import getPause

# How formats end that are compressed themselves.
COMPRESSED = ('.gz', '.xz', '.zst')
# What one request asks for, and how many requests there are at a time.
CHUNK_SIZE = 100 * BLOCK_SIZE
CONNECTIONS = 5
# Whoever waits asks so often whether to go on (seconds).
CHECK_INTERVAL = 1
# How often a transfer may break without having got on.
ATTEMPTS = 5
# Seconds in which a download has to get on.
WINDOW = 60
# Seconds between two lines about it in the log.
PROGRESS_INTERVAL = 30
# It is the file's own bytes that ranges and sizes are about.
HEADERS = {'Accept-Encoding': 'identity'}
# The server may answer another time.
TEMPORARY = (requests.codes.request_timeout, requests.codes.too_many_requests)

log = logging.getLogger('zuul.Launcher')


class IncompleteError(ArtifactError):
    """The server has not sent all; it may another time."""


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


def getName(url):
    """:return: a URL without what may be a secret in it, for people."""
    return messages.withoutSecrets(url)


def download(source, path, check, room, pace, tell=None):
    """
    :param Source source: of the file.
    :param str path: the file to write.
    :param check: called before each block, and while there is none; what
        it raises ends it.
    :param Room room:
    :param Pace pace: which has just begun.
    :param tell: called with a line about the progress now and then.
    :raises ArtifactError: it is not to be had, or there is no room.
    :raises RefusedError: it may not be had from there.
    :raises requests.RequestException: the server does not give it.
    """
    name = getName(source.url)
    failed = threading.Event()

    def checkAll(more=0):
        """:param int more: bytes that are about to be written."""
        check()
        if more:
            pace.add(more)
            # The file has its size from the beginning, but no room yet.
            room.check(size, more)
        if failed.is_set():
            raise ArtifactError('Another part could not be downloaded')
        pace.check(name)

    # Nobody can end one that waits for a server: it is left alone.
    threads = Threads(None, 'Download', CONNECTIONS)
    try:
        size, = _await([threads.submit('', getSize, source)], checkAll)
        room.check(size, size)
        with open(path, 'wb') as file:
            file.truncate(size)
        progress = Progress(f'Downloading {name}', size, tell)
        _await([
            threads.submit('', _downloadChunk, source, path, start,
                           min(start + CHUNK_SIZE, size), size, checkAll,
                           progress)
            for start in range(0, size, CHUNK_SIZE)], checkAll)
    except BaseException:
        failed.set()
        raise
    log.debug('Downloaded %s bytes to %s', size, path)


def _await(futures, check):
    """
    :param list futures:
    :param check: called now and then; what it raises ends it.
    :return: a list of their results.
    :raises: what the first one raises that does.
    """
    left = futures
    while left:
        done, left = wait(left, CHECK_INTERVAL, FIRST_EXCEPTION)
        for future in done:
            future.result()
        if left:
            check()
    return [future.result() for future in futures]


def getSize(source):
    """:return: the number of bytes of a Source."""
    with source.send('HEAD', HEADERS) as response:
        if response.ok and 'content-length' in response.headers:
            return int(response.headers['content-length'])
    # A URL may be signed for nothing but GET.
    with source.send(
            'GET', {**HEADERS, 'Range': 'bytes=0-0'}) as response:
        response.raise_for_status()
        if 'content-range' in response.headers:
            return int(response.headers['content-range'].split('/')[-1])
        return int(response.headers['content-length'])


def _downloadChunk(source, path, start, end, size, check, progress):
    """Download a part, from where it broke if it did.

    :param check: called with the number of bytes before they are written,
        and without while there are none; what it raises ends it.
    """
    failures = 0
    with open(path, 'r+b') as file:
        file.seek(start)
        while True:
            begin = file.tell()
            try:
                return _continue(
                    source, file, start, end, size, check, progress)
            except (requests.RequestException, IncompleteError) as error:
                check()
                if not _isTemporary(error):
                    raise
                failures = 0 if file.tell() > begin else failures + 1
                if failures >= ATTEMPTS:
                    raise
                log.info('%s broke, going on from byte %s: %s',
                         progress.what, file.tell(),
                         messages.withoutSecrets(error))
                _pause(getPause(failures), check)


def _continue(source, file, start, end, size, check, progress):
    check()
    begin = file.tell()
    name = getName(source.url)
    with source.send('GET', {
            **HEADERS, 'Range': f'bytes={begin}-{end - 1}'}) as response:
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            # The server knows no ranges, and sends everything.
            if start:
                return
            end = size
            progress.add(-begin)
            file.seek(0)
        for block in _read(response):
            if len(block) > end - file.tell():
                raise ArtifactError(
                    f'{name} has {size} bytes; more than those from '
                    f'{begin} to {end} have come')
            check(len(block))
            file.write(block)
            progress.add(len(block))
        if file.tell() != end:
            raise IncompleteError(
                f'{name} has {size} bytes; of those from {start} to '
                f'{end}, {file.tell() - start} have come')


def _read(response):
    """:return: yields what has come, be it little: who waits for more can
        not be asked whether to go on."""
    try:
        while block := response.raw.read1(BLOCK_SIZE, decode_content=False):
            yield block
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(error) from error


def _isTemporary(error):
    response = getattr(error, 'response', None)
    if response is None:
        return True
    return response.status_code >= 500 or response.status_code in TEMPORARY


def _pause(seconds, check):
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        check()
        time.sleep(min(left, CHECK_INTERVAL))


def decompress(path, check, room, tell=None):
    """Replace a file by what is in it, if it is compressed.

    :param str path: of a file.
    :param check: called before each block; what it raises ends it.
    :param Room room:
    :param tell: called with a line about the progress now and then.
    :raises ArtifactError: it is broken, or too large.
    """
    with open(path, 'rb') as source:
        if not imagefiles.isCompressed(source):
            return
        target = f'{path}.new'
        progress = Progress(
            f'Decompressing {os.path.basename(path)}', 0, tell)
        size = 0
        with contextlib.closing(imagefiles.readBlocks(source)) as blocks, \
                open(target, 'wb') as file:
            for block in blocks:
                check()
                size += len(block)
                room.check(size, len(block))
                file.write(block)
                progress.add(len(block))
    os.rename(target, path)


def verify(path, checksums, check):
    """
    :param str path: of a file.
    :param dict checksums: algorithm -> what the checksum must be, in
        hexadecimal, or None; if there is none, any file will do.
    :param check: called before each block; what it raises ends it.
    :raises WrongArtifactError: it is another one.
    """
    digests = {name: hashlib.new(name, usedforsecurity=False)
               for name, expected in checksums.items() if expected}
    if not digests:
        log.debug('There is no checksum for %s', path)
        return
    with open(path, 'rb', buffering=0) as file:
        while block := file.read(BLOCK_SIZE):
            check()
            for digest in digests.values():
                digest.update(block)
    for name, digest in digests.items():
        if digest.hexdigest() != checksums[name].lower():
            raise WrongArtifactError(
                f'The {name} of {path} is {digest.hexdigest()}, the artifact '
                f'says {checksums[name]}')
