"""Downloads of artifacts from the storage of jobs to a file.

Artifacts are large.  All functions here work in blocks and call a check before
each of them, so that they end soon when the launcher stops.
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
from zuul_nodes.launcher.workers import Threads, getBackoff

__all__ = ['ArtifactError', 'Pace', 'WrongArtifactError']

# Errors that a later attempt may not meet.
TEMPORARY = (requests.codes.request_timeout, requests.codes.too_many_requests)

log = logging.getLogger('zuul.nodes.images')


class IncompleteError(ArtifactError):
    """The server has sent less than announced; a retry may succeed."""


def getName(url):
    """:return: a URL without possible secrets, for people."""
    return messages.withoutSecrets(url)


def download(source, path, check, disk_space, pace, report=None,
             checked=False):
    """Download a file, in parts if the server supports them.

    :param Source source: of the file.
    :param str path: the file to write.
    :param check: called before each block and while waiting; an exception of
        it ends the download.
    :param DiskSpace disk_space: the limits of the file's size.
    :param Pace pace: created just before.
    :param report: called with a line about the progress now and then.
    :param bool checked: whether the caller compares a checksum afterwards.
    :return: whether the file is certainly complete and of one version.  If
        not, another attempt may give a better file.
    :raises ArtifactError: the file is not available, or there is no space.
    :raises RefusedError: the settings do not allow this source.
    :raises requests.RequestException: the server reports an error.
    """
    def run(in_parts):
        return Download(
            source, path, check, disk_space, pace, report,
            checked).run(in_parts)
    try:
        return run(in_parts=True)
    except PartError as error:
        log.info('Downloading %s in one piece: %s', getName(source.url),
                 error)
        return run(in_parts=False)


class Download:
    """One download of a file, in parts or in one piece.

    One piece is needed if the parts of different versions of the file cannot
    be distinguished.

    :param others: see :func:`download`.
    """

    def __init__(self, source, path, check, disk_space, pace, report, checked):
        self.source = source
        self.name = getName(source.url)
        self.path = path
        self.check = check
        self.disk_space = disk_space
        self.pace = pace
        self.chunk_size = pace.settings.download_chunk_size
        self.checked = checked
        # Python cannot end a thread that waits for a server.
        self.threads = Threads(
            None, 'Download', pace.settings.download_connections)
        self.futures = []
        self.failed = threading.Event()
        self.progress = Progress(
            f'Downloading {self.name}', 0, report,
            pace.settings.progress_interval)
        # Version of the file, from the first response.
        self.version = None
        self.is_certain = True

    def run(self, in_parts):
        """Download the file.

        :param bool in_parts: whether to request parts.  Otherwise, only the
            rest after an interruption is requested as a part.
        :return: whether the file is certainly complete and of one version.
        """
        self.in_parts = in_parts
        # Threads of an abandoned attempt write to the file that is removed.
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
        """Check whether the download may go on.

        :param int more: number of bytes that are about to be written.
        :param int position: where they are written.
        :raises ArtifactError: there is no space, another part has failed, or
            the download is too slow.
        """
        self.check()
        if more:
            self.pace.addBytes(more)
            # A sparse file has its size, but does not occupy the space yet.
            self.disk_space.check(
                max(position + more, self.version.size or 0), more)
        if self.failed.is_set():
            raise ArtifactError('The download of another part has failed')
        self.pace.check(self.name)

    @property
    def _can_resume(self):
        return self.checked or bool(self.version and self.version.is_known)

    def _fetch(self, start, end):
        """Download a part, and resume it after interruptions.

        :param int end: position after its last byte, if there are more parts.
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
                log.info('%s was interrupted, resuming from byte %s: %s',
                         self.progress.what, file.tell(),
                         messages.withoutSecrets(failure))
                settings = self.pace.settings
                _pause(getBackoff(failures, settings.first_backoff,
                                  settings.longest_backoff, jitter=0.5),
                       self._check, settings.download_check_interval)

    def _continue(self, file, end):
        """Request the next bytes and write them.

        :return: whether the part is complete.
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
                f'{self.name}: the server sent nothing after byte {begin}')
        return False

    def _getAsked(self, begin, end):
        """:return: the end of the range to request, or None to request the
            whole file."""
        if not begin and not self.in_parts:
            return None
        limits = begin + self.chunk_size, self._getLimit(end)
        return min(each for each in limits if each is not None)

    def _getLimit(self, end):
        """:return: the end of a part, or None if it is not known."""
        size = self.version and self.version.size
        return min(end, size) if self._is_split else size

    @property
    def _is_split(self):
        return len(self.futures) > 1

    def _accept(self, part, file):
        """Compare a part with what has been downloaded.

        :return: position of its first byte.
        :raises PartError: it belongs elsewhere or to another version.
        """
        begin = file.tell()
        changed = self.version and not part.version.isLike(self.version)
        if part.start != begin or changed:
            if self._is_split or not part.is_whole:
                raise PartError(
                    f'after byte {begin}, the server sends another part or '
                    'another version')
            # A server without ranges, or with a new version, sends the whole.
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
                '"Content-Length" nor chunks, so the download cannot be '
                'checked for completeness')
        if self.in_parts and not (part.is_whole or self._can_resume):
            raise PartError('without a checksum, "ETag" or "Last-Modified", '
                            'its parts may be of different versions')
        if (size := part.version.size) is None:
            return
        self.progress.total = size
        self.disk_space.check(size, size)
        file.truncate(size)
        if self.in_parts and not part.is_whole:
            for start in range(self.chunk_size, size, self.chunk_size):
                self._submit(start, start + self.chunk_size)

    def _rewind(self, file):
        self.progress.addBytes(-file.tell())
        file.seek(0)
        file.truncate()
        self.version = None

    def _endAt(self, position):
        """End the file at a position.

        :return: True
        :raises PartError: the server has announced another size.
        """
        if self.version.size not in (None, position):
            raise PartError(f'it has {self.version.size} bytes, but the '
                            f'server sends nothing after byte {position}')
        self.version.size = position
        return True

    def _copy(self, part, file, end):
        for block in part.readBlocks(
                self.pace.settings.download_block_size):
            if part.end is not None and len(block) > part.end - file.tell():
                raise ArtifactError(
                    f'{self.name}: the server sent more than the announced '
                    f'bytes from {part.start} to {part.end}')
            limit = self._getLimit(end)
            wanted = block[:limit and limit - file.tell()]
            if not wanted:
                # The server sends more than the requested range.
                return
            self._check(len(wanted), file.tell())
            file.write(wanted)
            self.progress.addBytes(len(wanted))
        if part.end is not None and file.tell() < part.end:
            raise IncompleteError(
                f'{self.name}: of the bytes from {part.start} to {part.end}, '
                f'{file.tell() - part.start} have come')


def _isTemporary(error):
    # The library raises ValueErrors for addresses that it cannot request.
    if isinstance(error, ValueError):
        return False
    response = getattr(error, 'response', None)
    if response is None:
        return True
    return response.status_code >= 500 or response.status_code in TEMPORARY


def _pause(seconds, check, interval):
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        check()
        time.sleep(min(left, interval))


def decompress(path, check, disk_space, report=None, interval=30.0):
    """Decompress a file in place, if it is compressed.

    :param str path: of the file.
    :param check: called before each block; an exception of it ends the work.
    :param DiskSpace disk_space: the limits of the file's size.
    :param report: called with a line about the progress now and then.
    :param float interval: seconds between two lines.
    :raises ArtifactError: the file is corrupt or too large.
    :raises EmptyImageError: the file has no content.
    """
    if not os.path.getsize(path):
        raise EmptyImageError('The file of the image is empty')
    if not imagefiles.isCompressed(path):
        return
    with open(path, 'rb') as source:
        target = f'{path}.new'
        progress = Progress(
            f'Decompressing {os.path.basename(path)}', 0, report, interval)
        size = 0
        with contextlib.closing(imagefiles.readBlocks(source)) as blocks, \
                open(target, 'wb') as file:
            for block in blocks:
                check()
                size += len(block)
                disk_space.check(size, len(block))
                file.write(block)
                progress.addBytes(len(block))
    if not size:
        raise EmptyImageError(
            'The file of the image is compressed, and empty after '
            'decompression')
    os.rename(target, path)


def verify(path, checksums, check):
    """Compare a file with checksums.

    :param str path: of the file.
    :param dict checksums: algorithm -> expected checksum in hexadecimal, or
        None.  Without any checksum, every file is accepted.
    :param check: called before each block; an exception of it ends the work.
    :raises WrongArtifactError: a checksum differs.
    """
    digests = {name: hashlib.new(name, usedforsecurity=False)
               for name, expected in checksums.items() if expected}
    if not digests:
        log.debug('No checksum for %s', path)
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
