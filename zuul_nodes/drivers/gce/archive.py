"""Pack a disk into an archive with ``disk.raw`` for Compute Engine.

Source:
https://cloud.google.com/compute/docs/images/import-existing-image
"""

import os
import tarfile
import zlib

from zuul_nodes.drivers.gce.urls import ARCHIVE

# The size of a disk of Compute Engine is a multiple of this.
UNIT = 1 << 30
BLOCK_SIZE = 1 << 20
# A fast level, because most of a disk is empty.
LEVEL = 3
GZIP = 16 + zlib.MAX_WBITS


class Archive:
    """A file object that compresses while it is read; it can be read once.

    :param file: a disk, or a tar archive that contains one.
    :param str image_format: the format of the file.
    :param check: called for each block; an error from it ends the transfer.
    :param int unit: the size of the disk is a multiple of this.
    """

    def __init__(self, file, image_format, check, unit=UNIT):
        self.file = file
        self.check = check
        self.unit = unit
        self._blocks = (self._read() if image_format == ARCHIVE
                        else self._pack())
        self._compressor = zlib.compressobj(LEVEL, wbits=GZIP)
        self._buffer = bytearray()
        self._position = 0

    def tell(self):
        return self._position

    def read(self, size):
        while self._compressor and len(self._buffer) < size:
            self.check()
            block = next(self._blocks, None)
            if block is None:
                self._buffer += self._compressor.flush()
                self._compressor = None
            else:
                self._buffer += self._compressor.compress(block)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._position += len(data)
        return data

    def _read(self):
        while block := self.file.read(BLOCK_SIZE):
            yield block

    def _pack(self):
        size = os.fstat(self.file.fileno()).st_size
        info = tarfile.TarInfo('disk.raw')
        info.size = -(-size // self.unit) * self.unit
        yield info.tobuf(tarfile.GNU_FORMAT)
        yield from self._read()
        left = info.size - size
        while left:
            block = min(left, BLOCK_SIZE)
            yield bytes(block)
            left -= block
        yield bytes(2 * tarfile.BLOCKSIZE)
