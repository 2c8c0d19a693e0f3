"""Files and directories of the machine that are sources of images.

A user who can write to a directory of a path can change what the path leads
to at any moment.  So a path is opened once, the open file is checked, and only
that file is read.
"""

import contextlib
import os
import pathlib
import stat
import subprocess

from zuul_nodes import imagefiles
from zuul_nodes.drivers import DriverError, PermanentError

# Seconds until an idle program has to end.
ENDING = 10


class Source:
    """An open file or directory.

    :param path: by which it was found, for messages.
    :param int descriptor: of the open file or directory.
    :ivar str path: the argument.
    :ivar os.stat_result stat:
    """

    def __init__(self, path, descriptor):
        self.path = path
        self._descriptor = descriptor
        self.stat = os.fstat(descriptor)

    @property
    def is_directory(self):
        return stat.S_ISDIR(self.stat.st_mode)

    def readBlocks(self):
        """:return: yields the decompressed blocks of an archive; for a
            directory, the blocks of an archive of its contents."""
        if self.is_directory:
            return self._pack()
        return self._read()

    def _read(self):
        with open(self._descriptor, 'rb', closefd=False) as file:
            yield from imagefiles.readBlocks(file)

    def _pack(self):
        # The user who runs nodes may not be allowed to read it.
        with subprocess.Popen(
                ['tar', '--create', '--file=-', '--sparse', '--directory',
                 f'/proc/self/fd/{self._descriptor}', '.'],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[self._descriptor]) as process:
            try:
                while block := process.stdout.read(imagefiles.BLOCK_SIZE):
                    yield block
                # Status 1 means that files have changed meanwhile.
                if process.wait(ENDING) > 1:
                    raise DriverError(
                        f'The launcher cannot read all of {self.path}')
            finally:
                process.kill()


@contextlib.contextmanager
def openSource(path, within=None):
    """
    :param path: of a regular file or a directory.
    :param within: paths of directories that must contain it, after links are
        resolved; by default, it is the launcher's own and not a link.
    :return: a context manager with a :class:`Source`.
    :raises PermanentError: it does not exist, or is in no such directory.
    """
    # Opening a device or a pipe in this way has no effect on it.
    flags = os.O_PATH | (os.O_NOFOLLOW if within is None else 0)
    try:
        found = os.open(path, flags)
    except (OSError, ValueError) as error:
        raise PermanentError(f'Unable to open {path}: {error}') from None
    try:
        name = f'/proc/self/fd/{found}'
        mode = os.fstat(found).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise PermanentError(f'{path} is neither a file nor a directory')
        if within is not None and not _isWithin(os.readlink(name), within):
            raise PermanentError(f'{path} is not in {", ".join(within)}')
        opened = os.open(name, os.O_RDONLY)
    finally:
        os.close(found)
    try:
        yield Source(path, opened)
    finally:
        os.close(opened)


def _isWithin(path, directories):
    return any(pathlib.Path(path).is_relative_to(os.path.realpath(directory))
               for directory in directories)
