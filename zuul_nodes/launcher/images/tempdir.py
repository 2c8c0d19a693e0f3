"""A launcher's own directory for downloads.

Images are large.  A launcher removes the directories of launchers that were
killed, but not those of other running launchers on the host.  A launcher holds
a lock on a file in its directory as long as it runs.

The root may be ``/tmp``, where every user can create files and links of any
name.  So the launchers of a user share one directory there, to which no other
user can write.
"""

import contextlib
import fcntl
import logging
import os
import pathlib
import shutil
import stat
import tempfile

PREFIX = 'zuul-launcher-'
LOCK = 'lock'
log = logging.getLogger('zuul.nodes.images')


class TempDirectory:
    """The directory of a launcher, created empty.

    :param str root: where the launchers of this host have their directories.
    :param str name: the launcher's name.
    :ivar Path path: the directory.
    """

    def __init__(self, root, name):
        root = pathlib.Path(root)
        root.mkdir(parents=True, exist_ok=True)
        root = _getPrivate(root)
        self.path = root / f'{PREFIX}{name}'
        # Without this lock, another launcher could see the directory before
        # its own lock exists.
        with _locked(root / LOCK, fcntl.LOCK_EX):
            for other in root.glob(f'{PREFIX}*/'):
                _removeIfDead(other)
            self.path.mkdir(mode=0o700)
            self._lock = contextlib.ExitStack()
            self._lock.enter_context(
                _locked(self.path / LOCK, fcntl.LOCK_EX))

    def remove(self):
        """Remove the directory with its content."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _getPrivate(root):
    """:return: the directory of this user's launchers; a new one, if another
        user has taken its name."""
    path = root / f'zuul-launchers-{os.getuid()}'
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        # An operator may have created it with other permissions.
        path.chmod(0o700)
        return path
    log.warning(
        '%s is not a directory of the user that runs this launcher, so the '
        'launcher creates another one, which remains if the launcher is '
        'killed. Remove it, or set "temp_dir" of [launcher] to a directory '
        'that no other user can write to', path)
    return pathlib.Path(tempfile.mkdtemp(prefix=f'{path.name}-', dir=root))


@contextlib.contextmanager
def _locked(path, operation):
    descriptor = os.open(
        path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def _removeIfDead(directory):
    # A launcher that stops at this moment removes its directory itself.
    with contextlib.suppress(BlockingIOError, FileNotFoundError), \
            _locked(directory / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
        shutil.rmtree(directory)
