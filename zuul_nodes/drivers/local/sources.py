"""Files and directories of the machine's of which images are made.

Whoever can write to a directory on the way to one can let its path stand for
something else at any moment.  So a path is opened once, what was opened is
looked at, and nothing else is read from then on.
"""

import contextlib
import os
import pathlib
import stat
import subprocess

from zuul_nodes import imagefiles
from zuul_nodes.drivers import DriverError, PermanentError

# Seconds in which a program ends that has nothing to do any more.
ENDING = 10


class Source:
    """
    :param path: by which it was found, for people.
    :param int descriptor: of the open file or directory.
    :ivar str path: where it is.
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
        """:return: yields blocks of an archive, decompressed; of a
            directory, that of what is in it."""
        if self.is_directory:
            return self._pack()
        return self._read()

    def _read(self):
        with open(self._descriptor, 'rb', closefd=False) as file:
            yield from imagefiles.readBlocks(file)

    def _pack(self):
        # Who runs nodes may not be allowed to read it.
        with subprocess.Popen(
                ['tar', '--create', '--file=-', '--sparse', '--directory',
                 f'/proc/self/fd/{self._descriptor}', '.'],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=[self._descriptor]) as process:
            try:
                while block := process.stdout.read(imagefiles.BLOCK_SIZE):
                    yield block
                # 1 is for files that have changed meanwhile.
                if process.wait(ENDING) > 1:
                    raise DriverError(
                        f'The launcher can not read all of {self.path}')
            finally:
                process.kill()


@contextlib.contextmanager
def openSource(path, within=None):
    """
    :param path: of a regular file or a directory.
    :param within: paths of directories that it has to be in, whatever links
        lead to it; by default it is the launcher's own, and no link.
    :return: a context manager of a :class:`Source`.
    :raises PermanentError: it is not there, or not in them.
    """
    # Nothing happens to a device or a pipe that is opened so.
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
