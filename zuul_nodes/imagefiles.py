"""Files of images, which are whatever the author of a job has made them.

A small one may be large when it is decompressed, and may want gigabytes of
memory for that.  Its name need not say how it is compressed.
"""

import bz2
import gzip
import lzma
import os
import re
import shutil
import subprocess
import zlib

# How names of formats and files end that are compressed themselves, in lower
# case.  Files are known by what is in them.
COMPRESSED = ('.gz', '.xz', '.zst', '.bz2')
# What is read or written at once.
BLOCK_SIZE = 1 << 20
# Bytes that an image may have if zuul.conf does not say.
SIZE_LIMIT = 100 << 30
# What is left on the disk for others: bytes, and files.
RESERVE = 256 << 20
RESERVED_FILES = 1 << 12
# Bytes that decompressing may take.  xz -9 needs a quarter of that, and zstd
# --ultra --long half of it.
MEMORY_LIMIT = 256 << 20
# Whatever the program zstd does, for it knows other formats, too; most of
# its address space is not memory.
ADDRESS_SPACE = 4 * MEMORY_LIMIT
ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error)


class ArtifactError(Exception):
    """The artifact is not to be had, or not what it should be."""


class WrongArtifactError(ArtifactError):
    """Nor will it be, before somebody has done something about it."""

    failure = 'permanent'


class EmptyImageError(WrongArtifactError):
    """There is nothing in it."""


class NoRoomError(ArtifactError):
    """There is no room for it now."""


class Room:
    """What may be written.

    :param str directory: where.
    :param int limit: most bytes of one image.
    """

    def __init__(self, directory, limit):
        self.directory = directory
        self.limit = limit

    def check(self, size, more):
        """
        :param int size: bytes that the image will have, as far as is known.
        :param int more: how many of them are about to be written.
        :raises WrongArtifactError: it is larger than images may be.
        :raises NoRoomError: there is no room for it now.
        """
        if size > self.limit:
            raise WrongArtifactError(
                f'The image has at least {size} bytes, but {self.limit} are '
                'the most that "image_size_limit" in the section "launcher" '
                'of zuul.conf allows')
        free = shutil.disk_usage(self.directory).free
        if free < more + RESERVE:
            raise NoRoomError(
                f'There is no room for the image: {more} bytes are needed in '
                f'{self.directory}, which has {free}; {RESERVE} of them are '
                'left for others')
        info = os.statvfs(self.directory)
        # Some file systems have no limit, and say that they have none.
        if info.f_files and info.f_favail < RESERVED_FILES:
            raise NoRoomError(
                f'There is no room for the image: {self.directory} can have '
                f'{info.f_favail} more files; {RESERVED_FILES} of them are '
                'left for others')


def readBlocks(file):
    """Read a file, decompressed if its first bytes say that it is compressed.

    :param file: a regular one, opened to be read in binary mode, at its
        beginning.
    :return: yields blocks of bytes; to be closed.
    :raises ArtifactError: it can't be decompressed.
    """
    read = _findReader(file.fileno())
    try:
        yield from (read or _read)(file)
    except ERRORS as error:
        raise ArtifactError(
            f'Unable to decompress it in {MEMORY_LIMIT >> 20} MiB of memory: '
            f'{error}') from error


def isCompressed(path):
    """:return: whether a regular file begins as one that is compressed."""
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
    # It may have several streams, and zeros behind each.
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
                    raise EOFError('it ends too early')
        data = decompressor.unused_data


def _readZstd(file):
    if not shutil.which('zstd'):
        raise ArtifactError(
            'This artifact needs the program "zstd", which is not '
            'installed here')
    # It seeks to where Python has not looked.
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


# What a compressed file begins with.  Parallel programs put frames of zstd
# before the first one that are to be skipped.
READERS = {
    re.compile(rb'\x1f\x8b'): _readGzip,
    re.compile(rb'\xfd7zXZ\x00'): _readXz,
    # The second part is that of the first block, or of none.
    re.compile(rb'BZh[1-9](1AY&SY|\x17rE8P\x90)'): _readBzip2,
    re.compile(rb'(\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)'): _readZstd,
}
