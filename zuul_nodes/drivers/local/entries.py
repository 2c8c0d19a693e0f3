"""Directories, each with a file of metadata beside it.

The file is created first and deleted last.  So the remains of an interrupted
operation can be found, with the tags that identify their owner.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from zuul_nodes import nodeusers
from zuul_nodes.drivers import DriverError
from zuul_nodes.drivers.local import sandbox
from zuul_nodes.nodeusers import User

NAME = re.compile(r'[0-9A-Za-z][0-9A-Za-z_-]*')
SUFFIX = '.json'
# Time-out in seconds to delete a large directory.
TIMEOUT = 1800


class Entries:
    """Manages the directories of nodes or images.

    :param Path path: the parent directory; created if missing.
    :param Users users: the owners of the directories.
    """

    def __init__(self, path, users):
        self.directory = pathlib.Path(path)
        self.users = users

    def prepare(self):
        """
        :raises DriverError: a user cannot reach the directory.
        :raises OSError: the directory cannot be created.
        """
        self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.users.checkReach(self.directory)

    def checkDirectory(self):
        """Check whether the directory can be prepared, without doing so.

        :raises DriverError: a user cannot reach the directory, or it cannot be
            created.
        """
        path = self.directory
        while not path.exists():
            path = path.parent
        if not path.is_dir():
            raise DriverError(f'{path} is not a directory')
        if not os.access(path, os.W_OK | os.X_OK):
            raise DriverError(
                f'The user who runs the launcher cannot write in {path}; '
                'allow it')
        self.users.checkReach(path)

    def path(self, name, *parts):
        """
        :raises DriverError: the name is not valid for an entry.
        """
        if not NAME.fullmatch(name):
            raise DriverError(
                f'"{name}" is not a valid name of a node or an image')
        return self.directory.joinpath(name, *parts)

    def getMark(self, name):
        """:return: the mark of an entry's processes.

        It includes a checksum of the directory, because another launcher of
        the machine may have an entry of the same name in another directory.
        Jobs can read the mark, so it does not include the path itself.
        """
        directory = os.fsencode(os.path.abspath(self.directory))
        return f'{name}-{hashlib.sha256(directory).hexdigest()[:16]}'

    def names(self):
        """:return: a list of the names of all entries."""
        try:
            return [name.removesuffix(SUFFIX)
                    for name in os.listdir(self.directory)
                    if name.endswith(SUFFIX)]
        except FileNotFoundError:
            return []

    def read(self, name):
        """:return: the metadata of an entry, a dict; None if it does not
            exist."""
        try:
            return json.loads(self._getFile(name).read_text())
        except FileNotFoundError:
            return None

    def write(self, name, data):
        """Write the metadata of an entry, which may be new."""
        file = self._getFile(name)
        new = file.with_suffix('.new')
        with open(new, 'w') as stream:
            json.dump(data, stream)
            stream.flush()
            # The file is complete even if the machine loses power.
            os.fsync(stream.fileno())
        new.rename(file)

    @contextlib.contextmanager
    def lock(self, name, wait=False):
        """Lock an entry, also against other launchers of the machine; the
        lock ends with the process.

        :param bool wait: whether to wait for the lock.
        :return: a context manager with whether the lock was acquired.
        """
        path = self._getLock(name)
        while True:
            with open(path, 'w') as file:
                try:
                    fcntl.flock(
                        file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                except BlockingIOError:
                    yield False
                    return
                # The previous owner may have deleted the file, so that others
                # lock another one.
                if os.fstat(file.fileno()).st_nlink:
                    yield True
                    return

    def makeDirectory(self, name, user):
        """Create an entry's directory, after deleting an existing one.

        :param User user: the owner.
        """
        self._removeDirectory(name)
        self.path(name).mkdir()
        user.give(self.path(name))

    def removeEntry(self, name):
        """Delete an entry, and kill all processes with its mark; do nothing
        if it does not exist.

        :raises DriverError: the processes do not end.
        """
        sandbox.kill(self.getMark(name))
        self._removeDirectory(name)
        file = self._getFile(name)
        file.with_suffix('.new').unlink(missing_ok=True)
        self._getLock(name).unlink(missing_ok=True)
        file.unlink(missing_ok=True)

    def _removeDirectory(self, name):
        path = self.path(name)
        try:
            user = User.of(path)
        except FileNotFoundError:
            return
        try:
            shutil.rmtree(path)
        except OSError:
            # Directories may lack the permission to delete their contents.
            for command in (['chmod', '-R', 'u+rwX'], ['rm', '-rf']):
                subprocess.run([*command, '--', path], check=True,
                               capture_output=True, timeout=TIMEOUT)
        nodeusers.forget(user.uid)

    def _getFile(self, name):
        return self.path(name).with_suffix(SUFFIX)

    def _getLock(self, name):
        return self.path(name).with_suffix('.lock')
