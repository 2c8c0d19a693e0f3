"""A launcher's own directory for downloads, and the end of dead ones'.

Images are large: what a launcher that was killed has left must go, and
what another launcher on the same host is about to upload must stay.  A
directory belongs to a living launcher as long as the file in it is locked.
"""

import contextlib
import fcntl
import os
import pathlib
import shutil

PREFIX = 'zuul-launcher-'
LOCK = 'lock'


class TempDirectory:
    """
    :param str root: where the launchers of this host have theirs.
    :param str name: the launcher's name.
    :ivar Path path: the directory.
    """

    def __init__(self, root, name):
        root = pathlib.Path(root)
        self.path = root / f'{PREFIX}{name}'
        root.mkdir(parents=True, exist_ok=True)
        # Between a directory and the lock in it, nobody may look.  In
        # /tmp, nobody but its owner may open a file to lock it.
        with _locked(root / f'{PREFIX}{os.getuid()}.{LOCK}', fcntl.LOCK_EX):
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


@contextlib.contextmanager
def _locked(path, operation):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def _removeIfDead(directory):
    # Another user's launchers are that user's affair, and one that ends just
    # now removes it itself.
    with contextlib.suppress(
            BlockingIOError, FileNotFoundError, PermissionError), \
            _locked(directory / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
        shutil.rmtree(directory)
