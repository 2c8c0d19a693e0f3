"""Users of this machine that run nodes, one user for each node.

A process of an ordinary user runs nodes as that user.  A process of root gives
each node a user without an account: one of the numbers that systemd uses for
services with ``DynamicUser=``.  It claims the number as systemd does, with a
lock (flock) on the file of the number, so that neither takes a number that the
other uses.

A number is free if it has no account, no process, no lock, and no directory
for which it was claimed.  Nothing has to be cleaned up after a crash: the
kernel releases the lock of a process that ends, and a number becomes free
with the removal of its directory.

See https://systemd.io/UIDS-GIDS/ for the numbers.
"""

import contextlib
import fcntl
import grp
import hashlib
import os
import pathlib
import pwd
import subprocess

import psutil

LOCKS = pathlib.Path('/run/systemd/dynamic-uid')
NUMBERS = range(61184, 65520)
# The shell holds the lock as its input.  The command must not inherit it, or
# it could unlock it.  "exit" keeps the shell from replacing itself.
HOLD = '"$@" < /dev/null; exit $?'


class ClaimError(Exception):
    """No user can be claimed; the message gives the reason in one line."""


class User:
    """A user of the machine.

    :param int uid: number of the user; None for the current user.
    :param int gid: number of the group.
    :ivar lock: the input for a command from :meth:`hold`.
    """

    lock = subprocess.DEVNULL

    def __init__(self, uid=None, gid=None):
        self.uid = uid
        self.gid = gid

    @classmethod
    def of(cls, path):
        """:return: the owner of a file."""
        stat = os.lstat(path)
        return cls(stat.st_uid, stat.st_gid)

    def give(self, path):
        """Make a file or directory accessible to this user only."""
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        if self.uid is not None:
            os.chown(path, self.uid, self.gid)

    def wrap(self, command):
        """:return: a command that runs another command as this user, and is
            killed when the thread that started it ends."""
        if self.uid in (None, os.geteuid()):
            return command
        # The kernel resets the death signal when the user changes.
        return ['setpriv', '--reuid', str(self.uid), '--regid',
                str(self.gid), '--clear-groups', '--pdeathsig', 'KILL',
                *command]

    def hold(self, command):
        """:return: a command that runs another command as this user and holds
            the claim until that one ends; its input must be ``lock``."""
        wrapped = self.wrap(command)
        # The shell stays as the parent, whose death ends the command.
        return command if wrapped is command else [
            'sh', '-c', HOLD, 'sh', *wrapped]

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.release()

    def release(self):
        """End the claim, unless a command from :meth:`hold` holds it."""


class OwnUser(User):
    """A user and a group that nothing else on the machine uses.

    :param int number: of both.
    :param int lock: a locked descriptor of the file of the number.
    """

    def __init__(self, number, lock):
        super().__init__(number, number)
        self.lock = lock

    def release(self):
        os.close(self.lock)
        forget(self.uid)


def claim(path=None):
    """Claim a user for a node or a program.

    The same path gets the same user again, if possible: the search starts at
    a number derived from the path.

    :param path: of a directory that will belong to the user.  While it does,
        no other path gets the user, even after a crash.
    :return: a :class:`User`, a context manager that releases it; an
        :class:`OwnUser` for root.
    :raises ClaimError: no user is free.
    """
    if os.geteuid():
        return User()
    directory = os.path.abspath(path) if path else ''
    start = int(hashlib.sha256(os.fsencode(directory)).hexdigest(), 16) % len(
        NUMBERS)
    try:
        LOCKS.mkdir(parents=True, exist_ok=True)
        for number in (*NUMBERS[start:], *NUMBERS[:start]):
            if user := _claim(number, directory):
                return user
    except OSError as error:
        raise ClaimError(
            f'Unable to claim a user for a node: {error}') from error
    raise ClaimError(
        f'All users from {NUMBERS[0]} to {NUMBERS[-1]}, which are reserved '
        'for nodes, are in use on this machine')


def _claim(number, directory):
    lock = _lock(number)
    if lock is None:
        return None
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, lock)
        if (_getDirectory(number, lock) in ('', directory)
                and _isUnused(number)):
            os.ftruncate(lock, 0)
            os.pwrite(lock, os.fsencode(f'{directory}\n'), 0)
            stack.pop_all()
            return OwnUser(number, lock)
        _removeFile(number, lock)
    return None


def forget(number):
    """Remove the file of a number that is free or was never claimed.

    :param int number: of any user.
    """
    if os.geteuid() or number not in NUMBERS:
        return
    # The directory exists only after a first claim.
    with contextlib.suppress(FileNotFoundError):
        lock = _lock(number)
        if lock is not None:
            _removeFile(number, lock)
            os.close(lock)


def forgetFree():
    """Remove the files of all free numbers, left after a crash or a manual
    cleanup."""
    for path in LOCKS.glob('[0-9]*'):
        forget(int(path.name))


def _lock(number):
    """:return: a locked descriptor of the file of a number; None if another
        process has the lock."""
    while True:
        lock = os.open(LOCKS / str(number),
                       os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        # The previous holder of the lock may have removed the file.  Others
        # would then lock a new file.
        if os.fstat(lock).st_nlink:
            return lock
        os.close(lock)


def _removeFile(number, lock):
    """Remove the locked file of a number that has no directory."""
    if not _getDirectory(number, lock):
        (LOCKS / str(number)).unlink(missing_ok=True)


def _getDirectory(number, lock):
    """:return: the directory for which a number was claimed, if it belongs to
        the number; otherwise an empty string."""
    path = os.fsdecode(os.pread(lock, os.fstat(lock).st_size, 0)).rstrip('\n')
    # systemd writes the name of a service instead of a path.
    if path.startswith('/'):
        with contextlib.suppress(OSError):
            if os.lstat(path).st_uid == number:
                return path
    return ''


def _isUnused(number):
    """:return: whether a number has neither an account nor a process."""
    for find in (pwd.getpwuid, grp.getgrgid):
        with contextlib.suppress(KeyError):
            find(number)
            return False
    for process in psutil.process_iter():
        # Some processes end during the loop.
        with contextlib.suppress(psutil.Error), process.oneshot():
            if (number in (*process.uids(), *process.gids())
                    and process.status() != psutil.STATUS_ZOMBIE):
                return False
    return True
