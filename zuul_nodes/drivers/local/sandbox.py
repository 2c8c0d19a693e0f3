"""Programs apart from the machine they run on, by bubblewrap.

Images and nodes are what somebody else has written, so all that looks into
them does it from within: a symbolic link there leads to nothing of the
machine's.  They can't make namespaces of their own, in which they would be
root, nor use what else of the kernel is not for them.

All programs of a node or an image have a mark in their environment, by which
any launcher finds them, whoever has started them.
"""

import collections
import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import psutil

from zuul_nodes import processes
from zuul_nodes.drivers import DriverError, PermanentError
from zuul_nodes.drivers.local import forward, seccomp

VARIABLE = 'ZUUL_NODES_LOCAL'
# What the user is inside.
UID = 1000
# By this, a quickstart finds what it has started, and so nodes, too.
KEPT = 'QUICKSTART_RUN'
# Where the machine has its programs, and the libraries for them.
PROGRAMS = ('usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64')
# What every node has of its own.
NAMESPACES = ('--unshare-user', '--unshare-ipc', '--unshare-pid',
              '--unshare-uts', '--unshare-cgroup-try', '--cap-drop', 'ALL')
# That of a virtual environment may be where nobody else gets, and so may the
# file.
PYTHON = os.path.realpath(sys.executable)
FORWARD = pathlib.Path(forward.__file__)
# What a program has said last is reported up to this many characters.
REPORTED = 500
# That many lines of it are kept, each up to this many bytes.
LINES = 20
LONGEST_LINE = 1 << 12
# Seconds in which a process ends that was killed.
ENDING = 10
# Seconds that it takes at most to try a network namespace.
ISOLATING = 30
# Seconds that it takes at most to change the owner of many files.
GIVING = 1800
PAUSE = 0.02


