"""Run programs in isolation from the machine, by bubblewrap.

The contents of images and nodes are not trusted, so programs that read them
run inside: a symbolic link there cannot lead to files of the machine.  They
cannot create namespaces, in which they would be root, and cannot use other
risky functions of the kernel.

All programs of a node or an image have a mark in their environment, by which
any launcher finds them.
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
# The id of the user inside the sandbox.
UID = 1000
# A quickstart finds its processes, including nodes, by this variable.
KEPT = 'QUICKSTART_RUN'
# Directories with programs of the machine and their libraries.
PROGRAMS = ('usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64')
# Namespaces and privileges that every node has of its own.
NAMESPACES = ('--unshare-user', '--unshare-ipc', '--unshare-pid',
              '--unshare-uts', '--unshare-cgroup-try', '--cap-drop', 'ALL')
# The interpreter and the file of a virtual environment may be unreadable for
# other users.
PYTHON = os.path.realpath(sys.executable)
FORWARD = pathlib.Path(forward.__file__)
# Maximum length of a program's output in messages, in characters.
REPORTED = 500
# Number of the last lines of output to keep, and bytes of each.
LINES = 20
LONGEST_LINE = 1 << 12
# Seconds until a killed process has to end.
ENDING = 10
# Time-out in seconds to try a network namespace.
ISOLATING = 30
# Time-out in seconds to change the owner of many files.
GIVING = 1800
PAUSE = 0.02


class Sandbox:
    """Runs programs in isolation.

    :param User user: of the processes, as seen from the machine.
    """

    def __init__(self, user):
        self.user = user
        self._filter = seccomp.makeProgram()

    def giveAll(self, mark, path):
        """Give a directory and its contents to the user; do nothing if the
        user owns it.  Takes long for many files.

        :param str mark: of the image or node of the directory.
        :raises DriverError: the owner cannot be changed.
        """
        uid = self.user.uid
        # chown changes the directory itself last.
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
        """Run a program of the machine that cannot see the machine.

        :param str mark: of the image or node that the program works for.
        :param command: the program and its arguments.
        :param float timeout: seconds.
        :param path writable: a directory, visible as ``/target``.
        :param path readable: a directory, visible as ``/source``.
        :param blocks: of bytes, the standard input.
        :param ignored: ends of lines that are omitted from the output.
        :return: its exit code, and the end of its output.
        :raises DriverError: the time is over.
        :raises Exception: an error of the blocks.
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
        """Start a program that continues after the launcher ends.

        :param str mark: of the node.
        :param arguments: of bubblewrap.
        :param file log: receives the output.
        :param prepare: called before the program begins, while bubblewrap
            waits.
        :param socket entrance: a bound socket; the program then has a
            network of its own, and connections to the socket are forwarded to
            the same port there.  By default, it has the machine's network.
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
                # The program becomes a child of the first process.
                subprocess.run(
                    ['setsid', '--fork', *self.user.hold(command)],
                    stdin=self.user.lock, stdout=log, stderr=log,
                    timeout=10, check=True, env=self._getEnvironment(mark),
                    pass_fds=passed)
            try:
                prepare()
            except Exception:
                # The program would begin once the pipe is closed.
                kill(mark)
                raise
            os.write(writer, b'.')
        finally:
            os.close(reader)
            os.close(writer)

    def checkIsolation(self):
        """Check whether programs can have a network of their own.

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
                'This machine does not allow nodes to have a network '
                'namespace of their own: '
                f'{describe(_decode(result.stdout))}')

    @contextlib.contextmanager
    def _openFilter(self):
        """:return: a context manager with the descriptor from which bubblewrap
            reads the filter of system calls."""
        reader, writer = os.pipe()
        try:
            # A pipe has more capacity than the filter needs.
            with open(writer, 'wb') as file:
                file.write(self._filter)
            yield reader
        finally:
            os.close(reader)

    def _getEnvironment(self, mark):
        kept = {KEPT: os.environ[KEPT]} if KEPT in os.environ else {}
        # LC_ALL, because messages are compared with expected texts.
        return {VARIABLE: mark, 'LC_ALL': 'C',
                'PATH': os.environ.get('PATH', os.defpath)} | kept


def bindPort():
    """:return: a socket that is bound to a free port, which no other program
        can bind."""
    sock = socket.socket()
    try:
        sock.bind((forward.ADDRESS, 0))
    except OSError:
        sock.close()
        raise
    return sock


def _isolate(command, entrance):
    """:return: a command that runs one of bubblewrap in a network of its own
        with an entrance."""
    program, *arguments = command
    return ['bwrap', '--unshare-user', '--unshare-net', '--cap-drop', 'ALL',
            # Root without capabilities could not create another mapping.
            '--uid', str(UID), '--gid', str(UID), '--dev-bind', '/', '/',
            '--', PYTHON, '-I', '-S', '-c', FORWARD.read_text(),
            str(entrance.fileno()), str(entrance.getsockname()[1]), program,
            '--die-with-parent', *arguments]


class Feeder:
    """A thread that writes the standard input of a program.

    :param blocks: an iterable of bytes.
    :ivar int reader: the program's end of the pipe.
    """

    def __init__(self, blocks):
        self._blocks = blocks
        self._error = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.reader, self._writer = os.pipe()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        # The caller may close the source of the blocks afterwards.
        if self._thread.ident:
            self._thread.join()
        else:
            os.close(self.reader)
            os.close(self._writer)

    def start(self):
        """Start to write; call this after the program has got the pipe."""
        os.close(self.reader)
        self._thread.start()

    def check(self):
        """:raises Exception: the error of the blocks."""
        if self._error:
            raise self._error

    def _run(self):
        try:
            # A program that has ended needs no more input.
            with contextlib.suppress(BrokenPipeError), \
                    open(self._writer, 'wb') as file:
                for block in self._blocks:
                    file.write(block)
        except BaseException as error:
            self._error = error


def _expire(process, expired, mark):
    expired.set()
    process.kill()
    # Processes that bubblewrap has just started may not end with it yet, and
    # would keep the pipe open.
    with contextlib.suppress(DriverError):
        kill(mark)


def _readLines(stream, ignored):
    """:return: the last lines of a stream, after reading all of it."""
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
    """Kill all processes with a mark and their children, and wait until they
    have ended.

    :raises DriverError: they do not end.
    """
    end = time.monotonic() + ENDING
    killed = set()
    # A process that has released its memory has lost its mark, but may still
    # hold locks.
    while (found := find()[mark]) or not all(map(_hasEnded, killed)):
        if time.monotonic() > end:
            raise DriverError(f'The processes of {mark} do not end')
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                for each in (*process.children(recursive=True), process):
                    # psutil checks that the id was not reused.
                    with contextlib.suppress(psutil.NoSuchProcess):
                        each.kill()
                        killed.add(each)
        time.sleep(PAUSE)


def _hasEnded(process):
    # A zombie has ended; it disappears when its parent reads its status.
    with contextlib.suppress(psutil.NoSuchProcess):
        return (not process.is_running()
                or process.status() == psutil.STATUS_ZOMBIE)
    return True


def _decode(said):
    return (said or b'').decode(errors='replace')


def describe(text):
    """:return: the end of a program's output, in one line."""
    return ' '.join(text.split())[-REPORTED:] or 'it printed nothing'
