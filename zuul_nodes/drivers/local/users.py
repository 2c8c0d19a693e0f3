"""The users who run nodes and own images.

A node has a user of its own while it exists, and an image while it is
created.  A complete image belongs to the launcher's own user, so no node can
change it, even after the user of the image was released.
"""

import os
import pwd
import subprocess

from zuul_nodes import nodeusers
from zuul_nodes.drivers import DriverError, TemporaryError
from zuul_nodes.nodeusers import User


class Users:
    """Assigns users to nodes and images.

    :param str name: of the user of all nodes and images.  By default, they
        have users of their own if root runs the launcher, and otherwise the
        user of the launcher.
    :ivar User keeper: the owner of complete images.
    :raises DriverError: the user does not exist, or requires root.
    """

    def __init__(self, name=None):
        self._shared = _findShared(name)
        self.keeper = self._shared or User(0, 0)

    def claim(self, path=None):
        """
        :param path: as of :func:`nodeusers.claim`.
        :return: a :class:`User`, a context manager that releases it.
        :raises TemporaryError: all users are in use.
        """
        if self._shared:
            return self._shared
        try:
            return nodeusers.claim(path)
        except nodeusers.ClaimError as error:
            raise TemporaryError(str(error)) from None

    def checkReach(self, path):
        """
        :raises DriverError: the user of a node cannot reach a directory.
        """
        with self.claim() as user:
            result = subprocess.run(
                user.wrap(['test', '-x', path]), check=False, timeout=10)
        if result.returncode:
            raise DriverError(
                f'The user who runs nodes cannot reach {path}. Permit others '
                'to pass all directories above it, or set another "directory" '
                'or "user" in the section of the connection in zuul.conf')


def _findShared(name):
    """:return: the user of all nodes, None if each has its own."""
    if name is None:
        return User() if os.geteuid() else None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise DriverError(
            f'There is no user "{name}" on this machine') from None
    if entry.pw_uid == os.geteuid():
        return User()
    if os.geteuid():
        raise DriverError(
            f'Only root can run nodes as the user "{name}"; without "user", '
            'the user who runs the launcher runs them')
    return User(entry.pw_uid, entry.pw_gid)
