"""Reading of image files, which are untrusted input from jobs.

A small file may be huge when decompressed, and may need gigabytes of memory
for that.  Its name need not tell how it is compressed.
"""

import bz2
import gzip
import lzma
import os
import re
import shutil
import subprocess
import zlib

# Suffixes of the names of compressed formats and files, in lower case.  Files
# are recognized by their content.
COMPRESSED = ('.gz', '.xz', '.zst', '.bz2')
# Bytes to read or write at once.
BLOCK_SIZE = 1 << 20
# Default of the maximum size of an image, in bytes.
SIZE_LIMIT = 100 << 30
# Bytes that decompression may use.  xz -9 needs a quarter of this, and zstd
# --ultra --long half.
MEMORY_LIMIT = 256 << 20
# Limits the program zstd in any case, also for the other formats that it
# reads.  Most of its address space is not memory.
ADDRESS_SPACE = 4 * MEMORY_LIMIT
ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error)


class ArtifactError(Exception):
    """The artifact is unavailable or invalid."""


class WrongArtifactError(ArtifactError):
    """The artifact stays unusable until someone corrects it."""

    failure = 'permanent'


class EmptyImageError(WrongArtifactError):
    """The image is empty."""


class NoSpaceError(ArtifactError):
    """The disk has no space for the image now."""


class DiskSpace:
    """Limits for writing an image.

    :param str directory: the directory for the image.
    :param int limit: maximum size of one image in bytes.
    :ivar int reserve: number of bytes that stay free on the disk.
    :ivar int reserved_files: number of files that stay free on the disk.
    """

    reserve = 256 << 20
    reserved_files = 1 << 12

    def __init__(self, directory, limit):
        self.directory = directory
        self.limit = limit

    def check(self, size, more):
        """
        :param int size: the size of the image in bytes, as far as known.
        :param int more: the number of bytes about to be written.
        :raises WrongArtifactError: the image exceeds the maximum size.
        :raises NoSpaceError: the disk has no space for it now.
        """
        if size > self.limit:
            raise WrongArtifactError(
                f'The image has at least {size} bytes, but '
                f'"image_size_limit" in [launcher] of zuul.conf allows '
                f'{self.limit} at most')
        free = shutil.disk_usage(self.directory).free
        if free < more + self.reserve:
            raise NoSpaceError(
                f'Not enough disk space for the image: it needs {more} bytes '
                f'in {self.directory}, which has {free} bytes free, '
                f'{self.reserve} of them reserved')
        info = os.statvfs(self.directory)
        # Some file systems have no limit and report 0.
        if info.f_files and info.f_favail < self.reserved_files:
            raise NoSpaceError(
                f'Not enough disk space for the image: {self.directory} can '
                f'have {info.f_favail} more files, {self.reserved_files} of '
                'them reserved')


def readBlocks(file):
    """Read a file, and decompress it if its first bytes show a compression.

    :param file: a regular file, opened in binary mode, at its beginning.
    :return: yields blocks of bytes; must be closed.
    :raises ArtifactError: the file cannot be decompressed.
    """
    read = _findReader(file.fileno())
    try:
        yield from (read or _read)(file)
    except ERRORS as error:
        raise ArtifactError(
            f'Unable to decompress the image in {MEMORY_LIMIT >> 20} MiB of '
            f'memory: {error}') from error


def isCompressed(path):
    """:return: whether a regular file begins like a compressed one."""
    with open(path, 'rb') as file:
        return _findReader(file.fileno()) is not None


def _findReader(number):
    start = os.pread(number, 10, 0)
    return next((reader for pattern, reader in READERS.items()
                 if pattern.match(start)), None)


def _read(file):
    while block := file.read(BLOCK_SIZE):
        yield block


def _readGzip(file):
    with gzip.GzipFile(fileobj=file, mode='rb') as source:
        yield from _read(source)


def _readBzip2(file):
    with bz2.BZ2File(file) as source:
        yield from _read(source)


def _readXz(file):
    data = file.read(BLOCK_SIZE)
    # A file may have several streams, and padding after each.
    while data := data.lstrip(b'\0') or file.read(BLOCK_SIZE):
        if not data.strip(b'\0'):
            continue
        decompressor = lzma.LZMADecompressor(
            lzma.FORMAT_XZ, memlimit=MEMORY_LIMIT)
        while not decompressor.eof:
            if block := decompressor.decompress(data, BLOCK_SIZE):
                yield block
            data = b''
            if decompressor.needs_input and not decompressor.eof:
                data = file.read(BLOCK_SIZE)
                if not data:
                    raise EOFError('the file is truncated')
        data = decompressor.unused_data


def _readZstd(file):
    if not shutil.which('zstd'):
        raise ArtifactError(
            'This artifact needs the program "zstd", which is not '
            'installed here')
    # zstd starts at the offset of the descriptor, which no read has moved.
    with subprocess.Popen(
            ['sh', '-c', 'ulimit -v "$1" && exec zstd -dqc --memory="$2"',
             'sh', str(ADDRESS_SPACE >> 10), str(MEMORY_LIMIT)], stdin=file,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield from _read(process.stdout)
            messages = process.stderr.read().decode(errors='replace')
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise OSError(f'"zstd" failed: {messages.strip()}')


# First bytes of compressed files.  Parallel compressors put skippable frames
# before the first frame of zstd.
READERS = {
    re.compile(rb'\x1f\x8b'): _readGzip,
    re.compile(rb'\xfd7zXZ\x00'): _readXz,
    # The second part is the header of the first block, or of an empty file.
    re.compile(rb'BZh[1-9](1AY&SY|\x17rE8P\x90)'): _readBzip2,
    re.compile(rb'(\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)'): _readZstd,
}
