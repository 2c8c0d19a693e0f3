"""The store of images: unpacked root file systems.

The file system of a complete image is at ``root``; it is at ``new`` while it
is unpacked.  All files of an image or of a copy belong to one user.
"""

import contextlib
import hashlib
import os

from zuul_nodes.drivers import DriverError, PermanentError, TemporaryError
from zuul_nodes.drivers.local.entries import Entries
from zuul_nodes.drivers.local.sandbox import Sandbox, describe
from zuul_nodes.drivers.local.sources import openSource
from zuul_nodes.imagefiles import (
    SIZE_LIMIT,
    ArtifactError,
    DiskSpace,
    NoSpaceError,
)
from zuul_nodes.nodeusers import User

# The message of tar for a device in an archive.  The sandbox does not allow
# devices, and a node gets those that it needs.
SKIPPED = 'Cannot mknod: Operation not permitted'
HARMLESS = 'Exiting with failure status due to previous errors'
# The exit status of tar after such messages.
FAILED = 2
# Files that the owner cannot read could not be copied, and no file needs to
# run as another user.
PERMISSIONS = 'u+rwX,ug-s'
# Time-out in seconds to copy an image of some gigabytes on a slow disk.
TIMEOUT = 1800
# Bytes that each file adds to its content, for its name and its owner.
FILE_SIZE = 4096
SSHD = 'usr/sbin/sshd'


