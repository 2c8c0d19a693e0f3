"""Artifacts of image builds: from where a job has put them to a file.

An artifact is large.  All here works in blocks and asks before each one
whether to go on, so that a launcher that stops does not wait for it.
"""

from concurrent.futures import FIRST_EXCEPTION, wait
import contextlib
import gzip
import hashlib
import logging
import lzma
import os
import re
import shutil
import subprocess
import threading
import time
import zlib

import requests
import urllib3

from zuul_nodes.launcher.threads import Threads
from zuul_nodes.launcher.workqueue import getPause

# Seconds for a connection, and for whatever the server sends next.
TIMEOUT = (30, 300)
# What is read or written at once.
BLOCK_SIZE = 1 << 20
# What one request asks for, and how many requests there are at a time.
CHUNK_SIZE = 100 * BLOCK_SIZE
CONNECTIONS = 5
# Whoever waits asks so often whether to go on (seconds).
CHECK_INTERVAL = 1
# How often a transfer may break without having got on.
ATTEMPTS = 5
# Seconds between two lines about it in the log.
PROGRESS_INTERVAL = 30
# What is left on the disk for others.
RESERVE = 256 << 20
# It is the file's own bytes that ranges and sizes are about.
HEADERS = {'Accept-Encoding': 'identity'}
# The server may answer another time.
TEMPORARY = (requests.codes.request_timeout, requests.codes.too_many_requests)

log = logging.getLogger('zuul.Launcher')


class ArtifactError(Exception):
    """The artifact is not to be had, or not what it should be."""


class IncompleteError(ArtifactError):
    """The server has not sent all; it may another time."""


class Room:
    """What may be written.

    :param str directory: where.
    :param int limit: most bytes of one file.
    """

    def __init__(self, directory, limit):
        self.directory = directory
        self.limit = limit

    def check(self, size, more):
        """
        :param int size: bytes that the file will have, as far as is known.
        :param int more: how many of them are about to be written.
        :raises ArtifactError: it has no room.
        """
        if size > self.limit:
            raise ArtifactError(
                f'The image has at least {size} bytes, but {self.limit} are '
                'the most that "image_size_limit" in the section "launcher" '
                'of zuul.conf allows')
        free = shutil.disk_usage(self.directory).free
        if free < more + RESERVE:
            raise ArtifactError(
                f'There is no room for the image: {more} bytes are needed in '
                f'{self.directory}, which has {free}; {RESERVE} of them are '
                'left for others')


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


def getName(url):
    """:return: a URL without what may be a secret in it, for people."""
    return url.partition('?')[0]


def getReason(error):
    """:return: what an error says, without what may be a secret in the
        URLs that it names."""
    return re.sub(r'\?[^\s)]+', '', str(error))


