"""The store of images: root file systems, unpacked.

An image that is complete has its file system at ``root``; it is at
``new`` while it is unpacked.  All files belong to the one user that nodes
have.
"""

import contextlib
import hashlib
import os
import subprocess

from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.local.entries import Entries
from zuul_nodes.drivers.local.sandbox import describe

# What a compressed file begins with -> what tar calls it.
COMPRESSIONS = {
    b'\x1f\x8b': '--gzip',
    b'\xfd7zXZ\x00': '--xz',
    b'\x28\xb5\x2f\xfd': '--zstd',
}
# What tar says where an archive has a device: there can't be any here, and
# a node gets those that it needs.
SKIPPED = 'Cannot mknod: Operation not permitted'
HARMLESS = 'Exiting with failure status due to previous errors'
# All that the owner may not read could not be copied; no file needs to be
# run as anybody else.
PERMISSIONS = 'u+rwX,ug-s'
# Seconds to copy an image of a few gigabytes on a slow disk.
TIMEOUT = 1800
# Seconds in which a program ends that has nothing to do any more.
ENDING = 10
SSHD = 'usr/sbin/sshd'


class Images:
    """
    :param Path directory: where they are.
    :param Sandbox sandbox: of the user whose they are.
    """

    def __init__(self, directory, sandbox):
        self.sandbox = sandbox
        self.entries = Entries(directory, sandbox)

    def add(self, source, name, metadata, timeout=TIMEOUT, sha256=None):
        """Make an image; what was there by that name is gone.

        :param path source: an archive, compressed or not, or a directory.
        :param str name: of the image.
        :param dict metadata: what is to be known of it.
        :param float timeout: seconds.
        :param str sha256: what an archive's checksum has to be.
        :return: the name.
        :raises DriverError: it is no root file system.
        """
        self._make(name, metadata, lambda target: self._unpack(
            name, source, target, timeout, sha256))
        return name

    def addCopy(self, source, name, metadata, timeout=TIMEOUT):
        """Make an image of a root file system that somebody may be
        writing to; otherwise as :meth:`add`.

        :param path source: of its directory.
        """
        self._make(name, metadata, lambda target: self._copy(
            name, source, target, timeout))
        return name

    def addPath(self, path):
        """Make an image of an archive that has no name; only once, as
        long as the file is the same.

        :param str path: of a regular file.
        :return: its name.
        """
        stat = os.stat(path)
        prefix = f'path-{_hash(os.path.realpath(path))}-'
        name = prefix + _hash(stat.st_ino, stat.st_mtime_ns, stat.st_size)
        self.entries.prepare()
        with self.entries.lock(name, wait=True):
            if not self.exists(name):
                self.add(path, name, {})
                for each in self.entries.names():
                    if each.startswith(prefix) and each != name:
                        self.entries.remove(each)
        return name

    def getRoot(self, name):
        return self.entries.path(name, 'root')

    def exists(self, name):
        """:return: whether there is such an image, complete."""
        return self.getRoot(name).exists()

    def copyTo(self, name, target, mark):
        """Copy an image's file system.

        :param path target: an empty directory.
        :param str mark: of the processes that do it.
        :raises DriverError: there is no such image.
        """
        if not self.exists(name):
            raise PermanentError(
                f'There is no image "{name}" on this machine')
        self._copy(mark, self.getRoot(name), target, TIMEOUT)

    def unpackTo(self, directory, target, mark):
        """Copy a directory of the machine's.

        :param path directory: as the launcher can read it.
        :param path target: an empty directory.
        :param str mark: of the processes that do it.
        """
        self._unpack(mark, directory, target, TIMEOUT)

    def remove(self, name):
        """Nothing if there is no such image."""
        self.entries.remove(name)

    def _make(self, name, metadata, fill):
        self.entries.prepare()
        self.entries.write(name, {'metadata': metadata})
        self.entries.makeDirectory(name)
        try:
            new = self.entries.path(name, 'new')
            new.mkdir()
            self.sandbox.give(new)
            # Others do not get there; inside, it is the root of all.
            new.chmod(0o755)
            fill(new)
            if not os.path.lexists(new / SSHD):
                raise PermanentError(
                    f'The image has no /{SSHD}, which a node needs')
            new.rename(self.getRoot(name))
        except Exception:
            self.entries.remove(name)
            raise

    def _copy(self, mark, source, target, timeout):
        code, said = self.sandbox.run(
            mark, ['cp', '-a', '--reflink=auto', '/source/.', '/target'],
            timeout, target, source)
        if code:
            raise DriverError(
                f'Unable to copy a file system: {describe(said)}')

    def _unpack(self, mark, source, target, timeout, sha256=None):
        with _open(source) as file:
            options = []
            if os.path.isfile(source):
                _verify(file, source, sha256)
                options = _getOptions(file)
            code, said = self.sandbox.run(
                mark,
                ['tar', '--extract', '--file=-', '--no-same-owner',
                 '--preserve-permissions', '--warning=none', *options],
                timeout, target, stdin=file)
        errors = [line for line in said.splitlines()
                  if SKIPPED not in line and HARMLESS not in line]
        if code and (errors or SKIPPED not in said):
            raise DriverError(
                f'Unable to unpack {source}: {describe(" ".join(errors))}')
        code, said = self.sandbox.run(
            mark, ['chmod', '-R', PERMISSIONS, '.'], timeout, target)
        if code:
            raise DriverError(
                f'Unable to set permissions: {describe(said)}')


@contextlib.contextmanager
def _open(source):
    """:return: a context manager of a file to read an archive from."""
    if not os.path.isdir(source):
        with open(source, 'rb') as file:
            yield file
        return
    # Who runs nodes may not be allowed to read it.
    with subprocess.Popen(
            ['tar', '--create', '--file=-', '--directory', source, '.'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL) as process:
        try:
            yield process.stdout
            process.stdout.close()
            # 1 is for files that have changed meanwhile.
            if process.wait(ENDING) > 1:
                raise DriverError(f'The launcher can not read all of {source}')
        finally:
            process.kill()


def _verify(file, source, sha256):
    if not sha256:
        return
    digest = hashlib.file_digest(file, 'sha256').hexdigest()
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    if digest != sha256.lower():
        raise PermanentError(f'The checksum of {source} is {digest}, the '
                             f'artifact says {sha256}')


def _getOptions(file):
    """:return: a list of what tar has to be told about a file."""
    start = os.pread(file.fileno(), 8, 0)
    return [option for magic, option in COMPRESSIONS.items()
            if start.startswith(magic)]


def _hash(*values):
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