class Images:
    """Creates, copies and deletes images.

    :param Path directory: of the images.
    :param Users users: the owners of images.
    :param int limit: maximum size of an image in bytes.
    :ivar Sandbox sandbox: of the user who owns complete images.
    """

    def __init__(self, directory, users, limit=SIZE_LIMIT):
        self.users = users
        self.sandbox = Sandbox(users.keeper)
        self.limit = limit
        self.entries = Entries(directory, users)

    def addImage(self, path, name, metadata, timeout=TIMEOUT, checksums=(),
                 within=None):
        """Create an image, after deleting an existing one of that name.

        :param path path: of an archive, compressed or not, or a directory.
        :param str name: of the image.
        :param dict metadata: of the image.
        :param float timeout: seconds.
        :param checksums: of a decompressed archive: pairs of an algorithm and
            the expected checksum, or None.
        :param within: the directories that must contain it, as of
            :func:`sources.openSource`.
        :return: the name.
        :raises DriverError: the source is not a root file system.
        """
        with openSource(path, within) as source:
            self._add(source, name, metadata, timeout, checksums)
        return name

    def addCopy(self, source, name, metadata, timeout=TIMEOUT):
        """Create an image from a root file system that may be in use;
        otherwise as :meth:`addImage`.

        :param path source: of its directory.
        """
        def fill(sandbox, mark, target):
            self._copy(sandbox, mark, source, target, timeout)
            self._measure(sandbox, mark, source, target, timeout)

        try:
            # Only its owner can read all of it.
            user = User.of(source)
        except OSError as error:
            raise DriverError(f'Unable to copy {source}: {error}') from None
        self._make(name, metadata, user, fill)
        return name

    def addPath(self, path, within=None):
        """Create an image without a name from an archive, unless the image of
        the unchanged file exists.

        :param str path: of a regular file.
        :param within: as of :meth:`addImage`.
        :return: its name.
        """
        with openSource(path, within) as source:
            return self._addOnce(source)

    def _addOnce(self, source):
        stat = source.stat
        prefix = f'path-{_hash(os.path.realpath(source.path))}-'
        name = prefix + _hash(stat.st_ino, stat.st_mtime_ns, stat.st_size)
        self.entries.prepare()
        with self.entries.lock(name, wait=True):
            if not self.exists(name):
                self._add(source, name, {})
                for each in self.entries.names():
                    if each.startswith(prefix) and each != name:
                        self.entries.removeEntry(each)
        return name

    def getRoot(self, name):
        return self.entries.path(name, 'root')

    def exists(self, name):
        """:return: whether an image exists and is complete."""
        return self.getRoot(name).exists()

    def copyTo(self, name, target, mark, user):
        """Copy an image's file system.

        :param Path target: an empty directory in one that belongs to the
            user.
        :param str mark: of the processes that copy it.
        :param User user: the owner of the copy.
        :raises DriverError: the image does not exist.
        """
        if not self.exists(name):
            raise PermanentError(
                f'There is no image "{name}" on this machine')
        # An older version may have created it for another user.
        self.sandbox.giveAll(mark, self.entries.path(name))
        for each in (target.parent, target):
            self.sandbox.user.give(each)
        self._copy(
            self.sandbox, mark, self.getRoot(name), target, TIMEOUT)
        Sandbox(user).giveAll(mark, target.parent)

    def unpackTo(self, path, within, target, mark, user):
        """Copy an archive or a directory of the machine.

        :param path path: readable for the launcher.
        :param within: as of :meth:`addImage`.
        :param target: this and the others as of :meth:`copyTo`.
        """
        with openSource(path, within) as source:
            if source.is_directory:
                self._unpack(Sandbox(user), mark, source, target, TIMEOUT)
                return
            image = self._addOnce(source)
        self.copyTo(image, target, mark, user)

    def removeImage(self, name):
        """Delete an image; do nothing if it does not exist."""
        self.entries.removeEntry(name)

    def _add(self, source, name, metadata, timeout=TIMEOUT, checksums=()):
        def fill(sandbox, mark, target):
            self._unpack(sandbox, mark, source, target, timeout, checksums)

        with self.users.claim(self.entries.path(name)) as user:
            self._make(name, metadata, user, fill)

    def _make(self, name, metadata, user, fill):
        mark = self.entries.getMark(name)
        self.entries.prepare()
        self.entries.write(name, {'metadata': metadata})
        self.entries.makeDirectory(name, user)
        try:
            new = self.entries.path(name, 'new')
            new.mkdir()
            user.give(new)
            # Others cannot reach it; inside the node, it is the root.
            new.chmod(0o755)
            fill(Sandbox(user), mark, new)
            if not os.path.lexists(new / SSHD):
                raise PermanentError(
                    f'The image has no /{SSHD}, which every node requires')
            self.sandbox.giveAll(mark, new.parent)
            new.rename(self.getRoot(name))
        except Exception:
            self.entries.removeEntry(name)
            raise

    def _copy(self, sandbox, mark, source, target, timeout):
        self._run(sandbox, 'copy a file system', mark, [
            'cp', '-a', '--reflink=auto', '/source/.', '/target'],
            timeout, target, source)

    def _unpack(self, sandbox, mark, source, target, timeout, checksums=()):
        """:param Source source: of the file system."""
        disk_space = DiskSpace(target, self.limit)
        digests = {name: hashlib.new(name, usedforsecurity=False)
                   for name, expected in checksums if expected}
        with _nameSource(source.path), contextlib.closing(
                _check(source.readBlocks(), disk_space, digests)) as blocks:
            code, said = sandbox.run(
                mark,
                ['tar', '--extract', '--file=-', '--no-same-owner',
                 '--preserve-permissions', '--warning=none'],
                timeout, target, blocks=blocks, ignored=(SKIPPED, HARMLESS))
            # After skipped entries alone, the output is empty.
            if code and (said or code != FAILED):
                raise DriverError(
                    f'Unable to unpack {source.path}: {describe(said)}')
            # Read the rest of the file, which belongs to the checksum.
            for _ in blocks:
                pass
        _verify(source.path, digests, checksums)
        self._run(sandbox, 'set permissions', mark, [
            'chmod', '-R', PERMISSIONS, '.'], timeout, target)
        self._measure(sandbox, mark, source.path, target, timeout)

    def _measure(self, sandbox, mark, source, target, timeout):
        """
        :raises PermanentError: the content of a directory exceeds the size
            limit of images.
        """
        said = self._run(sandbox, 'measure a file system', mark, [
            'sh', '-c', 'du -s --block-size=1 . && du -s --inodes .'],
            timeout, target)
        # du counts links once, and does not count holes.
        size, files = (int(line.split()[0]) for line in said.splitlines())
        with _nameSource(source):
            DiskSpace(target, self.limit).check(size + files * FILE_SIZE, 0)

    def _run(self, sandbox, what, mark, command, timeout, *directories):
        code, said = sandbox.run(mark, command, timeout, *directories)
        if code:
            raise DriverError(f'Unable to {what}: {describe(said)}')
        return said


@contextlib.contextmanager
def _nameSource(source):
    """Raise errors that name the source of an image.

    :param path source: of the image.
    """
    try:
        yield
    except NoSpaceError as error:
        raise TemporaryError(f'Unable to use {source}: {error}') from None
    except ArtifactError as error:
        raise PermanentError(f'Unable to use {source}: {error}') from None


def _check(blocks, disk_space, digests):
    """:return: yields the blocks, as long as there is disk space."""
    size = 0
    with contextlib.closing(blocks):
        for block in blocks:
            size += len(block)
            disk_space.check(size, len(block))
            for digest in digests.values():
                digest.update(block)
            yield block


def _verify(source, digests, checksums):
    for name, expected in checksums:
        if expected and digests[name].hexdigest() != expected.lower():
            raise PermanentError(
                f'The {name} of {source} is {digests[name].hexdigest()}, but '
                f'the artifact has {expected}')


def _hash(*values):
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