class Sandbox:
    """
    :param User user: whose processes they are, seen from the machine.
    """

    def __init__(self, user):
        self.user = user
        self._filter = seccomp.makeProgram()

    def giveAll(self, mark, path):
        """Let a directory that others had be the user's, with all that is in
        it; nothing if it is.  It takes time, once for each file.

        :param str mark: of the image or node whose directory it is.
        :raises DriverError: it is not possible.
        """
        uid = self.user.uid
        # Its owner is the last that changes.
        if uid in (None, os.lstat(path).st_uid):
            return
        try:
            subprocess.run(
                ['chown', '--recursive', '--no-dereference',
                 f'{uid}:{self.user.gid}', '--', path],
                stdin=subprocess.DEVNULL, capture_output=True, check=True,
                timeout=GIVING, env=self._getEnvironment(mark))
        except subprocess.SubprocessError as error:
            raise DriverError(
                f'Unable to give {path} to the user {uid}: '
                f'{describe(_decode(error.stderr) or str(error))}') from None

    def run(self, mark, command, timeout, writable, readable=None,
            blocks=None, ignored=()):
        """Run a program of the machine's that sees nothing of it.

        :param str mark: of the image or node for which this is done.
        :param command: the program and its arguments.
        :param float timeout: seconds.
        :param path writable: a directory, which it sees as ``/target``.
        :param path readable: a directory, which it sees as ``/source``.
        :param blocks: of bytes, which it reads as its input.
        :param ignored: ends of lines that are no news.
        :return: its exit code, and the last of what it said.
        :raises DriverError: it took too long.
        :raises Exception: what the blocks raise.
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
        expired = threading.Event()
        with Feeder(blocks or ()) as feeder, self._openFilter() as filter_fd:
            process = subprocess.Popen(
                self.user.wrap([
                    'bwrap', '--unshare-all', '--cap-drop', 'ALL',
                    '--die-with-parent', '--seccomp', str(filter_fd), *binds,
                    '--dev', '/dev', '--proc', '/proc', '--bind', writable,
                    '/target', '--chdir', '/target', '--', *command]),
                stdin=feeder.reader, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, env=self._getEnvironment(mark),
                pass_fds=[filter_fd])
            with process:
                timer = threading.Timer(
                    timeout, _expire, [process, expired, mark])
                timer.start()
                try:
                    feeder.start()
                    said = _readLines(process.stdout, ignored)
                    code = process.wait()
                finally:
                    timer.cancel()
                    process.kill()
        if expired.is_set():
            raise DriverError(
                f'{command[0]} has not ended in {timeout} seconds')
        feeder.check()
        return code, said

    def start(self, mark, arguments, log, prepare, entrance=None):
        """Start what goes on though the launcher ends.

        :param str mark: of the node.
        :param arguments: of bubblewrap.
        :param file log: where it writes to.
        :param prepare: called before the program begins, when bubblewrap
            runs.
        :param socket entrance: a bound socket; then the program has a
            network of its own, and who connects to the socket gets to the
            port of that number there.  By default, it has the machine's
            network.
        """
        reader, writer = os.pipe()
        try:
            with self._openFilter() as filter_fd:
                command = ['bwrap', *NAMESPACES, '--seccomp', str(filter_fd),
                           '--block-fd', str(reader), *arguments]
                passed = [reader, filter_fd]
                if entrance:
                    command = _isolate(command, entrance)
                    passed.append(entrance.fileno())
                # It becomes a child of the machine's first process.
                subprocess.run(
                    ['setsid', '--fork', *self.user.hold(command)],
                    stdin=self.user.lock, stdout=log, stderr=log,
                    timeout=10, check=True, env=self._getEnvironment(mark),
                    pass_fds=passed)
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

    def checkIsolation(self):
        """Try whether programs can have a network of their own.

        :raises PermanentError: the machine does not allow it.
        """
        with bindPort() as entrance:
            command = _isolate(
                ['bwrap', *NAMESPACES, '--ro-bind', '/', '/', '--proc',
                 '/proc', '--dev', '/dev', '--', 'true'], entrance)
            try:
                result = subprocess.run(
                    self.user.wrap(command), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    timeout=ISOLATING, check=False,
                    env=self._getEnvironment('check'),
                    pass_fds=[entrance.fileno()])
            except subprocess.TimeoutExpired as error:
                raise DriverError(
                    f'Unable to try a network namespace: {error}') from None
        if result.returncode:
            raise PermanentError(
                'This machine does not let nodes have a network namespace of '
                'their own: '
                f'{describe(_decode(result.stdout))}')

    @contextlib.contextmanager
    def _openFilter(self):
        """:return: a context manager of what bubblewrap reads the filter
            of system calls from."""
        reader, writer = os.pipe()
        try:
            # A pipe has more room than that.
            with open(writer, 'wb') as file:
                file.write(self._filter)
            yield reader
        finally:
            os.close(reader)

    def _getEnvironment(self, mark):
        kept = {KEPT: os.environ[KEPT]} if KEPT in os.environ else {}
        # Messages are compared with what is expected.
        return {VARIABLE: mark, 'LC_ALL': 'C',
                'PATH': os.environ.get('PATH', os.defpath)} | kept


def bindPort():
    """:return: a socket that nobody else can bind, on a port that was
        free."""
    sock = socket.socket()
    try:
        sock.bind((forward.ADDRESS, 0))
    except OSError:
        sock.close()
        raise
    return sock


def _isolate(command, entrance):
    """:return: the command that runs one of bubblewrap in a network of its
        own, with an entrance."""
    program, *arguments = command
    return ['bwrap', '--unshare-user', '--unshare-net', '--cap-drop', 'ALL',
            # Root without capabilities could not map itself once more.
            '--uid', str(UID), '--gid', str(UID), '--dev-bind', '/', '/',
            '--', PYTHON, '-I', '-S', '-c', FORWARD.read_text(),
            str(entrance.fileno()), str(entrance.getsockname()[1]), program,
            '--die-with-parent', *arguments]


class Feeder:
    """A thread that writes what a program reads.

    :param blocks: an iterable of bytes.
    :ivar int reader: the end of the pipe that the program gets.
    """

    def __init__(self, blocks):
        self._blocks = blocks
        self._error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.reader, self._writer = os.pipe()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        # Whoever has the blocks may close what they are read from now.
        if self._thread.ident:
            self._thread.join()
        else:
            os.close(self.reader)
            os.close(self._writer)

    def start(self):
        """To be called when the program has the pipe."""
        os.close(self.reader)
        self._thread.start()

    def check(self):
        """:raises Exception: what the blocks have raised."""
        if self._error:
            raise self._error

    def _run(self):
        try:
            # A program that has ended needs no more.
            with contextlib.suppress(BrokenPipeError), \
                    open(self._writer, 'wb') as file:
                for block in self._blocks:
                    file.write(block)
        except BaseException as error:
            self._error = error


def _expire(process, expired, mark):
    expired.set()
    process.kill()
    # What bubblewrap has just started does not know yet that it is to end
    # with it, and would hold the end of the pipe that is read.
    with contextlib.suppress(DriverError):
        kill(mark)


def _readLines(stream, ignored):
    """:return: the last lines of a stream, read to its end."""
    kept = collections.deque(maxlen=LINES)
    while line := stream.readline(LONGEST_LINE):
        text = line.decode(errors='replace').rstrip('\n')
        if not text.endswith(tuple(ignored)):
            kept.append(text)
    return '\n'.join(kept)


def find():
    """:return: mark -> a list of the processes that have it."""
    found = collections.defaultdict(list)
    for mark, process in processes.find(VARIABLE):
        found[mark].append(process)
    return found


def kill(mark):
    """Kill all processes with a mark and whatever they have started, and
    wait for their end.

    :raises DriverError: they do not end.
    """
    end = time.monotonic() + ENDING
    killed = set()
    # One that has given back its memory has no mark any more, but may still
    # have locks.
    while (found := find()[mark]) or not all(map(_hasEnded, killed)):
        if time.monotonic() > end:
            raise DriverError(f'The processes of {mark} do not end')
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in (*process.children(recursive=True), process):
                    # psutil sees to it that the number was not used again.
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
                        killed.add(each)
        time.sleep(PAUSE)


def _hasEnded(process):
    # What is left in the list of processes goes when its parent notices.
    with contextlib.suppress(psutil.NoSuchProcess):
        return (not process.is_running()
                or process.status() == psutil.STATUS_ZOMBIE)
    return True


def _decode(said):
    return (said or b'').decode(errors='replace')


def describe(text):
    """:return: the end of what a program has said, in one line."""
    return ' '.join(text.split())[-REPORTED:] or 'it said nothing'
