"""The store of images: root file systems, unpacked.

An image that is complete has its file system at ``root``; it is at
``new`` while it is unpacked.  All its files belong to one user, and so do
those of a copy.
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

# What tar says where an archive has a device: there can't be any here, and
# a node gets those that it needs.
SKIPPED = 'Cannot mknod: Operation not permitted'
HARMLESS = 'Exiting with failure status due to previous errors'
# How it ends after that.
FAILED = 2
# All that the owner may not read could not be copied; no file needs to be
# run as anybody else.
PERMISSIONS = 'u+rwX,ug-s'
# Seconds to copy an image of a few gigabytes on a slow disk.
TIMEOUT = 1800
# Bytes that a file counts besides what is in it, for it takes as much room
# for its name and its owner.
FILE_SIZE = 4096
SSHD = 'usr/sbin/sshd'


class Images:
    """
    :param Path directory: where they are.
    :param Users users: whose they are.
    :param int limit: bytes that one may have.
    :ivar Sandbox sandbox: of the user whose complete ones are.
    """

    def __init__(self, directory, users, limit=SIZE_LIMIT):
        self.users = users
        self.sandbox = Sandbox(users.keeper)
        self.limit = limit
        self.entries = Entries(directory, users)

    def add(self, path, name, metadata, timeout=TIMEOUT, checksums=(),
            within=None):
        """Make an image; what was there by that name is gone.

        :param path path: of an archive, compressed or not, or a directory.
        :param str name: of the image.
        :param dict metadata: what is to be known of it.
        :param float timeout: seconds.
        :param checksums: of an archive, decompressed: pairs of an algorithm
            and what the checksum has to be, or None.
        :param within: the only directories where it may be, as of
            :func:`sources.openSource`.
        :return: the name.
        :raises DriverError: it is no root file system.
        """
        with openSource(path, within) as source:
            self._add(source, name, metadata, timeout, checksums)
        return name

    def addCopy(self, source, name, metadata, timeout=TIMEOUT):
        """Make an image of a root file system that somebody may be
        writing to; otherwise as :meth:`add`.

        :param path source: of its directory.
        """
        def fill(sandbox, mark, target):
            self._copy(sandbox, mark, source, target, timeout)
            self._measure(sandbox, mark, source, target, timeout)

        try:
            # No other user can read all of it.
            user = User.of(source)
        except OSError as error:
            raise DriverError(f'Unable to copy {source}: {error}') from None
        self._make(name, metadata, user, fill)
        return name

    def addPath(self, path, within=None):
        """Make an image of an archive that has no name; only once, as
        long as the file is the same.

        :param str path: of a regular file.
        :param within: as of :meth:`add`.
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
                        self.entries.remove(each)
        return name

    def getRoot(self, name):
        return self.entries.path(name, 'root')

    def exists(self, name):
        """:return: whether there is such an image, complete."""
        return self.getRoot(name).exists()

    def copyTo(self, name, target, mark, user):
        """Copy an image's file system.

        :param Path target: an empty directory in one that belongs to the
            user.
        :param str mark: of the processes that do it.
        :param User user: whose the copy is.
        :raises DriverError: there is no such image.
        """
        if not self.exists(name):
            raise PermanentError(
                f'There is no image "{name}" on this machine')
        # It may be of a time when others had all images.
        self.sandbox.giveAll(mark, self.entries.path(name))
        for each in (target.parent, target):
            self.sandbox.user.give(each)
        self._copy(
            self.sandbox, mark, self.getRoot(name), target, TIMEOUT)
        Sandbox(user).giveAll(mark, target.parent)

    def unpackTo(self, path, within, target, mark, user):
        """Copy an archive or a directory of the machine's.

        :param path path: as the launcher can read it.
        :param within: as of :meth:`add`.
        :param target: this and the others as of :meth:`copyTo`.
        """
        with openSource(path, within) as source:
            if source.is_directory:
                self._unpack(Sandbox(user), mark, source, target, TIMEOUT)
                return
            image = self._addOnce(source)
        self.copyTo(image, target, mark, user)

    def remove(self, name):
        """Nothing if there is no such image."""
        self.entries.remove(name)

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
            # Others do not get there; inside, it is the root of all.
            new.chmod(0o755)
            fill(Sandbox(user), mark, new)
            if not os.path.lexists(new / SSHD):
                raise PermanentError(
                    f'The image has no /{SSHD}, which a node needs')
            self.sandbox.giveAll(mark, new.parent)
            new.rename(self.getRoot(name))
        except Exception:
            self.entries.remove(name)
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
        with _told(source.path), contextlib.closing(
                _check(source.readBlocks(), disk_space, digests)) as blocks:
            code, said = sandbox.run(
                mark,
                ['tar', '--extract', '--file=-', '--no-same-owner',
                 '--preserve-permissions', '--warning=none'],
                timeout, target, blocks=blocks, ignored=(SKIPPED, HARMLESS))
            # If it has skipped something, it has said no more than that.
            if code and (said or code != FAILED):
                raise DriverError(
                    f'Unable to unpack {source.path}: {describe(said)}')
            # What it had no use for is of the file, too.
            for _ in blocks:
                pass
        _verify(source.path, digests, checksums)
        self._run(sandbox, 'set permissions', mark, [
            'chmod', '-R', PERMISSIONS, '.'], timeout, target)
        self._measure(sandbox, mark, source.path, target, timeout)

    def _measure(self, sandbox, mark, source, target, timeout):
        """
        :raises PermanentError: there is more in a directory than an image
            may have.
        """
        said = self._run(sandbox, 'measure a file system', mark, [
            'sh', '-c', 'du -s --block-size=1 . && du -s --inodes .'],
            timeout, target)
        # Links count once, and holes not at all.
        size, files = (int(line.split()[0]) for line in said.splitlines())
        with _told(source):
            DiskSpace(target, self.limit).check(size + files * FILE_SIZE, 0)

    def _run(self, sandbox, what, mark, command, timeout, *directories):
        code, said = sandbox.run(mark, command, timeout, *directories)
        if code:
            raise DriverError(f'Unable to {what}: {describe(said)}')
        return said


@contextlib.contextmanager
def _told(source):
    """Say of which image an error is.

    :param path source: of it.
    """
    try:
        yield
    except NoSpaceError as error:
        raise TemporaryError(f'Unable to use {source}: {error}') from None
    except ArtifactError as error:
        raise PermanentError(f'Unable to use {source}: {error}') from None


def _check(blocks, disk_space, digests):
    """:return: yields the blocks, while there is space for them."""
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
                f'The {name} of {source} is {digests[name].hexdigest()}, the '
                f'artifact says {expected}')


def _hash(*values):
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
