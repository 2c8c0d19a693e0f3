"""Programs apart from the machine they run on, by bubblewrap.

Images and nodes are what somebody else has written, so all that looks into
them does it from within: a symbolic link there leads to nothing of the
machine's.  All programs of a node or an image have a mark in their
environment, by which any launcher finds them, whoever has started them.
"""

import collections
import contextlib
import os
import pathlib
import pwd
import subprocess
import time

import psutil

from zuul_nodes.drivers import DriverError

VARIABLE = 'ZUUL_NODES_LOCAL'
# By this, a quickstart finds what it has started, and so nodes, too.
KEPT = 'QUICKSTART_RUN'
# Where the machine has its programs, and the libraries for them.
PROGRAMS = ('usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64')
# What a program has said last is reported up to this many characters.
REPORTED = 500
# Seconds in which a process ends that was killed.
ENDING = 10
PAUSE = 0.02


class Sandbox:
    """
    :param user: the name of the user whose processes they are, seen from
        the machine; None for the one who asks.  Only root can ask for
        others.
    :raises DriverError: there is no such user, or it can't be had.
    """

    def __init__(self, user=None):
        self._identity = {}
        self._owner = None
        if user is None:
            return
        try:
            entry = pwd.getpwnam(user)
        except KeyError:
            raise DriverError(
                f'There is no user "{user}" on this machine') from None
        if entry.pw_uid == os.geteuid():
            return
        if os.geteuid():
            raise DriverError(
                f'Only root can run nodes as the user "{user}"; without '
                '"user" they run as the one who runs the launcher')
        self._owner = entry.pw_uid, entry.pw_gid
        self._identity = {'user': entry.pw_uid, 'group': entry.pw_gid,
                          'extra_groups': []}

    def give(self, path):
        """Let a new file or directory be that user's alone."""
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        if self._owner:
            os.chown(path, *self._owner)

    def checkReach(self, path):
        """
        :raises DriverError: the user can't get at this directory.
        """
        result = subprocess.run(
            ['test', '-x', path], check=False, timeout=10, **self._identity)
        if result.returncode:
            raise DriverError(
                f'The user who runs nodes can not reach {path}: others need '
                'the permission to pass all directories above it, or '
                'another "directory" or "user" has to be in the section of '
                'the connection in zuul.conf')

    def run(self, mark, command, timeout, writable, readable=None,
            stdin=subprocess.DEVNULL):
        """Run a program of the machine's that sees nothing of it.

        :param str mark: of the image or node for which this is done.
        :param command: the program and its arguments.
        :param float timeout: seconds.
        :param path writable: a directory, which it sees as ``/target``.
        :param path readable: a directory, which it sees as ``/source``.
        :return: its exit code, and what it said to stderr.
        :raises DriverError: it took too long.
        """
        binds = []
        for name in PROGRAMS:
            path = pathlib.Path('/', name)
            if path.is_symlink():
                binds += ['--symlink', os.readlink(path), path]
            elif path.is_dir():
                binds += ['--ro-bind', path, path]
        if readable:
            binds += ['--ro-bind', readable, '/source']
        try:
            result = subprocess.run(
                ['bwrap', '--unshare-all', '--cap-drop', 'ALL',
                 '--die-with-parent', *binds, '--dev', '/dev', '--proc',
                 '/proc', '--bind', writable, '/target', '--chdir',
                 '/target', '--', *command],
                stdin=stdin, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, timeout=timeout, check=False,
                env=self._getEnvironment(mark), **self._identity)
        except subprocess.TimeoutExpired:
            raise DriverError(
                f'{command[0]} has not ended in {timeout} seconds'
                ) from None
        return result.returncode, result.stderr.decode(errors='replace')

    def start(self, mark, arguments, log, prepare):
        """Start what goes on though the launcher ends.

        :param str mark: of the node.
        :param arguments: of bubblewrap.
        :param file log: where it writes to.
        :param prepare: called before the program begins, when bubblewrap
            runs.
        """
        reader, writer = os.pipe()
        try:
            # It becomes a child of the machine's first process.
            subprocess.run(
                ['setsid', '--fork', 'bwrap', '--unshare-user',
                 '--unshare-ipc', '--unshare-pid', '--unshare-uts',
                 '--unshare-cgroup-try', '--cap-drop', 'ALL', '--block-fd',
                 str(reader), *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=10,
                check=True, env=self._getEnvironment(mark),
                pass_fds=[reader], **self._identity)
            try:
                prepare()
            except Exception:
                # It begins, too, if nobody holds the pipe any more.
                kill(mark)
                raise
            os.write(writer, b'.')
        finally:
            os.close(reader)
            os.close(writer)

    def _getEnvironment(self, mark):
        kept = {KEPT: os.environ[KEPT]} if KEPT in os.environ else {}
        # Messages are compared with what is expected.
        return {VARIABLE: mark, 'LC_ALL': 'C',
                'PATH': os.environ.get('PATH', os.defpath)} | kept


def find():
    """:return: mark -> a list of the processes that have it."""
    found = collections.defaultdict(list)
    for process in psutil.process_iter():
        # Others' can't be read, and some have ended meanwhile.
        with contextlib.suppress(psutil.Error):
            if mark := process.environ().get(VARIABLE):
                found[mark].append(process)
    return found


def kill(mark):
    """Kill all processes with a mark and whatever they have started, and
    wait for their end.

    :raises DriverError: they do not end.
    """
    end = time.monotonic() + ENDING
    while found := find()[mark]:
        if time.monotonic() > end:
            raise DriverError(f'The processes of {mark} do not end')
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in (*process.children(recursive=True), process):
                    # psutil sees to it that the number was not used again.
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
        # Not for what is left of it in the list of processes, until the
        # first one of the machine has noticed.
        time.sleep(PAUSE)


def describe(text):
    """:return: the end of what a program has said, in one line."""
    return ' '.join(text.split())[-REPORTED:] or 'it said nothing'
