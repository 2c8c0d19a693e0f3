"""Directories, and what is said of each in a file beside it.

The file is there first and goes last.  So whatever is left of something
that was interrupted can be found, with the tags that tell whose it is.
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
# Seconds that it takes to remove a large directory, at most.
TIMEOUT = 1800


class Entries:
    """
    :param Path path: the directory that they are in; made if missing.
    :param Users users: that get the directories.
    """

    def __init__(self, path, users):
        self.directory = pathlib.Path(path)
        self.users = users

    def prepare(self):
        """
        :raises DriverError: a user can't reach it.
        :raises OSError: it can't be made.
        """
        self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.users.checkReach(self.directory)

    def check(self):
        """Whether it can be prepared, without doing so.

        :raises DriverError: a user can't reach it, or it can't be made.
        """
        path = self.directory
        while not path.exists():
            path = path.parent
        if not path.is_dir():
            raise DriverError(f'{path} is not a directory')
        if not os.access(path, os.W_OK | os.X_OK):
            raise DriverError(
                f'Who runs the launcher needs the permission to write in '
                f'{path}')
        self.users.checkReach(path)

    def path(self, name, *parts):
        """
        :raises DriverError: this can't be the name of an entry.
        """
        if not NAME.fullmatch(name):
            raise DriverError(f'"{name}" is no name of a node or an image')
        return self.directory.joinpath(name, *parts)

    def getMark(self, name):
        """:return: the mark of an entry's processes.

        It tells the directory, too, for another launcher of the machine may
        have an entry of this name in another one; but no more of it than a
        checksum, as jobs can read it.
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
        """:return: what is said of an entry, a dict; None if there is no
            such entry."""
        try:
            return json.loads(self._getFile(name).read_text())
        except FileNotFoundError:
            return None

    def write(self, name, data):
        """Say something of an entry, which is new or not."""
        file = self._getFile(name)
        new = file.with_suffix('.new')
        with open(new, 'w') as stream:
            json.dump(data, stream)
            stream.flush()
            # Not even a machine that loses its power leaves half of it.
            os.fsync(stream.fileno())
        new.rename(file)

    @contextlib.contextmanager
    def lock(self, name, wait=False):
        """Keep an entry to oneself, also from other launchers of the
        machine; it ends with the process.

        :param bool wait: until nobody else has it.
        :return: a context manager of whether nobody else has it.
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
                # Whoever had it may have removed the file; then others
                # have another one.
                if os.fstat(file.fileno()).st_nlink:
                    yield True
                    return

    def makeDirectory(self, name, user):
        """Make an entry's directory; what it had is gone.

        :param User user: whose it is.
        """
        self._removeDirectory(name)
        self.path(name).mkdir()
        user.give(self.path(name))

    def remove(self, name):
        """Remove an entry and all processes with its mark; nothing if
        there is no such entry.

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
            # Directories need not allow their owner to remove what is in
            # them.
            for command in (['chmod', '-R', 'u+rwX'], ['rm', '-rf']):
                subprocess.run([*command, '--', path], check=True,
                               capture_output=True, timeout=TIMEOUT)
        nodeusers.forget(user.uid)

    def _getFile(self, name):
        return self.path(name).with_suffix(SUFFIX)

    def _getLock(self, name):
        return self.path(name).with_suffix('.lock')
