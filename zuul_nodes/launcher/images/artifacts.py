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

from zuul_nodes import imagefiles, messages
from zuul_nodes.imagefiles import (
    BLOCK_SIZE,
    ArtifactError,
    EmptyImageError,
    WrongArtifactError,
)
from zuul_nodes.launcher.images.progress import Pace, Progress
from zuul_nodes.launcher.images.ranges import Part, PartError
from zuul_nodes.launcher.workers import Threads, getPause

__all__ = ['ArtifactError', 'Pace', 'WrongArtifactError']

# The server may answer another time.
TEMPORARY = (requests.codes.request_timeout, requests.codes.too_many_requests)

log = logging.getLogger('zuul.nodes.images')


class IncompleteError(ArtifactError):
    """The server has not sent all; it may another time."""


def getName(url):
    """:return: a URL without what may be a secret in it, for people."""
    return messages.withoutSecrets(url)


def download(source, path, check, disk_space, pace, tell=None, checked=False):
    """
    :param Source source: of the file.
    :param str path: the file to write.
    :param check: called before each block, and while there is none; what
        it raises ends it.
    :param DiskSpace disk_space:
    :param Pace pace: which has just begun.
    :param tell: called with a line about the progress now and then.
    :param bool checked: whether a checksum will be compared with what has
        come.
    :return: whether it is certain that all has come, and of one version of
        the file.  If not, it may come right another time.
    :raises ArtifactError: it is not to be had, or there is no space.
    :raises RefusedError: it may not be had from there.
    :raises requests.RequestException: the server does not give it.
    """
    def run(in_parts):
        return Download(
            source, path, check, disk_space, pace, tell, checked).run(in_parts)
    try:
        return run(in_parts=True)
    except PartError as error:
        log.info('Downloading %s in one piece: %s', getName(source.url),
                 error)
        return run(in_parts=False)


