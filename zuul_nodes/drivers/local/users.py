"""As whom nodes are run, and to whom images belong.

A user of its own has a node for as long as it is there, and an image while it
is made.  An image that is complete belongs to the launcher's own user, so it
outlives any claim and no node can change it.
"""

import os
import pwd
import subprocess

from zuul_nodes import nodeusers
from zuul_nodes.drivers import DriverError, TemporaryError
from zuul_nodes.nodeusers import User


class Users:
    """
    :param str name: of the user of all nodes and images.  By default they
        have users of their own if the launcher is run by root, and otherwise
        that of the launcher.
    :ivar User keeper: to whom images belong that are complete.
    :raises DriverError: there is no such user, or only root can have it.
    """

    def __init__(self, name=None):
        self._shared = _findShared(name)
        self.keeper = self._shared or User(0, 0)

    def claim(self, path=None):
        """
        :param path: as of :func:`nodeusers.claim`.
        :return: a :class:`User`, a context manager that releases it.
        :raises TemporaryError: all are in use.
        """
        if self._shared:
            return self._shared
        try:
            return nodeusers.claim(path)
        except nodeusers.ClaimError as error:
            raise TemporaryError(str(error)) from None

    def checkReach(self, path):
        """
        :raises DriverError: the user of a node can't get at this directory.
        """
        with self.claim() as user:
            result = subprocess.run(
                user.wrap(['test', '-x', path]), check=False, timeout=10)
        if result.returncode:
            raise DriverError(
                f'The user who runs nodes can not reach {path}: others need '
                'the permission to pass all directories above it, or '
                'another "directory" or "user" has to be in the section of '
                'the connection in zuul.conf')


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
            f'Only root can run nodes as the user "{name}"; without "user" '
            'they run as the one who runs the launcher')
    return User(entry.pw_uid, entry.pw_gid)