def download(url, path, check, room, timeout, tell=None):
    """
    :param str url: of a file on a web server.
    :param str path: the file to write.
    :param check: called before each block, and while there is none; what
        it raises ends it.
    :param Room room:
    :param float timeout: seconds that it may take in all.
    :param tell: called with a line about the progress now and then.
    :raises ArtifactError: it is not to be had, or there is no room.
    :raises requests.RequestException: the server does not give it.
    """
    end = time.monotonic() + timeout
    failed = threading.Event()

    def checkAll(more=0):
        """:param int more: bytes that are about to be written."""
        check()
        if more:
            # The file has its size from the beginning, but no room yet.
            room.check(size, more)
        if failed.is_set():
            raise ArtifactError('Another part could not be downloaded')
        if time.monotonic() >= end:
            raise ArtifactError(
                f'Downloading {getName(url)} has not ended in {timeout:g} '
                'seconds, which is "image_timeout" in the section "launcher" '
                'of zuul.conf')

    # Nobody can end one that waits for a server: it is left alone.
    threads = Threads(None, 'Download', CONNECTIONS)
    try:
        size, = _await([threads.submit('', getSize, url)], checkAll)
        room.check(size, size)
        with open(path, 'wb') as file:
            file.truncate(size)
        progress = Progress(f'Downloading {getName(url)}', size, tell)
        _await([
            threads.submit('', _downloadChunk, url, path, start,
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


def getSize(url):
    """:return: the number of bytes that there are at a URL."""
    with requests.head(url, timeout=TIMEOUT, headers=HEADERS,
                       allow_redirects=True) as response:
        if response.ok and 'content-length' in response.headers:
            return int(response.headers['content-length'])
    # A URL may be signed for nothing but GET.
    with requests.get(url, stream=True, timeout=TIMEOUT,
                      headers={**HEADERS, 'Range': 'bytes=0-0'}) as response:
        response.raise_for_status()
        if 'content-range' in response.headers:
            return int(response.headers['content-range'].split('/')[-1])
        return int(response.headers['content-length'])


def _downloadChunk(url, path, start, end, size, check, progress):
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
                return _continue(url, file, start, end, size, check, progress)
            except (requests.RequestException, IncompleteError) as error:
                check()
                if not _isTemporary(error):
                    raise
                failures = 0 if file.tell() > begin else failures + 1
                if failures >= ATTEMPTS:
                    raise
                log.info('%s broke, going on from byte %s: %s',
                         progress.what, file.tell(), getReason(error))
                _pause(getPause(failures), check)


def _continue(url, file, start, end, size, check, progress):
    check()
    begin = file.tell()
    with requests.get(
            url, stream=True, timeout=TIMEOUT, headers={
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
                    f'{getName(url)} has {size} bytes; more than those from '
                    f'{begin} to {end} have come')
            check(len(block))
            file.write(block)
            progress.add(len(block))
        if file.tell() != end:
            raise IncompleteError(
                f'{getName(url)} has {size} bytes; of those from {start} to '
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


def getSuffix(path):
    """:return: the end of a name that says how a file is compressed, or an
        empty string."""
    return next((suffix for suffix in OPENERS if path.endswith(suffix)), '')


def decompress(path, check, room, tell=None):
    """
    :param str path: of a file; removed if it is compressed.
    :param Room room:
    :param tell: called with a line about the progress now and then.
    :return: the path of the same file, decompressed.
    :raises ArtifactError: it is not what it is called, or too large.
    """
    suffix = getSuffix(path)
    if not suffix:
        return path
    target = path.removesuffix(suffix)
    progress = Progress(f'Decompressing {path}', 0, tell)
    size = 0
    try:
        with OPENERS[suffix](path) as source, open(target, 'wb') as file:
            while block := source.read(BLOCK_SIZE):
                check()
                size += len(block)
                room.check(size, len(block))
                file.write(block)
                progress.add(len(block))
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise ArtifactError(
            f'Unable to decompress {path}: {error}') from error
    os.unlink(path)
    return target


@contextlib.contextmanager
def _openZstd(path):
    try:
        process = subprocess.Popen(
            ['zstd', '-dqc', path], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise ArtifactError(
            'This artifact needs the program "zstd", which is not '
            'installed here') from None
    with process:
        try:
            yield process.stdout
            messages = process.stderr.read().decode(errors='replace')
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ArtifactError(f'"zstd" failed: {messages.strip()}')


# How a file is compressed, by the end of its name.
OPENERS = {'.zst': _openZstd, '.gz': gzip.open, '.xz': lzma.open}


def verify(path, sha256, check):
    """
    :param str path: of a file.
    :param str sha256: what its checksum must be, in hexadecimal; if there
        is none, any file will do.
    :raises ArtifactError: it is another one.
    """
    if not sha256:
        log.debug('There is no checksum for %s', path)
        return
    digest = hashlib.sha256()
    with open(path, 'rb', buffering=0) as file:
        while block := file.read(BLOCK_SIZE):
            check()
            digest.update(block)
    if digest.hexdigest() != sha256.lower():
        raise ArtifactError(
            f'The checksum of {path} is {digest.hexdigest()}, the '
            f'artifact says {sha256}')
