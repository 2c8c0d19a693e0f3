"""Who nodes are, seen from this machine.

An ordinary user has nodes of the own user.  Root has not: a job could read
the keys of this Zuul, and be root to whatever asks who connects.
"""

import os
import pwd

# As with the driver "local".
NAME = 'nobody'


def getOwner():
    """:return: the numbers of the user and of the group; None for the user
        who asks.
    :raises KeyError: root asks, and there is no such user."""
    if os.geteuid():
        return None
    entry = pwd.getpwnam(NAME)
    return entry.pw_uid, entry.pw_gid


def give(path):
    """Let a file or directory be that user's alone."""
    os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
    if owner := getOwner():
        os.chown(path, *owner)


def wrap(command):
    """:return: a command that runs another one as that user."""
    owner = getOwner()
    if owner is None:
        return command
    user, group = owner
    # The kernel forgets that signal when the user changes.
    return ['setpriv', '--reuid', str(user), '--regid', str(group),
            '--clear-groups', '--pdeathsig', 'KILL', *command]
