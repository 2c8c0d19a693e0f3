"""A launcher's own directory for downloads, and the end of dead ones'.

Images are large: what a launcher that was killed has left must go, and
what another launcher on the same host is about to upload must stay.  A
directory belongs to a living launcher as long as the file in it is locked.

The root may be ``/tmp``, where all users can make files and links of any name.
So the launchers of a user share one directory there, and no other user can
write to it.
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
    """
    :param str root: where the launchers of this host have theirs.
    :param str name: the launcher's name.
    :ivar Path path: the directory.
    """

    def __init__(self, root, name):
        root = pathlib.Path(root)
        root.mkdir(parents=True, exist_ok=True)
        root = _getPrivate(root)
        self.path = root / f'{PREFIX}{name}'
        # No launcher may look between the making of a directory and its lock.
        with _locked(root / LOCK, fcntl.LOCK_EX):
            for other in root.glob(f'{PREFIX}*/'):
                _removeIfDead(other)
            self.path.mkdir(mode=0o700)
            self._lock = contextlib.ExitStack()
            self._lock.enter_context(
                _locked(self.path / LOCK, fcntl.LOCK_EX))

    def remove(self):
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _getPrivate(root):
    """:return: the directory of all launchers of this user; a new one, if
        another user has taken its name."""
    path = root / f'zuul-launchers-{os.getuid()}'
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        # Also if it was made by hand.
        path.chmod(0o700)
        return path
    log.warning(
        '%s is not a directory of the user that this launcher runs as, so it '
        'takes another one, which stays if it is killed. Remove it, or set '
        '"temp_dir" of [launcher] to a directory that no other user can '
        'write to', path)
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
    # One that ends just now removes it itself.
    with contextlib.suppress(BlockingIOError, FileNotFoundError), \
            _locked(directory / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
        shutil.rmtree(directory)