class Download:
    """A file that is downloaded in parts, or in one piece if its parts can't
    be told from those of another version.

    :param others: see :func:`download`.
    """

    def __init__(self, source, path, check, disk_space, pace, tell, checked):
        self.source = source
        self.name = getName(source.url)
        self.path = path
        self.check = check
        self.disk_space = disk_space
        self.pace = pace
        self.chunk_size = pace.settings.download_chunk_size
        self.checked = checked
        # Nobody can end one that waits for a server: it is left alone.
        self.threads = Threads(
            None, 'Download', pace.settings.download_connections)
        self.futures = []
        self.failed = threading.Event()
        self.progress = Progress(
            f'Downloading {self.name}', 0, tell,
            pace.settings.progress_interval)
        # What the first answer has said.
        self.version = None
        self.is_certain = True

    def run(self, in_parts):
        """
        :param bool in_parts: or in one piece, in which only what is left
            after it has broken is asked for by a range.
        :return: whether what has come is certain.
        """
        self.in_parts = in_parts
        # Those that were left alone write to what there was before.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        with open(self.path, 'xb'):
            pass
        try:
            self._submit(0, self.chunk_size)
            while left := [each for each in self.futures if not each.done()]:
                wait(left, self.pace.settings.download_check_interval,
                     FIRST_EXCEPTION)
                self._raiseErrors()
                self._check()
            self._raiseErrors()
        except BaseException:
            self.failed.set()
            raise
        log.debug('Downloaded %s bytes to %s', os.path.getsize(self.path),
                  self.path)
        return self.is_certain

    def _raiseErrors(self):
        for future in list(self.futures):
            if future.done():
                future.result()

    def _submit(self, start, end):
        self.futures.append(self.threads.submit('', self._fetch, start, end))

    def _check(self, more=0, position=0):
        """
        :param int more: bytes that are about to be written.
        :param int position: where.
        """
        self.check()
        if more:
            self.pace.add(more)
            # The file may have its size from the beginning, but no space yet.
            self.disk_space.check(
                max(position + more, self.version.size or 0), more)
        if self.failed.is_set():
            raise ArtifactError('Another part could not be downloaded')
        self.pace.check(self.name)

    @property
    def _can_resume(self):
        return self.checked or bool(self.version and self.version.is_known)

    def _fetch(self, start, end):
        """Download a part, from where it broke if it did.

        :param int end: behind its last byte, if there are other parts.
        """
        failures, furthest = 0, start
        self._check()
        with open(self.path, 'r+b') as file:
            file.seek(start)
            while True:
                try:
                    while not self._continue(file, end):
                        pass
                    return
                except (requests.RequestException, IncompleteError) as error:
                    failure = error
                except PartError as error:
                    if self.in_parts:
                        raise
                    failure = error
                self._check()
                if not _isTemporary(failure):
                    raise failure
                failures = 0 if file.tell() > furthest else failures + 1
                furthest = max(furthest, file.tell())
                if failures >= self.pace.settings.download_attempts:
                    raise failure
                if isinstance(failure, PartError) or not self._can_resume:
                    self._rewind(file)
                log.info('%s broke, going on from byte %s: %s',
                         self.progress.what, file.tell(),
                         messages.withoutSecrets(failure))
                _pause(getPause(failures), self._check,
                       self.pace.settings.download_check_interval)

    def _continue(self, file, end):
        """Ask for what comes next, and write it.

        :return: whether that was the last.
        """
        self._check()
        begin = file.tell()
        with Part(self.source, begin, self._getAsked(begin, end),
                  self.version) as part:
            begin = self._accept(part, file)
            if part.is_nothing:
                return self._endAt(begin)
            self._copy(part, file, end)
        if part.end is None:
            self.is_certain &= part.is_bounded
            return self._endAt(file.tell())
        if file.tell() == self._getLimit(end):
            return True
        if file.tell() == begin:
            raise IncompleteError(
                f'{self.name}: nothing has come from byte {begin} on')
        return False

    def _getAsked(self, begin, end):
        """:return: the end of what the next request asks for, or None if
            that is everything."""
        if not begin and not self.in_parts:
            return None
        limits = begin + self.chunk_size, self._getLimit(end)
        return min(each for each in limits if each is not None)

    def _getLimit(self, end):
        """:return: where a part ends, None if it is not known."""
        size = self.version and self.version.size
        return min(end, size) if self._is_split else size

    @property
    def _is_split(self):
        return len(self.futures) > 1

    def _accept(self, part, file):
        """Find out whether a part fits to what there is.

        :return: where it begins.
        """
        begin = file.tell()
        changed = self.version and not part.version.isLike(self.version)
        if part.start != begin or changed:
            if self._is_split or not part.is_whole:
                raise PartError(
                    f'after byte {begin}, the server sends another part or '
                    'another version')
            # It sends everything, as it knows no ranges or has a new one.
            self._rewind(file)
        if self.version is None:
            self._begin(part, file)
        elif self.version.size is None:
            self.version.size = part.version.size
        if part.start:
            self.is_certain &= self.version.is_known
        return part.start

    def _begin(self, part, file):
        self.version = part.version
        if not (part.is_bounded or self.checked):
            raise WrongArtifactError(
                f'{self.name} has no checksum, and its server sends neither '
                '"Content-Length" nor chunks: nothing tells whether all of '
                'it comes')
        if self.in_parts and not (part.is_whole or self._can_resume):
            raise PartError('neither a checksum nor the server tells whether '
                            'its parts are of one version')
        if (size := part.version.size) is None:
            return
        self.progress.total = size
        self.disk_space.check(size, size)
        file.truncate(size)
        if self.in_parts and not part.is_whole:
            for start in range(self.chunk_size, size, self.chunk_size):
                self._submit(start, start + self.chunk_size)

    def _rewind(self, file):
        self.progress.add(-file.tell())
        file.seek(0)
        file.truncate()
        self.version = None

    def _endAt(self, position):
        """:return: True; the file has that size."""
        if self.version.size not in (None, position):
            raise PartError(f'it has {self.version.size} bytes, but nothing '
                            f'comes after byte {position}')
        self.version.size = position
        return True

    def _copy(self, part, file, end):
        for block in part.readBlocks(BLOCK_SIZE):
            if part.end is not None and len(block) > part.end - file.tell():
                raise ArtifactError(
                    f'{self.name}: more than the bytes from {part.start} to '
                    f'{part.end}, which the server has announced, have come')
            limit = self._getLimit(end)
            wanted = block[:limit and limit - file.tell()]
            if not wanted:
                # It sends more than it was asked for.
                return
            self._check(len(wanted), file.tell())
            file.write(wanted)
            self.progress.add(len(wanted))
        if part.end is not None and file.tell() < part.end:
            raise IncompleteError(
                f'{self.name}: of the bytes from {part.start} to {part.end}, '
                f'{file.tell() - part.start} have come')


def _isTemporary(error):
    response = getattr(error, 'response', None)
    if response is None:
        return True
    return response.status_code >= 500 or response.status_code in TEMPORARY


def _pause(seconds, check, interval):
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        check()
        time.sleep(min(left, interval))


def decompress(path, check, disk_space, tell=None, interval=30.0):
    """Replace a file by what is in it, if it is compressed.

    :param str path: of a file.
    :param check: called before each block; what it raises ends it.
    :param DiskSpace disk_space:
    :param tell: called with a line about the progress now and then.
    :param float interval: seconds between two lines.
    :raises ArtifactError: it is broken, or too large.
    :raises EmptyImageError: there is nothing in it.
    """
    if not os.path.getsize(path):
        raise EmptyImageError('The file of the image is empty')
    if not imagefiles.isCompressed(path):
        return
    with open(path, 'rb') as source:
        target = f'{path}.new'
        progress = Progress(
            f'Decompressing {os.path.basename(path)}', 0, tell, interval)
        size = 0
        with contextlib.closing(imagefiles.readBlocks(source)) as blocks, \
                open(target, 'wb') as file:
            for block in blocks:
                check()
                size += len(block)
                disk_space.check(size, len(block))
                file.write(block)
                progress.add(len(block))
    if not size:
        raise EmptyImageError(
            'The file of the image is compressed, and empty when it is '
            'decompressed')
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
